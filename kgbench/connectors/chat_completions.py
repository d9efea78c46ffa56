# SPDX-License-Identifier: Apache-2.0
"""The chat completions protocol: conversations to request bodies, response bodies to replies.

Bodies are plain JSON and are checked here, for compatible servers differ in what they leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgbench.connectors.bodies import count, listed, mapping, no_answer, text_of, turns
from kgbench.errors import ProviderError
from kgbench.model import Json, ModelSetup, Outcome, Reply, Usage

# Set by the connector, or of no use to it: one answer, in one piece, as text.
RESERVED = ("messages", "model", "n", "stream", "stream_options", "tools", "functions")

_OUTCOMES = {
    "length": Outcome.TRUNCATED,
    "max_tokens": Outcome.TRUNCATED,
    "content_filter": Outcome.REFUSED,
    "refusal": Outcome.REFUSED,
}


def request(setup: ModelSetup, messages: Sequence[str]) -> dict[str, Json]:
    """The body that asks ``setup`` to continue ``messages``; of the sampling only what is set."""
    said = [{"role": role, "content": text} for role, text in turns(messages)]
    return {"model": setup.model_id, "messages": said, **sampling(setup)}


def sampling(setup: ModelSetup) -> Mapping[str, Json]:
    """The sampling parameters of ``setup`` by the names that this API has for them."""
    return setup.sampling


def reply(body: Json, request_id: str | None = None) -> Reply:
    """What a response body says.

    Raises :class:`~kgbench.errors.ProviderError` when it holds no answer.
    """
    choices = mapping(body).get("choices")
    if not isinstance(choices, list) or not choices:
        raise ProviderError(no_answer(body, "no choices"))
    choice = mapping(choices[0])
    message = mapping(choice.get("message"))
    if not message:
        raise ProviderError(no_answer(body, "a choice without a message"))
    reason = text_of(choice.get("finish_reason"))
    content, refusal = _content(message.get("content")), text_of(message.get("refusal"))
    return Reply(
        text=content or refusal or "",
        usage=_usage(mapping(mapping(body).get("usage"))),
        model=text_of(mapping(body).get("model")),
        finish_reason=reason,
        request_id=request_id or text_of(mapping(body).get("id")),
        reasoning=_reasoning(message),
        fingerprint=text_of(mapping(body).get("system_fingerprint")),
        outcome=Outcome.REFUSED if refusal else _OUTCOMES.get(reason or ""),
    )


def _content(content: Json) -> str:
    """The text of a message, which some servers send as a list of parts."""
    parts = "".join(text_of(part.get("text")) or "" for part in listed(content))
    return text_of(content) or parts


def _reasoning(message: Mapping[str, Json]) -> str | None:
    """Reasoning as compatible servers send it (DeepSeek and older vLLM; vLLM and OpenRouter)."""
    return text_of(message.get("reasoning_content")) or text_of(message.get("reasoning")) or None


def _usage(usage: Mapping[str, Json]) -> Usage:
    asked = mapping(usage.get("prompt_tokens_details"))
    answered = mapping(usage.get("completion_tokens_details"))
    return Usage(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        cached=count(asked.get("cached_tokens")),
        reasoning=count(answered.get("reasoning_tokens")),
    )
