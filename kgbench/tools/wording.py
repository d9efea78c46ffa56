# SPDX-License-Identifier: Apache-2.0
r"""Tool calls and their results as text: what is recorded, and what models without tools write.

A model that is told of tools in its prompt (the protocol ``text``) calls one by a single JSON
object with ``tool`` and ``arguments``, in a fenced block or as the whole answer. What a provider's
own tool calling gives (``native``) is recorded in the text of the answer as fenced blocks
``tool_call``, one a call, behind the text that came with them. Results go back in blocks
``tool_result``. Connectors turn the blocks into the messages of their provider, so that a recorded
dialogue can be continued.

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
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kgbench.scoring.fences import fenced_blocks
from kgbench.tool_calls import ToolCall, ToolResult, ToolUse

MOST_CALLS: Final = 64  # of one answer; what is beyond is one malformed call
NO_CALL: Final = "there is no tool call in the answer"
_OPENING: Final = re.compile(r"(`{3,})(tool_call|tool_result) (\{.*\})")
_RUN: Final = re.compile(r"`{3,}")
_JSON: Final = frozenset(("", "json", "tool", "tool_call"))  # info strings of blocks with a call


class Told(NamedTuple):
    """A result as its block has it: the id and the tool of the call, how it ended, the text."""

    id: str | None
    tool: str
    outcome: str
    text: str


class _Block(NamedTuple):
    kind: str
    head: dict[str, Any]
    body: str


def with_calls(text: str, made: Sequence[ToolCall]) -> str:
    """Return the text of an answer followed by the calls that a provider gave beside it."""
    parts = [text] if text.strip() else []
    for call in made:
        head = {"name": call.name} if call.id is None else {"id": call.id, "name": call.name}
        if call.malformed is not None:
            head["malformed"] = call.malformed
        parts.append(_block("tool_call", head, call.arguments))
    return "\n".join(parts)


def spoken(answer: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the inverse of :func:`with_calls`: the text beside the calls, and the calls."""
    text, blocks = _split(answer, "tool_call")
    return text, tuple(_native(block) for block in blocks)


def calls(answer: str) -> tuple[ToolCall, ...]:
    """The tool calls of an answer, in either protocol; none where it has nothing like a call."""
    _, native = spoken(answer)
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
    return (_written(bodies[0]),)


def results(uses: Sequence[ToolUse], note: str) -> str:
    """Return the prompt that gives results: a block for each, and a closing ``note``."""
    blocks = []
    for use in uses:
        head = {"tool": use.call.name, "outcome": str(use.result.outcome)}
        if use.call.id is not None:
            head = {"id": use.call.id, **head}
        blocks.append(_block("tool_result", head, use.result.text))
    return "\n".join([*blocks, note])


def told(prompt: str) -> tuple[list[Told], str]:
    """The inverse of :func:`results`: the results, and the note; no results in other prompts."""
    note, blocks = _split(prompt, "tool_result")
    return [
        Told(b.head.get("id"), b.head.get("tool", ""), b.head.get("outcome", ""), b.body)
        for b in blocks
    ], note


def result_text(result: ToolResult) -> str:
    """Return what a model is told of a result by a provider's own tool calling."""
    return result.text or f"({result.outcome})"


def _block(kind: str, head: dict[str, str], body: str) -> str:
    longest = max((len(run.group()) for run in _RUN.finditer(body)), default=2)
    fence = "`" * (longest + 1)
    line = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
    return f"{fence}{kind} {line}\n{body}\n{fence}"


def _split(text: str, kind: str) -> tuple[str, list[_Block]]:
    """Return the blocks of a ``kind`` in a text, and the lines outside of them."""
    outside: list[str] = []
    blocks: list[_Block] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at])
        head = None if opening is None or opening.group(2) != kind else _object(opening.group(3))
        if opening is None or head is None:
            outside.append(lines[at])
            at += 1
            continue
        body: list[str] = []
        at += 1
        while at < len(lines) and lines[at] != opening.group(1):
            body.append(lines[at])
            at += 1
        at += 1
        blocks.append(_Block(kind, head, "\n".join(body)))
    return "\n".join(outside), blocks


def _native(block: _Block) -> ToolCall:
    name, id_, why = (block.head.get(key) for key in ("name", "id", "malformed"))
    if not isinstance(name, str):
        name, why = "", "the call names no tool"
    return ToolCall(
        name,
        block.body,
        id_ if isinstance(id_, str) else None,
        why if isinstance(why, str) else None,
    )


def _written(body: str) -> ToolCall:
    """Return the call in the JSON object that a model wrote."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        return ToolCall("", body, malformed=f"the call is not JSON: {error}")
    name, arguments = said.get("tool"), said.get("arguments", {})
    if not isinstance(name, str):
        return ToolCall("", body, malformed="the JSON object has no text under 'tool'")
    if not isinstance(arguments, dict):
        return ToolCall(name, body, malformed="'arguments' is not a JSON object")
    return ToolCall(name, json.dumps(arguments, ensure_ascii=False))


def _object(written: str) -> dict[str, Any] | None:
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
