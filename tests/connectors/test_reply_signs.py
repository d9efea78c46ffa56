# SPDX-License-Identifier: Apache-2.0
"""The declared table of replies: every row of it through every connector, and undeclared words."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from kgbench import resources
from kgbench.connectors import anthropic, chat_completions, find, google, responses
from kgbench.connectors.calls import Caller, Kind, Meaning, Sign, signs
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import ModelSetup, Outcome, Reply
from kgbench.rdf.declared import quads
from kgbench.tools.wording import calls
from tests.connectors import KEYS, PATIENCE, SDKS, asked, setup_for
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.replies import Prepared
from tests.support.validation import report

CALLER = Caller("openai:m", 1.0)
ANSWERS = {
    Meaning.SCORED: None,
    Meaning.UNREADABLE_CALL: None,
    Meaning.TRUNCATED: Outcome.TRUNCATED,
}
ERRORS = {
    Meaning.CONTEXT_TOO_LONG: ContextTooLong,
    Meaning.RATE_LIMITED: RateLimited,
    Meaning.TIMEOUT: ProviderTimeout,
    Meaning.PROVIDER_ERROR: ProviderError,
    Meaning.REJECTED: ProviderRefused,
}


def _chat(reason: str | None, text: str) -> Any:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _response(reason: str | None, text: str) -> Any:
    part = {"type": "output_text", "text": text}
    return {"status": reason, "output": [{"type": "message", "content": [part]}]}


def _incomplete(reason: str | None, text: str) -> Any:
    details = {"reason": reason} if reason is not None else None
    status = None if reason is None else "incomplete"
    return {**_response(status, text), "incomplete_details": details}


def _message(reason: str | None, text: str) -> Any:
    return {"content": [{"type": "text", "text": text}], "stop_reason": reason}


def _content(reason: str | None, text: str) -> Any:
    return {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]}


PROTOCOLS = {
    "chat": (chat_completions, _chat),
    "responses": (responses, _response),
    "incomplete": (responses, _incomplete),
    "messages": (anthropic, _message),
    "generate-content": (google, _content),
}
BY_PROTOCOL = pytest.mark.parametrize(("module", "body"), PROTOCOLS.values(), ids=PROTOCOLS)
Body = Callable[[str | None, str], Any]


def _rows(kind: Kind) -> list[Any]:
    return [
        pytest.param(sign, word, id=word)
        for sign in signs()
        if sign.kind is kind
        for word in sign.words
    ]


def _is_raised(meaning: Meaning, ask: Callable[[], Reply]) -> None:
    """Check that ``ask`` gives what a reply with this meaning is."""
    if meaning is Meaning.REFUSED:
        assert ask().outcome is Outcome.REFUSED
    elif meaning is Meaning.UNREADABLE_CALL:
        reply = ask()
        assert [call.arguments for call in calls(reply.text)] == ["no"]
        assert reply.outcome is None
    else:
        with pytest.raises(ERRORS[meaning]) as raised:
            ask()
        assert type(raised.value) is ERRORS[meaning]


def test_the_table_conforms_to_its_shape() -> None:
    """Every row has a kind, a meaning, words, a source and a date; no word has two meanings."""
    text = resources.path("queries", "replies.ttl").read_bytes()
    assert report(quads(text), "queries") == []
    for kind in Kind:
        words = [str(row.values[1]).casefold() for row in _rows(kind)]
        assert len(words) == len(set(words)), kind


@BY_PROTOCOL
@pytest.mark.parametrize(("sign", "word"), _rows(Kind.ENDING))
def test_each_declared_ending_means_the_same_everywhere(
    module: ModuleType, body: Body, sign: Sign, word: str
) -> None:
    """An answer is judged, cut or refused by its ending, in every protocol, or is a failure."""
    if sign.meaning is Meaning.PROVIDER_ERROR:
        with pytest.raises(ProviderError, match=f"'{word}': it is not judged") as raised:
            CALLER.reply(body(word, "part of"), module.reply, None)
        assert type(raised.value) is ProviderError
        return
    reply = CALLER.reply(body(word, "text"), module.reply, None)
    expected = {**ANSWERS, Meaning.REFUSED: Outcome.REFUSED}[sign.meaning]
    assert (reply.outcome, reply.finish_reason) == (expected, word)
    assert reply.text.startswith("text")  # a malformed call may follow
    if sign.may_be_empty:
        assert CALLER.reply(body(word, ""), module.reply, None).outcome is expected
    if sign.meaning is Meaning.UNREADABLE_CALL:  # whether or not a text came with it
        (call,) = calls(CALLER.reply(body(word, ""), module.reply, None).text)
        assert call.malformed is not None


@pytest.mark.parametrize("message", [{}, {"message": {"role": "assistant"}}])
def test_an_ending_may_follow_the_name_of_a_filter(message: dict[str, Any]) -> None:
    """Google's compatible interface names its filter, and sends no message with a refusal."""

    def read(reason: str) -> Reply:
        choice = {"index": 0, "finish_reason": reason, **message}
        return CALLER.reply({"choices": [choice]}, chat_completions.reply, None)

    assert read("content_filter: PROHIBITED_CONTENT").outcome is Outcome.REFUSED
    for reason in ("content_filter: gone_fishing", "content_filter: OTHER"):
        with pytest.raises(ProviderError):
            read(reason)
    if message:
        (call,) = calls(read("function_call_filter: MALFORMED_FUNCTION_CALL").text)
        assert call.malformed is not None


