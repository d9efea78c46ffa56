# SPDX-License-Identifier: Apache-2.0
"""Scores against the level of difficulty of tasks, and against the size of problems."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from kgbench.analysis.registry import EstimandName, Metric, Option, Purpose, Round, analysis
from kgbench.analysis.task_scores import Claim, Claims, Row, by_task
from kgbench.errors import QueryError
from kgbench.model import Json
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import TaskInfo
from kgbench.scores.inference import CASES, inference
from kgbench.scores.reading import BY_CASE, CHOOSING, Item, Score, repetitions
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, less_is_better, parts_by_task, score_name
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import mean_interval
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

_LABELS: Final = (
    Column("series", "Tasks"),
    Column("metric", "Metric"),
    Column("model", "Model"),
)
_MEANS: Final = (
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("clusters", "Clusters", Kind.COUNT),
)
_SPREAD: Final = (
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
)
_LEVEL: Final = Column("level", "Level", Kind.COUNT)
COLUMNS: Final = (Column("family", "Family"), *_LABELS, _LEVEL, *_MEANS, *_SPREAD)
_SIZE: Final = Column("size", "Size", Kind.COUNT)
_HALF: Final = Column("half_width", "Half width", Kind.SCORE)
SIZE_COLUMNS: Final = (*_LABELS, _SIZE, *_MEANS, _HALF, *_SPREAD)
INTERVALS = ("score", "student")
LEVEL: Final = "level"
_NONE: Final = (
    "No model was scored on a task with a level of difficulty: tasks about generated worlds have "
    "one, such as ClaimCheckWorld-natural-1."
)
_NO_SIZES: Final = (
    "No model was scored on tasks that differ in a declared problem size: give a task several in a "
    "configuration, such as 'sizes: [1000, 2000]' for RdfFriendCount."
)


class Place(NamedTuple):
    """The position of tasks on a curve: their family, the series of the curve, and a number.

    Values of tasks at the same place are pooled. ``task`` keeps tasks apart that are not.
    """

    family: str
    series: str
    number: int
    task: str | None = None


def task_levels(store: Store) -> dict[str, Place]:
    """Return the family, series and level of each task (IRI) that has a level."""
    families: dict[str, dict[str, dict[str, Json]]] = defaultdict(dict)
    for task, _, _, family, text in queries.rows(store, "task-parameters"):
        values = json.loads(str(text))
        if isinstance(values, dict) and type(values.get(LEVEL)) is int:
            families[str(family)][str(task)] = values
    return {
        task: Place(family, series, of_family[task][LEVEL])
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
        if len(set(map(repr, values))) > 1 or all(isinstance(value, str) for value in values):
            distinguishing.append(name)
    return {
        task: ", ".join(
            str(values[name]) if isinstance(values[name], str) else f"{name} {values[name]}"
            for name in distinguishing
            if name in values
        )
        or "all"
        for task, values in tasks.items()
    }


def series_of(task: TaskInfo) -> str | None:
    """Return the name of a task without its size; ``None`` where no size is declared.

    ``TurtleFriendCount-16`` belongs to the series ``TurtleFriendCount``.
    """
    return None if task.size is None else task.name.removesuffix(f"-{task.size}")


def task_sizes(tasks: Mapping[str, TaskInfo]) -> dict[str, Place]:
    """Return the series and size of each of ``tasks`` (by IRI) whose series has several sizes."""
    places = {
        iri: Place("", series, task.size, iri)
        for iri, task in tasks.items()
        if task.size is not None and (series := series_of(task)) is not None
    }
    sizes_of: dict[str, set[int]] = defaultdict(set)
    for place in places.values():
        sizes_of[place.series].add(place.number)
    return {iri: place for iri, place in places.items() if len(sizes_of[place.series]) > 1}


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
    places = {task: level for task, level in task_levels(store).items() if task in chosen}
    rows = _rows(store, selection, chosen, places, claims)
    return Table.of(
        f"Scores by level of difficulty ({selection.suite_name})",
        COLUMNS,
        rows,
        notes=claims.notes if rows else (_NONE,),
        reason=None if rows else _NONE,
        queries=(*CHOOSING, "task-parameters", *BY_CASE),
        context={
            **_context(selection, metric, round, claims),
            **less_is_better((chosen[task] for task in places), catalogue.metrics(store)),
        },
    )


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
    student = interval == "student"
    claims = Claims(inference(estimand, "student" if student else None))
    if interval not in INTERVALS:
        raise QueryError(f"there is no interval '{interval}'; there are: {', '.join(INTERVALS)}")
    chosen = chosen_scores(store, selection.tasks, metric, round)
    places = task_sizes({i: task for i, task in catalogue.tasks(store).items() if i in chosen})
    rows = _rows(store, selection, chosen, places, claims, student=student)
    return Table.of(
        f"Scores by problem size ({selection.suite_name})",
        SIZE_COLUMNS,
        rows,
        notes=claims.notes if rows else (_NO_SIZES,),
        reason=None if rows else _NO_SIZES,
        queries=(*CHOOSING, *BY_CASE),
        context={
            **_context(selection, metric, round, claims),
            **less_is_better((chosen[task] for task in places), catalogue.metrics(store)),
        },
    )


def _context(
    selection: Selection, metric: str | None, round: str | None, claims: Claims
) -> dict[str, Value]:
    return {
        **selection.context,
        "metric": metric or "main",
        "round": round,
        **claims.context,
    }


def _rows(
    store: Store,
    selection: Selection,
    chosen: Mapping[str, Score],
    places: Mapping[str, Place],
    claims: Claims,
    *,
    student: bool = False,
) -> list[dict[str, Value]]:
    """Return the cells of each place, metric and model, with intervals by ``claims``.

    The intervals are by Student's t over single dialogues if ``student``. ``level`` and ``size``
    are the number of the place.
    """
    metrics, names = catalogue.metrics(store), catalogue.models(store)
    cases_of: dict[tuple[Place, str, str], dict[Item, Histogram]] = defaultdict(dict)
    read = repetitions(store, selection, {task: chosen[task] for task in places})
    for (model, task), cases in by_task(read).items():
        if names.fits(model, selection.models):
            cases_of[places[task], chosen[task].metric, model] |= cases
    labels = {chosen[task].metric: score_name(chosen[task], metrics) for task in places}
    curves = [Row(cases, metrics[measured].bounds) for (_, measured, _), cases in cases_of.items()]
    claimed = _student(curves, claims) if student else claims.make(curves)
    rows: list[dict[str, Value]] = []
    for (place, measured, model), row, claim in zip(cases_of, curves, claimed, strict=True):
        low, high, pooled = claim.low, claim.high, row.pooled
        rows.append(
            {
                "family": place.family,
                "series": place.series,
                "metric": labels[measured],
                "model": names.name(model),
                "level": place.number,
                "size": place.number,
                "n": pooled.n,
                "mean": pooled.mean,
                "clusters": claim.number,
                "half_width": None if low is None or high is None else (high - low) / 2,
                "ci_low": low,
                "ci_high": high,
                "sd": pooled.sd,
            }
        )
    labels_of = ("family", "series", "metric", "model")
    return sorted(rows, key=lambda row: [*(str(row[n]) for n in labels_of), f"{row['level']:020}"])


def _student(rows: Sequence[Row], claims: Claims) -> list[Claim]:
    """Return means with their intervals by Student's t, with single dialogues as clusters."""
    claimed = []
    for row in rows:
        values = row.pooled
        ends = mean_interval(values) or (None, None)
        claim = Claim(values.n, values.mean, values.standard_error, *ends)
        claimed.append(claims.made_by("student", claim))
    return claimed
