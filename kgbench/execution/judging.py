# SPDX-License-Identifier: Apache-2.0
"""Judging of answers and running of tools in child processes, which are killed at a limit.

Executors run :func:`judge_batch`, in a thread, in another process or on another machine. Each
calling thread owns one child, which it keeps for the next batch.

An answer that exceeds a limit gets the outcome ``timeout`` and ``limit`` among its infos: ``time``,
``memory``, or ``stack`` (nested too deeply for the engine). If that happened inside a query, the
answer is judged again as if the query had no rows, so that it has scores nevertheless. If a child
ends for another reason, it is restarted and the answer tried once more; after that the outcome is
``evaluator-error``, as for every exception of a judge. Tool calls work alike: a query that exceeds
a limit, or another failure, gives an error as the tool's result.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple, Self, TypeAlias

from kgbench.children.answering import ChildEnded, ChildTimeout
from kgbench.children.child import Child
from kgbench.errors import EvaluationError
from kgbench.execution import frames
from kgbench.execution.frames import REASONS, SIZE, SharedStatus
from kgbench.model import Case, Dialogue, Json, Outcome, Verdict
from kgbench.policies.policy import policies
from kgbench.tasks import catalogue, protection
from kgbench.tool_calls import TOOL_RESULTS, ToolCall, ToolOutcome, ToolResult

_AHEAD = 1 << 18  # bytes of requests that may wait for the pipe
_MOST_CASES = 512  # cases that a child remembers
_MOST_EXPIRED = 4  # queries of one answer that may exceed a limit before it is given up


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A request to judge the last of ``answers`` to ``case``; the earlier ones are its context.

    ``prompts`` are the prompts before each answer, given only in dialogues with tools.
    """

    case: Case
    answers: tuple[str, ...]
    prompts: tuple[str, ...] = ()

    @classmethod
    def of(cls, dialogue: Dialogue, case: Case, k: int) -> Self:
        """Return the request to judge answer ``k`` of ``dialogue``, with tool results before it."""
        with_tools = any(turn.feedback == TOOL_RESULTS for turn in dialogue.turns)
        prompts = tuple(turn.prompt for turn in dialogue.turns[: k + 1]) if with_tools else ()
        return cls(case, dialogue.answers[: k + 1], prompts)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A request to run a tool that ``case`` offers, with the parsed ``arguments`` of ``call``."""

    case: Case
    call: ToolCall
    arguments: Mapping[str, Json]


class ToolRun(NamedTuple):
    """The result of a tool, and the seconds that it took in its process."""

    result: ToolResult
    seconds: float


ExecutorRequest: TypeAlias = "JudgeRequest | ToolRequest"


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """The limits and the setup of judging: ``seconds`` per answer, memory, and the engine.

    ``policy`` names a comparison policy, which then judges queries by their results in place of
    the task class. ``memory_bytes`` limits the address space of a child, of which about 150 MB are
    used from the start. ``graphs`` are installed graphs that a case may name, as (name, path).
    """

    seconds: float = 30.0
    memory_bytes: int = 2 << 30
    engine: str = "oxigraph"
    graphs: tuple[tuple[str, str], ...] = ()
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a child: its limits and task classes.

    ``loads`` names optional parts to load (:data:`kgbench.execution.child.LOADERS`).
    """

    limits: JudgeLimits
    classes: frozenset[str]
    loads: frozenset[str] = frozenset()


class Process(Child):
    """A judging child; raises :class:`~kgbench.errors.EvaluationError` if it cannot be started."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        with tempfile.TemporaryFile() as shared:
            shared.truncate(SIZE)
            board = shared.fileno()
            self._board = SharedStatus(board)
            super().__init__("kgbench.execution.child", pass_fds=[board])
        try:
            self.set_up(
                {
                    "board": board,
                    **asdict(setup.limits),
                    "classes": sorted(setup.classes),
                    "loads": sorted(setup.loads),
                    "task_key": protection.user_key(),
                }
            )
        except ChildEnded as ended:
            raise EvaluationError(f"no judging process could be started: {ended}") from None

    @property
    def query(self) -> str | None:
        """The digest of the child's current query, or of that in which it ended."""
        return self._board.read()

    def ask(self, message: Json) -> None:
        """Queue a message; see :meth:`~kgbench.children.child.Child.send`."""
        self.send(frames.encode(message))

    def answer(self, deadline: float) -> Json:
        """Return the next answer; see :meth:`~kgbench.children.child.Child.receive`."""
        return frames.decode(self.receive(deadline))


