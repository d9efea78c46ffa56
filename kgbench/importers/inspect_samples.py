# SPDX-License-Identifier: Apache-2.0
"""What a sample of Inspect AI says of a dialogue of kgbench: read and written here, and only here.

The metadata of a sample name the case under :data:`CASE` and hold the turns under :data:`TURNS`;
those of its score hold the verdicts under :data:`VERDICTS`. Where tools were offered, the metadata
say how under :data:`PROTOCOL`. A case is named, not copied: it is made
again from suite, seed and index, and has to have the same digest. So a log holds nothing of a case
that its prompts do not show.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache

from kgbench.errors import ImportRefused, TaskError
from kgbench.execution import frames
from kgbench.importers.metrics import out_of_reach
from kgbench.model import Call, Case, Json, Metric, Outcome, Reply, Task, Turn, Usage, Verdict
from kgbench.tasks import catalogue
from kgbench.tool_calls import (
    TOOL_RESULTS,
    Fault,
    ToolCall,
    ToolOutcome,
    ToolResult,
    ToolServer,
    ToolUse,
)

CASE, TURNS, VERDICTS = "kgbench", "kgbench_turns", "kgbench_verdicts"
PROTOCOL = "kgbench_tool_protocol"
MOST_CASES = 1_000_000  # of a task, so that a hostile index makes no endless work
_REMEMBERED = 64
# As shapes of results have it.
_FEEDBACK = ("syntax", "content", "format", "empty-result", TOOL_RESULTS)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SUITE = re.compile(r"[A-Za-z0-9._-]+")  # as the option --suite has it

#: How Inspect says that an answer is not what was asked for.
STOPPED = {
    "content_filter": Outcome.REFUSED,
    "max_tokens": Outcome.TRUNCATED,
    "model_length": Outcome.TRUNCATED,
}

#: How Inspect says that a tool gave nothing.
_ERRORS = {
    ToolOutcome.REFUSED: "permission",
    ToolOutcome.OVER_BUDGET: "limit",
    ToolOutcome.ERROR: "unknown",
}


def error_type(result: ToolResult) -> str | None:
    """The type of error that Inspect has for a result; ``None`` where it is none."""
    kind = _ERRORS.get(result.outcome)
    return "parsing" if kind == "unknown" and result.fault is not None else kind


@dataclass(frozen=True, slots=True)
class About:
    """Which case a sample is about: number ``index`` (from 0) of a task in a suite, by a seed.

    ``version`` is that of the task class; ``digest`` tells whether it is still the same case.
    """

    label: str
    version: str
    suite: str
    seed: int
    index: int
    digest: str

    @classmethod
    def of(cls, task: Task, suite: str, seed: int, index: int) -> About:
        """Number ``index`` of a task's cases."""
        found = _cases(task.label, suite, seed, index + 1)[index]
        return cls(task.label, task.version, suite, seed, index, found.digest)

    def as_json(self) -> dict[str, Json]:
        """As JSON; :meth:`read` reverses it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def read(cls, value: Json, source: str) -> About:
        """What the metadata of a sample say; :class:`ImportRefused` where it is no such thing."""
        wanted = {name: int if name in ("seed", "index") else str for name in cls.__slots__}
        if not isinstance(value, dict) or value.keys() != wanted.keys():
            raise ImportRefused(f"{source}: metadata.{CASE} does not name a case of kgbench")
        for name, kind in wanted.items():
            if not isinstance(value[name], kind) or isinstance(value[name], bool):
                raise ImportRefused(f"{source}: metadata.{CASE}.{name} is no {kind.__name__}")
        if not 0 <= value["index"] < MOST_CASES:
            raise ImportRefused(f"{source}: metadata.{CASE}.index is out of range")
        if _SUITE.fullmatch(value["suite"]) is None:
            raise ImportRefused(f"{source}: metadata.{CASE}.suite is no name of a suite")
        return cls(**value)

    def task(self, source: str) -> Task:
        """The task; :class:`ImportRefused` where this kgbench has none of the label and version."""
        found = catalogue.labelled_tasks().get(self.label)
        if found is None:
            raise ImportRefused(f"{source}: there is no task '{self.label}' here")
        if found.version != self.version:
            raise ImportRefused(
                f"{source}: {self.label} was judged by version {self.version} of its task class, "
                f"here is {found.version}: import with the kgbench that was used"
            )
        return found

    def case(self, source: str) -> Case:
        """The case; :class:`ImportRefused` where it cannot be made again as it was."""
        self.task(source)
        try:
            found = _cases(self.label, self.suite, self.seed, self.index + 1)
        except TaskError as error:
            raise ImportRefused(f"{source}: {error}") from error
        if self.index >= len(found) or found[self.index].digest != self.digest:
            raise ImportRefused(
                f"{source}: case {self.index} of {self.label} is another one here: "
                "import with the kgbench, and the installed data, that were used"
            )
        return found[self.index]


@lru_cache(_REMEMBERED)
def _cases(label: str, suite: str, seed: int, count: int) -> Sequence[Case]:
    task = catalogue.labelled_tasks()[label]
    return catalogue.module(task.task_class).cases(task, suite, seed, count)


def case_count(task: Task, suite: str, seed: int, most: int) -> int:
    """How many different cases a task has, at most ``most``."""
    return len(_cases(task.label, suite, seed, most))


# --- turns ------------------------------------------------------------------------------------


def turn_as_json(turn: Turn) -> dict[str, Json]:
    """A turn with one answered call; :func:`read_turn` reverses it."""
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


def _use_as_json(use: ToolUse) -> dict[str, Json]:
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


def read_turn(value: Json, source: str) -> Turn:
    """A turn of a sample; :class:`ImportRefused` where something in it is not as it should be."""
    if not isinstance(value, dict):
        raise ImportRefused(f"{source} is no object")
    started, ended = (moment(value.get(name), f"{source}.{name}") for name in ("started", "ended"))
    if ended < started:
        raise ImportRefused(f"{source} ends before it begins")
    stop = _text(value, "stop", source)
    counts = value.get("usage")
    if not isinstance(counts, list) or len(counts) != len(Usage.__slots__):
        raise ImportRefused(f"{source}.usage is no list of token counts")
    if not all(n is None or (type(n) is int and n >= 0) for n in counts):
        raise ImportRefused(f"{source}.usage has something else than counts")
    reply = Reply(
        text=_needed(value, "answer", source),
        usage=Usage(*counts),
        model=_text(value, "model", source),
        finish_reason=stop,
        request_id=_text(value, "request", source),
        reasoning=_text(value, "reasoning", source),
        outcome=STOPPED.get(stop or ""),
    )
    feedback = _text(value, "feedback", source)
    if feedback is not None and feedback not in _FEEDBACK:
        raise ImportRefused(f"{source}.feedback is none of {', '.join(_FEEDBACK)}")
    tools = value.get("tools", [])
    if not isinstance(tools, list):
        raise ImportRefused(f"{source}.tools is no list")
    uses = tuple(_read_use(one, f"{source}.tools[{k}]") for k, one in enumerate(tools))
    return Turn(_needed(value, "prompt", source), (Call(started, ended, reply),), feedback, uses)


def _read_use(value: Json, source: str) -> ToolUse:
    if not isinstance(value, dict):
        raise ImportRefused(f"{source} is no object")
    started, ended = (moment(value.get(name), f"{source}.{name}") for name in ("started", "ended"))
    if ended < started:
        raise ImportRefused(f"{source} ends before it begins")
    fault = _text(value, "fault", source)
    try:
        result = ToolResult(
            _needed(value, "result", source),
            ToolOutcome(_needed(value, "outcome", source)),
            None if fault is None else Fault(fault),
        )
    except ValueError:
        raise ImportRefused(f"{source} has an outcome or a fault that no tool call has") from None
    call = ToolCall(
        _needed(value, "tool", source),
        _needed(value, "arguments", source),
        _text(value, "id", source),
        _text(value, "malformed", source),
    )
    server = None if value.get("server") is None else _read_server(value["server"], source)
    return ToolUse(call, result, started, ended, server)


def _read_server(value: Json, source: str) -> ToolServer:
    if not isinstance(value, dict) or value.keys() != set(ToolServer.__slots__):
        raise ImportRefused(f"{source}.server is no server of tools")
    found = ToolServer(**{name: _needed(value, name, f"{source}.server") for name in value})
    if _DIGEST.fullmatch(found.digest) is None:
        raise ImportRefused(f"{source}.server.digest is no SHA-256")
    return found


def read_protocol(metadata: Mapping[str, Json], source: str) -> str | None:
    """How tools were offered, where there were any; :class:`ImportRefused` for anything else."""
    found = _text(metadata, PROTOCOL, source)
    if found not in (None, "native", "text"):
        raise ImportRefused(f"{source}.{PROTOCOL} is neither native nor text")
    return found


def moment(value: Json, source: str) -> datetime:
    """A time with its zone; :class:`ImportRefused` for anything else."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ImportRefused(f"{source} is no ISO 8601 time: {str(value)[:40]!r}") from None
    if found.tzinfo is None:
        raise ImportRefused(f"{source} has no time zone")
    return found


