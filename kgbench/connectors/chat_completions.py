# SPDX-License-Identifier: Apache-2.0
"""The chat completions protocol: conversations to request bodies, response bodies to replies.

Bodies are plain JSON and are checked here, for compatible servers differ in what they leave out.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.connectors.bodies import count, listed, mapping, no_answer, text_of, turns
from kgbench.connectors.tool_messages import Said, call, conversation, state_of
from kgbench.errors import ProviderError
from kgbench.model import Json, ModelSetup, Outcome, Reply, Request, Usage
from kgbench.tool_calls import Tool, ToolCall
from kgbench.tools.wording import with_calls

# Set by the connector, or of no use to it: one answer, in one piece, as text.
RESERVED = ("messages", "model", "n", "stream", "stream_options", "tools", "functions")

_HANDED_BACK = ("reasoning", "reasoning_content", "reasoning_details")
_OUTCOMES = {
    "length": Outcome.TRUNCATED,
    "max_tokens": Outcome.TRUNCATED,
    "content_filter": Outcome.REFUSED,
    "refusal": Outcome.REFUSED,
}


def request(setup: ModelSetup, asked: Request) -> dict[str, Json]:
    """The body that asks ``setup`` for the next answer; of the sampling only what is set."""
    if not asked.tools:
        said = [{"role": role, "content": text} for role, text in turns(asked.messages)]
        return {"model": setup.model_id, "messages": said, **sampling(setup)}
    structured = conversation(asked.messages, asked.states)
    with_tools = [one for each in structured for one in _messages(each)]
    offered = [{"type": "function", "function": _function(tool)} for tool in asked.tools]
    return {
        "model": setup.model_id,
        "messages": with_tools,
        "tools": offered,
        **sampling(setup),
    }


def _function(tool: Tool) -> dict[str, Json]:
    parameters = dict(tool.parameters)
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _messages(said: Said) -> list[dict[str, Json]]:
    if said.state is not None:
        return [said.state]
    if said.results:
        return [
            {"role": "tool", "tool_call_id": result.call.id, "content": result.text}
            for result in said.results
        ]
    message: dict[str, Json] = {"role": "assistant" if said.of_model else "user"}
    message["content"] = said.text
    if said.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in said.calls
        ]
    return [message]


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
        text=with_calls(content or refusal or "", _calls(message)),
        usage=_usage(mapping(mapping(body).get("usage"))),
        model=text_of(mapping(body).get("model")),
        finish_reason=reason,
        request_id=request_id or text_of(mapping(body).get("id")),
        reasoning=_reasoning(message),
        fingerprint=text_of(mapping(body).get("system_fingerprint")),
        outcome=Outcome.REFUSED if refusal else _OUTCOMES.get(reason or ""),
        state=_state(message),
    )


def _state(message: Mapping[str, Json]) -> str | None:
    """A message with calls that has more than OpenAI's protocol knows, as compatible servers do.

    DeepSeek and others want ``reasoning_content`` back with the results of tools, vLLM
    ``reasoning``, OpenRouter ``reasoning_details``; Google's compatible interface keeps signatures
    of thoughts in a call's ``extra_content``.
    """
    calls = listed(message.get("tool_calls"))
    more = [name for name in _HANDED_BACK if message.get(name)]
    if not calls or not (more or any(one.get("extra_content") for one in calls)):
        return None
    kept = {name: message.get(name) for name in ("content", "tool_calls", *more)}
    return state_of({"role": "assistant", **kept})


def _calls(message: Mapping[str, Json]) -> list[ToolCall]:
    """The tool calls of a message; compatible servers may send their arguments as an object."""
    found = []
    for one in listed(message.get("tool_calls")):
        function = mapping(one.get("function"))
        found.append(call(function.get("name"), function.get("arguments"), one.get("id")))
    return found


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
