# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of stored dialogues, and comparison with earlier evaluations.

A re-evaluation never calls a model. It adds an evaluation pass; the evaluations in it are revisions
of earlier ones, which remain unchanged.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

from kgbench import clock
from kgbench.errors import StoreError, TaskError
from kgbench.execution import on_variants
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.on_variants import Variants
from kgbench.execution.pools import Part, judge_parts, split_parts, start_children
from kgbench.model import Case, Dialogue, Evaluation, Json, Metric, Task, Verdict
from kgbench.policies import policy as policies
from kgbench.policies.policy import Policy
from kgbench.record import reading
from kgbench.record.evaluations import evaluations
from kgbench.record.reading import Execution, PassInfo, RunInfo, ScoredEvaluation
from kgbench.record.recorded_results import (
    EndpointResults,
    RecordedCases,
    TypedEndpointResults,
    as_recorded,
    asking_of,
)
from kgbench.record.recorder import Recorder
from kgbench.reevaluation import causes, comparison
from kgbench.reevaluation.causes import DifferingDialogue
from kgbench.reevaluation.comparison import DialogueScores, ReevaluationResult
from kgbench.reevaluation.variant_outcomes import (
    VariantPass,
    answer_on_variants,
    variants_obstacle,
)
from kgbench.run_selection import Selection, select_runs
from kgbench.software import this_software
from kgbench.store.iris import new_id, unique_names
from kgbench.store.loading_together import LoadingTogether
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, graphs, texts, typed_answers


def first_pass(store: Store, run: RunInfo) -> PassInfo:
    """Return the pass that judged ``run`` when it was recorded or published."""
    for info in reading.passes(store, run):
        if info.kind in reading.ORIGINAL:
            return info
    raise StoreError(f"the run {run.iri} has no recorded evaluation pass")


