# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of stored dialogues, and comparison with earlier evaluations.

A re-evaluation never calls a model. It adds an evaluation pass; the evaluations in it are revisions
of earlier ones, which remain unchanged.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from kgbench.execution import on_variants
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.on_variants import Variants
from kgbench.execution.pools import Part, judge_parts, start_children
from kgbench.model import Task, Verdict
from kgbench.policies import policy as policies
from kgbench.record import reading
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.record.recorded_results import RecordedCases, asking_of
from kgbench.reevaluation import causes
from kgbench.reevaluation.comparison import ReevaluationResult
from kgbench.reevaluation.run_passes import RunPass
from kgbench.run_selection import Selection, select_runs
from kgbench.store.loading_together import LoadingTogether
from kgbench.store.protocol import Block, Store


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
