# SPDX-License-Identifier: Apache-2.0
"""Groups judges' verdicts on a run into cells: one per model, task, rubric and judge."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from kgbench.analysis.verdicts import Judgement, judgements, verdicts
from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.plugins.exchange.cells import Cell
from kgbench.record.judgements import Rubric
from kgbench.scores.reading import Item
from kgbench.scores.selection import select
from kgbench.statistics.histogram import Histogram
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """The values of a judge's verdicts by one rubric, on one model and task.

    The metric of ``cell`` is the rubric's IRI. ``executed`` is the mean of the values that
    execution implies for the same items, if any. ``repeated``: the judge gave several verdicts on
    an item, and the majority decided.
    """

    cell: Cell
    rubric: Rubric
    judge: str
    executed: float | None
    repeated: bool


def judge_cells(store: Store, run: OutgoingRun, iri: str) -> list[JudgeCell]:
    """Return the cells of all judges of the run ``iri`` (as in the store), by rubric and judge.

    Only verdicts with a value count; pairs and classified failures have none. The IRIs are those of
    the export.
    """
    dialogue_iris = {dialogue.iri for dialogue in run.dialogues}
    grouped: dict[tuple[str, str, str, str], list[Judgement]] = defaultdict(list)
    for judgement in judgements(verdicts(store, select(store, run=iri))):
        first = judgement.first.items[0]
        if len(judgement.first.items) > 1 or run.published(first.dialogue) not in dialogue_iris:
            continue
        for judge, chosen in judgement.by_judge.items():
            if judgement.first.value(chosen) is not None:
                grouped[judgement.rubric.iri, judge, first.model, first.task].append(judgement)
    return [
        _cell(run, key[1], group)
        for key, group in sorted(grouped.items(), key=lambda each: each[0])
    ]


def _cell(run: OutgoingRun, judge: str, group: list[Judgement]) -> JudgeCell:
    rubric, item = group[0].rubric, group[0].first.items[0]
    model, task = run.published(item.model), run.published(item.task)
    by_case: dict[Item, list[float]] = defaultdict(list)
    executed: list[float] = []
    for judgement in group:
        value = judgement.first.value(judgement.by_judge[judge])
        assert value is not None
        by_case[Item(task, run.published(judgement.first.cluster))].append(value)
        if (implied := judgement.first.value(judgement.executed)) is not None:
            executed.append(implied)
    cases = {case: Histogram.of(values) for case, values in by_case.items()}
    return JudgeCell(
        cell=Cell(model, task, rubric.iri, len(group), Histogram.pooled(cases.values()), cases),
        rubric=rubric,
        judge=run.published(judge),
        executed=sum(executed) / len(executed) if executed else None,
        repeated=any(
            sum(each.judge == judge for each in judgement.verdicts) > 1 for judgement in group
        ),
    )
