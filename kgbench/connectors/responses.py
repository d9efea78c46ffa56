# SPDX-License-Identifier: Apache-2.0
"""OpenAI's responses protocol: request bodies from conversations, replies from response bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgbench.connectors.bodies import (
    NoAnswer,
    ToolMessage,
    call,
    conversation,
    count,
    listed,
    mapping,
    parts_of,
    reason_of,
    state_of,
    text_in,
    text_of,
    written,
)
from kgbench.connectors.calls import ended
from kgbench.model import Json, ModelSetup, Outcome, Reply, Request, Usage
from kgbench.tool_calls import Tool, ToolCall

PATH = "responses"

RESERVED = (
    "input",
    "model",
    "stream",
    "background",
    "previous_response_id",
    "conversation",
    "tools",
)
_ENCRYPTED = "reasoning.encrypted_content"
_REASONING = re.compile(r"o[1-9]|gpt-[5-9]|codex")  # names of OpenAI's reasoning models
# Parameters that have another name in this API.
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


def request(setup: ModelSetup, model_request: Request) -> dict[str, Json]:
    """Return the request body for the next answer, with storage at the provider turned off.

    Without storage, reasoning must be requested in encrypted form and sent back with the results
    of tools. Models without reasoning reject that request; the sampling parameter ``include``
    overrides the choice.
    """
    body: dict[str, Json] = {"model": setup.model_id, "store": False, **sampling(setup)}
    body["input"] = [item for message in conversation(model_request) for item in _items(message)]
    if not model_request.tools:
        return body
    if "reasoning" in setup.sampling or _REASONING.match(setup.model_id):
        body.setdefault("include", [_ENCRYPTED])
    return {**body, "tools": [_function(tool) for tool in model_request.tools]}


def _function(tool: Tool) -> dict[str, Json]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,  # strict schemas allow no optional arguments
    }


def _items(message: ToolMessage) -> Iterator[dict[str, Json]]:
    if message.state is not None:
        yield from message.state
        return
    for result in message.results:
        yield {"type": "function_call_output", "call_id": result.call.id, "output": result.text}
    if message.text.strip() or not (message.calls or message.results):
        yield {"role": "assistant" if message.of_model else "user", "content": message.text}
    for use in message.calls:
        yield {
            "type": "function_call",
            "call_id": use.id,
            "name": use.name,
            "arguments": use.arguments,
        }


def sampling(setup: ModelSetup) -> Mapping[str, Json]:
    """Return the sampling parameters of ``setup`` under this API's names."""
    return {_NAMES.get(name, name): value for name, value in setup.sampling.items()}


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    response = mapping(body)
    output = response.get("output")
    status = reason_of(response.get("status"))
    cut = reason_of(mapping(response.get("incomplete_details")).get("reason"))
    if response.get("error"):
        raise NoAnswer(f"the status {status}", body)
    if not isinstance(output, list) or (not output and cut is None):
        raise NoAnswer("no output", body)
    items = listed(output)
    messages = [item for item in items if item.get("type") == "message"]
    said = [part for item in messages for part in parts_of(item.get("content"))]
    text = text_in(part for part in said if not part.get("refusal"))
    refusal = "".join(text_of(part.get("refusal")) or "" for part in said)
    reasoning = "\n\n".join(
        [
            *_thoughts(items, "content"),
            *_thoughts(items, "summary"),
        ]
    )
    text, outcome = ended(cut or status, text or refusal, _calls(items))
    return Reply(
        text=text,
        usage=_usage(mapping(response.get("usage"))),
        model=text_of(response.get("model")),
        finish_reason=cut or status,
        request_id=request_id or text_of(response.get("id")),
        reasoning=reasoning or None,
        outcome=Outcome.REFUSED if refusal else outcome,
        state=_state(items),
    )


def _state(items: Sequence[Mapping[str, Any]]) -> str | None:
    """Return calls with encrypted reasoning; unencrypted reasoning cannot be sent back."""
    kinds = {text_of(item.get("type")) for item in items if _can_go_back(item)}
    if not {"reasoning", "function_call"} <= kinds:
        return None
    return state_of([dict(item) for item in items if _can_go_back(item)])


def _can_go_back(item: Mapping[str, Any]) -> bool:
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _calls(items: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    return [
        call(item.get("name"), item.get("arguments"), item.get("call_id"))
        for item in items
        if item.get("type") == "function_call"
    ]


def _thoughts(items: Sequence[Mapping[str, Any]], where: str) -> Iterator[str]:
    """Yield the texts of all parts in the field ``where`` of items of reasoning."""
    for item in items:
        for part in listed(item.get(where)) if item.get("type") == "reasoning" else ():
            if text := text_of(part.get("text")):
                yield text


def _usage(usage: Mapping[str, Json]) -> Usage:
    read = count(usage.get("input_tokens"))
    total = count(usage.get("total_tokens"))
    return Usage(
        input=read,
        output=written(count(usage.get("output_tokens")), read, total),
        cached=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
