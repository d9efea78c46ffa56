# SPDX-License-Identifier: Apache-2.0
"""The chat completions protocol: request bodies from conversations, replies from response bodies.

Bodies are plain JSON and are checked here, because compatible servers omit different fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from kgbench.connectors.calls import Kind, Meaning, declared, ended
from kgbench.model import Json, ModelSetup, Outcome, Reply, Request, Usage
from kgbench.tool_calls import Tool, ToolCall

PATH = "chat/completions"

# Set by the connector, or not applicable: it requests one answer, not streamed, as text.
RESERVED = ("messages", "model", "n", "stream", "stream_options", "tools", "functions")

# Names of cached tokens beside OpenAI's: DeepSeek's, Moonshot's, Mistral's, and Anthropic's through
# gateways.
_CACHED = (
    *("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"),
    *("cache_read_input_tokens", "cached_prompt_tokens"),
)
_FASTEST = 1e9  # tokens per second; a greater number is no speed
_HANDED_BACK = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
# Fields of reasoning: of DeepSeek and older vLLM, of vLLM and OpenRouter, of Ollama, of OpenRouter,
# of LiteLLM; and types of parts of the content: of Mistral and others.
_REASONING = (
    *("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks"),
    "reasoning_text",
)
_THOUGHTS = ("thinking", "reasoning", "reasoning_content", "thought")


def request(setup: ModelSetup, model_request: Request) -> dict[str, Json]:
    """Return the request body for the next answer, with the sampling parameters that are set."""
    messages = [entry for item in conversation(model_request) for entry in _messages(item)]
    tools = [{"type": "function", "function": _function(tool)} for tool in model_request.tools]
    body: dict[str, Json] = {"model": setup.model_id, "messages": messages}
    return {**body, **({"tools": tools} if tools else {}), **sampling(setup)}


def _function(tool: Tool) -> dict[str, Json]:
    parameters = dict(tool.parameters)
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _messages(message: ToolMessage) -> list[dict[str, Json]]:
    if message.state is not None:
        return [message.state]
    if message.results:
        return [
            {"role": "tool", "tool_call_id": result.call.id, "content": result.text}
            for result in message.results
        ]
    entry: dict[str, Json] = {"role": "assistant" if message.of_model else "user"}
    entry["content"] = message.text
    if message.calls:
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return [entry]


def sampling(setup: ModelSetup) -> Mapping[str, Json]:
    """Return the sampling parameters of ``setup`` under this API's names."""
    return setup.sampling


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    choices = mapping(body).get("choices")
    if not isinstance(choices, list) or not choices:
        raise NoAnswer("no choices", body)
    choice = mapping(choices[0])
    if choice.get("error"):
        raise NoAnswer("an error in its choice", choice["error"])
    message, reason = mapping(choice.get("message")), reason_of(choice.get("finish_reason"))
    sign = declared(Kind.ENDING, reason or "")
    # Google's compatible interface refuses without a message.
    if not message and (sign is None or sign.meaning is not Meaning.REFUSED):
        raise NoAnswer("a choice without a message", body)
    content, refusal = _content(message.get("content")), _refusal(message)
    text, outcome = ended(reason, content or refusal or "", _calls(message))
    return Reply(
        text=text,
        usage=_usage(mapping(mapping(body).get("usage"))),
        model=text_of(mapping(body).get("model")),
        finish_reason=reason,
        request_id=request_id or text_of(mapping(body).get("id")),
        reasoning=_reasoning(message),
        fingerprint=text_of(mapping(body).get("system_fingerprint")),
        outcome=Outcome.REFUSED if refusal else outcome,
        state=_state(message),
        reading=_speed(body, "prompt_per_second"),
        writing=_speed(body, "predicted_per_second"),
    )


def _speed(body: Json, name: str) -> float | None:
    """Return a speed that llama.cpp's server has measured, in tokens per second."""
    value = mapping(mapping(body).get("timings")).get(name)
    return float(value) if isinstance(value, int | float) and 0 < value < _FASTEST else None


def _state(message: Mapping[str, Json]) -> str | None:
    """Return a message with tool calls if it has fields beyond OpenAI's protocol.

    Compatible servers need such fields back with the results of tools: DeepSeek and others
    ``reasoning_content``, vLLM ``reasoning``, OpenRouter ``reasoning_details``; Google's compatible
    interface keeps thought signatures in a call's ``extra_content``.
    """
    calls = listed(message.get("tool_calls"))
    extra = [name for name in _HANDED_BACK if message.get(name)]
    if not calls or not (extra or any(item.get("extra_content") for item in calls)):
        return None
    fields = {name: message.get(name) for name in ("content", "tool_calls", *extra)}
    return state_of({"role": "assistant", **fields})


def _calls(message: Mapping[str, Json]) -> list[ToolCall]:
    """Return the tool calls of a message; some servers send the arguments as an object."""
    calls = []
    for item in listed(message.get("tool_calls")):
        function = mapping(item.get("function"))
        calls.append(call(function.get("name"), function.get("arguments"), item.get("id")))
    return calls


def _content(content: Json) -> str:
    """Return the text of a message, which some servers send as a part or a list of parts.

    Raises :class:`~kgbench.connectors.bodies.NoAnswer` if none of them can be read.
    """
    said = [part for part in parts_of(content) if part.get("type") not in _THOUGHTS]
    return text_in(part for part in said if not part.get("refusal"))


def _refusal(message: Mapping[str, Json]) -> str | None:
    """Return the words of a refusal, in a field of its own or in a part of the content."""
    parts = (text_of(part.get("refusal")) or "" for part in parts_of(message.get("content")))
    return text_of(message.get("refusal")) or "".join(parts) or None


def _reasoning(message: Mapping[str, Json]) -> str | None:
    """Return the reasoning from the first field that has it, else from parts of the content."""
    parts = parts_of(message.get("content"))
    thoughts = [part for part in parts if part.get("type") in _THOUGHTS]
    for value in (*(message.get(name) for name in _REASONING), thoughts):
        if texts := list(_thoughts(value)):
            return "\n\n".join(texts)
    return None


def _thoughts(value: Json, depth: int = 4) -> Iterator[str]:
    """Yield the texts in a field of reasoning: a text, parts, or parts of parts (Magistral)."""
    if isinstance(value, str) and value.strip():
        yield value
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _thoughts(item, depth - 1)
    elif isinstance(value, dict) and depth:
        names = ("thinking", "text", "summary", "content", "reasoning")
        yield from _thoughts(next((value[n] for n in names if value.get(n)), None), depth - 1)


def _usage(usage: Mapping[str, Json]) -> Usage:
    completion = mapping(usage.get("completion_tokens_details"))
    read, cached = count(usage.get("prompt_tokens")), _cached(usage)
    if read is not None and cached is not None and cached > read:
        read += cached  # as Anthropic and Amazon Bedrock count, whose counts some gateways pass on
    return Usage(
        input=read,
        output=written(
            count(usage.get("completion_tokens")), read, count(usage.get("total_tokens"))
        ),
        cached=cached,
        reasoning=count(completion.get("reasoning_tokens", usage.get("reasoning_tokens"))),
    )


def _cached(usage: Mapping[str, Json]) -> int | None:
    """Return the tokens read from the provider's cache, under the first of the known names."""
    details = (
        mapping(usage.get(name)) for name in ("prompt_tokens_details", "input_tokens_details")
    )
    named = [*(d.get("cached_tokens") for d in details), *(usage.get(name) for name in _CACHED)]
    return next((known for value in named if (known := count(value)) is not None), None)
