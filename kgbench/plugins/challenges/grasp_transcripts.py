# SPDX-License-Identifier: Apache-2.0
"""GRASP's transcripts: messages as turns of a dialogue, and recorded queries executed again.

Messages come in two forms. In the form of 2025, a message of the model has ``content`` and
``tool_calls`` as in OpenAI's API, and each result is a separate message with the role ``tool``. In
the form of 2026, ``content`` is an object with ``message``, ``reasoning`` and ``tool_calls``, and
each call includes its result. Messages with other roles than ``assistant`` and ``tool`` are part of
the next prompt. Where the duration of steps is not published, the duration of the dialogue is
divided evenly among its model calls, and tool calls take no time.

GRASP's search tools use unpublished indexes, and its other tools use them to describe results. The
tool ``execute`` runs a query, whose result any engine must reproduce: a number of rows, a truth
value, or an error.

>>> outcome("Got no rows and 2 columns")
<ToolOutcome.EMPTY: 'empty'>
>>> parse_result("Got 1,000 rows and 3 columns, showing the first 10 rows below:")
1000
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

import kgbench.api as kb
from kgbench.tool_calls import TOOL_RESULTS, Fault, ToolOutcome, ToolUse
from kgbench.tools import wording
from kgbench.vocab import BASE

EXECUTE: Final = "execute"
"""The tool that runs a query; its arguments are ``kg`` and ``sparql``."""
ENDS: Final = frozenset(("answer", "cancel"))
"""The tools that end a dialogue."""
NOT_PUBLISHED: Final = "no result of this call was published"

ParsedResult: TypeAlias = "int | bool | None"
"""The result of a query: a number of rows, a truth value, or ``None`` for an error."""

_ROWS: Final = re.compile(r"Got (no|[0-9][0-9,]*) rows?\b")
_NOTHING: Final = re.compile(r"(?:Got no rows|No [^\n]{0,80}\bfound)\b")
_SOME: Final = re.compile(r"[^\n]{0,200}showing the first\b")
_FAILED: Final = re.compile(
    r"(?:Failed to |Call to function |SPARQL execution failed|Unknown |Constraint \"|Only two of )"
)
_NOT_DONE: Final = "Not executed due to loop"
_UNSEEN: Final = "without being known from previous searches"
_TRUTH: Final = re.compile(r"[^\n]{0,80}?\b(true|false)\b", re.IGNORECASE)
_TIME: Final = re.compile(r"\btime(?:d )?-?out\b", re.IGNORECASE)
_PREFIX: Final = re.compile(
    r"^[ \t*-]{0,8}([\w.-]{0,40}): <([^<>\s]{1,200})>?[ \t]*$", re.MULTILINE
)


class UnreadableError(ValueError):
    """A result states neither rows nor a truth value nor an error."""


def outcome(text: str) -> ToolOutcome:
    """Return the outcome of a call, by the text of its result."""
    if text.startswith(_NOT_DONE):
        return ToolOutcome.REFUSED
    if text == NOT_PUBLISHED or _FAILED.match(text):
        return ToolOutcome.ERROR
    if _NOTHING.match(text):
        return ToolOutcome.EMPTY
    return ToolOutcome.TRUNCATED if _SOME.match(text) else ToolOutcome.OK


def parse_result(text: str) -> ParsedResult:
    """Parse the result of ``execute``.

    Raises :class:`UnreadableError` if it contains nothing that can be compared.
    """
    if outcome(text) is ToolOutcome.ERROR:
        return None
    if rows := _ROWS.match(text):
        return 0 if rows[1] == "no" else int(rows[1].replace(",", ""))
    if truth := _TRUTH.match(text):
        return truth[1].lower() == "true"
    raise UnreadableError("the result names no number of rows")


def again(call: kb.ToolCall, result: kb.ToolResult, prompt: str) -> Mapping[str, kb.Json] | str:
    """Return the arguments for :func:`use` to repeat a recorded call, or the obstacle as a text.

    ``prompt`` is the first prompt of the dialogue, which lists the prefixes that queries may use.
    """
    if call.name in ENDS:
        return "the call ends the dialogue"
    if call.name != EXECUTE:
        return "a tool of GRASP itself, whose indexes are not published"
    if result.text in {NOT_PUBLISHED, _NOT_DONE} or _UNSEEN in result.text:
        return "GRASP did not execute the query"
    try:
        parse_result(result.text)
        query = wording.read_arguments(call.arguments).get("sparql")
    except ValueError as error:
        return str(error)
    if not isinstance(query, str):
        return "the call has no query"
    return {"sparql": query, "prefixes": dict(_PREFIX.findall(prompt))}


def use(recorded: Mapping[str, Any], graph: str, executor: kb.Executor) -> kb.ToolResult:
    """Execute the query from :func:`again` on ``graph``."""
    result = executor.results(recorded["sparql"], graph, recorded["prefixes"])
    if result.error is not None:
        return kb.ToolResult(f"SPARQL execution failed:\n{result.error}", ToolOutcome.ERROR)
    if result.boolean is not None:
        return kb.ToolResult(str(result.boolean))
    number, columns = f"{len(result.rows):,}" if result.rows else "no", len(result.variables)
    text = f"Got {number} row{'s' * (number != '1')} and {columns} column{'s' * (columns != 1)}"
    return kb.ToolResult(text, outcome(text))


def agree(recorded: kb.ToolResult, new_result: kb.ToolResult) -> bool:
    """Return whether two results state the same about a query."""
    before, after = parse_result(recorded.text), parse_result(new_result.text)
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def why_different(recorded: kb.ToolResult, new_result: kb.ToolResult) -> str | None:
    """Return the reason why results of different engines differ, or ``None`` if it is unknown.

    ``time``: the recorded query timed out. ``engine``: only one of the engines executes the query.
    """
    before, after = parse_result(recorded.text), parse_result(new_result.text)
    if before is None and _TIME.search(recorded.text):
        return "time"
    return "engine" if (before is None) != (after is None) else None


EXTRACTION: Final = f"{BASE}extraction/grasp/1"
"""The IRI of GRASP's extraction step: the last answer or attempt, with prefixes."""


