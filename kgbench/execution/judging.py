# SPDX-License-Identifier: Apache-2.0
"""Judging answers, and using tools, in child processes that are ended when they exceed a limit.

:func:`judge_batch` is what an executor is handed, in a thread, in another process or on another
machine. Each thread that calls it owns one child, which stays for the next batch.

An answer that exceeds a limit gets the outcome ``timeout`` and ``limit`` among its infos: ``time``,
``memory``, or ``stack`` (nested too deeply for the engine). Where that happened inside a query, the
answer is judged once more as if the query had no rows, so it has scores nevertheless. A child
that ends for another reason is started again and the answer tried once more; then it is an
``evaluator-error``, as is every exception of a judge. For a tool call it is the same: a query that
exceeds a limit gives an error that says so, and so does whatever else ends a tool.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import NamedTuple, TypeAlias

from kgbench.execution import frames
from kgbench.execution.process import Ended, Expired, Process, Setup
from kgbench.execution.watched import REASONS
from kgbench.model import Case, Json, Outcome, Verdict
from kgbench.policies.policy import policies
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolCall, ToolOutcome, ToolResult

_AHEAD = 1 << 18  # bytes of requests that may wait for the pipe
_MOST_CASES = 512  # that a child remembers
_MOST_EXPIRED = 4  # queries of one answer that may hit a limit


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """The last of ``answers`` to ``case`` is to be judged; the earlier ones are its context.

    ``prompts`` are what was said before each answer, where tools spoke in some of them.
    """

    case: Case
    answers: tuple[str, ...]
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UseRequest:
    """A tool that ``case`` offers is to be used as ``call`` says, with the arguments as read."""

    case: Case
    call: ToolCall
    arguments: Mapping[str, Json]


class Used(NamedTuple):
    """What a tool gave, and how many seconds it took in its process."""

    result: ToolResult
    seconds: float


Asked: TypeAlias = "JudgeRequest | UseRequest"


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """How long one answer may take, how much memory the child may use, with which engine.

    Where ``policy`` names a comparison policy, it judges queries by their results instead of the
    rule of their task class.

    ``memory_bytes`` is the address space of the whole child, of which about 150 MB are used from
    the start. ``graphs`` are installed graphs that a case may name, as pairs of name and path.
    """

    seconds: float = 30.0
    memory_bytes: int = 2 << 30
    engine: str = "oxigraph"
    graphs: tuple[tuple[str, str], ...] = ()
    policy: str | None = None


def judge_batch(batch: Sequence[JudgeRequest], limits: JudgeLimits) -> list[Verdict]:
    """One verdict for each request, in order.

    Raises :class:`~kgbench.errors.EvaluationError` only where no child can be started.
    """
    return [one for one in answer_batch(batch, limits) if isinstance(one, Verdict)]


def answer_batch(batch: Sequence[Asked], limits: JudgeLimits) -> list[Verdict | Used]:
    """One verdict or result of a tool for each request, in order; raises as :func:`judge_batch`."""
    conversation = _Conversation(batch, limits)
    try:
        return conversation.run()
    except BaseException:
        end_child()
        raise


def ready(limits: JudgeLimits) -> None:
    """Start the child of the calling thread, where it has none that fits; returns when it waits.

    Raises :class:`~kgbench.errors.EvaluationError` where it cannot be started.
    """
    _process(limits)


def end_child() -> None:
    """End the child that the calling thread owns, if any."""
    process: Process | None = getattr(_own, "process", None)
    if process is not None:
        process.kill()
        _own.process = None


class _Own(threading.local):
    """The child of the current thread and the cases that it knows."""

    process: Process | None = None
    cases: dict[tuple[str, str], tuple[int, Case]]


_own = _Own()


@dataclass(slots=True)
class _Trial:
    """What has been tried with one request: queries that hit a limit, and unexplained ends."""

    expired: dict[str, str] = field(default_factory=dict)
    ends: int = 0


class _Conversation:
    """A batch on its way through a child: requests run ahead, answers come back in order."""

    def __init__(self, batch: Sequence[Asked], limits: JudgeLimits) -> None:
        self._batch = batch
        self._limits = limits
        self._loads = _loads(batch, limits)
        self._verdicts: list[Verdict | Used] = []
        self._sent = 0
        self._trial = _Trial()

    def run(self) -> list[Verdict | Used]:
        process: Process | None = None
        while len(self._verdicts) < len(self._batch):
            if process is None or not process.running:
                process = _process(self._limits, self._loads)
            try:
                self._send_ahead(process)
                answer = process.receive(time.monotonic() + self._limits.seconds)
            except Expired:
                self._hit(process, "time")
            except Ended as ended:
                if ended.limit is None:
                    self._retry(process, str(ended))
                else:
                    self._hit(process, ended.limit)
            else:
                self._done(self._verdict(answer))
        return self._verdicts

    def _send_ahead(self, process: Process) -> None:
        while self._sent < len(self._batch) and process.waiting < _AHEAD:
            request = self._batch[self._sent]
            first = self._sent == len(self._verdicts)
            expired = self._trial.expired if first else {}
            process.send({"expired": expired, **_words(request), **_reference(request.case)})
            self._sent += 1

    def _done(self, verdict: Verdict | Used) -> None:
        self._verdicts.append(verdict)
        self._trial = _Trial()

    def _again(self, process: Process) -> None:
        """Send the first request that has no verdict, and those behind it, to a new child."""
        process.kill()
        self._sent = len(self._verdicts)

    def _hit(self, process: Process, limit: str) -> None:
        query = process.query
        expired = self._trial.expired
        self._again(process)
        if query is not None and query not in expired and len(expired) < _MOST_EXPIRED:
            expired[query] = limit
        else:
            infos = {"limit": limit, "message": f"the evaluation was ended: {REASONS[limit]}"}
            self._skip(infos, Outcome.TIMEOUT)

    def _retry(self, process: Process, message: str) -> None:
        self._again(process)
        self._trial.ends += 1
        if self._trial.ends > 1:
            self._skip({"message": message}, Outcome.EVALUATOR_ERROR)

    def _skip(self, infos: dict[str, Json], outcome: Outcome) -> None:
        self._done(self._failed(infos, outcome))
        self._sent = len(self._verdicts)

    def _failed(self, infos: dict[str, Json], outcome: Outcome) -> Verdict | Used:
        if isinstance(self._batch[len(self._verdicts)], JudgeRequest):
            return Verdict({}, infos, outcome)
        return Used(ToolResult(f"the tool failed: {infos['message']}", ToolOutcome.ERROR), 0.0)

    def _verdict(self, answer: Json) -> Verdict | Used:
        if "error" in answer:
            return self._failed({"message": answer["error"]}, Outcome.EVALUATOR_ERROR)
        if "result" in answer:
            return Used(frames.result_from_json(answer["result"]), answer["seconds"])
        verdict = frames.verdict_from_json(answer["verdict"])
        if not self._trial.expired:
            return verdict
        limit = next(iter(self._trial.expired.values()))
        return replace(verdict, outcome=Outcome.TIMEOUT, infos={**verdict.infos, "limit": limit})


def _words(request: Asked) -> dict[str, Json]:
    """What a request is about, apart from its case."""
    if isinstance(request, UseRequest):
        return {"use": request.call.name, "arguments": dict(request.arguments)}
    if not request.prompts:
        return {"answers": request.answers}
    return {"answers": request.answers, "prompts": request.prompts}


def _loads(batch: Sequence[Asked], limits: JudgeLimits) -> frozenset[str]:
    """What judging ``batch`` needs that most children do not load.

    A task class says it with ``LOADS``, names of :data:`kgbench.execution.warming.LOADERS`.
    """
    if limits.policy is not None:
        matches = policies()[limits.policy].columns == "within-row"
        return frozenset({"row matching"} if matches else ())
    names = {request.case.task_class for request in batch} & catalogue.task_classes().keys()
    return frozenset(one for name in names for one in getattr(catalogue.module(name), "LOADS", ()))


def _process(limits: JudgeLimits, loads: frozenset[str] = frozenset()) -> Process:
    """The child of this thread, started if there is none that fits ``limits``."""
    process = _own.process
    if process is not None and process.alive:
        known = process.setup
        wanted = (limits.engine, limits.memory_bytes, limits.graphs, limits.policy)
        fits = (known.engine, known.memory_bytes, known.graphs, known.policy) == wanted
        if fits and known.loads >= loads:
            return process
    if process is not None:
        process.kill()
    _own.process = None
    classes = tuple(sorted({point.name for point in entry_points(group="kgbench.tasks")}))
    _own.process = process = Process(
        Setup(limits.engine, limits.memory_bytes, classes, limits.graphs, limits.policy, loads)
    )
    _own.cases = {}
    return process


def _reference(case: Case) -> dict[str, Json]:
    """How a request names its case: by number, with the case itself where the child lacks it."""
    message: dict[str, Json] = {}
    key = (case.iri, case.digest)
    number, known = _own.cases.get(key, (-1, None))
    if known is None or not (known is case or known == case):
        if len(_own.cases) >= _MOST_CASES:
            _own.cases.clear()
            message["forget"] = True
        number = len(_own.cases) if known is None else number
        _own.cases[key] = (number, case)
        message["case"] = frames.case_to_json(case)
    return message | {"number": number}