@pytest.mark.parametrize("reason", [None, "stop", "length", "MALFORMED_FUNCTION_CALL"])
def test_a_choice_without_a_message_is_no_answer(reason: str | None) -> None:
    """Only a refusal may lack the message."""
    with pytest.raises(ProviderError, match="a choice without a message"):
        CALLER.reply({"choices": [{"finish_reason": reason}]}, chat_completions.reply, None)


@BY_PROTOCOL
def test_an_undeclared_ending_is_never_judged(module: ModuleType, body: Body) -> None:
    """A reason that nobody declared, a text or not, is a failure of the provider that is named."""
    for reason, name in (("gone_fishing", "gone_fishing"), (7, "7"), ({}, "a dict")):
        with pytest.raises(ProviderError, match=f"'{name}', which is not declared") as raised:
            CALLER.reply(body(reason, "text"), module.reply, None)  # type: ignore[arg-type]
        assert type(raised.value) is ProviderError


@BY_PROTOCOL
def test_an_answer_without_a_reason_is_one(module: ModuleType, body: Body) -> None:
    """Some servers send no reason; without content there is no answer then, nor after a call."""
    assert CALLER.reply(body(None, "text"), module.reply, None).text == "text"
    for reason in (None, "tool_calls"):
        with pytest.raises(ProviderError, match=r"without content|neither content"):
            CALLER.reply(body(reason, ""), module.reply, None)


@pytest.mark.parametrize(("sign", "word"), [*_rows(Kind.CODE), *_rows(Kind.CLASS)])
@pytest.mark.parametrize("key", ["code", "type", "status"])
def test_each_declared_code_means_one_thing(key: str, sign: Sign, word: str) -> None:
    """A code decides in any field, and with status 200, too: in a body, a choice and a batch."""
    error = {"message": "no", key: word}
    _is_raised(sign.meaning, lambda: CALLER.failed(418, json.dumps({"error": error}), {}))
    _is_raised(sign.meaning, lambda: CALLER.reply({"error": error}, chat_completions.reply, None))
    body = copy.deepcopy(_chat("error", "part of"))
    body["choices"][0]["error"] = error
    _is_raised(sign.meaning, lambda: CALLER.reply(body, chat_completions.reply, None))


@pytest.mark.parametrize(("sign", "word"), _rows(Kind.STATUS))
def test_each_declared_status_is_never_final(sign: Sign, word: str) -> None:
    """A status alone is a failure: no refusal, and no context that is too long."""
    assert sign.meaning not in (Meaning.REFUSED, Meaning.CONTEXT_TOO_LONG)
    _is_raised(sign.meaning, lambda: CALLER.failed(int(word), "", {}))


@pytest.mark.parametrize(("sign", "word"), _rows(Kind.BLOCK))
def test_a_blocked_prompt_is_a_refusal(sign: Sign, word: str) -> None:
    """Reasons for which Google blocks prompts are declared."""
    body = {"promptFeedback": {"blockReason": word}}
    reply = CALLER.reply(body, google.reply, None)
    assert (reply.outcome, reply.finish_reason) == (Outcome(sign.meaning), word)


def test_what_nobody_declared_is_a_failure_that_is_named() -> None:
    """An undeclared error, status or reason of a block is retried, and its words are shown."""
    for ask in (
        lambda: CALLER.failed(599, '{"error": {"code": "odd", "message": "odd words"}}', {}),
        lambda: CALLER.reply({"error": "odd words"}, chat_completions.reply, None),
        lambda: CALLER.reply({"promptFeedback": {"blockReason": "odd words"}}, google.reply, None),
    ):
        with pytest.raises(ProviderError, match="odd words") as raised:
            ask()
        assert type(raised.value) is ProviderError


CONNECTORS = {
    "chat": ("openai", {"api": "chat"}, "/v1", _chat),
    "responses": ("openai", {"api": "responses"}, "/v1", _incomplete),
    "vllm": ("vllm", {}, "/v1", _chat),
    "anthropic": ("anthropic", {}, "/v1", _message),
    "google": ("google", {}, "/v1beta", _content),
    "google_legacy": ("google_legacy", {}, "/v1beta", _content),
}


@pytest.mark.parametrize(
    ("name", "options", "version", "body"), CONNECTORS.values(), ids=CONNECTORS
)
def test_each_connector_reads_the_table(
    name: str, options: dict[str, str], version: str, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every declared ending, and an undeclared one, through the SDK of each connector."""
    for variable in KEYS:
        monkeypatch.setenv(variable, "a-key-of-nobody-0123")
    words = [(row.values[0].meaning, row.values[1]) for row in _rows(Kind.ENDING)]
    words.append((Meaning.PROVIDER_ERROR, "gone_fishing"))
    prepared = Prepared(*(body(word, "text") for _, word in words), prefix=version)

    async def ask(setup: ModelSetup) -> list[Outcome | str | None]:
        found: list[Outcome | str | None] = []
        async with find(name).open(setup, PATIENCE) as connector:
            for _ in words:
                try:
                    found.append((await connector.ask(asked())).outcome)
                except ProviderError as error:
                    found.append(type(error).__name__)
        return found

    pytest.importorskip(SDKS.get(name, "openai"), reason=f"the SDK of {name} is not installed")
    with LoopbackServer(prepared) as server:
        found = asyncio.run(ask(setup_for(name, "m", server.root, options=options)))
    expected = {
        **ANSWERS,
        Meaning.REFUSED: Outcome.REFUSED,
        Meaning.PROVIDER_ERROR: "ProviderError",
    }
    assert found == [expected[meaning] for meaning, _ in words]