def judge_batch(batch: Sequence[JudgeRequest], limits: JudgeLimits) -> list[Verdict]:
    """Judge a batch and return one verdict for each request, in order.

    Raises :class:`~kgbench.errors.EvaluationError` only if no child can be started.
    """
    return [verdict for verdict in answer_batch(batch, limits) if isinstance(verdict, Verdict)]


def answer_batch(batch: Sequence[ExecutorRequest], limits: JudgeLimits) -> list[Verdict | ToolRun]:
    """Return a verdict or a tool's result for each request, in order; see :func:`judge_batch`."""
    conversation = _BatchRun(batch, limits)
    try:
        return conversation.run()
    except BaseException:
        end_child()
        raise


def start_child(limits: JudgeLimits, classes: frozenset[str]) -> None:
    """Start the child of the calling thread for cases of ``classes``, unless it has one.

    Waits until it is ready; raises :class:`~kgbench.errors.EvaluationError` if it cannot be
    started.
    """
    _process(limits, classes)


def end_child() -> None:
    """Kill the child of the calling thread, if any."""
    process: Process | None = getattr(_own, "process", None)
    if process is not None:
        process.end()
        _own.process = None


class _Own(threading.local):
    """The child of the current thread and the cases that it has received."""

    process: Process | None = None
    cases: dict[tuple[str, str], tuple[int, Case]]


_own = _Own()


@dataclass(slots=True)
class _Trial:
    """The attempts at one request: its queries that exceeded a limit, and unexplained ends."""

    expired: dict[str, str] = field(default_factory=dict)
    ends: int = 0


class _BatchRun:
    """The processing of a batch by a child: requests are sent ahead, answers come in order."""

    def __init__(self, batch: Sequence[ExecutorRequest], limits: JudgeLimits) -> None:
        self._batch = batch
        self._limits = limits
        self._classes = frozenset(request.case.task_class for request in batch)
        self._verdicts: list[Verdict | ToolRun] = []
        self._sent = 0
        self._trial = _Trial()

    def run(self) -> list[Verdict | ToolRun]:
        process: Process | None = None
        while len(self._verdicts) < len(self._batch):
            if process is None or not process.running:
                process = _process(self._limits, self._classes)
            try:
                self._send_ahead(process)
                answer = process.answer(time.monotonic() + self._limits.seconds)
            except ChildTimeout:
                self._limit_exceeded(process, "time")
            except ChildEnded as ended:
                if ended.limit is None:
                    self._retry(process, str(ended))
                else:
                    self._limit_exceeded(process, ended.limit)
            else:
                self._done(self._verdict(answer))
        return self._verdicts

    def _send_ahead(self, process: Process) -> None:
        while self._sent < len(self._batch) and process.waiting < _AHEAD:
            request = self._batch[self._sent]
            first = self._sent == len(self._verdicts)
            expired = self._trial.expired if first else {}
            process.ask({"expired": expired, **_fields(request), **_reference(request.case)})
            self._sent += 1

    def _done(self, verdict: Verdict | ToolRun) -> None:
        self._verdicts.append(verdict)
        self._trial = _Trial()

    def _restart(self, process: Process) -> None:
        """Kill the child, so that the unanswered requests are sent again to a new one."""
        process.end()
        self._sent = len(self._verdicts)

    def _limit_exceeded(self, process: Process, limit: str) -> None:
        query = process.query
        expired = self._trial.expired
        self._restart(process)
        if query is not None and query not in expired and len(expired) < _MOST_EXPIRED:
            expired[query] = limit
        else:
            infos = {"limit": limit, "message": f"the evaluation was ended: {REASONS[limit]}"}
            self._skip(infos, Outcome.TIMEOUT)

    def _retry(self, process: Process, message: str) -> None:
        self._restart(process)
        self._trial.ends += 1
        if self._trial.ends > 1:
            self._skip({"message": message}, Outcome.EVALUATOR_ERROR)

    def _skip(self, infos: dict[str, Json], outcome: Outcome) -> None:
        self._done(self._failed(infos, outcome))
        self._sent = len(self._verdicts)

    def _failed(self, infos: dict[str, Json], outcome: Outcome) -> Verdict | ToolRun:
        if isinstance(self._batch[len(self._verdicts)], JudgeRequest):
            return Verdict({}, infos, outcome)
        return ToolRun(ToolResult(f"the tool failed: {infos['message']}", ToolOutcome.ERROR), 0.0)

    def _verdict(self, answer: Json) -> Verdict | ToolRun:
        if "error" in answer:
            return self._failed({"message": answer["error"]}, Outcome.EVALUATOR_ERROR)
        if "result" in answer:
            return ToolRun(frames.result_from_json(answer["result"]), answer["seconds"])
        verdict = frames.verdict_from_json(answer["verdict"])
        if not self._trial.expired:
            return verdict
        limit = next(iter(self._trial.expired.values()))
        return replace(verdict, outcome=Outcome.TIMEOUT, infos={**verdict.infos, "limit": limit})


