# SPDX-License-Identifier: Apache-2.0
"""Anthropic's messages protocol: request messages and replies from response bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
)
from kgbench.connectors.tool_messages import (
    CallResult,
    ToolMessage,
    call,
    conversation,
    parsed,
    state_of,
)
from kgbench.model import Json, Reply, Request, Usage
from kgbench.tools.wording import with_calls

# Parameters of the API, by the names that configurations may use.
SAMPLING = {
    **{name: name for name in ("max_tokens", "temperature", "top_p", "top_k", "stop_sequences")},
    **{name: name for name in ("system", "thinking", "output_config", "service_tier")},
    "stop": "stop_sequences",
}


def request(model_request: Request) -> dict[str, Json]:
    """Return the messages of a request and its tools; blank messages get a placeholder.

    The API rejects blank ones.
    """
    messages = [_turn(message) for message in conversation(model_request)]
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.parameters),
        }
        for tool in model_request.tools
    ]
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _turn(message: ToolMessage) -> dict[str, Json]:
    if message.state is not None:
        return {"role": "assistant", "content": message.state}
    if message.results:
        return {"role": "user", "content": [_result(result) for result in message.results]}
    role = "assistant" if message.of_model else "user"
    if not message.calls:
        return {"role": role, "content": message.text if message.text.strip() else UNSAID}
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": parsed(use)}
        for use in message.calls
    ]
    return {"role": role, "content": [*text, *calls]}


def _result(result: CallResult) -> dict[str, Json]:
    return {
        "type": "tool_result",
        "tool_use_id": result.call.id,
        "content": result.text,
        **({"is_error": True} if result.failed else {}),
    }


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body; input tokens include those written to and read from the cache.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    response = mapping(body)
    reason = reason_of(response.get("stop_reason"))
    if not isinstance(response.get("content"), list):
        raise NoAnswer("no content", body)
    blocks = listed(response["content"])
    text = with_calls(
        "".join(text_of(block.get("text")) or "" for block in blocks),
        [
            call(block.get("name"), block.get("input"), block.get("id"))
            for block in blocks
            if block.get("type") == "tool_use"
        ],
    )
    return Reply(
        text=text,
        usage=_usage(mapping(response.get("usage"))),
        model=text_of(response.get("model")),
        finish_reason=reason,
        request_id=request_id or text_of(response.get("id")),
        reasoning="\n\n".join(filter(None, (text_of(b.get("thinking")) for b in blocks))) or None,
        outcome=reply_signs.outcome(reason, content=bool(text)),
        state=_state(blocks),
    )


def _state(blocks: Sequence[Mapping[str, Json]]) -> str | None:
    """Return calls with the thinking before them, which the API needs back unchanged."""
    kinds = {text_of(block.get("type")) for block in blocks}
    if "tool_use" not in kinds or not kinds & {"thinking", "redacted_thinking"}:
        return None
    return state_of([dict(block) for block in blocks])


def _usage(usage: Mapping[str, Json]) -> Usage:
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    details = mapping(usage.get("output_tokens_details"))
    return Usage(
        input=total(count(usage.get("input_tokens")), cached, written),
        output=count(usage.get("output_tokens")),
        cached=cached,
        reasoning=count(details.get("thinking_tokens")),
    )
