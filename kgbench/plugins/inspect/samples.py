# SPDX-License-Identifier: Apache-2.0
"""The format of kgbench's data in samples of Inspect AI: reading and writing.

The metadata of a sample name the case under :data:`CASE`, have the turns under :data:`TURNS` and,
if tools were offered, the tool protocol under :data:`PROTOCOL`. The metadata of its score have the
verdicts under :data:`VERDICTS`. The case is not copied: it is generated again from suite, seed and
index, and must have the same digest. So a log reveals nothing of a case but its prompts.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache

import kgbench.api as kb
from kgbench.execution import frames
from kgbench.importers.metrics import range_error
from kgbench.model import Metric
from kgbench.tasks import catalogue
from kgbench.tool_calls import TOOL_RESULTS, Fault, ToolOutcome, ToolServer, ToolUse

CASE, TURNS, VERDICTS = "kgbench", "kgbench_turns", "kgbench_verdicts"
PROTOCOL = "kgbench_tool_protocol"
MOST_CASES = 1_000_000  # of a task: limits the work that a hostile index can cause
_CACHED_TASKS = 64
# The kinds of feedback that the result shapes allow.
_FEEDBACK = ("syntax", "content", "format", "empty-result", TOOL_RESULTS)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SUITE = re.compile(r"[A-Za-z0-9._-]+")  # the same pattern as for the option --suite

#: Outcomes of Inspect's stop reasons.
STOP_OUTCOMES = {
    "content_filter": kb.Outcome.REFUSED,
    "max_tokens": kb.Outcome.TRUNCATED,
    "model_length": kb.Outcome.TRUNCATED,
}

#: Inspect's error types for outcomes of tool calls.
_ERRORS = {
    ToolOutcome.REFUSED: "permission",
    ToolOutcome.OVER_BUDGET: "limit",
    ToolOutcome.ERROR: "unknown",
}


def error_type(result: kb.ToolResult) -> str | None:
    """Return Inspect's error type for a tool result, or ``None`` if it is not an error."""
    kind = _ERRORS.get(result.outcome)
    return "parsing" if kind == "unknown" and result.fault is not None else kind


