# SPDX-License-Identifier: Apache-2.0
"""Response bodies of any form give a reply or a provider error, and nothing else."""

from __future__ import annotations

import copy
import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.connectors import anthropic, chat_completions, google, responses
from kgbench.connectors.bodies import error_of_body
from kgbench.connectors.calls import Caller
from kgbench.errors import ProviderError
from kgbench.model import Outcome, Reply

CHAT = {
    "id": "chatcmpl-1",
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "text", "reasoning_content": "why"},
        }
    ],
    "usage": {
        "prompt_tokens": 5,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
RESPONSE = {
    "id": "resp_1",
    "status": "completed",
    "model": "m-1",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "text"}]},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
MESSAGE = {
    "id": "msg_1",
    "model": "m-1",
    "content": [{"type": "thinking", "thinking": "why"}, {"type": "text", "text": "text"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
CONTENT = {
    "modelVersion": "m-1",
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {"parts": [{"text": "why", "thought": True}, {"text": "text"}]},
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 4, "thoughtsTokenCount": 3},
}
PROTOCOLS = [
    pytest.param(chat_completions, CHAT, id="chat"),
    pytest.param(responses, RESPONSE, id="responses"),
    pytest.param(anthropic, MESSAGE, id="messages"),
    pytest.param(google, CONTENT, id="generate-content"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all members of a body."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    found = [(*path, key) for key in keys]
    inner = [_places(value[k], (*path, k)) for k in keys if isinstance(value[k], dict | list)]
    return found + [place for places in inner for place in places]


def _check(module: ModuleType, body: Any) -> None:
    try:
        reply = module.reply(body)
    except ProviderError as error:
        assert str(error)
        return
    assert isinstance(reply, Reply)
    assert isinstance(reply.text, str)
    for value in (reply.model, reply.finish_reason, reply.request_id, reply.reasoning):
        assert value is None or isinstance(value, str)
    for count in (reply.usage.input, reply.usage.output, reply.usage.cached):
        assert count is None or count >= 0


@pytest.mark.parametrize(("module", "body"), PROTOCOLS)
def test_a_whole_body_is_read(module: ModuleType, body: dict[str, Any]) -> None:
    """Text, reasoning, model and token counts are read as each protocol defines them."""
    reply = module.reply(body, "req_1")
    assert (reply.text, reply.reasoning, reply.model) == ("text", "why", "m-1")
    assert (reply.usage.input, reply.usage.output, reply.outcome) == (5, 7, None)
    assert reply.request_id == "req_1"


@pytest.mark.parametrize("value", [-1, True, 1.5, "5", 10**13, 10**400])
def test_counts_that_no_call_has_are_unknown(value: Any) -> None:
    """A number that cannot be one of tokens is left out, as sums of it would exceed 64 bits."""
    usage = {"prompt_tokens": value, "completion_tokens": 7}
    reply = chat_completions.reply({**CHAT, "usage": usage})
    assert (reply.usage.input, reply.usage.output) == (None, 7)


@pytest.mark.parametrize(("module", "body"), PROTOCOLS)
@settings(max_examples=50)  # each damages a body in one of about twenty places
@given(data=st.data())
def test_any_json_is_a_reply_or_a_provider_error(
    module: ModuleType, body: dict[str, Any], data: st.DataObject
) -> None:
    """Any value in one place of a body, or instead of it, gives a reply or a provider error."""
    _check(module, data.draw(JSON))
    place = data.draw(st.sampled_from(_places(body)))
    damaged = copy.deepcopy(body)
    part = damaged
    for key in place[:-1]:
        part = part[key]
    if data.draw(st.booleans()):
        part[place[-1]] = data.draw(JSON)
    else:
        del part[place[-1]]
    _check(module, damaged)


@pytest.mark.parametrize(("module", "body"), PROTOCOLS)
def test_an_error_in_a_good_response_is_told(module: ModuleType, body: dict[str, Any]) -> None:
    """An error in a response with status 200, as some gateways send, is quoted."""
    for error in ({"message": "upstream is down"}, "upstream is down"):
        with pytest.raises(ProviderError, match="upstream is down"):
            module.reply({"error": error})


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_failed_is_no_answer(status: str) -> None:
    """Half an answer that ended in a failure is retried; the provider's message is quoted."""
    body = {**RESPONSE, "status": status, "error": {"message": "upstream is down"}}
    with pytest.raises(ProviderError, match=f"the status {status}: upstream is down"):
        responses.reply(body)


def test_contents_in_parts_are_joined() -> None:
    """A message that is a list of parts is joined."""
    body = copy.deepcopy(CHAT)
    parts = [{"type": "text", "text": "a"}, {"type": "other"}, {"type": "text", "text": "b"}]
    body["choices"][0]["message"]["content"] = parts  # type: ignore[index]
    assert chat_completions.reply(body).text == "ab"


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("SAFETY", Outcome.REFUSED),
        ("RECITATION", Outcome.REFUSED),
        ("MAX_TOKENS", Outcome.TRUNCATED),
        ("STOP", None),
    ],
)
def test_googles_finish_reasons_have_outcomes(reason: str, outcome: Outcome | None) -> None:
    """A withheld answer is a refusal, one that is cut off is truncated."""
    body = json.loads(json.dumps(CONTENT))
    body["candidates"][0]["finishReason"] = reason
    assert outcome is google.reply(body).outcome


@pytest.mark.parametrize(
    ("written", "seconds"), [("34s", 34.0), ("0.5s", 0.5), ("soon", None), ("s", None), (3, None)]
)
def test_googles_retry_delay_is_read(written: object, seconds: float | None) -> None:
    """A ``RetryInfo`` in an error body gives the delay."""
    details = [{"@type": "x"}, {"@type": "type.googleapis.com/RetryInfo", "retryDelay": written}]
    assert seconds == error_of_body({"error": {"details": details}}).wait


@pytest.mark.parametrize("raw", [False, True], ids=["text", "bytes"])
def test_keys_are_hidden_in_answers(raw):
    """A key that a server repeats in an answer is hidden; a placeholder is not a key."""
    key, placeholder = 'long/secret"key+of/nobody', "text"
    said = copy.deepcopy(CHAT)
    said["choices"][0]["message"]["content"] = f"text: Bearer {key} \ud800"
    written = json.dumps(said).replace("/", "\\/")
    caller = Caller("openai:m", 1.0, (key, placeholder))
    found = chat_completions.reply(caller.json(written.encode() if raw else written), None)

    assert "text: Bearer [hidden] \ud800" == found.text
    assert "why" == found.reasoning
