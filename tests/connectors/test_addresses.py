# SPDX-License-Identifier: Apache-2.0
"""Addresses in specifications of models, and calls of the servers that have them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from kgbench.connectors import find, openai
from kgbench.connectors.servers import address_of
from kgbench.errors import ModelSpecError, ProviderError, RateLimited
from kgbench.model import Reply
from tests.connectors import KEY, KEYS, PATIENCE, SDKS, SPEECHES, answer, asked, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

OPENAI, CLAUDE = "/v1/chat/completions", "/v1/messages"
GOOGLE = "/v1beta/models/m:generateContent"


def asked_at(connector, path, monkeypatch, **options):
    """Return the path of the only request of a model at the address with ``path``."""
    pytest.importorskip(
        SDKS.get(connector, "openai"), reason="the extra of this connector is not installed"
    )
    for variable in KEYS:
        monkeypatch.setenv(variable, KEY)
    module = find(connector)
    with LoopbackServer(SPEECHES[connector]()) as server:
        setup = setup_for(connector, "m", f"{server.root}{path}", options=options)
        answer(module, setup)
        (entry,) = server.ledger
    return re.sub(r"[?].*|%24.*", "", entry.path)


@pytest.mark.parametrize(
    ("connector", "path", "expected"),
    [
        *(
            (connector, f"{prefix}{end}", f"{prefix}{path}")
            for connector, path in (
                ("openai", OPENAI),
                ("vllm", OPENAI),
                ("anthropic", CLAUDE),
                ("google", GOOGLE),
                ("google_legacy", GOOGLE),
            )
            for version in [path.split("/")[1]]
            for prefix in ("", "/gateway")
            for end in ("", "/", f"/{version}", f"/{version}/")
            if not (connector == "google_legacy" and prefix)
        ),
        ("openai", "/v4", "/v4/chat/completions"),
        ("openai", "/v1beta/openai/", "/v1beta/openai/chat/completions"),
        ("google", "/v1", "/v1/models/m:generateContent"),
        ("anthropic", "/v1/account/anthropic", "/v1/account/anthropic/v1/messages"),
    ],
)
def test_an_address_works_with_and_without_its_version(connector, path, expected, monkeypatch):
    """The path of the request does not depend on the form of the address."""
    assert asked_at(connector, path, monkeypatch) == expected


@pytest.mark.parametrize(
    ("connector", "path", "version", "expected"),
    [
        ("openai", "/inference", "none", "/inference/chat/completions"),
        ("openai", "", "v2", "/v2/chat/completions"),
        ("google", "", "v1", "/v1/models/m:generateContent"),
        ("google", "/v1/", "v1", "/v1/models/m:generateContent"),
        ("google", "/v1/account/studio", "v1", "/v1/account/studio/v1/models/m:generateContent"),
        ("google", "", "none", "/models/m:generateContent"),
    ],
)
def test_a_version_can_be_chosen(connector, path, version, expected, monkeypatch):
    """The option ``api_version`` names another version, or none."""
    assert asked_at(connector, path, monkeypatch, api_version=version) == expected


def test_an_address_of_the_environment_follows_the_same_rule(monkeypatch):
    """``OPENAI_BASE_URL`` may or may not end in a version, too."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    from kgbench.connectors import openai

    with LoopbackServer(OpenAISpeech()) as server:
        for end in ("", "/", "/v1"):
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.root}{end}")
            answer(openai, setup_for("openai", "m"))
    assert {entry.path for entry in server.ledger} == {OPENAI}


@pytest.mark.parametrize(
    ("connector", "path", "options", "words"),
    [
        ("anthropic", "/v2", {}, "ends in v2, but the version of the API is v1"),
        ("google", "/v1", {"api_version": "v1beta"}, "ends in v1, but the version of the API is"),
        ("google", "", {"api_version": "../v1"}, "which is no version of an API"),
        ("anthropic", "", {"api_version": "v1"}, "has no option 'api_version'"),
        ("openai", "?key=x", {}, "is followed by a query"),
    ],
)
def test_what_contradicts_itself_is_refused(connector, path, options, words):
    """An address that contradicts the version is refused, and nothing is sent."""
    pytest.importorskip(SDKS.get(connector, "openai"), reason="an extra is not installed")
    module = find(connector)
    setup = setup_for(connector, "m", f"http://127.0.0.1:9{path}", options=options)
    with pytest.raises(ModelSpecError, match=re.escape(words)):
        module.open(setup, 1)


def test_an_address_of_the_environment_that_is_none_is_told_by_its_variable(monkeypatch):
    """An error about an address from the environment names its variable."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    from kgbench.connectors import openai

    monkeypatch.setenv("OPENAI_BASE_URL", "127.0.0.1:4111/v1")
    with pytest.raises(ModelSpecError, match=r"^OPENAI_BASE_URL: '127.0.0.1:4111/v1' is not the"):
        openai.open(setup_for("openai", "m"), 1)


@pytest.mark.parametrize("written", ["127.0.0.1:4111/v1", "//host/v1", "ftp://host/v1", "http://"])
def test_what_is_no_address_is_refused(written):
    """An address without scheme or host is refused."""
    with pytest.raises(ValueError, match="is not the address of a server"):
        address_of(written, "v1")


def _ask_all(server: LoopbackServer, prompts: list[str]) -> list[Reply | BaseException]:
    async def talk() -> list[Reply | BaseException]:
        async with openai.open(setup_for("openai", "m", server.url), PATIENCE) as connector:
            calls = (connector.ask(asked(prompt)) for prompt in prompts)
            return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(talk())


def test_a_hidden_limit_holds() -> None:
    """A server never answers more requests at once than its hidden limit; others get a 429."""
    with LoopbackServer(OpenAISpeech(), script=scripts.limited(4, delay=0.1)) as server:
        replies = _ask_all(server, [f"prompt {k}" for k in range(20)])

    answered = [reply for reply in replies if isinstance(reply, Reply)]
    assert len(answered) == len(server.acknowledged) >= 4
    assert all(isinstance(r, RateLimited) for r in replies if not isinstance(r, Reply))
    assert all(entry.parallel <= 4 for entry in server.acknowledged)


def test_the_ledger_counts_what_the_client_was_charged() -> None:
    """The tokens of the ledger equal those of the replies; failures charge nothing."""
    script = scripts.sequence(scripts.SERVER_ERROR, scripts.CUT, scripts.RATE_LIMIT)
    with LoopbackServer(OpenAISpeech(), script=script) as server:
        replies = [_ask_all(server, ["prompt"])[0] for _ in range(6)]

    told = [reply.usage for reply in replies if isinstance(reply, Reply)]
    charged = [entry.usage for entry in server.acknowledged]
    assert [{"input": usage.input, "output": usage.output} for usage in told] == charged
    assert len(charged) == 3
    assert sum(isinstance(reply, ProviderError) for reply in replies) == 3
    ids = [reply.request_id for reply in replies if isinstance(reply, Reply)]
    assert ids == [entry.request_id for entry in server.acknowledged]


def test_a_server_leaves_nothing_behind() -> None:
    """A stopped server has closed its sockets, even with hanging requests."""
    before = _descriptors()
    with LoopbackServer(OpenAISpeech(), script=scripts.always(scripts.HANG)) as server:
        setup = setup_for("openai", "m", server.url)

        async def abandoned() -> None:
            async with openai.open(setup, 5.0) as connector:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(connector.ask(asked("a")), 0.2)

        asyncio.run(abandoned())
    assert _descriptors() <= before + 1


def _descriptors() -> int:
    """Return the number of open files and sockets of this process, if it can be counted."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0