def _text(value: Mapping[str, Json], name: str, source: str) -> str | None:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise ImportRefused(f"{source}.{name} is no text")
    return found


def _needed(value: Mapping[str, Json], name: str, source: str) -> str:
    found = _text(value, name, source)
    if found is None:
        raise ImportRefused(f"{source}.{name} is missing")
    return found


# --- scores -----------------------------------------------------------------------------------


def read_verdict(value: Json, declared: Mapping[str, Metric], source: str) -> Verdict:
    """A verdict of a sample's score, with declared names and numbers within their ranges only."""
    try:
        found = frames.verdict_from_json(value)
    except (TypeError, ValueError, KeyError):
        raise ImportRefused(f"{source} is no verdict") from None
    if not isinstance(found.scores, dict) or not isinstance(found.infos, dict):
        raise ImportRefused(f"{source} is no verdict")
    return replace(found, scores=read_scores(found.scores, declared, source))


def read_scores(value: Json, declared: Mapping[str, Metric], source: str) -> dict[str, float]:
    """Scores by short name. Inspect's "not scored" (``NaN``) has none; nulls are left out."""
    if isinstance(value, float) and math.isnan(value):
        return {}
    if not isinstance(value, dict):
        raise ImportRefused(f"{source} is no table of scores")
    scores = {name: number for name, number in value.items() if number is not None}
    for name, number in scores.items():
        if name not in declared:
            shown = name[:40].encode("unicode_escape").decode("ascii")
            raise ImportRefused(f"{source}: there is no score '{shown}' in this task class")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ImportRefused(f"{source}.{name} is no number")
        if not abs(number) <= sys.float_info.max:  # larger, infinite, or not a number
            raise ImportRefused(f"{source}.{name} is not finite")
        wrong = out_of_reach(declared[name], number)
        if wrong is not None:
            raise ImportRefused(f"{source}.{name} {wrong}")
    return {name: float(number) for name, number in scores.items()}