@dataclass(frozen=True, slots=True)
class CaseIdentity:
    """The identity of a sample's case: number ``index`` (from 0) of a task, with suite and seed.

    ``version`` is that of the task class. ``digest`` is the digest of the case, which must still be
    the same when it is generated again.
    """

    label: str
    version: str
    suite: str
    seed: int
    index: int
    digest: str

    @classmethod
    def of(cls, task: kb.Task, suite: str, seed: int, index: int) -> CaseIdentity:
        """Identify case number ``index`` of a task."""
        case = _cases(task.label, suite, seed, index + 1)[index]
        return cls(task.label, task.version, suite, seed, index, case.digest)

    def as_json(self) -> dict[str, kb.Json]:
        """Return the identity as JSON-shaped data, which :meth:`read` reads."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def read(cls, value: kb.Json, source: str) -> CaseIdentity:
        """Read the identity from metadata. Raises :class:`ImportRefused` if it is malformed."""
        types = {name: int if name in ("seed", "index") else str for name in cls.__slots__}
        if not isinstance(value, dict) or value.keys() != types.keys():
            raise kb.ImportRefused(f"{source}: metadata.{CASE} does not name a case of kgbench")
        for name, kind in types.items():
            if not isinstance(value[name], kind) or isinstance(value[name], bool):
                raise kb.ImportRefused(
                    f"{source}: metadata.{CASE}.{name} is not of type {kind.__name__}"
                )
        if not 0 <= value["index"] < MOST_CASES:
            raise kb.ImportRefused(f"{source}: metadata.{CASE}.index is out of range")
        if _SUITE.fullmatch(value["suite"]) is None:
            raise kb.ImportRefused(f"{source}: metadata.{CASE}.suite is not the name of a suite")
        return cls(**value)

    def task(self, source: str) -> kb.Task:
        """Return the task. Raises :class:`ImportRefused` if label or version are unknown here."""
        task = catalogue.labelled_tasks().get(self.label)
        if task is None:
            raise kb.ImportRefused(f"{source}: this kgbench has no task '{self.label}'")
        if task.version != self.version:
            raise kb.ImportRefused(
                f"{source}: {self.label} was judged by version {self.version} of its task class, "
                f"this kgbench has {task.version}: import with the kgbench that was used"
            )
        return task

    def case(self, source: str) -> kb.Case:
        """Generate the case again. Raises :class:`ImportRefused` if it is not the same."""
        self.task(source)
        try:
            cases = _cases(self.label, self.suite, self.seed, self.index + 1)
        except kb.TaskError as error:
            raise kb.ImportRefused(f"{source}: {error}") from error
        if self.index >= len(cases) or cases[self.index].digest != self.digest:
            raise kb.ImportRefused(
                f"{source}: case {self.index} of {self.label} is another one here: "
                "import with the kgbench, and the installed data, that were used"
            )
        return cases[self.index]


@lru_cache(_CACHED_TASKS)
def _cases(label: str, suite: str, seed: int, count: int) -> Sequence[kb.Case]:
    task = catalogue.labelled_tasks()[label]
    return catalogue.module(task.task_class).cases(task, suite, seed, count)


def case_count(task: kb.Task, suite: str, seed: int, limit: int) -> int:
    """Count the different cases of a task, up to ``limit``."""
    return len(_cases(task.label, suite, seed, limit))


# --- turns ------------------------------------------------------------------------------------


def turn_as_json(turn: kb.Turn) -> dict[str, kb.Json]:
    """Return a turn with one answered call as JSON, which :func:`read_turn` reads."""
    call = turn.calls[-1]
    reply = call.reply
    assert reply is not None
    usage = reply.usage
    return {
        "prompt": turn.prompt,
        "feedback": turn.feedback,
        "answer": reply.text,
        "reasoning": reply.reasoning,
        "started": call.started.isoformat(),
        "ended": call.ended.isoformat(),
        "model": reply.model,
        "stop": reply.finish_reason,
        "request": reply.request_id,
        "usage": [usage.input, usage.output, usage.cached, usage.reasoning],
        **({"tools": [_use_as_json(use) for use in turn.uses]} if turn.uses else {}),
    }


def _use_as_json(use: ToolUse) -> dict[str, kb.Json]:
    call, result = use.call, use.result
    return {
        "tool": call.name,
        "arguments": call.arguments,
        "id": call.id,
        "malformed": call.malformed,
        "result": result.text,
        "outcome": str(result.outcome),
        "fault": None if result.fault is None else str(result.fault),
        "started": use.started.isoformat(),
        "ended": use.ended.isoformat(),
        **({} if use.server is None else {"server": asdict(use.server)}),
    }


def read_turn(value: kb.Json, source: str) -> kb.Turn:
    """Read a turn of a sample. Raises :class:`ImportRefused` if it is malformed."""
    if not isinstance(value, dict):
        raise kb.ImportRefused(f"{source} is not an object")
    started, ended = (moment(value.get(name), f"{source}.{name}") for name in ("started", "ended"))
    if ended < started:
        raise kb.ImportRefused(f"{source} ends before it begins")
    stop = _text(value, "stop", source)
    counts = value.get("usage")
    if not isinstance(counts, list) or len(counts) != len(kb.Usage.__slots__):
        raise kb.ImportRefused(f"{source}.usage is not a list of token counts")
    if not all(n is None or (type(n) is int and n >= 0) for n in counts):
        raise kb.ImportRefused(f"{source}.usage contains something other than counts")
    reply = kb.Reply(
        text=_required_text(value, "answer", source),
        usage=kb.Usage(*counts),
        model=_text(value, "model", source),
        finish_reason=stop,
        request_id=_text(value, "request", source),
        reasoning=_text(value, "reasoning", source),
        outcome=STOP_OUTCOMES.get(stop or ""),
    )
    feedback = _text(value, "feedback", source)
    if feedback is not None and feedback not in _FEEDBACK:
        raise kb.ImportRefused(f"{source}.feedback is none of {', '.join(_FEEDBACK)}")
    tools = value.get("tools", [])
    if not isinstance(tools, list):
        raise kb.ImportRefused(f"{source}.tools is not a list")
    uses = tuple(_read_use(use, f"{source}.tools[{k}]") for k, use in enumerate(tools))
    return kb.Turn(
        _required_text(value, "prompt", source), (kb.Call(started, ended, reply),), feedback, uses
    )


def _read_use(value: kb.Json, source: str) -> ToolUse:
    if not isinstance(value, dict):
        raise kb.ImportRefused(f"{source} is not an object")
    started, ended = (moment(value.get(name), f"{source}.{name}") for name in ("started", "ended"))
    if ended < started:
        raise kb.ImportRefused(f"{source} ends before it begins")
    fault = _text(value, "fault", source)
    try:
        result = kb.ToolResult(
            _required_text(value, "result", source),
            ToolOutcome(_required_text(value, "outcome", source)),
            None if fault is None else Fault(fault),
        )
    except ValueError:
        raise kb.ImportRefused(f"{source} has an unknown outcome or fault") from None
    call = kb.ToolCall(
        _required_text(value, "tool", source),
        _required_text(value, "arguments", source),
        _text(value, "id", source),
        _text(value, "malformed", source),
    )
    server = None if value.get("server") is None else _read_server(value["server"], source)
    return ToolUse(call, result, started, ended, server)


def _read_server(value: kb.Json, source: str) -> ToolServer:
    if not isinstance(value, dict) or value.keys() != set(ToolServer.__slots__):
        raise kb.ImportRefused(f"{source}.server is not a tool server")
    server = ToolServer(**{name: _required_text(value, name, f"{source}.server") for name in value})
    if _DIGEST.fullmatch(server.digest) is None:
        raise kb.ImportRefused(f"{source}.server.digest is not a SHA-256")
    return server


def read_protocol(metadata: Mapping[str, kb.Json], source: str) -> str | None:
    """Read the tool protocol (``native``, ``text``, or ``None`` without tools).

    Raises :class:`ImportRefused` for any other value.
    """
    protocol = _text(metadata, PROTOCOL, source)
    if protocol not in (None, "native", "text"):
        raise kb.ImportRefused(f"{source}.{PROTOCOL} is neither native nor text")
    return protocol


def moment(value: kb.Json, source: str) -> datetime:
    """Read a time with a time zone. Raises :class:`ImportRefused` for anything else."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise kb.ImportRefused(f"{source} is not an ISO 8601 time: {str(value)[:40]!r}") from None
    if time.tzinfo is None:
        raise kb.ImportRefused(f"{source} has no time zone")
    return time


