# SPDX-License-Identifier: Apache-2.0
"""Two stored evaluation passes compared value by value, in the form of ``reevaluate``'s report."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.record import reading
from kgbench.record.reading import Seen
from kgbench.reevaluation.comparison import Comparison
from kgbench.store.protocol import Store

# Task, model and evaluations by round, of each dialogue.
_Scores: TypeAlias = dict[str, tuple[tuple[str, str], dict[int | None, Seen]]]


def compare_passes(store: Store, selection: Selection, before: str, after: str) -> Comparison:
    """How the scores of the pass ``after`` differ from ``before`` (IRIs), where both have any.

    ``selection`` says the suite, and which tasks and models count.
    """
    tasks, models = fetch.tasks(store), fetch.models(store)
    names = {metric.iri: metric.name for metric in fetch.metrics(store).values()}
    old = _scores(store, selection, before, sorted(names))
    new = _scores(store, selection, after, sorted(names))
    added = _metrics(new) - _metrics(old)
    found = Comparison()
    for dialogue in sorted({*old} & {*new}):
        about, was = old[dialogue]
        found.add(
            dialogue,
            tasks[about[0]].label,
            models[about[1]].id,
            before=was,
            after=new[dialogue][1],
            names=names,
            new=added,
        )
    return found


def _metrics(scores: _Scores) -> set[str]:
    return {m for _, rounds in scores.values() for seen in rounds.values() for m in seen.scores}


def _scores(
    store: Store, selection: Selection, evaluation_pass: str, metrics: list[str]
) -> _Scores:
    chosen = select(
        store, selection.suite, evaluation_pass, tasks=selection.tasks, models=selection.models
    )
    decimals = {
        one.iri: one.decimals
        for graph in chosen.pass_graphs
        for one in reading.pass_evaluations(store, graph)
    }
    found: _Scores = {}
    scores: dict[tuple[str, int | None], dict[str, float]] = defaultdict(dict)
    for row in fetch.score_rows(store, chosen, metrics):
        values = scores[row.dialogue, row.round]
        values[row.metric] = row.value
        by_round = found.setdefault(row.dialogue, ((row.task, row.model), {}))[1]
        by_round[row.round] = Seen(row.evaluation, values, decimals.get(row.evaluation))
    return found


def changes(found: Comparison) -> Table:
    """For each task and metric, how many values were compared and changed, and by how much."""
    columns = (
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("compared", "Compared", Kind.COUNT),
        Column("changed", "Changed", Kind.COUNT),
        Column("mean_change", "Mean change", Kind.SCORE),
        Column("max_change", "Max change", Kind.SCORE),
    )
    rows = tuple(tuple(row[column.name] for column in columns) for row in found.report()["metrics"])
    return Table("Values compared and changed", columns, rows)
