# SPDX-License-Identifier: Apache-2.0
"""``docs/connectors.md``: its recipes run, and the reference has every declared option.

Every recipe uses a server on the loopback interface instead of the named server. The recipes of
LiteLLM and llama.cpp also run against those servers themselves, in ``tests/support/servers``.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from docs.reference_pages import connectors
from kgbench.cli import app
from kgbench.connectors import names
from kgbench.connectors.declared import declarations
from tests import documented
from tests.connectors import KEY
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

PAGE = documented.page("connectors.md")
FILES = {step.name: step.text for step in documented.steps(PAGE)}
ROWS = re.findall(
    r"^\| \[`([\w.-]+)`\]\(#\w+\) \| (.+?) \| `(.+?)` \| (.+?) \|$", PAGE, re.MULTILINE
)
#: Protocols by the end of their requests' paths, with the header of the key.
PROTOCOLS = {
    "/chat/completions": (OpenAISpeech, "authorization", "openai"),
    "/messages": (AnthropicSpeech, "authorization", "anthropic"),
    ":generateContent": (GoogleSpeech, "x-goog-api-key", "google.genai"),
}
TASK = "RdfFriendCount-nt-1"
#: The configuration of a proxy, and configurations that call no server at an address of the table.
OTHERS = {"proxy.yaml", "openrouter-pinned.yaml", "vllm-loaded.yaml"}


def test_the_options_are_those_that_are_declared():
    """The generated page has every connector, and every option has a meaning."""
    assert set(declarations()) == set(names()) == set(connectors.ORDER)
    declared = [*connectors.COMMON.values()]
    declared += [one for each in declarations().values() for one in each.options.values()]
    assert all(option.meaning for option in declared)


def test_every_recipe_has_its_row_and_every_provider_its_recipe():
    """The table lists the recipes, and the page has a recipe for each common provider."""
    recipes = {name for name in FILES if name not in OTHERS}
    assert {name for name, *_ in ROWS} == recipes
    begun = {name.split("-")[0].removesuffix(".yaml") for name in recipes}
    hosted = {"openai", "azure", "anthropic", "google", "openrouter"}
    assert begun == hosted | {"litellm", "ollama", "llama", "vllm"}


@pytest.mark.parametrize("name", sorted(set(FILES) - {"proxy.yaml"}))
def test_every_recipe_is_a_configuration(name, tmp_path):
    """``kgbench validate`` accepts every recipe."""
    (tmp_path / name).write_text(FILES[name])
    done = CliRunner().invoke(app, ["validate", str(tmp_path / name)])

    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_recipe_asks_where_the_table_says(row, tmp_path, monkeypatch):
    """Path and key of the requests are those of the table."""
    name, key, url, tried = row
    assert tried == "documented interface" or tried.startswith("real server, ")
    end = next(end for end in PROTOCOLS if url.endswith(end))
    speech, header, sdk = PROTOCOLS[end]
    pytest.importorskip(sdk, reason="an extra of kgbench is not installed")
    if key != "none":
        monkeypatch.setenv(key.strip("`"), KEY)
    there = urlsplit(url)
    text = FILES[name]
    with LoopbackServer(speech()) as server:
        text = text.replace(f"{there.scheme}://{there.netloc}", server.root)
        if server.root not in text:  # the loopback server
            for service in (each.service for each in declarations().values()):
                if service is not None and service.variable and service.is_own(url):
                    monkeypatch.setenv(service.variable, server.root)
        (tmp_path / name).write_text(text)
        words = ["run", str(tmp_path / name), "--store", str(tmp_path / "store")]
        words += ["--allow-secret", key.strip("`")] if "key_env" in text else []
        done = CliRunner().invoke(app, [*words, "--task", TASK, "-n", "1"])
        ledger = list(server.ledger)

    assert done.exit_code == 0, done.output
    assert len(ledger) == 2  # the preflight call and the dialogue
    assert {re.sub(r"[?].*", "", entry.path) for entry in ledger} == {there.path}
    bearer = KEY if header.startswith("x-") else f"Bearer {KEY}"
    assert {entry.headers.get(header) for entry in ledger} == {None if key == "none" else bearer}
    assert KEY not in done.output


def test_a_parameter_of_a_recipe_is_passed_on(tmp_path, monkeypatch):
    """The parameter that pins OpenRouter's provider is sent unchanged."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with LoopbackServer(OpenAISpeech()) as server:
        text = FILES["openrouter-pinned.yaml"].replace("https://openrouter.ai", server.root)
        (tmp_path / "pinned.yaml").write_text(text)
        words = ["run", str(tmp_path / "pinned.yaml"), "--store", str(tmp_path / "store")]
        words += ["--allow-secret", "OPENROUTER_API_KEY"]
        done = CliRunner().invoke(app, [*words, "--task", TASK, "-n", "1"])
        body = server.ledger[-1].body

    assert done.exit_code == 0, done.output
    assert body["provider"] == {"order": ["deepinfra"], "allow_fallbacks": False}