def _text(value: Mapping[str, kb.Json], name: str, source: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise kb.ImportRefused(f"{source}.{name} is not a string")
    return text


def _required_text(value: Mapping[str, kb.Json], name: str, source: str) -> str:
    text = _text(value, name, source)
    if text is None:
        raise kb.ImportRefused(f"{source}.{name} is missing")
    return text


# --- scores -----------------------------------------------------------------------------------


def read_verdict(value: kb.Json, declared: Mapping[str, Metric], source: str) -> kb.Verdict:
    """Read a verdict of a sample's score.

    Raises :class:`ImportRefused` for undeclared metrics and for values out of their range.
    """
    try:
        verdict = frames.verdict_from_json(value)
    except (TypeError, ValueError, KeyError):
        raise kb.ImportRefused(f"{source} is not a verdict") from None
    if not isinstance(verdict.scores, dict) or not isinstance(verdict.infos, dict):
        raise kb.ImportRefused(f"{source} is not a verdict")
    return replace(verdict, scores=read_scores(verdict.scores, declared, source))


def read_scores(value: kb.Json, declared: Mapping[str, Metric], source: str) -> dict[str, float]:
    """Read scores by short name. ``NaN`` (not scored) gives none; nulls are left out.

    Raises :class:`ImportRefused` for undeclared metrics and for values out of their range.
    """
    if isinstance(value, float) and math.isnan(value):
        return {}
    if not isinstance(value, dict):
        raise kb.ImportRefused(f"{source} is not an object with scores")
    scores = {name: number for name, number in value.items() if number is not None}
    for name, number in scores.items():
        if name not in declared:
            printable = name[:40].encode("unicode_escape").decode("ascii")
            raise kb.ImportRefused(f"{source}: this task class has no score '{printable}'")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise kb.ImportRefused(f"{source}.{name} is not a number")
        if not abs(number) <= sys.float_info.max:  # larger, infinite, or not a number
            raise kb.ImportRefused(f"{source}.{name} is not finite")
        error = range_error(declared[name], number)
        if error is not None:
            raise kb.ImportRefused(f"{source}.{name} {error}")
    return {name: float(number) for name, number in scores.items()}
