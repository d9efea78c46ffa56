# SPDX-License-Identifier: Apache-2.0
"""No configuration chooses a secret and where it goes, or runs code, without an option."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

import kgbench
from kgbench.cli import app
from kgbench.connectors import keys
from kgbench.connectors.declared import requirements
from kgbench.connectors.openai import SERVICE
from kgbench.errors import ModelSpecError
from tests.connectors import setup_for
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

SECRET = "AWS_SECRET_ACCESS_KEY"
TASK = "RdfFriendCount-nt-1"
HTTP = quote("http://127.0.0.1:9/mcp", safe="")


def configured(folder: Path, spec: str) -> str:
    """Return the path of a configuration with one model."""
    path = folder / "shared.yaml"
    path.write_text(f'tasks: ["{TASK}"]\nmodels: ["{spec}"]\niterations: 1\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("spec", "option"),
    [
        (f"baseline:searcher?mcp={HTTP}&mcpVariables={SECRET}", f"--allow-secret {SECRET}"),
        (f"baseline:searcher?mcp=tool&mcpVariables={SECRET}", f"--allow-secret {SECRET}"),
        ("baseline:searcher?mcp=tool", "--start-tool-servers"),
        (f"openai:m@http://127.0.0.1:9?key_env={SECRET}", f"--allow-secret {SECRET}"),
        (f"openai:gpt-5.2?key_env={SECRET}", f"--allow-secret {SECRET}"),
        (f"anthropic:m@https://evil.example?key_env={SECRET}", f"--allow-secret {SECRET}"),
        (
            "openai:m@https://api.openai.com.evil.example?key_env=OPENAI_API_KEY",
            "--allow-secret OPENAI_API_KEY",
        ),
        ("openai:m@http://api.openai.com?key_env=OPENAI_API_KEY", "--allow-secret OPENAI_API_KEY"),
        ("vllm:some/model?trust_remote_code=true", "--trust-remote-code"),
        ("vllm:m@http://127.0.0.1:9?chat_template=/etc/hosts", "--allow-secret /etc/hosts"),
    ],
)
def test_what_needs_an_option_is_said_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, option: str
) -> None:
    """``validate`` and ``--dry-run`` name the option; ``run`` and Python refuse without it."""
    monkeypatch.setenv(SECRET, "a-secret-of-the-machine")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    more = ["--start-tool-servers"] if option != "--start-tool-servers" else []
    path, store = configured(tmp_path, spec), str(tmp_path / "store")
    invoke = CliRunner().invoke

    checked = invoke(app, ["validate", path])
    planned = invoke(app, ["run", path, "--dry-run", "--store", store])
    for done in (checked, planned):
        assert done.exit_code == 0, done.output
        assert f"needs the option {option}" in done.output
    listed = [
        json.loads(invoke(app, [*words, "--json"]).stdout)["requirements"]
        for words in (["validate", path], ["run", path, "--dry-run", "--store", store])
    ]
    assert listed[0] == listed[1]
    assert option in [needed["option"] for needed in listed[0]]

    refused = invoke(app, ["run", path, "--store", store, *more])
    assert isinstance(refused.exception, ModelSpecError)
    assert f"needs the option {option}" in str(refused.exception)
    assert not Path(store).exists()
    with pytest.raises(ModelSpecError, match="needs the option"):
        kgbench.open("memory:").run(path)


def test_a_permitted_secret_is_sent_and_the_permission_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its option the secret is sent, by that command only."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    monkeypatch.setenv("OWN_KEY", "own-key")
    with LoopbackServer(OpenAISpeech()) as server:
        path = configured(tmp_path, f"openai:m@{server.url}?key_env=OWN_KEY")
        words = ["run", path, "--store", str(tmp_path / "store"), "--allow-secret", "OWN_KEY"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert {one.headers["authorization"] for one in server.ledger} == {"Bearer own-key"}
    assert not keys.is_allowed("OWN_KEY")


def test_another_permission_does_not_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A permission is for one secret."""
    monkeypatch.setenv(SECRET, "a-secret-of-the-machine")
    path = configured(tmp_path, f"openai:m@http://127.0.0.1:9?key_env={SECRET}")
    words = ["run", path, "--store", "memory:", "--allow-secret", "OTHER", "--trust-remote-code"]
    with pytest.raises(ModelSpecError, match=f"--allow-secret {SECRET}"):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_the_key_of_a_provider_goes_to_the_provider() -> None:
    """The provider's own server needs no permission, also if its variable is named."""
    options = {"key_env": "OPENAI_API_KEY"}
    assert requirements(setup_for("openai", "gpt-5.2")) == []
    assert requirements(setup_for("openai", "gpt-5.2", options=options)) == []
    assert requirements(setup_for("openai", "m", "https://api.openai.com", options=options)) == []


@pytest.mark.parametrize(
    ("url", "environment", "sent"),
    [
        ("https://gateway.example/v1", None, False),
        ("https://api.openai.com/v1", None, True),
        ("http://api.openai.com/v1", None, False),
        ("http://127.0.0.1:4000/v1", None, True),
        (None, "https://gateway.example/v1", True),
        (None, None, True),
    ],
)
def test_where_the_key_of_a_provider_goes_by_itself(
    monkeypatch: pytest.MonkeyPatch, url: str | None, environment: str | None, sent: bool
) -> None:
    """It goes to no other machine that a specification names, unless it is permitted."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    if environment is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", environment)
    setup = setup_for("openai", "m", url)
    chosen = {"key_env": "", "api_version": ""}
    assert SERVICE.server(setup, chosen, 1).key == ("sk-test" if sent else None)
    with keys.allowed("OPENAI_API_KEY"):
        assert SERVICE.server(setup, chosen, 1).key == "sk-test"
