# SPDX-License-Identifier: Apache-2.0
"""Judging answers of models in child processes that are ended when they exceed a limit.

:func:`judge_batch` is what an executor is handed, in a thread, in another process or on another
machine. Each thread that calls it owns one child, which stays for the next batch.

An answer that exceeds a limit gets the outcome ``timeout`` and ``limit`` among its infos: ``time``,
``memory``, or ``stack`` (nested too deeply for the engine). Where that happened inside a query, the
answer is judged once more as if the query had no rows, so it has scores nevertheless. A child
that ends for another reason is started again and the answer tried once more; then it is an
``evaluator-error``, as is every exception of a judge.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

from kgbench.execution import frames
from kgbench.execution.process import Ended, Expired, Process, Setup
from kgbench.execution.watched import REASONS
from kgbench.model import Case, Json, Outcome, Verdict

_AHEAD = 1 << 18  # bytes of requests that may wait for the pipe
_MOST_CASES = 512  # that a child remembers
_MOST_EXPIRED = 4  # queries of one answer that may hit a limit


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """The last of ``answers`` to ``case`` is to be judged; the earlier ones are its context."""

    case: Case
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """How long one answer may take, how much memory the child may use, with which engine.

    ``memory_bytes`` is the address space of the whole child, of which about 150 MB are used from
    the start. ``graphs`` are installed graphs that a case may name, as pairs of name and path.
    """

    seconds: float = 30.0
    memory_bytes: int = 2 << 30
    engine: str = "oxigraph"
    graphs: tuple[tuple[str, str], ...] = ()


def judge_batch(batch: Sequence[JudgeRequest], limits: JudgeLimits) -> list[Verdict]:
    """One verdict for each request, in order.

    Raises :class:`~kgbench.errors.EvaluationError` only where no child can be started.
    """
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

    def __init__(self, batch: Sequence[JudgeRequest], limits: JudgeLimits) -> None:
        self._batch = batch
        self._limits = limits
        self._verdicts: list[Verdict] = []
        self._sent = 0
        self._trial = _Trial()

    def run(self) -> list[Verdict]:
        process: Process | None = None
        while len(self._verdicts) < len(self._batch):
            if process is None or not process.running:
                process = _process(self._limits)
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
            message: dict[str, Json] = {
                "answers": request.answers,
                "expired": self._trial.expired if first else {},
            }
            process.send(message | _reference(request.case))
            self._sent += 1

    def _done(self, verdict: Verdict) -> None:
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
            self._skip(Verdict({}, infos, Outcome.TIMEOUT))

    def _retry(self, process: Process, message: str) -> None:
        self._again(process)
        self._trial.ends += 1
        if self._trial.ends > 1:
            self._skip(Verdict({}, {"message": message}, Outcome.EVALUATOR_ERROR))

    def _skip(self, verdict: Verdict) -> None:
        self._done(verdict)
        self._sent = len(self._verdicts)

    def _verdict(self, answer: Json) -> Verdict:
        if "error" in answer:
            return Verdict({}, {"message": answer["error"]}, Outcome.EVALUATOR_ERROR)
        verdict = frames.verdict_from_json(answer["verdict"])
        if not self._trial.expired:
            return verdict
        limit = next(iter(self._trial.expired.values()))
        return replace(verdict, outcome=Outcome.TIMEOUT, infos={**verdict.infos, "limit": limit})


def _process(limits: JudgeLimits) -> Process:
    """The child of this thread, started if there is none that fits ``limits``."""
    process = _own.process
    if process is not None and process.alive:
        known = process.setup
        wanted = (limits.engine, limits.memory_bytes, limits.graphs)
        if (known.engine, known.memory_bytes, known.graphs) == wanted:
            return process
    if process is not None:
        process.kill()
    _own.process = None
    classes = tuple(sorted({point.name for point in entry_points(group="kgbench.tasks")}))
    _own.process = process = Process(
        Setup(limits.engine, limits.memory_bytes, classes, limits.graphs)
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
