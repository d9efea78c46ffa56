# SPDX-License-Identifier: Apache-2.0
"""The distribution of scores of every model on every task, with interval and errors."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.analysis import case_means
from kgbench.analysis.case_means import Claim, Claims, Row, by_task
from kgbench.analysis.outcomes import ERRORS, Errors, count_errors
from kgbench.analysis.registry import (
    Common,
    EstimandName,
    Metric,
    Purpose,
    Round,
    analysis,
)
from kgbench.scores import catalogue
from kgbench.scores.inference import CASES, inference
from kgbench.scores.reading import BY_CASE, BY_TASK, CHOOSING, Item, Score, repetitions
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import (
    chosen_scores,
    histograms_by_model,
    of_common_tasks,
    parts_by_task,
    score_name,
)
from kgbench.statistics.histogram import Histogram
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("metric", "Metric"),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    *case_means.COLUMNS,
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
QUERIES = (*CHOOSING, *BY_CASE, *ERRORS)
_POOLED_QUERIES = (*CHOOSING, *BY_TASK, *ERRORS)


@analysis("tasks", Purpose.LOOK, parts=parts_by_task)
def tasks(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    estimand: EstimandName = CASES,
    common: Common = False,
) -> Table:
    """Show the distribution of a score for every task and model, with errors.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*").tasks(metric="f1").column("mean")
    [0.25, 0.75, 0.75]
    """
    table = task_scores(store, selection, metric=metric, round=round, estimand=estimand)
    return of_common_tasks(table) if common else table


def task_scores(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    round: str | None = None,
    estimand: str = CASES,
) -> Table:
    """Tabulate scores: one row per task and model with distribution, interval and errors.

    ``metric`` is a short name; the default is the main metric of each task. ``round`` says which
    answers of dialogues count: ``first``, ``last``, ``best`` or a round as text. The 95 % interval
    of the mean stays inside the range of the metric; it is that of
    :func:`~kgbench.analysis.case_means.estimate_means` for the ``estimand``. For
    ``dialogues`` no cases are read, and the time does not grow with their number. Raises
    :class:`~kgbench.errors.QueryError` when no task or metric matches, and for an unknown estimand.
    """
    inference_ = inference(estimand)
    claims = Claims(inference_)
    chosen = chosen_scores(store, selection.tasks, metric, round)
    names = catalogue.models(store)
    clustered = inference_.estimand.clustered
    values = (
        by_task(repetitions(store, selection, chosen))
        if clustered
        else _pooled(store, selection, chosen)
    )
    scored: dict[str, dict[str, int]] = {
        t: {} for t, score in chosen.items() if score.round is None
    }
    for (model, task), by_item in values.items():
        if task in scored:
            scored[task][model] = sum(one.n for one in by_item.values())
    wrong = count_errors(store, selection, catalogue.tasks(store), scored)
    metrics = catalogue.metrics(store)
    tasks_by_iri = {t.iri: t for t in catalogue.tasks(store).values()}
    cells = sorted(
        (model, task)
        for model, task in {*values} | {key for key in wrong if key[1] in chosen}
        if names.fits(model, selection.models)
    )
    of_cells = [
        Row(values.get((model, task), {}), metrics[chosen[task].metric].bounds)
        for model, task in cells
    ]
    rows = []
    for (model, task), of_cell, claimed in zip(cells, of_cells, claims.make(of_cells), strict=True):
        name = names.name(model)
        rows.append(
            _row(
                (tasks_by_iri[task].name, name, score_name(chosen[task], metrics)),
                of_cell.pooled,
                claimed,
                wrong.get((model, task), Errors()),
            )
        )
    return Table(
        title=f"Scores by task ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (str(row[0]), str(row[1])))),
        notes=claims.notes,
        queries=QUERIES if clustered else _POOLED_QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": round,
            **claims.context,
        },
    )


def _pooled(
    store: Store, selection: Selection, chosen: Mapping[str, Score]
) -> dict[tuple[str, str], dict[Item, Histogram]]:
    """Return the values of each model and task, without their cases."""
    return {
        (model, score.task): {Item(score.task, ""): values}
        for model, by_score in histograms_by_model(store, selection, chosen.values()).items()
        for score, values in by_score.items()
    }


def _row(
    labels: tuple[str, str, str], values: Histogram, claimed: Claim, wrong: Errors
) -> tuple[Value, ...]:
    judged = values.n + wrong.not_judged
    return (
        *labels,
        values.n,
        values.mean,
        *claimed.cells,
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