def _fields(request: ExecutorRequest) -> dict[str, Json]:
    """Return the fields of a request, except its case."""
    if isinstance(request, ToolRequest):
        return {"use": request.call.name, "arguments": dict(request.arguments)}
    if not request.prompts:
        return {"answers": request.answers}
    return {"answers": request.answers, "prompts": request.prompts}


def _process(limits: JudgeLimits, classes: frozenset[str]) -> Process:
    """Return the child of this thread that has ``classes``, and start one if there is none.

    A child has only the classes that it was started for, because loading all takes most of a
    second. A child that lacks one is replaced by a child with all, so that this happens once.
    """
    process, setup = _own.process, _setup(limits, classes)
    if process is not None:
        known = process.setup
        if known.limits == setup.limits:
            has_classes = known.classes >= setup.classes
            if process.alive and has_classes and known.loads >= setup.loads:
                return process
            all_classes = catalogue.classes_with_code()
            setup = replace(
                setup,
                classes=known.classes if has_classes else all_classes,
                loads=known.loads | setup.loads,
            )
        process.end()
    _own.process = None
    _own.process = process = Process(setup)
    _own.cases = {}
    return process


def _setup(limits: JudgeLimits, classes: frozenset[str]) -> Setup:
    """Return the setup of a child for cases of ``classes``; unknown ones are left out.

    Task classes declare in ``LOADS`` the optional parts that a child must load for them; see
    :data:`kgbench.execution.child.LOADERS`. A policy judges without them.
    """
    known = catalogue.classes_with_code() & classes
    loads: set[str] = set()
    if limits.policy is None:
        for name in known - catalogue.unusable().keys():
            loads.update(getattr(catalogue.module(name), "LOADS", ()))
    elif policies()[limits.policy].columns == "within-row":
        loads.add("row matching")
    if known & catalogue.foreign_classes():  # whose code may use any other class
        known = catalogue.classes_with_code()
    return Setup(replace(limits, seconds=0.0), known, frozenset(loads))  # its parent keeps the time


def _reference(case: Case) -> dict[str, Json]:
    """Return the number of a case for the child, with the case itself if the child lacks it."""
    message: dict[str, Json] = {}
    key = (case.iri, case.digest)
    number, known = _own.cases.get(key, (-1, None))
    if known is None or not (known is case or known == case):
        if len(_own.cases) >= _MOST_CASES:
            _own.cases.clear()
            message["forget"] = True
        number = len(_own.cases) if known is None else number
        _own.cases[key] = (number, case)
        message["case"] = case
    return message | {"number": number}
