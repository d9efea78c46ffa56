# SPDX-License-Identifier: Apache-2.0
"""The OpenAI connector, with the real SDK, against a server that speaks the real protocol."""

from __future__ import annotations

import asyncio
import json
import socket
import sys

import pytest

from kgbench.connectors import openai
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import ModelSetup, Outcome, Usage
from tests.connectors import KEY, PATIENCE, answer, asked, replies, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, Response, echo, fixed, running, tokens
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.replies import Prepared
from tests.support.servers.scripts import Behaviour, sequence

APIS = ("chat", "responses")
OWN = {"key_env": "OWN_KEY"}  # of the loopback server


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def _at(server: LoopbackServer, api: str = "chat", **rest: object) -> ModelSetup:
    return setup_for("openai", "gpt-test", server.url, options={"api": api}, **rest)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_arrives_with_all_that_is_said_about_it(api: str) -> None:
    """Text, usage, answering model, request id, reason and reasoning are those of the server."""
    prompt = "Which node is connected to the start?"
    with LoopbackServer(OpenAISpeech("thinking it over ..."), answer=echo) as server:
        reply = answer(openai, _at(server, api), prompt)

    asked_tokens, thought = tokens(prompt), tokens("thinking it over ...")
    assert echo(prompt) == reply.text
    expected = Usage(asked_tokens, tokens(reply.text) + thought, asked_tokens // 2, thought)
    assert expected == reply.usage
    assert reply.model == "gpt-test-2025-01-01"
    assert reply.request_id == "req_00000000"
    assert reply.reasoning == "thinking it over ..."
    assert reply.finish_reason == {"chat": "stop", "responses": "completed"}[api]
    assert reply.fingerprint == {"chat": "fp_loopback", "responses": None}[api]
    assert reply.outcome is None


@pytest.mark.parametrize("api", APIS)
def test_only_what_is_set_is_sent(api: str) -> None:
    """A request has the model, the conversation in turns, and only the configured sampling."""
    with LoopbackServer(OpenAISpeech()) as server:
        replies(openai, _at(server, api), [asked("first", "answered", "second")])
        replies(openai, _at(server, api, sampling={"temperature": 0.0, "top_k": 5}), [asked()])

    assert all("stream" not in entry.body for entry in server.ledger)
    plain, sampled = (entry.body for entry in server.ledger)
    said = plain["messages" if api == "chat" else "input"]
    assert [(m["role"], m["content"]) for m in said] == [
        ("user", "first"),
        ("assistant", "answered"),
        ("user", "second"),
    ]
    expected = {"model", "messages"} if api == "chat" else {"model", "input", "store"}
    assert expected == set(plain)
    assert expected | {"temperature", "top_k"} == set(sampled)
    assert sampled["temperature"] == 0.0


def test_the_limit_of_tokens_has_the_name_of_each_api() -> None:
    """``max_tokens`` limits answers through the responses API, too."""
    with LoopbackServer(OpenAISpeech()) as server:
        answer(openai, _at(server, "responses", sampling={"max_tokens": 7}))

    assert server.ledger[0].body["max_output_tokens"] == 7
    assert "max_tokens" not in server.ledger[0].body


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_a_filter_that_answers_with_an_error_is_a_refusal(code: str) -> None:
    """An error of status 400 by a content filter is a refused answer, with its reason."""
    said = Response(400, {"error": {"code": code, "message": "not this"}}, {"x-request-id": "r1"})
    with LoopbackServer(Prepared(said, prefix="/v1")) as server:
        reply = answer(openai, _at(server))

    assert (reply.text, reply.outcome) == ("", Outcome.REFUSED)
    assert (reply.finish_reason, reply.request_id) == (code, "r1")


def test_a_closed_port_is_a_provider_error() -> None:
    """An unreachable server is reported with its address."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match=url):
            answer(openai, setup_for("openai", "gpt-test", url))


def test_the_same_connector_goes_on_after_failures() -> None:
    """A connector can be used after a failed call."""
    with LoopbackServer(OpenAISpeech(), script=sequence(scripts.CUT, scripts.GARBAGE)) as server:
        reply = _third_time(_at(server))

    assert echo("again") == reply


def _third_time(setup: ModelSetup) -> str:
    async def talk() -> str:
        async with openai.open(setup, PATIENCE) as connector:
            for _ in range(2):
                with pytest.raises(ProviderError):
                    await connector.ask(asked("again"))
            return (await connector.ask(asked("again"))).text

    return asyncio.run(talk())


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is a bearer token; another variable can be named; without one none is sent."""
    monkeypatch.setenv("OTHER_KEY", "other-key")
    with LoopbackServer(OpenAISpeech()) as server:
        answer(openai, _at(server))
        answer(openai, setup_for("openai", "m", server.url, options={"key_env": "OTHER_KEY"}))
        monkeypatch.delenv("OPENAI_API_KEY")
        answer(openai, _at(server))

    sent = [entry.headers.get("authorization") for entry in server.ledger]
    assert [f"Bearer {KEY}", "Bearer other-key", None] == sent


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (setup_for("openai", "m"), "OPENAI_API_KEY"),
        (setup_for("openai", "m", "ftp://host/v1"), "not the address of a server"),
        (setup_for("openai", "m", "http://h/v1", options={"apy": "chat"}), "no option 'apy'"),
        (setup_for("openai", "m", "http://h/v1", options={"key_env": 5}), "must be a text"),
        (setup_for("openai", "m", "http://h/v1", options={"api": "batch"}), "chat, responses"),
        (setup_for("openai", "m", "http://h/v1", sampling={"stream": True}), "'stream' is not"),
        (setup_for("openai", "m", sampling={"top_k": 3}, options=OWN), "does not take 'top_k'"),
        (
            setup_for("openai", "m", sampling={"seed": 3}, options={**OWN, "api": "responses"}),
            "does not take 'seed'",
        ),
    ],
)
def test_unusable_setups_are_refused_at_once(
    setup: ModelSetup, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing key, a wrong address, an unknown option or parameter is refused before any call."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OWN_KEY", KEY)
    with pytest.raises(ModelSpecError, match=message):
        openai.open(setup, 10)


