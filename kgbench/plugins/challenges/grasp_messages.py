# SPDX-License-Identifier: Apache-2.0
"""Conversion of the messages of a GRASP run to the turns of a dialogue with tool calls.

Messages come in two forms. In the form of 2025, a message of the model has ``content`` and
``tool_calls`` as in OpenAI's API, and each result is a separate message with the role ``tool``. In
the form of 2026, ``content`` is an object with ``message``, ``reasoning`` and ``tool_calls``, and
each call includes its result. Messages with other roles than ``assistant`` and ``tool`` are part of
the next prompt.

Where the duration of steps is not published, the duration of the dialogue is divided evenly among
its model calls, and tool calls take no time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kgbench.api import Call, ImportRefused, Json, Reply, ToolCall, ToolResult, Turn, Usage
from kgbench.plugins.challenges import grasp_tools
from kgbench.tool_calls import TOOL_RESULTS, Fault, ToolOutcome, ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import BASE

EXTRACTION: Final = f"{BASE}extraction/grasp/1"
"""The IRI of GRASP's extraction step: the last answer or attempt, with prefixes."""


class Transcript(NamedTuple):
    """The turns of a dialogue, its end time, and the messages to the model after the last turn."""

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
    """A message of the model, and the messages it received since its previous one."""

    received: Sequence[str]
    text: str
    uses: list[_Use]
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None


def transcript(  # noqa: PLR0917 - the parts of one record
    messages: Json,
    final: str,
    question: str,
    begun: datetime,
    elapsed: Json,
    model: str | None,
    where: str,
) -> Transcript:
    """Convert ``messages`` to turns; ``final`` is the final query of the run.

    ``question`` replaces a prompt that is not published. The dialogue begins at ``begun`` and takes
    ``elapsed`` seconds, or no time if that is no number. Raises
    :class:`~kgbench.errors.ImportRefused`, with ``where`` in its message, if ``messages`` is not a
    list of messages, and :class:`OverflowError` if a duration exceeds what times can represent.
    """
    seconds = _seconds(elapsed) or 0.0
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
        clock, uses = _executed(step.uses, ended)
        turns.append(Turn(prompt, (call,), feedback, uses))
    return Transcript(tuple(turns), clock, "\n\n".join(closing))


def _prompt(step: _Step, earlier_turns: Sequence[Turn], question: str) -> tuple[str, str | None]:
    note = "\n\n".join(step.received)
    if not earlier_turns:
        return note or question, None
    uses = earlier_turns[-1].uses
    return wording.results_prompt(uses, note) if uses else note, TOOL_RESULTS


def _executed(uses: Sequence[_Use], begun: datetime) -> tuple[datetime, tuple[ToolUse, ...]]:
    """Return the end time and the tool calls of one message, executed one after the other."""
    executed = []
    for use in uses:
        text = grasp_tools.NOT_PUBLISHED if use.result is None else use.result
        result = ToolResult(text, grasp_tools.outcome(text))
        if use.call.malformed is not None:
            result = ToolResult(text, ToolOutcome.ERROR, Fault.MALFORMED)
        ended = begun + timedelta(seconds=use.seconds or 0.0)
        executed.append(ToolUse(use.call, result, begun, ended))
        begun = ended
    return begun, tuple(executed)


def _steps(messages: Json, where: str) -> tuple[list[_Step], list[str]]:
    """Split messages into the steps of the model and the messages after the last step."""
    if not isinstance(messages, list):
        raise ImportRefused(f"{where}: messages are not a list")
    steps: list[_Step] = []
    received: list[str] = []
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise ImportRefused(f"{where}: message {index} (from 0) is not an object with a role")
        role = message["role"]
        if role == "assistant":
            steps.append(_step(message, received))
            received = []
        elif (use := _answered_call(steps, message)) is not None:
            use.result = _text(message.get("content"))
        else:
            received.append(_text(message.get("content")))
    return steps, received


def _answered_call(steps: Sequence[_Step], message: Mapping[str, Json]) -> _Use | None:
    """Return the call that a ``tool`` message answers: by id, else the first open one."""
    if message["role"] != "tool" or not steps:
        return None
    open_ = [use for use in steps[-1].uses if use.result is None]
    call_id = message.get("tool_call_id")
    candidates = (use for use in open_ if call_id is None or use.call.id == call_id)
    return next(candidates, None)


def _step(message: Mapping[str, Json], received: Sequence[str]) -> _Step:
    content = message.get("content")
    if not isinstance(content, Mapping):
        uses = [_use(call) for call in _list(message.get("tool_calls"))]
        thoughts = message.get("reasoning_content", message.get("reasoning"))
        return _Step(received, _text(content), uses, _text(thoughts) or None)
    text, thoughts = content.get("message"), content.get("reasoning")
    if isinstance(text, Mapping):
        text = text.get("content")
    if isinstance(thoughts, Mapping):
        thoughts = thoughts.get("content") or thoughts.get("summary")
    return _Step(
        received,
        _text(text),
        [_use(call) for call in _list(content.get("tool_calls"))],
        _text(thoughts) or None,
        _usage(content.get("usage")),
        _seconds(content.get("elapsed")),
    )


def _use(call: Json) -> _Use:
    """Read a call in either form; a malformed one is kept as written."""
    if not isinstance(call, Mapping):
        return _Use(ToolCall("", json.dumps(call), malformed="the call is no object"))
    function = call.get("function")
    function = function if isinstance(function, Mapping) else call
    name, value = function.get("name"), function.get("arguments", function.get("args", {}))
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
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
    """Return the text of a content: a string, a list of parts, or ``None``; others as JSON."""
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
        values = (usage.get(name) for name in names)
        return next((n for n in values if isinstance(n, int) and not isinstance(n, bool)), None)

    return Usage(
        count("input_tokens", "prompt_tokens"), count("output_tokens", "completion_tokens")
    )


def _seconds(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return max(float(value), 0.0)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
