# SPDX-License-Identifier: Apache-2.0
"""Google's generateContent protocol: its request and response bodies, for both Google SDKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgbench.connectors import reply_signs
from kgbench.connectors.bodies import (
    UNSAID,
    NoAnswer,
    count,
    listed,
    mapping,
    reason_of,
    text_of,
    total,
    written,
)
from kgbench.connectors.tool_messages import ToolMessage, call, conversation, parsed, state_of
from kgbench.errors import ProviderError
from kgbench.model import Json, Outcome, Reply, Request, Usage
from kgbench.tool_calls import ToolCall
from kgbench.tools.wording import with_calls

_PLAIN = ("temperature", "top_p", "top_k", "max_output_tokens", "stop_sequences", "seed")

# Parameters of the API, by the names that configurations may use.
SAMPLING = {
    **{name: name for name in (*_PLAIN, "presence_penalty", "frequency_penalty")},
    **{name: name for name in ("thinking_config", "system_instruction", "safety_settings")},
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
}
# The retired SDK supports fewer parameters.
LEGACY_SAMPLING = {
    name: to for name, to in SAMPLING.items() if to in _PLAIN or to.endswith("_penalty")
}

_UNREAD = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_KEY = {False: "output", True: "error"}  # documented keys of a functionResponse


def request_contents(request: Request) -> list[dict[str, Json]]:
    """Return the messages as contents; the API rejects blank ones, so they get a placeholder."""
    return [_turn(message) for message in conversation(request, ids=False)]


def _turn(message: ToolMessage) -> dict[str, Json]:
    """Return a message as a content; results refer to calls by name, order and id (if any)."""
    if message.state is not None:
        return {"role": "model", "parts": message.state}
    results = [
        {"functionResponse": {**_of_call(r.call), "response": {_KEY[r.failed]: r.text}}}
        for r in message.results
    ]
    calls = [{"functionCall": {**_of_call(c), "args": parsed(c)}} for c in message.calls]
    text = [{"text": message.text}] if message.text.strip() else []
    parts = [*text, *calls, *results] or [{"text": UNSAID}]
    return {"role": "model" if message.of_model else "user", "parts": parts}


def _of_call(call_: ToolCall) -> dict[str, Json]:
    return {"name": call_.name} if call_.id is None else {"id": call_.id, "name": call_.name}


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body; output tokens include those of reasoning, as with other providers.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    response = mapping(body)
    candidates = listed(response.get("candidates"))
    blocked = text_of(mapping(response.get("promptFeedback")).get("blockReason"))
    if not candidates and blocked is None:
        raise NoAnswer("no candidates", body)
    if not candidates and not reply_signs.is_block(blocked or ""):
        raise ProviderError(f"the prompt was blocked for '{blocked}', which is not declared")
    candidate = candidates[0] if candidates else {}
    reason = reason_of(candidate.get("finishReason")) or blocked
    content = mapping(candidate.get("content"))
    if reason is None and not content:
        raise NoAnswer("a candidate without content", body)
    text = with_calls("".join(_texts(content, thought=False)), _calls(candidate))
    return Reply(
        text=text,
        usage=_usage(mapping(response.get("usageMetadata"))),
        model=text_of(response.get("modelVersion")),
        finish_reason=reason,
        request_id=text_of(response.get("responseId")) or request_id,
        reasoning="\n\n".join(_texts(content, thought=True)) or None,
        outcome=reply_signs.outcome(reason, content=bool(text)) if candidates else Outcome.REFUSED,
        state=_state(content),
    )


def _calls(candidate: Mapping[str, Json]) -> list[ToolCall]:
    """Return the calls of a candidate; a call that the API could not parse is malformed."""
    calls = [
        call(function.get("name"), function.get("args"), function.get("id"))
        for part in listed(mapping(candidate.get("content")).get("parts"))
        if (function := mapping(part.get("functionCall")))
    ]
    reason = text_of(candidate.get("finishReason"))
    if calls or reason not in _UNREAD:
        return calls
    message = text_of(candidate.get("finishMessage")) or ""
    return [ToolCall("", message, malformed=f"the provider could not read the call ({reason})")]


def _state(content: Mapping[str, Json]) -> str | None:
    """Return parts with calls and thought signatures, which the API needs back in place."""
    parts = listed(content.get("parts"))
    if not any("functionCall" in part for part in parts):
        return None
    signed = any(part.get("thoughtSignature") for part in parts)
    return state_of([dict(part) for part in parts]) if signed else None


def _texts(content: Mapping[str, Json], *, thought: bool) -> Iterator[str]:
    for part in listed(content.get("parts")):
        if (part.get("thought") is True) == thought and (text := text_of(part.get("text"))):
            yield text


def _usage(usage: Mapping[str, Json]) -> Usage:
    thoughts = count(usage.get("thoughtsTokenCount"))
    answered = count(usage.get("candidatesTokenCount"))
    read, used = count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))
    output = thoughts if answered is None else answered + (thoughts or 0)
    return Usage(
        input=read,
        output=written(output, total(read, used), count(usage.get("totalTokenCount"))),
        cached=count(usage.get("cachedContentTokenCount")),
        reasoning=thoughts,
    )
