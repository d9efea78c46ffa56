# SPDX-License-Identifier: Apache-2.0
"""Tool calls and their results as text, as recorded and as written by models without tools.

In the protocol ``text``, the prompt describes the tools, and a model calls one by a single JSON
object with ``tool`` and ``arguments``, in a fenced block or as the whole answer. Calls by the tool
calling of a provider (``native``) are recorded in the text of the answer: after the text that came
with them, each has a fenced block ``tool_call``. Results are returned in blocks ``tool_result``.
Connectors convert the blocks to messages of their provider, so that a recorded dialogue can be
continued.

>>> answer = with_calls("Let me look.", [ToolCall("search", '{"text": "Ada"}', "c1")])
>>> print(answer)
Let me look.
```tool_call {"id":"c1","name":"search"}
{"text": "Ada"}
```
>>> calls(answer)
(ToolCall(name='search', arguments='{"text": "Ada"}', id='c1', malformed=None),)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kgbench.characters import BOM
from kgbench.scoring.fences import fenced_blocks
from kgbench.tool_calls import Tool, ToolCall, ToolResult, ToolUse

_JSON_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_DEEPEST: Final = 50  # most levels of nested lists and objects


def read_arguments(arguments: str) -> dict[str, Any]:
    """Parse the arguments of a call; an empty text stands for no arguments.

    Raises :class:`ValueError`, with a message for the model, if they are not a JSON object.
    Infinite numbers and NaN are refused because JSON has none, and deeply nested values because
    they could not be serialised again.
    """
    try:
        value = _READER.decode(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")  # noqa: TRY004 - a fault of the model
    if _is_deep(value):
        raise ValueError(f"the arguments are nested more than {_DEEPEST} levels deep")
    return value


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:20]} is too large")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


_READER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for container in level
            if isinstance(container, dict | list)
            for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return bool(level)


def parsed_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object; invalid ones are under ``malformed``."""
    try:
        return read_arguments(call.arguments)
    except ValueError:
        return {"malformed": call.arguments}


