# SPDX-License-Identifier: Apache-2.0
"""Scores against problem size: tasks that differ only in how large their graph is."""

from __future__ import annotations

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_metrics
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.intervals import mean_interval
from kgbench.analysis.scores import TaskInfo
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

COLUMNS = (
    Column("series", "Tasks"),
    Column("metric", "Metric"),
    Column("model", "Model"),
    Column("size", "Size", Kind.COUNT),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("half_width", "± 95 %", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
)
QUERIES = (*fetch.CHOOSING, *fetch.HISTOGRAMS)


def series_of(task: TaskInfo) -> str | None:
    """What a task is called without its size, or ``None`` where its size is not declared.

    Labels that end in the size lose it: ``TurtleFriendCount-16`` belongs to ``TurtleFriendCount``.
    """
    return None if task.size is None else task.name.removesuffix(f"-{task.size}")


def sizes(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    tasks: str = "*",
    models: str = "*",
) -> Table:
    """One row per series of tasks, model and size: the mean with its interval (Student's t, 95 %).

    Only tasks with a declared size count, and only series of at least two sizes. Raises
    :class:`~kgbench.errors.QueryError` where there are none.
    """
    chosen = chosen_metrics(store, tasks, metric)
    known = {iri: task for iri, task in fetch.tasks(store).items() if iri in chosen}
    by_series: dict[str, dict[str, TaskInfo]] = {}
    for iri, task in known.items():
        series = series_of(task)
        if series is not None:
            by_series.setdefault(series, {})[iri] = task
    grown = {s: t for s, t in by_series.items() if len({task.size for task in t.values()}) > 1}
    if not grown:
        raise QueryError(f"no tasks that fit '{tasks}' differ in a declared problem size")
    named = {m.iri: m.name for m in fetch.metrics(store).values()}
    names = fetch.models(store)
    found = fetch.histograms(store, selection, {chosen[iri] for t in grown.values() for iri in t})
    rows: list[tuple[Value, ...]] = []
    for cell, histogram in found.items():
        measured = known.get(cell.task)
        series = None if measured is None else series_of(measured)
        fits = names.fits(cell.model, models)
        if measured is None or series not in grown or chosen[cell.task] != cell.metric or not fits:
            continue
        about = (series, named[cell.metric], names.name(cell.model), measured.size)
        rows.append((*about, *_statistics(histogram)))
    return Table(
        title=f"Scores by problem size ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: [str(v) for v in row[:3]] + [f"{row[3]:020}"])),
        queries=QUERIES,
        context={**selection.context, "metric": metric or "main"},
    )


def _statistics(values: Histogram) -> tuple[Value, ...]:
    interval = mean_interval(values)
    if interval is None:
        return (values.n, values.mean, None, None, None, values.sd)
    return (
        values.n,
        values.mean,
        interval.half_width,
        interval.low,
        interval.high,
        values.sd,
    )
