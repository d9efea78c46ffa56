# SPDX-License-Identifier: Apache-2.0
"""Google's generateContent protocol: what its REST bodies say, whichever SDK has fetched them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgbench.connectors.bodies import (
    UNSAID,
    count,
    listed,
    mapping,
    no_answer,
    text_of,
    turns,
)
from kgbench.connectors.tool_messages import Said, call, conversation, parsed, state_of
from kgbench.errors import ProviderError
from kgbench.model import Json, Outcome, Reply, Request, Usage
from kgbench.tool_calls import ToolCall
from kgbench.tools.wording import with_calls

_PLAIN = ("temperature", "top_p", "top_k", "max_output_tokens", "stop_sequences", "seed")

# What the API takes, by the names that configurations may use.
SAMPLING = {
    **{name: name for name in (*_PLAIN, "presence_penalty", "frequency_penalty")},
    **{name: name for name in ("thinking_config", "system_instruction", "safety_settings")},
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
}
# The retired SDK knows less.
LEGACY_SAMPLING = {
    name: to for name, to in SAMPLING.items() if to in _PLAIN or to.endswith("_penalty")
}

_CUT = ("MAX_TOKENS",)
_UNREAD = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_KEY = {False: "output", True: "error"}  # of a response, as the API documents them
_WITHHELD = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
)


def said(asked: Request) -> list[dict[str, Json]]:
    """The messages in turns; the API refuses blank ones, so an empty answer is named as such."""
    if asked.tools:
        return [_turn(one) for one in conversation(asked.messages, asked.states, ids=False)]
    return [
        {"role": role, "parts": [{"text": text if text.strip() else UNSAID}]}
        for role, text in turns(asked.messages, answerer="model")
    ]


def _turn(one: Said) -> dict[str, Json]:
    """Results go by name and order, and by the id of the call where the API gave it one."""
    if one.state is not None:
        return {"role": "model", "parts": one.state}
    results = [
        {"functionResponse": {**_of_call(r.call), "response": {_KEY[r.failed]: r.text}}}
        for r in one.results
    ]
    calls = [{"functionCall": {**_of_call(c), "args": parsed(c)}} for c in one.calls]
    text = [{"text": one.text}] if one.text.strip() else []
    parts = [*text, *calls, *results] or [{"text": UNSAID}]
    return {"role": "model" if one.of_model else "user", "parts": parts}


def _of_call(made: ToolCall) -> dict[str, Json]:
    return {"name": made.name} if made.id is None else {"id": made.id, "name": made.name}


def reply(body: Json, request_id: str | None = None) -> Reply:
    """What a response body says; output tokens include those of reasoning, as elsewhere.

    Raises :class:`~kgbench.errors.ProviderError` when it holds no answer.
    """
    whole = mapping(body)
    candidates = listed(whole.get("candidates"))
    blocked = text_of(mapping(whole.get("promptFeedback")).get("blockReason"))
    if not candidates and blocked is None:
        raise ProviderError(no_answer(body, "no candidates"))
    candidate = candidates[0] if candidates else {}
    reason = text_of(candidate.get("finishReason")) or blocked
    content = mapping(candidate.get("content"))
    if reason is None and not content:
        raise ProviderError(no_answer(body, "a candidate without content"))
    return Reply(
        text=with_calls("".join(_texts(content, thought=False)), _calls(candidate)),
        usage=_usage(mapping(whole.get("usageMetadata"))),
        model=text_of(whole.get("modelVersion")),
        finish_reason=reason,
        request_id=text_of(whole.get("responseId")) or request_id,
        reasoning="\n\n".join(_texts(content, thought=True)) or None,
        outcome=_outcome(reason, blocked=not candidates),
        state=_state(content),
    )


def _calls(candidate: Mapping[str, Json]) -> list[ToolCall]:
    """The calls of a candidate; one that the API itself could not read is malformed."""
    made = [
        call(one.get("name"), one.get("args"), one.get("id"))
        for part in listed(mapping(candidate.get("content")).get("parts"))
        if (one := mapping(part.get("functionCall")))
    ]
    reason = text_of(candidate.get("finishReason"))
    if made or reason not in _UNREAD:
        return made
    said = text_of(candidate.get("finishMessage")) or ""
    return [ToolCall("", said, malformed=f"the provider could not read the call ({reason})")]


def _state(content: Mapping[str, Json]) -> str | None:
    """Parts with calls and signatures of thoughts, which the API wants back where they were."""
    parts = listed(content.get("parts"))
    if not any("functionCall" in part for part in parts):
        return None
    signed = any(part.get("thoughtSignature") for part in parts)
    return state_of([dict(part) for part in parts]) if signed else None


def _outcome(reason: str | None, *, blocked: bool) -> Outcome | None:
    if blocked or reason in _WITHHELD:
        return Outcome.REFUSED
    return Outcome.TRUNCATED if reason in _CUT else None


def _texts(content: Mapping[str, Json], *, thought: bool) -> Iterator[str]:
    for part in listed(content.get("parts")):
        if (part.get("thought") is True) == thought and (text := text_of(part.get("text"))):
            yield text


def _usage(usage: Mapping[str, Json]) -> Usage:
    thoughts = count(usage.get("thoughtsTokenCount"))
    answered = count(usage.get("candidatesTokenCount"))
    return Usage(
        input=count(usage.get("promptTokenCount")),
        output=thoughts if answered is None else answered + (thoughts or 0),
        cached=count(usage.get("cachedContentTokenCount")),
        reasoning=thoughts,
    )


def retry_delay(error: Json) -> float | None:
    """The seconds in the ``RetryInfo`` of an error body (``{"error": {"details": [...]}}``)."""
    for detail in listed(mapping(mapping(error).get("error")).get("details")):
        written = text_of(detail.get("retryDelay")) or ""
        if written.endswith("s") and written[:-1].replace(".", "", 1).isdecimal():
            return float(written[:-1])
    return None