def test_what_the_own_server_takes_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampling parameters of OpenAI's API are accepted, with both names of the token limit."""
    monkeypatch.setenv("OWN_KEY", KEY)
    for api in APIS:
        sampling = {"temperature": 0.5, "max_tokens": 7}
        assert openai.open(
            setup_for("openai", "m", sampling=sampling, options={**OWN, "api": api}), 1
        )


def test_without_the_sdk_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenAI's package the message names the extra."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelSpecError, match=r"pip install 'kgbench\[openai\]'"):
        openai.open(setup_for("openai", "m", "http://127.0.0.1:9/v1"), 1)


def test_lone_surrogates_can_be_sent() -> None:
    """Text that UTF-8 cannot represent is sent with replacement characters."""
    with LoopbackServer(OpenAISpeech()) as server:
        answer(openai, _at(server), "a", "b\ud800c\x00", "d")

    assert server.ledger[0].body["messages"][1]["content"] == "b�c\x00"


class _Mislabelled(OpenAISpeech):
    """Words responses as OpenAI does, with a byte order mark and an unusable charset."""

    def __init__(self, charset: str) -> None:
        super().__init__()
        self._charset = charset

    def respond(self, entry: scripts.Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        response = super().respond(entry, behaviour, answer)
        return response._replace(
            body=json.dumps(response.body, ensure_ascii=False).encode("utf-8-sig"),
            headers={"content-type": f"application/json; charset={self._charset}"},
        )


@pytest.mark.parametrize("charset", ["undefined", "hex", "rot13", "idna", "utf-16", "no-such"])
def test_json_is_read_as_utf_8_whatever_its_charset(charset: str) -> None:
    """JSON has no charset; a name that Python knows as a codec of another kind ends no run."""
    script = sequence(scripts.BAD_REQUEST)
    with LoopbackServer(_Mislabelled(charset), script=script, answer=fixed("naïve")) as server:
        with pytest.raises(ProviderError, match="Unsupported value"):
            answer(openai, _at(server), "a")
        reply = answer(openai, _at(server), "a")

    assert reply.text == "naïve"


@pytest.mark.servers
def test_the_server_runs_as_a_process_and_tells_its_ledger() -> None:
    """A server in its own process answers, and its ledger can be read from outside."""
    with running("openai_server", "--answer", "yes", "--behave", "server-error") as server:
        setup = setup_for("openai", "gpt-test", server.url)
        with pytest.raises(ProviderError):
            answer(openai, setup)
        assert answer(openai, setup).text == "yes"
        ledger = server.ledger()

    assert [entry.kind for entry in ledger] == ["server-error", "answer"]
    assert ledger[0].digest == ledger[1].digest
    assert ledger[0].acknowledged is None
    assert ledger[1].acknowledged is not None
    assert KEY not in str(ledger)
