# SPDX-License-Identifier: Apache-2.0
"""The scores of every model on every task: how many, how high, how spread, and what went wrong."""

from __future__ import annotations

from fnmatch import fnmatchcase

from kgbench.analysis import scores as fetch
from kgbench.analysis.declarations import Selector
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.intervals import mean_interval
from kgbench.analysis.scores import Cell, Errors, TaskInfo
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
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
QUERIES = (
    "list-passes",
    "list-suites",
    "list-tasks",
    "list-metrics",
    "list-models",
    "score-histograms",
    "superseding-metrics",
    "failed-dialogues",
    "outcome-counts",
)


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
        info = names.get(model)
        if info is not None and not _fits(info, models):
            continue
        histogram = found.get(Cell(model, task, chosen[task]), Histogram({}))
        name = model if info is None else info.name
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
        context={"suite": selection.suite, "pass": selection.choice, "metric": metric or "main"},
        iris=iris,
    )


def chosen_metrics(store: Store, glob: str, metric: str | None) -> dict[str, str]:
    """Which metric (IRI) stands for which task (IRI) whose label fits ``glob``.

    ``metric`` is a short name; without one it is each task's main metric. Raises
    :class:`~kgbench.errors.QueryError` when no task or metric fits.
    """
    tasks = fetch.tasks(store).values()
    if not any(fnmatchcase(task.label, glob) for task in tasks):
        raise QueryError(f"no task label fits '{glob}'")
    chosen = Selector(glob, metric).scores(tasks, fetch.metrics(store).values())
    if not chosen:
        raise QueryError(f"no task that fits '{glob}' has a metric '{metric or 'main'}'")
    return {score.task: score.metric for score in chosen}


def _fits(model: fetch.ModelInfo, glob: str) -> bool:
    return fnmatchcase(model.id, glob) or fnmatchcase(model.name, glob)


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
