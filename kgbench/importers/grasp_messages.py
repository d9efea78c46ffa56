# SPDX-License-Identifier: Apache-2.0
"""The messages of a GRASP run, as the turns of a dialogue with tool calls.

Messages come in two forms. In that of 2025 a message of the model has ``content`` and
``tool_calls`` as OpenAI's interface gives them, and each result is a message of its own with the
role ``tool``. In that of 2026 ``content`` is an object with ``message``, ``reasoning`` and
``tool_calls``, and each call has its result. Roles other than ``assistant`` and ``tool`` speak to
the model: they are part of the next prompt.

Where the seconds of single steps are not published, the model calls of a dialogue share its seconds
evenly, and tools take none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kgbench.errors import ImportRefused
from kgbench.model import Call, Json, Reply, Turn, Usage
from kgbench.tasks import grasp_tools
from kgbench.tool_calls import TOOL_RESULTS, Fault, ToolCall, ToolOutcome, ToolResult, ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import BASE

EXTRACTION: Final = f"{BASE}extraction/grasp/1"
"""The step that GRASP finds the final query with: the last answer or attempt, with prefixes."""


class Transcript(NamedTuple):
    """The turns of a dialogue, when it ended, and what was said to the model after them."""

    turns: tuple[Turn, ...]
    ended: datetime
    closing: str


@dataclass(slots=True)
class _Use:
    call: ToolCall
    result: str | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Step:
    """A message of the model, and what it was told since the one before."""

    told: Sequence[str]
    text: str
    uses: list[_Use]
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None


def transcript(  # noqa: PLR0917 - all of one record
    messages: Json,
    final: str,
    question: str,
    begun: datetime,
    seconds: float,
    model: str | None,
    where: str,
) -> Transcript:
    """The turns that ``messages`` tell; ``final`` is the query that the run gave in the end.

    ``question`` stands for a prompt that is not published. Raises
    :class:`~kgbench.errors.ImportRefused`, naming ``where``, for what is no list of messages.
    """
    steps, closing = _steps(messages, where)
    if not steps:
        prompt = "\n\n".join(closing) or question
        ended = begun + timedelta(seconds=seconds)
        reply = Reply(final, model=model)
        return Transcript((Turn(prompt, (Call(begun, ended, reply),)),), ended, "")
    share = seconds / len(steps)
    turns: list[Turn] = []
    clock = begun
    for step in steps:
        prompt, feedback = _prompt(step, turns, question)
        ended = clock + timedelta(seconds=share if step.seconds is None else step.seconds)
        text = wording.with_calls(step.text, [use.call for use in step.uses])
        last = step is steps[-1]
        reply = Reply(
            text,
            usage=step.usage,
            model=model,
            reasoning=step.reasoning,
            extracted=final if last and final != text else None,
            extraction=EXTRACTION if last and final != text else None,
        )
        call = Call(clock, ended, reply)
        clock, uses = _used(step.uses, ended)
        turns.append(Turn(prompt, (call,), feedback, uses))
    return Transcript(tuple(turns), clock, "\n\n".join(closing))


def _prompt(step: _Step, before: Sequence[Turn], question: str) -> tuple[str, str | None]:
    note = "\n\n".join(step.told)
    if not before:
        return note or question, None
    uses = before[-1].uses
    return wording.results(uses, note) if uses else note, TOOL_RESULTS


def _used(uses: Sequence[_Use], begun: datetime) -> tuple[datetime, tuple[ToolUse, ...]]:
    """The calls of one message, one after the other, and when the last ended."""
    found = []
    for use in uses:
        text = grasp_tools.NOT_PUBLISHED if use.result is None else use.result
        result = ToolResult(text, grasp_tools.outcome(text))
        if use.call.malformed is not None:
            result = ToolResult(text, ToolOutcome.ERROR, Fault.MALFORMED)
        ended = begun + timedelta(seconds=use.seconds or 0.0)
        found.append(ToolUse(use.call, result, begun, ended))
        begun = ended
    return begun, tuple(found)


def _steps(messages: Json, where: str) -> tuple[list[_Step], list[str]]:
    """The messages of the model with what came before each, and what came after the last."""
    if not isinstance(messages, list):
        raise ImportRefused(f"{where}: messages are no list")
    steps: list[_Step] = []
    told: list[str] = []
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise ImportRefused(f"{where}: message {place} (from 0) is no object with a role")
        role = message["role"]
        if role == "assistant":
            steps.append(_step(message, told))
            told = []
        elif (use := _called(steps, message)) is not None:
            use.result = _text(message.get("content"))
        else:
            told.append(_text(message.get("content")))
    return steps, told


def _called(steps: Sequence[_Step], message: Mapping[str, Json]) -> _Use | None:
    """The call of the last step whose result a message is; the first open one without an id."""
    if message["role"] != "tool" or not steps:
        return None
    open_ = [use for use in steps[-1].uses if use.result is None]
    name = message.get("tool_call_id")
    known = (use for use in open_ if name is None or use.call.id == name)
    return next(known, None)


def _step(message: Mapping[str, Json], told: Sequence[str]) -> _Step:
    content = message.get("content")
    if not isinstance(content, Mapping):
        uses = [_use(call) for call in _list(message.get("tool_calls"))]
        thoughts = message.get("reasoning_content", message.get("reasoning"))
        return _Step(told, _text(content), uses, _text(thoughts) or None)
    said, thoughts = content.get("message"), content.get("reasoning")
    if isinstance(said, Mapping):
        said = said.get("content")
    if isinstance(thoughts, Mapping):
        thoughts = thoughts.get("content") or thoughts.get("summary")
    return _Step(
        told,
        _text(said),
        [_use(call) for call in _list(content.get("tool_calls"))],
        _text(thoughts) or None,
        _usage(content.get("usage")),
        _seconds(content.get("elapsed")),
    )


def _use(call: Json) -> _Use:
    """A call in either form; one that cannot be read is kept as it is written."""
    if not isinstance(call, Mapping):
        return _Use(ToolCall("", json.dumps(call), malformed="the call is no object"))
    of = call.get("function")
    of = of if isinstance(of, Mapping) else call
    name, given = of.get("name"), of.get("arguments", of.get("args", {}))
    written = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    malformed = None
    if not isinstance(name, str):
        name, malformed = "", "the call names no tool"
    else:
        try:
            arguments.read(written)
        except ValueError as error:
            malformed = str(error)
    id_, result = call.get("id"), call.get("result")
    return _Use(
        ToolCall(name, written, id_ if isinstance(id_, str) else None, malformed),
        None if result is None else _text(result),
        _seconds(call.get("elapsed")),
    )


def _text(content: Json) -> str:
    """The text of a content: a text, parts with texts, or nothing; other things as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, ensure_ascii=False)


def _usage(usage: Json) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()

    def count(*names: str) -> int | None:
        found = (usage.get(name) for name in names)
        return next((n for n in found if isinstance(n, int) and not isinstance(n, bool)), None)

    return Usage(
        count("input_tokens", "prompt_tokens"), count("output_tokens", "completion_tokens")
    )


def _seconds(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return max(float(value), 0.0)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