class RunPass:
    """The re-evaluation of one run, which streams its dialogues through judging and comparing."""

    def __init__(
        self,
        recorded: RecordedCases,
        run: RunInfo,
        against: PassInfo | None,
        asking: EndpointResults | TypedEndpointResults | None,
        policy: Policy | None,
        *,
        variants: Variants | None,
    ) -> None:
        store = recorded.store
        self.recorder = Recorder(store.iris, run.id, new_id())
        self.recorder.run = run.iri  # runs published by others may have another base IRI
        self.watch: Callable[[int], None] = lambda _: None
        self._asking = asking
        self._policy = policy
        self._variants = None if variants is None else VariantPass(store, run, variants)
        self._superseded: dict[str, str] = {}
        self._store = store
        self._cases = recorded
        self.run = run
        self._recorded = first_pass(store, run)
        self._base = against or self._recorded
        passes = reading.passes(store, run)
        self._originals = [info.graph for info in passes if info.kind in reading.ORIGINAL]
        self.result = ReevaluationResult(self.recorder.evaluation_pass, self._base.iri)
        self._latest: dict[tuple[str, int | None], str] = {}
        self._noted: dict[Execution, dict[str, dict[str, Json]]] = {}
        self.differing: list[DifferingDialogue] = []
        self._models = reading.model_labels(store)
        self._names = unique_names(self._models.items())
        self._started = clock.now()

    def blocks(self, judged: Iterable[tuple[Task, Part, list[list[Verdict]]]]) -> Iterator[Block]:
        """Yield the evaluations of ``judged`` dialogues, and fill :attr:`result`."""
        before = reading.pass_scores(self._store, self._base.graph)
        read = {self._base.graph: before}
        if self._policy is None:
            self._latest = reading.latest_evaluations(self._store, self.run, read)
        held = {m for rounds in before.values() for seen in rounds.values() for m in seen.scores}
        for recorded, part, verdicts in judged:
            task = catalogue.as_successor_task(recorded)
            renamed = self._renamed_metrics(recorded, task)
            names = {m.iri: m.name for m in self._metrics(task)}
            held_today = {renamed.get(metric, metric) for metric in held}
            if self._base.kind == "published":  # the import added agreement: it was not published
                held_today -= {m.iri for m in self._metrics(task) if m.agreement_of is not None}
            for (dialogue, case), judged_verdicts in zip(part, verdicts, strict=True):
                recorded_scores = before.get(dialogue.iri, {})
                self._note(recorded_scores, renamed)
                earlier = comparison.rename_metrics(
                    recorded_scores, renamed, None if self._policy is None else names
                )
                new = comparison.missing_metrics(
                    names, held_today, is_evaluated=self._policy is None and dialogue.iri in before
                )
                revised = self._evaluations(task, dialogue, judged_verdicts)
                label = self._models.get(dialogue.model, dialogue.model)
                if self._variants is not None:
                    model = self._names.get(dialogue.model, label), label
                    which = (dialogue.iri, dialogue.case, model, task.label)
                    outcome = answer_on_variants(*which, judged_verdicts[-1].infos)
                    self.result.on_variants.append(outcome)
                entry = self.result.comparison.add(
                    dialogue.iri,
                    task.label,
                    label,
                    before=earlier,
                    after={e.round: ScoredEvaluation(e.iri, dict(e.scores)) for e in revised},
                    names=names,
                    new=new,
                )
                self.watch(self.result.comparison.dialogues)
                if entry is not None:
                    new_names = frozenset(names[metric] for metric in new)
                    named = comparison.rename_metrics(earlier, names)
                    published = self._base.kind == "published"
                    noted = self._published_with(recorded, dialogue) if published else {}
                    details = (judged_verdicts, named, new_names, published, noted)
                    self.differing.append(DifferingDialogue(entry, dialogue, case, *details))
                yield from (self.recorder.evaluation_block(each, dialogue) for each in revised)
        self._latest.clear()

    def _published_with(self, task: Task, dialogue: Dialogue) -> Mapping[str, Json]:
        """Return the data published with a dialogue's scores; empty unless a policy judges."""
        if self._policy is None:
            return {}
        execution = Execution("", dialogue.model, task.iri)  # the query needs no IRI
        if execution not in self._noted:
            infos = reading.execution_infos(self._store, self._base.graph, execution)
            self._noted[execution] = dict(infos)
        return self._noted[execution].get(dialogue.iri, {})

    def closing(self, limits: JudgeLimits, endpoint: str | None) -> list[Block]:
        """Return the description of the pass, with its software, which makes the pass visible."""
        software = this_software()
        blocks = self.recorder.pass_blocks(
            kind="reevaluation" if self._policy is None else reading.POLICY,
            started=self._started,
            ended=clock.now(),
            agent=software.iri(self._store.iris),
            engine=engine_label(limits.engine),
        )
        if endpoint is not None:
            blocks.append(self.recorder.pass_facts(endpoints=[endpoint]))
        if self._policy is not None:
            blocks.append(self.recorder.pass_facts(policy=self._policy.iri))
        if self._variants is not None:
            blocks.append(self._variants.described(self.recorder))
        if self._superseded:
            blocks.append(self.recorder.pass_metrics(self._superseded))
        return [Block(self._store.iris.catalogue, software.entry(self._store.iris)), *blocks]

    def classes(self, selection: Selection) -> set[str]:
        """Return the names of the task classes that judge the selected dialogues."""
        executions = self._executions(selection)
        return {catalogue.successor(task.task_class) for _, task in executions}

    def parts(self, selection: Selection) -> Iterator[tuple[Task, Part]]:
        """Yield the selected dialogues with their cases, in parts of one task each."""
        for execution, recorded in self._executions(selection):
            items = self._with_results(execution, self._judgeable(execution, recorded))
            if self._policy is not None:
                items = typed_answers.judgeable(self._policy, items, self._pass_over)
            if self._variants is not None:
                items = self._variants.with_variants(items)
            for part in split_parts(items):
                yield recorded, part

    def _with_results(
        self, execution: Execution, items: Sequence[tuple[Dialogue, Case]]
    ) -> list[tuple[Dialogue, Case]]:
        if self._asking is None:
            return as_recorded(self._store, self._originals, execution, items)
        ask = self._asking.with_results
        if self._policy:
            items = as_recorded(self._store, self._originals, execution, items)
        return [(dialogue, ask(dialogue.iri, case, dialogue.answers)) for dialogue, case in items]

    def _note(self, scores: DialogueScores, renamed: Mapping[str, str]) -> None:
        """Record the metrics that replace those of ``scores``."""
        if renamed and self._policy is None:
            for seen in scores.values():
                self._superseded |= {renamed[m]: m for m in seen.scores if m in renamed}

    def _evaluations(
        self, task: Task, dialogue: Dialogue, verdicts: Sequence[Verdict]
    ) -> list[Evaluation]:
        """Make evaluations that revise the latest ones, so that revisions form a chain."""
        task_class = catalogue.task_class(task.task_class)
        if self._policy is not None:
            task_class = replace(task_class, metrics=self._policy.metrics)
        mint = self.recorder.evaluation_iri
        return evaluations(task_class, dialogue, verdicts, mint, self._latest)

    def _metrics(self, task: Task) -> Iterable[Metric]:
        by = catalogue.task_class(task.task_class) if self._policy is None else self._policy
        return by.metrics.values()

    def _renamed_metrics(self, recorded: Task, task: Task) -> dict[str, str]:
        """Map metrics of recorded scores to the metrics of this pass to compare with."""
        if self._policy is None:
            return catalogue.renamed_metrics(recorded, self._store.iris)
        ours = catalogue.task_class(task.task_class).metrics.values()
        return {metric.iri: metric.same for metric in ours if metric.same is not None}

    def _executions(self, selection: Selection) -> Iterator[tuple[Execution, Task]]:
        for execution in reading.executions(self._store, self.run.graph):
            task = self._cases.task(execution.task)
            model = self._models.get(execution.model, execution.model)
            if selection.fits(task.label, model):
                yield execution, task

    def _judgeable(self, execution: Execution, task: Task) -> list[tuple[Dialogue, Case]]:
        dialogues = reading.execution_dialogues(
            self._store, self.run.graph, execution, self.run.iri
        )
        try:
            catalogue.module(catalogue.successor(task.task_class))
        except TaskError:
            self._pass_over(f"no code for the task class {task.task_class}", len(dialogues))
            return []
        if sealed := texts.missing_key(catalogue.successor(task.task_class)):
            self._pass_over(sealed, len(dialogues))
            return []
        answered = [d for d in dialogues if d.ended is not None and d.judged]
        self._pass_over("no answer to judge", len(dialogues) - len(answered))
        todo = []
        for dialogue in answered:
            case = self._cases.case(dialogue.case)
            if unfit := self._unfit(case):
                self._pass_over(unfit, 1)
            elif missing := catalogue.missing_data_key(case):
                self._pass_over(f"cases of {task.task_class} without '{missing}'", 1)
            else:
                todo.append((dialogue, case))
        if isinstance(self._asking, TypedEndpointResults):
            return todo
        try:
            graphs.require(case for _, case in todo)
        except TaskError as error:
            self._pass_over(str(error), len(todo))
            return []
        return todo

    def _unfit(self, case: Case) -> str | None:
        """Return the reason why class or policy cannot judge answers to ``case``, or ``None``."""
        if self._policy is None:
            return catalogue.obstacle(case)
        module = catalogue.module(case.task_class)
        asking, varied = self._asking is not None, self._variants is not None
        obstacle = typed_answers.policy_obstacle(
            case, module, has_endpoint=asking, on_variants=varied
        )
        return obstacle or (variants_obstacle(case) if varied else None)

    def _pass_over(self, reason: str, count: int) -> None:
        if count:
            self.result.passed_over[reason] = self.result.passed_over.get(reason, 0) + count


