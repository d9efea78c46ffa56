# SPDX-License-Identifier: Apache-2.0
"""Reasoning and refusals in the shapes of servers with the protocol of chat completions."""

from __future__ import annotations

from typing import Any

import pytest

from kgbench.connectors import anthropic, chat_completions, responses
from kgbench.model import Outcome

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