class Transcript(NamedTuple):
    """The turns of a dialogue, its end time, and the messages to the model after the last turn."""

    turns: tuple[kb.Turn, ...]
    ended: datetime
    closing: str


@dataclass(slots=True)
class _Use:
    call: kb.ToolCall
    result: str | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Step:
    """A message of the model, and the messages it received since its previous one."""

    received: Sequence[str]
    text: str
    uses: list[_Use]
    reasoning: str | None = None
    usage: kb.Usage = field(default_factory=kb.Usage)
    seconds: float | None = None


def transcript(  # noqa: PLR0917 - the parts of one record
    messages: kb.Json,
    final: str,
    question: str,
    begun: datetime,
    elapsed: kb.Json,
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
        reply = kb.Reply(final, model=model)
        return Transcript((kb.Turn(prompt, (kb.Call(begun, ended, reply),)),), ended, "")
    share = seconds / len(steps)
    turns: list[kb.Turn] = []
    clock = begun
    for step in steps:
        prompt, feedback = _prompt(step, turns, question)
        ended = clock + timedelta(seconds=share if step.seconds is None else step.seconds)
        text = wording.with_calls(step.text, [use.call for use in step.uses])
        last = step is steps[-1]
        reply = kb.Reply(
            text,
            usage=step.usage,
            model=model,
            reasoning=step.reasoning,
            extracted=final if last and final != text else None,
            extraction=EXTRACTION if last and final != text else None,
        )
        call = kb.Call(clock, ended, reply)
        clock, uses = _executed(step.uses, ended)
        turns.append(kb.Turn(prompt, (call,), feedback, uses))
    return Transcript(tuple(turns), clock, "\n\n".join(closing))


def _prompt(step: _Step, earlier_turns: Sequence[kb.Turn], question: str) -> tuple[str, str | None]:
    note = "\n\n".join(step.received)
    if not earlier_turns:
        return note or question, None
    uses = earlier_turns[-1].uses
    return wording.results_prompt(uses, note) if uses else note, TOOL_RESULTS


def _executed(uses: Sequence[_Use], begun: datetime) -> tuple[datetime, tuple[ToolUse, ...]]:
    """Return the end time and the tool calls of one message, executed one after the other."""
    executed = []
    for use in uses:
        text = NOT_PUBLISHED if use.result is None else use.result
        result = kb.ToolResult(text, outcome(text))
        if use.call.malformed is not None:
            result = kb.ToolResult(text, ToolOutcome.ERROR, Fault.MALFORMED)
        ended = begun + timedelta(seconds=use.seconds or 0.0)
        executed.append(ToolUse(use.call, result, begun, ended))
        begun = ended
    return begun, tuple(executed)


def _steps(messages: kb.Json, where: str) -> tuple[list[_Step], list[str]]:
    """Split messages into the steps of the model and the messages after the last step."""
    if not isinstance(messages, list):
        raise kb.ImportRefused(f"{where}: messages are not a list")
    steps: list[_Step] = []
    received: list[str] = []
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise kb.ImportRefused(
                f"{where}: message {index} (from 0) is not an object with a role"
            )
        role = message["role"]
        if role == "assistant":
            steps.append(_step(message, received))
            received = []
        elif (use := _answered_call(steps, message)) is not None:
            use.result = _text(message.get("content"))
        else:
            received.append(_text(message.get("content")))
    return steps, received


def _answered_call(steps: Sequence[_Step], message: Mapping[str, kb.Json]) -> _Use | None:
    """Return the call that a ``tool`` message answers: by id, else the first open one."""
    if message["role"] != "tool" or not steps:
        return None
    open_ = [use for use in steps[-1].uses if use.result is None]
    call_id = message.get("tool_call_id")
    candidates = (use for use in open_ if call_id is None or use.call.id == call_id)
    return next(candidates, None)


def _step(message: Mapping[str, kb.Json], received: Sequence[str]) -> _Step:
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


def _use(call: kb.Json) -> _Use:
    """Read a call in either form; a malformed one is kept as written."""
    if not isinstance(call, Mapping):
        return _Use(kb.ToolCall("", json.dumps(call), malformed="the call is no object"))
    function = call.get("function")
    function = function if isinstance(function, Mapping) else call
    name, value = function.get("name"), function.get("arguments", function.get("args", {}))
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    malformed = None
    if not isinstance(name, str):
        name, malformed = "", "the call names no tool"
    else:
        try:
            wording.read_arguments(written)
        except ValueError as error:
            malformed = str(error)
    id_, result = call.get("id"), call.get("result")
    return _Use(
        kb.ToolCall(name, written, id_ if isinstance(id_, str) else None, malformed),
        None if result is None else _text(result),
        _seconds(call.get("elapsed")),
    )


def _text(content: kb.Json) -> str:
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


def _usage(usage: kb.Json) -> kb.Usage:
    if not isinstance(usage, Mapping):
        return kb.Usage()

    def count(*names: str) -> int | None:
        values = (usage.get(name) for name in names)
        return next((n for n in values if isinstance(n, int) and not isinstance(n, bool)), None)

    return kb.Usage(
        count("input_tokens", "prompt_tokens"), count("output_tokens", "completion_tokens")
    )


def _seconds(value: kb.Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return max(float(value), 0.0)


def _list(value: kb.Json) -> list[kb.Json]:
    return value if isinstance(value, list) else []
