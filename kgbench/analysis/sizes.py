# SPDX-License-Identifier: Apache-2.0
"""Scores against problem size, for tasks that differ only in the size of their graph.

Only tasks with a declared size count, and only series of at least two sizes.
"""

from __future__ import annotations

from typing import Annotated

from kgbench.analysis import catalogue
from kgbench.analysis.case_means import Claim, Claims, Row, by_task
from kgbench.analysis.catalogue import TaskInfo
from kgbench.analysis.estimands import CASES
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import inference
from kgbench.analysis.intervals import mean_interval
from kgbench.analysis.registry import EstimandName, Metric, Option, Purpose, Round, analysis
from kgbench.analysis.repetitions import repetitions
from kgbench.analysis.score_selectors import chosen_scores, parts_by_task, score_name
from kgbench.analysis.scores import BY_CASE, CHOOSING
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
    Column("clusters", "Clusters", Kind.COUNT),
    Column("half_width", "Half width", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
)
QUERIES = (*CHOOSING, *BY_CASE)
INTERVALS = ("score", "student")
_NONE = (
    "No model was scored on tasks that differ in a declared problem size, such as "
    "RdfFriendCount-turtle-1 and RdfFriendCount-turtle-2."
)


def series_of(task: TaskInfo) -> str | None:
    """Return the name of a task without its size; ``None`` where no size is declared.

    ``TurtleFriendCount-16`` belongs to the series ``TurtleFriendCount``.
    """
    return None if task.size is None else task.name.removesuffix(f"-{task.size}")


@analysis("sizes", Purpose.COMPARE, parts=parts_by_task, figure="kgbench.plots.size_curves:SIZES")
def sizes(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    interval: Annotated[
        str,
        Option(
            "The method of the interval: score (stays inside the range of the metric), or student "
            "(Student's t over single dialogues, as in DL4KG 2023).",
            metavar="NAME",
            panel="Scores",
        ),
    ] = "score",
    estimand: EstimandName = CASES,
) -> Table:
    """Show a score against problem size, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*", tasks="*-turtle-*").sizes().column("size")
    [1000, 2000]
    """
    claims = Claims(inference(estimand, "student" if interval == "student" else None))
    if interval not in INTERVALS:
        raise QueryError(f"there is no interval '{interval}'; there are: {', '.join(INTERVALS)}")
    chosen = chosen_scores(store, selection.tasks, metric, round)
    chosen_tasks = {iri: task for iri, task in catalogue.tasks(store).items() if iri in chosen}
    by_series: dict[str, dict[str, TaskInfo]] = {}
    for iri, task in chosen_tasks.items():
        series = series_of(task)
        if series is not None:
            by_series.setdefault(series, {})[iri] = task
    grown = {s: t for s, t in by_series.items() if len({task.size for task in t.values()}) > 1}
    metrics = catalogue.metrics(store)
    names = catalogue.models(store)
    scores = {iri: chosen[iri] for of_series in grown.values() for iri in of_series}
    of_rows = {
        (model, iri): Row(cases, metrics[chosen[iri].metric].bounds)
        for (model, iri), cases in by_task(repetitions(store, selection, scores)).items()
        if names.fits(model, selection.models)
    }
    of_each = [row.pooled for row in of_rows.values()]
    if interval == "student":
        claimed = [claims.made_by("student", _student(pooled)) for pooled in of_each]
    else:
        claimed = claims.make([*of_rows.values()])
    rows: list[tuple[Value, ...]] = []
    for (model, iri), pooled, made in zip(of_rows, of_each, claimed, strict=True):
        label = score_name(chosen[iri], metrics)
        labels = (series_of(chosen_tasks[iri]), label, names.name(model), chosen_tasks[iri].size)
        rows.append((*labels, *_statistics(pooled, made)))
    return Table(
        title=f"Scores by problem size ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: [str(v) for v in row[:3]] + [f"{row[3]:020}"])),
        notes=claims.notes if rows else (_NONE,),
        reason=None if rows else _NONE,
        queries=QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": round,
            **claims.context,
        },
    )


def _student(values: Histogram) -> Claim:
    """Return the mean with its interval by Student's t, with single dialogues as clusters."""
    interval = mean_interval(values)
    return Claim(values.n, values.mean, values.standard_error, *(interval or (None, None)))


def _statistics(values: Histogram, claimed: Claim) -> tuple[Value, ...]:
    low, high = claimed.low, claimed.high
    half = None if low is None or high is None else (high - low) / 2
    return (values.n, values.mean, claimed.number, half, low, high, values.sd)