def reevaluate_stored(
    store: Store,
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    run: str | None = None,
    selection: Selection | None = None,
    against: str = "first",
    **options: Any,
) -> list[ReevaluationResult]:
    """Judge all runs in a store again, or the one called ``run``.

    ``against`` is the pass to compare with: ``first``, ``latest``, an IRI or an id. ``options`` are
    further arguments of :func:`reevaluate_each`.
    """
    runs = reading.runs(store) if run is None else [reading.find_run(store, run)]
    todo = [
        (info, None if against == "first" else reading.find_pass(store, info, against))
        for info in select_runs(store, runs, selection or Selection())
    ]
    return list(reevaluate_each(store, todo, executor, limits, selection=selection, **options))


def reevaluate_each(
    store: Store,
    runs: Iterable[tuple[RunInfo, PassInfo | None]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    selection: Selection | None = None,
    explain: bool = True,
    endpoint: str | None = None,
    variants: Variants | None = None,
    watch: Callable[[int], None] | None = None,
) -> Iterator[ReevaluationResult]:
    """Judge the complete dialogues of each run again in a new pass, and compare.

    Each run comes with the pass to compare with; ``None`` is the first one. If ``limits`` name a
    comparison policy, it judges, and scores by the same policy are compared. With ``variants``,
    results are also compared on these variants of each graph. With ``explain``, the other engine
    judges differing dialogues to find causes. Queries that need an endpoint are executed by
    ``endpoint``; without one, recorded results are used. ``watch`` is called with the number of
    judged dialogues. An interrupted pass leaves nothing. While one run is written, others are read.
    Short runs become visible together; see :mod:`~kgbench.store.loading_together`.
    """
    policy = None if limits.policy is None else policies.policy(limits.policy)
    if variants is not None:
        policy = policies.policy(policies.ON_VARIANTS)
        limits = on_variants.limits(limits, variants)
    asking = None if endpoint is None else asking_of(Endpoint(endpoint, limits.seconds), policy)
    selected = selection or Selection()
    recorded = RecordedCases(store)

    def parts() -> Iterator[tuple[RunPass | Task | None, Part]]:
        """Yield the start of each pass, its parts by task, and its end."""
        for number, (run, against) in enumerate(runs):
            run_pass = RunPass(recorded, run, against, asking, policy, variants=variants)
            if number == 0:
                start_children(executor, limits, run_pass.classes(selected))
            yield run_pass, ()
            yield from run_pass.parts(selected)
            yield None, ()

    def passes() -> Iterator[_StreamedPass]:
        stream, judged = judge_parts(parts(), executor, limits), 0
        for begun, _, _ in stream:
            assert isinstance(begun, RunPass)
            if watch is not None:
                begun.watch = partial(_report_progress, watch, judged)
            of_pass = takewhile(lambda part: part[0] is not None, stream)
            yield _StreamedPass(begun, of_pass, executor if explain else None, limits, endpoint)
            judged += begun.result.comparison.dialogues

    for loaded in LoadingTogether(store, passes()).visible():
        yield loaded.run_pass.result


@dataclass(frozen=True, slots=True)
class _StreamedPass:
    """A pass whose ``judged`` parts come next in a stream; a part to load.

    ``explaining`` judges its differing dialogues again, to find causes.
    """

    run_pass: RunPass
    judged: Iterator[tuple[Any, Part, list[list[Verdict]]]]
    explaining: concurrent.futures.Executor | None
    limits: JudgeLimits
    endpoint: str | None

    @property
    def run(self) -> str:
        return self.run_pass.run.iri

    @property
    def graphs(self) -> Sequence[str]:
        return [self.run_pass.recorder.pass_graph]

    def blocks(self) -> Iterator[Block]:
        yield from self.run_pass.blocks(self.judged)
        if self.explaining is not None:
            causes.explain(self.run_pass.differing, self.explaining, self.limits)
        self.run_pass.differing.clear()

    def closing(self) -> Sequence[Block]:
        recorded = self.run_pass.result.is_recorded
        return self.run_pass.closing(self.limits, self.endpoint) if recorded else ()


def _report_progress(watch: Callable[[int], None], before: int, count: int) -> None:
    watch(before + count)
