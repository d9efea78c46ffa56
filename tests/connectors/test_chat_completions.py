# SPDX-License-Identifier: Apache-2.0
"""Reasoning and refusals in the shapes of servers with the protocol of chat completions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kgbench.connectors import anthropic, chat_completions, responses
from kgbench.connectors.bodies import NoAnswer
from kgbench.connectors.calls import Caller
from kgbench.model import Outcome, Reply, Usage

ANSWER = "http://example.org/x"
THOUGHTS: dict[str, list[Any]] = {
    "Mistral": [{"type": "thinking", "thinking": [{"type": "text", "text": "I count."}]}],
    "a part": [{"type": "reasoning", "text": "I count."}],
}
FIELDS: dict[str, dict[str, Any]] = {
    "DeepSeek": {"reasoning_content": "I count."},
    "vLLM": {"reasoning": "I count."},
    "Ollama": {"thinking": "I count."},
    "OpenRouter": {"reasoning_details": [{"type": "reasoning.text", "text": "I count."}]},
    "summary": {"reasoning_details": [{"type": "reasoning.summary", "summary": "I count."}]},
    "LiteLLM": {"thinking_blocks": [{"type": "thinking", "thinking": "I count."}]},
}
SHAPES = {
    **{
        name: {"content": [*parts, {"type": "text", "text": ANSWER}]}
        for name, parts in THOUGHTS.items()
    },
    **{name: {"content": ANSWER, **field} for name, field in FIELDS.items()},
}


@pytest.mark.parametrize("message", SHAPES.values(), ids=SHAPES)
def test_reasoning_of_every_shape_is_recorded_as_such(message: dict[str, Any]) -> None:
    """Reasoning is kept beside the answer, and is no part of it."""
    choice = {"finish_reason": "stop", "message": {"role": "assistant", **message}}
    reply = chat_completions.reply({"choices": [choice]})
    assert (reply.text, reply.reasoning) == (ANSWER, "I count.")


def test_a_refusal_in_a_part_is_one() -> None:
    """The words of a refusal may be a part of the content."""
    parts = [{"type": "refusal", "refusal": "I cannot help."}]
    choice = {"finish_reason": "stop", "message": {"content": parts}}
    reply = chat_completions.reply({"choices": [choice]})
    assert (reply.text, reply.outcome) == ("I cannot help.", Outcome.REFUSED)


def test_reasoning_of_the_other_protocols_is_recorded() -> None:
    """Thinking blocks of Anthropic, and content and summary of OpenAI's responses."""
    thought = {"type": "thinking", "thinking": "I count."}
    text = {"type": "text", "text": ANSWER}
    body: Any = {"content": [thought, text], "stop_reason": "end_turn"}
    assert anthropic.reply(body).reasoning == "I count."
    item = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "I count."}]}
    said = {"type": "message", "content": [{"type": "output_text", "text": ANSWER}]}
    assert responses.reply({"status": "completed", "output": [item, said]}).reasoning == "I count."


TEXT = {"type": "text", "text": ANSWER}


def _chat(content: Any) -> Reply:
    message = {"role": "assistant", "content": content}
    return chat_completions.reply({"choices": [{"finish_reason": "stop", "message": message}]})


def _messages(content: Any) -> Reply:
    return anthropic.reply({"content": content, "stop_reason": "end_turn"})


def _responses(content: Any) -> Reply:
    item = {"type": "message", "content": content}
    return responses.reply({"status": "completed", "output": [item]})


protocols = pytest.mark.parametrize("read", [_chat, _messages, _responses])


@protocols
@pytest.mark.parametrize("content", [ANSWER, TEXT, [ANSWER], [TEXT]], ids=repr)
def test_content_of_every_form_is_read(read: Callable[[Any], Reply], content: Any) -> None:
    """Compatible servers send a text, a part, or a list of either, whatever the protocol says."""
    assert read(content).text == ANSWER


@protocols
@pytest.mark.parametrize("content", [{"text": {"value": ANSWER}}, {"value": ANSWER}, 7], ids=repr)
def test_content_that_cannot_be_read_is_no_empty_answer(
    read: Callable[[Any], Reply], content: Any
) -> None:
    """It is a failure that is named, and no score."""
    for form in (content, [content]):
        with pytest.raises(NoAnswer, match="content of an unknown form"):
            read(form)


@pytest.mark.parametrize("total", [None, 1012])
def test_input_includes_cached_tokens_that_a_gateway_counts_apart(total: int | None) -> None:
    """More tokens cannot be read from a cache than were read."""
    counts = {"prompt_tokens": 10, "completion_tokens": 2, "cache_read_input_tokens": 1000}
    choice = {"finish_reason": "stop", "message": {"content": ANSWER}}
    usage: Any = counts if total is None else {**counts, "total_tokens": total}
    reply = chat_completions.reply({"choices": [choice], "usage": usage})
    assert reply.usage == Usage(input=1010, output=2, cached=1000)


def test_no_tokens_read_is_no_count() -> None:
    """A server that does not count must not make a run free of charge."""
    usage: Any = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    body: Any = {"choices": [{"finish_reason": "stop", "message": {"content": ANSWER}}]}
    reply = Caller("openai:m", 1.0).reply({**body, "usage": usage}, chat_completions.reply, None)
    assert reply.usage == Usage()
