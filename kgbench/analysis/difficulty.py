# SPDX-License-Identifier: Apache-2.0
"""Scores against the level of difficulty of tasks, and against the size of problems."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NamedTuple

from kgbench.analysis.registry import EstimandName, Metric, Option, Purpose, Round, analysis
from kgbench.analysis.task_scores import Claim, Claims, Row, by_task
from kgbench.errors import QueryError
from kgbench.model import Json
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import TaskInfo
from kgbench.scores.inference import CASES, inference
from kgbench.scores.reading import BY_CASE, CHOOSING, Item, repetitions
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, parts_by_task, score_name
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import mean_interval
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

COLUMNS: Final = (
    Column("family", "Family"),
    Column("series", "Tasks"),
    Column("metric", "Metric"),
    Column("model", "Model"),
    Column("level", "Level", Kind.COUNT),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
)
QUERIES: Final = (*CHOOSING, "task-parameters", *BY_CASE)
LEVEL: Final = "level"
_NONE: Final = (
    "No model was scored on a task with a level of difficulty: tasks about generated worlds have "
    "one, such as ClaimCheckWorld-natural-1."
)
_ALL: Final = "all"


class TaskLevel(NamedTuple):
    """The position of a task: its family, the series of its other parameters, and its level."""

    family: str
    series: str
    level: int


def task_levels(store: Store) -> dict[str, TaskLevel]:
    """Return the family, series and level of each task (IRI) that has a level."""
    families: dict[str, dict[str, dict[str, Json]]] = defaultdict(dict)
    for task, _, _, family, text in queries.rows(store, "task-parameters"):
        values = json.loads(str(text))
        if isinstance(values, dict) and type(values.get(LEVEL)) is int:
            families[str(family)][str(task)] = values
    return {
        task: TaskLevel(family, series, of_family[task][LEVEL])
        for family, of_family in families.items()
        for task, series in _series(of_family).items()
    }


def _series(tasks: Mapping[str, Mapping[str, Json]]) -> dict[str, str]:
    """Name the series of each task by the parameters that distinguish tasks beside the level.

    These are texts (a skill, a kind of names), and numbers that are not the same for all tasks, in
    the order of the names of parameters.
    """
    names = sorted({name for values in tasks.values() for name in values} - {LEVEL})
    distinguishing: list[str] = []
    for name in names:
        values = [parameters.get(name) for parameters in tasks.values()]
        if len(set(map(repr, values))) > 1 or all(
            isinstance(parameters, str) for parameters in values
        ):
            distinguishing.append(name)
    return {
        task: ", ".join(_label(name, values[name]) for name in distinguishing if name in values)
        or _ALL
        for task, values in tasks.items()
    }


def _label(name: str, value: Json) -> str:
    return value if isinstance(value, str) else f"{name} {value}"


@analysis(
    "difficulty",
    Purpose.COMPARE,
    parts=parts_by_task,
    figure="kgbench.plots.size_curves:DIFFICULTY",
)
def difficulty(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    estimand: EstimandName = CASES,
) -> Table:
    """Show a score against the level of difficulty of tasks, by family, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.difficulty())
    0
    """
    claims = Claims(inference(estimand))
    chosen = chosen_scores(store, selection.tasks, metric, round)
    steps_of_tasks = {task: step for task, step in task_levels(store).items() if task in chosen}
    metrics, names = catalogue.metrics(store), catalogue.models(store)
    scores = {task: chosen[task] for task in steps_of_tasks}
    cases_of: dict[tuple[TaskLevel, str, str], dict[Item, Histogram]] = defaultdict(dict)
    for (model, task), cases in by_task(repetitions(store, selection, scores)).items():
        if names.fits(model, selection.models):
            cases_of[steps_of_tasks[task], chosen[task].metric, model] |= cases
    labels = {chosen[task].metric: score_name(chosen[task], metrics) for task in steps_of_tasks}
    of_rows = [Row(cases, metrics[measured].bounds) for (_, measured, _), cases in cases_of.items()]
    rows: list[tuple[Value, ...]] = []
    for (step, measured, model), row, claimed in zip(
        cases_of, of_rows, claims.make(of_rows), strict=True
    ):
        labels_of_row = (step.family, step.series, labels[measured], names.name(model), step.level)
        rows.append((*labels_of_row, *_statistics(row.pooled, claimed)))
    return Table(
        title=f"Scores by level of difficulty ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(_ordered(rows)),
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


def _statistics(values: Histogram, claimed: Claim) -> tuple[Value, ...]:
    return (values.n, values.mean, claimed.number, claimed.low, claimed.high, values.sd)


def _ordered(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Sort rows by family, series, metric, model and level."""
    return sorted(rows, key=lambda row: (*map(str, row[:4]), f"{row[4]:020}"))


SIZE_COLUMNS = (
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
SIZE_QUERIES = (*CHOOSING, *BY_CASE)
INTERVALS = ("score", "student")
_NO_SIZES = (
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
        rows.append((*labels, *_of_size(pooled, made)))
    return Table(
        title=f"Scores by problem size ({selection.suite_name})",
        columns=SIZE_COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: [str(v) for v in row[:3]] + [f"{row[3]:020}"])),
        notes=claims.notes if rows else (_NO_SIZES,),
        reason=None if rows else _NO_SIZES,
        queries=SIZE_QUERIES,
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


def _of_size(values: Histogram, claimed: Claim) -> tuple[Value, ...]:
    low, high = claimed.low, claimed.high
    half = None if low is None or high is None else (high - low) / 2
    return (values.n, values.mean, claimed.number, half, low, high, values.sd)