def fault_in(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return the fault of ``arguments`` for ``tool`` as a message for the model, or ``None``."""
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        if name not in arguments:
            return f"{tool.name} needs the argument '{name}'"
    for name, value in arguments.items():
        if name not in properties:
            takes = ", ".join(properties) or "no arguments"
            return f"{tool.name} has no argument '{name[:100]}'; it takes {takes}"
        if why := _mismatch(value, properties[name]):
            return f"the argument '{name}' of {tool.name} {why}"
    return None


def _mismatch(value: Any, schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if kind is not None:
        is_boolean = isinstance(value, bool)
        if not isinstance(value, _JSON_KINDS[kind]) or (is_boolean and kind != "boolean"):
            return f"must be of the type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(map(str, schema['enum']))}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"must be at most {schema['maximum']}"
    return None


MOST_CALLS: Final = 64  # of one answer; all further calls become one malformed call
NO_CALL: Final = "there is no tool call in the answer"
_OPENING: Final = re.compile(r"(`{3,})(tool_call|tool_result) (\{.*\})")
_RUN: Final = re.compile(r"`{3,}")
_JSON: Final = frozenset(("", "json", "tool", "tool_call"))  # info strings of blocks with a call


class ReportedResult(NamedTuple):
    """A result parsed from its block: the id and tool of the call, its outcome, and the text."""

    id: str | None
    tool: str
    outcome: str
    text: str


class _Block(NamedTuple):
    kind: str
    head: dict[str, Any]
    body: str


def with_calls(text: str, native_calls: Sequence[ToolCall]) -> str:
    """Append the native tool calls of an answer to its text."""
    parts = [text] if text.strip() else []
    for call in native_calls:
        head = {"name": call.name} if call.id is None else {"id": call.id, "name": call.name}
        if call.malformed is not None:
            head["malformed"] = call.malformed
        parts.append(_block("tool_call", head, call.arguments))
    return "\n".join(parts)


def with_unread_call(text: str, reason: str, said: str) -> str:
    """Append a call that the provider could not read, with what is ``said`` about it."""
    why = f"the provider could not read the call ({reason})"
    return with_calls(text, [ToolCall("", said, malformed=why)])


def split_calls(answer: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Split an answer into its text and its calls, the inverse of :func:`with_calls`."""
    text, blocks = _split(answer, "tool_call")
    return text, tuple(_native_call(block) for block in blocks)


def calls(answer: str) -> tuple[ToolCall, ...]:
    """Return the tool calls of an answer in either protocol; empty if it has none."""
    answer = answer.removeprefix(BOM)
    _, native = split_calls(answer)
    if native:
        beyond = ToolCall("", "", malformed=f"more than {MOST_CALLS} calls in one answer")
        return native if len(native) <= MOST_CALLS else (*native[:MOST_CALLS], beyond)
    bodies = [
        block.body.strip()
        for block in fenced_blocks(answer)
        if block.info.lower() in _JSON and block.body.lstrip().startswith("{")
    ]
    if not bodies and answer.lstrip().startswith("{"):
        bodies = [answer.strip()]
    if not bodies:
        return ()
    if len(bodies) > 1:
        why = "several JSON objects in one answer: call one tool at a time"
        return (ToolCall("", "\n".join(bodies), malformed=why),)
    return (_text_call(bodies[0]),)


def results_prompt(uses: Sequence[ToolUse], note: str) -> str:
    """Build the prompt with the results of tools: a block for each, and a closing ``note``."""
    blocks = []
    for use in uses:
        head = {"tool": use.call.name, "outcome": str(use.result.outcome)}
        if use.call.id is not None:
            head = {"id": use.call.id, **head}
        blocks.append(_block("tool_result", head, use.result.text))
    return "\n".join([*blocks, note])


def split_results(prompt: str) -> tuple[list[ReportedResult], str]:
    """Split a prompt into results and note, the inverse of :func:`results_prompt`.

    Other prompts have no results.
    """
    note, blocks = _split(prompt, "tool_result")
    return [
        ReportedResult(
            block.head.get("id"),
            block.head.get("tool", ""),
            block.head.get("outcome", ""),
            block.body,
        )
        for block in blocks
    ], note


def result_text(result: ToolResult) -> str:
    """Return the text of a result for the native tool calling of a provider."""
    return result.text or f"({result.outcome})"


def _block(kind: str, head: dict[str, str], body: str) -> str:
    longest = max((len(run.group()) for run in _RUN.finditer(body)), default=2)
    fence = "`" * (longest + 1)
    line = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
    return f"{fence}{kind} {line}\n{body}\n{fence}"


def _split(text: str, kind: str) -> tuple[str, list[_Block]]:
    """Split a text into the lines outside the blocks of a ``kind``, and the blocks."""
    outside: list[str] = []
    blocks: list[_Block] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        opening = _OPENING.fullmatch(lines[index])
        head = (
            None
            if opening is None or opening.group(2) != kind
            else _parsed_object(opening.group(3))
        )
        if opening is None or head is None:
            outside.append(lines[index])
            index += 1
            continue
        body: list[str] = []
        index += 1
        while index < len(lines) and lines[index] != opening.group(1):
            body.append(lines[index])
            index += 1
        index += 1
        blocks.append(_Block(kind, head, "\n".join(body)))
    return "\n".join(outside), blocks


def _native_call(block: _Block) -> ToolCall:
    name, id_, why = (block.head.get(key) for key in ("name", "id", "malformed"))
    if not isinstance(name, str):
        name, why = "", "the call names no tool"
    return ToolCall(
        name,
        block.body,
        id_ if isinstance(id_, str) else None,
        why if isinstance(why, str) else None,
    )


def _text_call(body: str) -> ToolCall:
    """Parse a call that a model wrote as a JSON object."""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError) as error:
        return ToolCall("", body, malformed=f"the call is not JSON: {error}")
    name, arguments = call.get("tool"), call.get("arguments", {})
    if not isinstance(name, str):
        return ToolCall("", body, malformed="the JSON object has no text under 'tool'")
    if not isinstance(arguments, dict):
        return ToolCall(name, body, malformed="'arguments' is not a JSON object")
    return ToolCall(name, json.dumps(arguments, ensure_ascii=False))


def _parsed_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
