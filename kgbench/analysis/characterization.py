# SPDX-License-Identifier: Apache-2.0
"""Scores by what tasks demand: cognitive process, knowledge dimension, relational complexity."""

from __future__ import annotations

from collections import defaultdict

from kgbench.analysis import queries
from kgbench.analysis import scores as fetch
from kgbench.analysis.histogram import Histogram, mean
from kgbench.analysis.intervals import mean_interval
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.store.protocol import Store
from kgbench.vocab import KGB

TITLES = {
    KGB.cognitiveProcess: "cognitive process",
    KGB.knowledgeDimension: "knowledge dimension",
    KGB.relationalComplexity: "relational complexity",
}
COLUMNS = (
    Column("characteristic", "Characteristic"),
    Column("level", "Level"),
    Column("model", "Model"),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("n", "n", Kind.COUNT),
    Column("score", "Score", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
)
QUERIES = (
    *("list-passes", "list-suites", "list-tasks", "list-models"),
    *fetch.HISTOGRAMS,
    "task-characteristics",
)


def characterization(store: Store, selection: Selection) -> Table:
    """One row per characteristic, level and model, over the main metrics of the tasks that have it.

    The score is the mean of the task means; deviation and interval are of all values together. A
    task with several levels of a characteristic counts in each of them. Raises
    :class:`~kgbench.errors.QueryError` where no scored task class is characterised.
    """
    tasks, levels = fetch.tasks(store), levels_of(store)
    metrics = {task.main_metric for task in tasks.values() if task.main_metric is not None}
    parts: dict[tuple[str, str, str], list[Histogram]] = defaultdict(list)
    bare: set[str] = set()
    for cell, histogram in fetch.histograms(store, selection, metrics).items():
        task = tasks.get(cell.task)
        if task is None or task.main_metric != cell.metric:
            continue
        found = levels.get(task.task_class, set())
        if not found:
            bare.add(task.class_name)
        for characteristic, level in found:
            parts[characteristic, level, cell.model].append(histogram)
    if not parts:
        raise QueryError("no task class with scores is characterised")
    names = fetch.models(store)
    rows = [
        (c, level, names.name(model), *_statistics(histograms))
        for (c, level, model), histograms in parts.items()
    ]
    notes = [f"Not characterised: {', '.join(sorted(bare))}."] if bare else []
    return Table(
        title=f"Scores by characteristics of tasks ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: [str(value) for value in row[:3]])),
        notes=tuple(notes),
        queries=QUERIES,
        context=selection.context,
    )


def levels_of(store: Store) -> dict[str, set[tuple[str, str]]]:
    """The characteristics of each task class (IRI), each with its level."""
    levels: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for task_class, _, characteristic, level in queries.rows(store, "task-characteristics"):
        levels[str(task_class)].add((TITLES[str(characteristic)], str(level)))
    return levels


def _statistics(parts: list[Histogram]) -> tuple[Value, ...]:
    pooled = Histogram.pooled(parts)
    interval = mean_interval(pooled)
    return (
        len(parts),
        pooled.n,
        mean(part.mean for part in parts if part.mean is not None),
        pooled.sd,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
    )
