# SPDX-License-Identifier: Apache-2.0
"""Judging stored dialogues again, and saying what came out otherwise than before.

A re-evaluation never calls a model. It adds an evaluation pass of its own; the evaluations in it
are revisions of those it was compared with, which stay as they are.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from kgbench.causes import cause
from kgbench.comparison import Comparison, DialogueScores
from kgbench.errors import StoreError, TaskError
from kgbench.evaluation import evaluations
from kgbench.execution.dialogues import Part, in_parts, judged, judged_parts
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import begin
from kgbench.model import Case, Dialogue, Evaluation, Json, Metric, Task, Verdict
from kgbench.nearest import nearest
from kgbench.record import Recorder, reading
from kgbench.record.reading import Execution, PassInfo, RunInfo, Seen
from kgbench.recorded_results import Asking, with_results
from kgbench.software import this_software
from kgbench.store.iris import new_id
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, graphs, succession

_PATIENCE = 10.0  # seconds for the other engine, when a cause is looked for
_Of: TypeAlias = "_Work | Task | None"  # a run begins, a part of it, the run ends
_JudgedPart: TypeAlias = "tuple[_Of, Part, list[list[Verdict]]]"


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


def runs_with(store: Store, runs: Sequence[RunInfo], selection: Selection) -> list[RunInfo]:
    """Those of ``runs`` that hold something of ``selection``; all where nothing is selected.

    Raises :class:`~kgbench.errors.TaskError` where none does.
    """
    if selection == Selection():
        return list(runs)
    labels = reading.model_labels(store)
    seen: set[tuple[str, str]] = set()
    found = []
    for run in runs:
        of_run = {
            (reading.task(store, one.task).label, labels.get(one.model, one.model))
            for one in reading.executions(store, run.graph)
        }
        seen |= of_run
        if any(_matches(t, selection.tasks) and _matches(m, selection.models) for t, m in of_run):
            found.append(run)
    if not found:
        wanted = " ".join(selection.tasks + selection.models)
        tasks, models = (nearest(wanted, {pair[place] for pair in seen}) for place in (0, 1))
        raise TaskError(f"no stored dialogue fits {wanted}; tasks: {tasks}; models: {models}")
    return found


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
    """Judge the complete dialogues of one run again; see :func:`reevaluate_each`."""
    (done,) = reevaluate_each(
        store,
        [(run, against)],
        executor,
        limits,
        selection=selection,
        explain=explain,
        endpoint=endpoint,
        watch=watch,
    )
    return done


def reevaluate_each(
    store: Store,
    runs: Iterable[tuple[RunInfo, PassInfo | None]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    selection: Selection | None = None,
    explain: bool = True,
    endpoint: str | None = None,
    watch: Callable[[int], None] | None = None,
) -> Iterator[Reevaluated]:
    """Judge the complete dialogues of each run again in a new pass, and compare.

    A run comes with the pass to compare with, the first one where it is ``None``. With ``explain``
    the causes of differences are looked for, which takes the other engine. Queries that need an
    endpoint are executed by ``endpoint`` if there is one, else the recorded results say what they
    found. ``watch`` is told how many dialogues are done. A pass becomes visible only when it is
    whole: an interrupted one leaves nothing, and those before it stay. While one run is written,
    the next are read and judged.
    """
    asking = None if endpoint is None else Asking(Endpoint(endpoint, limits.seconds).select)
    begin(executor, limits)

    def parts() -> Iterator[tuple[_Of, Part]]:
        for run, against in runs:
            work = _Work(store, run, against, asking)
            yield work, ()
            yield from work.parts(selection or Selection())
            yield None, ()

    stream = judged_parts(parts(), executor, limits)
    done = 0
    for begun, _, _ in stream:
        assert isinstance(begun, _Work)
        if watch is not None:
            begun.watch = partial(_further, watch, done)
        try:
            store.bulk_load(begun.blocks(_of_one_run(stream)))
            if explain:
                begun.explain(executor, limits)
        except BaseException:
            store.drop([begun.recorder.pass_graph])
            raise
        store.write(begun.closing(limits, endpoint))
        done += begun.result.comparison.dialogues
        yield begun.result


def _of_one_run(stream: Iterator[_JudgedPart]) -> Iterator[tuple[Task, Part, list[list[Verdict]]]]:
    for of, part, verdicts in takewhile(_is_of_a_run, stream):
        assert isinstance(of, Task)
        yield of, part, verdicts


def _is_of_a_run(one: _JudgedPart) -> bool:
    return one[0] is not None


def _further(watch: Callable[[int], None], before: int, done: int) -> None:
    watch(before + done)


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
        self, store: Store, run: RunInfo, against: PassInfo | None, asking: Asking | None
    ) -> None:
        self.recorder = Recorder(store.iris, run.id, new_id())
        self.recorder.run = run.iri  # one that another group published may have another base
        self.watch: Callable[[int], None] | None = None
        self._asking = asking
        self._superseded: dict[str, str] = {}
        self._store = store
        self._run = run
        self._recorded = first_pass(store, run)
        self._base = against or self._recorded
        self.result = Reevaluated(self.recorder.evaluation_pass, self._base.iri)
        self._latest: dict[tuple[str, int | None], str] = {}
        self._cases: dict[str, Case] = {}
        self._differing: list[_Differing] = []
        self._models = reading.model_labels(store)
        self._started = datetime.now(UTC)

    def blocks(self, judged: Iterable[tuple[Task, Part, list[list[Verdict]]]]) -> Iterator[Block]:
        """The evaluations of what was ``judged``; :attr:`result` fills up on the way."""
        before = reading.pass_scores(self._store, self._base.graph)
        read = {self._base.graph: before}
        self._latest = reading.latest_evaluations(self._store, self._run, read)
        for recorded, part, verdicts in judged:
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

    def closing(self, limits: JudgeLimits, endpoint: str | None) -> list[Block]:
        """What makes the pass visible: what it is, by which software, in place of which metrics."""
        software = this_software()
        blocks = self.recorder.pass_blocks(
            kind="reevaluation",
            started=self._started,
            ended=datetime.now(UTC),
            agent=software.iri(self._store.iris),
            engine=engine_label(limits.engine),
        )
        if endpoint is not None:
            blocks.append(self.recorder.pass_endpoint(endpoint))
        if self._superseded:
            blocks.append(self.recorder.pass_metrics(self._superseded))
        return [Block(self._store.iris.catalogue, software.entry(self._store.iris)), *blocks]

    def parts(self, chosen: Selection) -> Iterator[tuple[Task, Part]]:
        """The chosen dialogues with their cases, in parts of one task each."""
        for execution, recorded in self._executions(chosen):
            todo = self._with_results(execution, self._judgeable(execution, recorded))
            for part in in_parts(todo):
                yield recorded, part

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
                self._superseded |= {renamed[m]: m for m in seen.scores if m in renamed}

    def explain(self, executor: concurrent.futures.Executor, limits: JudgeLimits) -> None:
        """Judge what differs with rdflib, which made the published scores, to find the cause."""
        if not self._differing:
            return
        if limits.engine == "rdflib":
            of_rdflib = [one.verdicts for one in self._differing]
        else:
            other = replace(limits, engine="rdflib", seconds=min(limits.seconds, _PATIENCE))
            todo = [(one.dialogue, one.case) for one in self._differing]
            of_rdflib = [theirs for _, theirs in judged(todo, executor, other)]
        for one, theirs in zip(self._differing, of_rdflib, strict=True):
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
        if self.watch is not None:
            self.watch(self.result.comparison.dialogues)
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
