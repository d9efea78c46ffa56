# SPDX-License-Identifier: Apache-2.0
"""The scores of every model on every task: how many, how high, how spread, and what went wrong."""

from __future__ import annotations

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_metrics
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.intervals import mean_interval
from kgbench.analysis.scores import Cell, Errors, TaskInfo
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.store.protocol import Store

COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("metric", "Metric"),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("minimum", "Min", Kind.SCORE),
    Column("q1", "Q1", Kind.SCORE),
    Column("median", "Median", Kind.SCORE),
    Column("q3", "Q3", Kind.SCORE),
    Column("maximum", "Max", Kind.SCORE),
    Column("failed", "Failed", Kind.COUNT),
    Column("not_judged", "Not judged", Kind.COUNT),
    Column("unreadable", "Unreadable", Kind.SHARE),
)
QUERIES = (*fetch.CHOOSING, *fetch.HISTOGRAMS, *fetch.ERRORS)


def task_scores(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    tasks: str = "*",
    models: str = "*",
) -> Table:
    """One row per task and model: the distribution of a score, its interval, and the errors.

    ``metric`` is a short name; without one, each task is shown by its main metric. ``tasks`` and
    ``models`` are globs over labels and model ids. The interval is that of the mean by Student's t
    at 95 %, absent for fewer than two values. Raises :class:`~kgbench.errors.QueryError` when no
    task or metric fits.
    """
    chosen = chosen_metrics(store, tasks, metric)
    names = fetch.models(store)
    found = fetch.histograms(store, selection, set(chosen.values()))
    wrong = fetch.errors(store, selection, fetch.tasks(store))
    metrics = fetch.metrics(store)
    known = {t.iri: t for t in fetch.tasks(store).values()}
    cells = {(cell.model, cell.task) for cell in found if cell.metric == chosen.get(cell.task)}
    cells |= {key for key in wrong if key[1] in chosen}
    rows = []
    iris: dict[str, dict[str, str]] = {"model": {}, "task": {}}
    for model, task in sorted(cells):
        if not names.fits(model, models):
            continue
        histogram = found.get(Cell(model, task, chosen[task]), Histogram({}))
        name = names.name(model)
        iris["model"][name] = model
        iris["task"][known[task].name] = task
        rows.append(
            _row(
                known[task],
                name,
                metrics[chosen[task]].name,
                histogram,
                wrong.get((model, task), Errors()),
            )
        )
    return Table(
        title=f"Scores by task ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (str(row[0]), str(row[1])))),
        queries=QUERIES,
        context={**selection.context, "metric": metric or "main"},
        iris=iris,
    )


def _row(
    task: TaskInfo, model: str, metric: str, values: Histogram, wrong: Errors
) -> tuple[Value, ...]:
    interval = mean_interval(values)
    judged = values.n + wrong.not_judged
    return (
        task.name,
        model,
        metric,
        values.n,
        values.mean,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        values.sd,
        values.minimum,
        values.quantile(0.25),
        values.median,
        values.quantile(0.75),
        values.maximum,
        wrong.failed,
        wrong.not_judged,
        wrong.unreadable / judged if judged else None,
    )
