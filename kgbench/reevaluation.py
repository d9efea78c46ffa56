# SPDX-License-Identifier: Apache-2.0
"""Judging stored dialogues again, and saying what came out otherwise than before.

A re-evaluation never calls a model. It adds an evaluation pass of its own; the evaluations in it
are revisions of those it was compared with, which stay as they are.
"""

from __future__ import annotations

import concurrent.futures
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from kgbench.causes import cause
from kgbench.comparison import Comparison, DialogueScores
from kgbench.errors import StoreError, TaskError
from kgbench.evaluation import evaluations
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Dialogue, Evaluation, Json, Metric, Task, Verdict
from kgbench.record import Recorder, reading
from kgbench.record.reading import Execution, PassInfo, RunInfo, Seen
from kgbench.recorded_results import Asking, with_results
from kgbench.software import this_software
from kgbench.store.iris import new_id
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, graphs, succession

_BATCH = 64  # dialogues judged by one call of the executor
_PATIENCE = 10.0  # seconds for the other engine, when a cause is looked for
_AHEAD = 8  # batches under way while an earlier one is written
_Part = Sequence[tuple[Dialogue, Case]]
Of = TypeVar("Of")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dialogues are judged again: globs over task and model labels; empty means all."""

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(slots=True)
class Reevaluated:
    """What a re-evaluation did; ``passed_over`` counts unjudged dialogues by the reason."""

    evaluation_pass: str
    against: str
    comparison: Comparison = field(default_factory=Comparison)
    passed_over: dict[str, int] = field(default_factory=dict)


def first_pass(store: Store, run: RunInfo) -> PassInfo:
    """The pass that judged ``run`` when it was recorded or published."""
    for one in reading.passes(store, run):
        if one.kind in ("live", "published"):
            return one
    raise StoreError(f"the run {run.iri} has no recorded evaluation pass")


def reevaluate(
    store: Store,
    run: RunInfo,
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    selection: Selection | None = None,
    against: PassInfo | None = None,
    explain: bool = True,
    endpoint: str | None = None,
    watch: Callable[[int], None] | None = None,
) -> Reevaluated:
    """Judge the complete dialogues of ``run`` again in a new pass, and compare with ``against``.

    ``against`` is the first pass unless given. With ``explain`` the causes of differences are
    looked for, which takes the other engine. Queries that need an endpoint are executed by
    ``endpoint`` if there is one, else the recorded results say what they found. ``watch`` is told
    how many dialogues are done. The pass becomes visible only when it is whole: an interrupted one
    leaves nothing.
    """
    base = against or first_pass(store, run)
    asking = None if endpoint is None else Asking(Endpoint(endpoint, limits.seconds).select)
    recorder = Recorder(store.iris, run.id, new_id())
    recorder.run = run.iri  # one that another group published may have another base
    work = _Work(store, run, base, recorder, watch=watch, asking=asking)
    started = datetime.now(UTC)
    try:
        store.bulk_load(work.blocks(selection or Selection(), executor, limits))
        if explain:
            work.explain(executor, limits)
    except BaseException:
        store.drop([work.recorder.pass_graph])
        raise
    software = this_software()
    blocks = work.recorder.pass_blocks(
        kind="reevaluation",
        started=started,
        ended=datetime.now(UTC),
        agent=software.iri(store.iris),
        engine=engine_label(limits.engine),
    )
    if endpoint is not None:
        blocks.append(recorder.pass_endpoint(endpoint))
    if work.superseded:
        blocks.append(recorder.pass_metrics(work.superseded))
    store.write([Block(store.iris.catalogue, software.entry(store.iris)), *blocks])
    return work.result


class _Differing(NamedTuple):
    """A dialogue that came out otherwise: its entry in the report, and how it was judged."""

    entry: dict[str, Json]
    dialogue: Dialogue
    case: Case
    task: Task
    verdicts: list[Verdict]
    before: DialogueScores


class _Work:
    """Goes through the dialogues of a run, judging, comparing and writing as it goes."""

    def __init__(
        self,
        store: Store,
        run: RunInfo,
        base: PassInfo,
        recorder: Recorder,
        *,
        watch: Callable[[int], None] | None,
        asking: Asking | None,
    ) -> None:
        self.recorder = recorder
        self._asking = asking
        self.superseded: dict[str, str] = {}
        self.result = Reevaluated(recorder.evaluation_pass, base.iri)
        self._store = store
        self._run = run
        self._base = base
        self._recorded = first_pass(store, run)
        self._latest = reading.latest_evaluations(store, run)
        self._watch = watch
        self._cases: dict[str, Case] = {}
        self._differing: list[_Differing] = []
        self._models = reading.model_labels(store)

    def blocks(
        self,
        chosen: Selection,
        executor: concurrent.futures.Executor,
        limits: JudgeLimits,
    ) -> Iterator[Block]:
        """The evaluations of all chosen dialogues; :attr:`result` fills up on the way."""
        before = reading.pass_scores(self._store, self._base.graph)
        for recorded, part, verdicts in _judged(self._parts(chosen), executor, limits):
            task = succession.judged_as(recorded)
            renamed = succession.renamed_metrics(recorded, self._store.iris)
            for (dialogue, case), said in zip(part, verdicts, strict=True):
                recorded_scores = before.get(dialogue.iri, {})
                self._note(recorded_scores, renamed)
                earlier = _renamed(recorded_scores, renamed)
                found = self._evaluations(task, dialogue, said)
                entry = self._compare(task, dialogue, earlier, found, renamed)
                if entry is not None and any(seen.scores for seen in earlier.values()):
                    self._differing.append(_Differing(entry, dialogue, case, task, said, earlier))
                lines = [line for one in found for line in self.recorder.evaluation(one, dialogue)]
                yield Block(self.recorder.pass_graph, lines)

    def _parts(self, chosen: Selection) -> Iterator[tuple[Task, _Part]]:
        """The chosen dialogues with their cases, in parts of one task each."""
        for execution, recorded in self._executions(chosen):
            todo = self._with_results(execution, self._judgeable(execution, recorded))
            for start in range(0, len(todo), _BATCH):
                yield recorded, todo[start : start + _BATCH]

    def _with_results(
        self, execution: Execution, todo: Sequence[tuple[Dialogue, Case]]
    ) -> list[tuple[Dialogue, Case]]:
        if self._asking is None:
            return with_results(self._store, self._recorded.graph, execution, todo)
        ask = self._asking.with_results
        return [(dialogue, ask(dialogue.iri, case, dialogue.answers)) for dialogue, case in todo]

    def _note(self, scores: DialogueScores, renamed: Mapping[str, str]) -> None:
        """Which metrics stand in the place of those that ``scores`` are of."""
        if renamed:
            for seen in scores.values():
                self.superseded |= {renamed[m]: m for m in seen.scores if m in renamed}

    def explain(self, executor: concurrent.futures.Executor, limits: JudgeLimits) -> None:
        """Judge what differs with rdflib, which made the published scores, to find the cause."""
        if limits.engine == "rdflib" or not self._differing:
            return
        other = replace(limits, engine="rdflib", seconds=min(limits.seconds, _PATIENCE))
        todo = [(one.dialogue, one.case) for one in self._differing]
        for one, (_, theirs) in zip(self._differing, judged(todo, executor, other), strict=True):
            names = {m.iri: m.name for m in _metrics(one.task)}
            before = {
                k: {names.get(metric, metric): value for metric, value in seen.scores.items()}
                for k, seen in one.before.items()
                if k is not None
            }
            one.entry["cause"] = cause(before, one.verdicts, theirs)

    def _evaluations(
        self, task: Task, dialogue: Dialogue, verdicts: Sequence[Verdict]
    ) -> list[Evaluation]:
        """Each revises the latest one there is, so that one evaluation is always the last."""
        task_class = catalogue.task_class(task.task_class)
        found = evaluations(task_class, dialogue, verdicts, self.recorder.evaluation_iri)
        return [replace(one, revises=self._latest.get((one.dialogue, one.round))) for one in found]

    def _compare(
        self,
        task: Task,
        dialogue: Dialogue,
        earlier: DialogueScores,
        found: Sequence[Evaluation],
        renamed: Mapping[str, str],
    ) -> dict[str, Json] | None:
        names = {m.iri: m.name for m in _metrics(task)}
        # Scores that only the later version of a task class has cannot have changed.
        known = (
            {metric for seen in earlier.values() for metric in seen.scores} if renamed else names
        )
        after = {
            one.round: Seen(one.iri, {m: v for m, v in one.scores.items() if m in known})
            for one in found
        }
        model = self._models.get(dialogue.model, dialogue.model)
        entry = self.result.comparison.add(
            dialogue.iri, task.label, model, before=earlier, after=after, names=names
        )
        if self._watch is not None:
            self._watch(self.result.comparison.dialogues)
        return entry

    def _executions(self, chosen: Selection) -> Iterator[tuple[Execution, Task]]:
        for execution in reading.executions(self._store, self._run.graph):
            task = reading.task(self._store, execution.task)
            model = self._models.get(execution.model, execution.model)
            if _matches(task.label, chosen.tasks) and _matches(model, chosen.models):
                yield execution, task

    def _judgeable(self, execution: Execution, task: Task) -> list[tuple[Dialogue, Case]]:
        dialogues = reading.execution_dialogues(
            self._store, self._run.graph, execution, self._run.iri
        )
        try:
            catalogue.module(succession.successor(task.task_class))
        except TaskError:
            self._pass_over(f"no code for the task class {task.task_class}", len(dialogues))
            return []
        found = [d for d in dialogues if d.ended is not None and d.answers]
        self._pass_over("no answer to judge", len(dialogues) - len(found))
        todo = []
        for dialogue in found:
            case = self._case(dialogue.case)
            if missing := succession.lacking(case):
                self._pass_over(f"cases of {task.task_class} without '{missing}'", 1)
            else:
                todo.append((dialogue, case))
        try:
            graphs.require(case for _, case in todo)
        except TaskError as error:
            self._pass_over(str(error), len(todo))
            return []
        return todo

    def _pass_over(self, reason: str, count: int) -> None:
        if count:
            self.result.passed_over[reason] = self.result.passed_over.get(reason, 0) + count

    def _case(self, iri: str) -> Case:
        if iri not in self._cases:
            self._cases[iri] = succession.case_judged_as(reading.case(self._store, iri))
        return self._cases[iri]


def judged(
    todo: Sequence[tuple[Dialogue, Case]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> Iterator[tuple[Dialogue, list[Verdict]]]:
    """Every dialogue with the verdicts on all its answers, in order; a few batches run ahead."""
    parts = ((None, todo[k : k + _BATCH]) for k in range(0, len(todo), _BATCH))
    for _, part, verdicts in _judged(parts, executor, limits):
        for (dialogue, _), said in zip(part, verdicts, strict=True):
            yield dialogue, said


def _judged(
    parts: Iterable[tuple[Of, _Part]], executor: concurrent.futures.Executor, limits: JudgeLimits
) -> Iterator[tuple[Of, _Part, list[list[Verdict]]]]:
    """Each part with the verdicts on each answer of each dialogue, in order.

    While a part is written, those after it are read and judged.
    """
    waiting: deque[tuple[Of, _Part, Future[list[Verdict]]]] = deque()
    for of, part in parts:
        requests = [
            JudgeRequest(case, dialogue.answers[: k + 1])
            for dialogue, case in part
            for k in range(len(dialogue.answers))
        ]
        waiting.append((of, part, executor.submit(judge_batch, requests, limits)))
        if len(waiting) > _AHEAD:
            yield _unpacked(*waiting.popleft())
    while waiting:
        yield _unpacked(*waiting.popleft())


def _unpacked(
    of: Of, part: _Part, future: Future[list[Verdict]]
) -> tuple[Of, _Part, list[list[Verdict]]]:
    verdicts = iter(future.result())
    return of, part, [[next(verdicts) for _ in dialogue.answers] for dialogue, _ in part]


def _renamed(scores: DialogueScores, names: Mapping[str, str]) -> DialogueScores:
    """``scores`` with the metrics that a task class has in place of those of the same names."""
    if not names:
        return scores
    return {
        k: seen._replace(scores={names.get(m, m): value for m, value in seen.scores.items()})
        for k, seen in scores.items()
    }


def _metrics(task: Task) -> Iterable[Metric]:
    return catalogue.task_class(task.task_class).metrics.values()


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
