# SPDX-License-Identifier: Apache-2.0
"""Comparison of two stored evaluation passes, value by value, like ``reevaluate``'s report."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from kgbench.record import reading
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation.comparison import Comparison
from kgbench.scores import catalogue
from kgbench.scores.reading import score_rows
from kgbench.scores.selection import Selection, select
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table

# By dialogue: task and model, and the evaluations by round.
_Scores: TypeAlias = dict[str, tuple[tuple[str, str], dict[int | None, ScoredEvaluation]]]


def compare_passes(store: Store, selection: Selection, before: str, after: str) -> Comparison:
    """Compare the scores of the pass ``after`` with those of ``before`` (IRIs).

    Only dialogues with scores in both passes are compared. ``selection`` gives the suite, the tasks
    and the models.
    """
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    names = {metric.iri: metric.name for metric in catalogue.metrics(store).values()}
    old = _scores(store, selection, before, sorted(names))
    new = _scores(store, selection, after, sorted(names))
    added = _metrics(new) - _metrics(old)
    comparison = Comparison()
    for dialogue in sorted({*old} & {*new}):
        task_and_model, was = old[dialogue]
        comparison.add(
            dialogue,
            tasks[task_and_model[0]].label,
            models[task_and_model[1]].id,
            before=was,
            after=new[dialogue][1],
            names=names,
            new=added,
        )
    return comparison


def _metrics(scores: _Scores) -> set[str]:
    return {m for _, rounds in scores.values() for seen in rounds.values() for m in seen.scores}


def _scores(
    store: Store, selection: Selection, evaluation_pass: str, metrics: list[str]
) -> _Scores:
    chosen = select(
        store, selection.suite, evaluation_pass, tasks=selection.tasks, models=selection.models
    )
    decimals = {
        evaluation.iri: evaluation.decimals
        for graph in chosen.pass_graphs
        for evaluation in reading.pass_evaluations(store, graph)
    }
    by_dialogue: _Scores = {}
    scores: dict[tuple[str, int | None], dict[str, float]] = defaultdict(dict)
    for row in score_rows(store, chosen, metrics):
        values = scores[row.dialogue, row.round]
        values[row.metric] = row.value
        by_round = by_dialogue.setdefault(row.dialogue, ((row.task, row.model), {}))[1]
        by_round[row.round] = ScoredEvaluation(row.evaluation, values, decimals.get(row.evaluation))
    return by_dialogue


def changes(comparison: Comparison) -> Table:
    """Tabulate, for each task and metric, the numbers of compared and changed values."""
    columns = (
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("compared", "Compared", Kind.COUNT),
        Column("changed", "Changed", Kind.COUNT),
        Column("mean_change", "Mean change", Kind.SCORE),
        Column("max_change", "Max change", Kind.SCORE),
    )
    return Table.of("Values compared and changed", columns, comparison.report()["metrics"])
