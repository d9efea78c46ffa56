# SPDX-License-Identifier: Apache-2.0
"""Scores by level of difficulty, for families of tasks that differ in their declared level.

The level is the parameter ``level`` of a task class, as the store records it with each task. A
family is a task class that declares this parameter.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kgbench.analysis import catalogue
from kgbench.analysis.case_means import Claim, Claims, Row, by_task
from kgbench.analysis.estimands import CASES
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import inference
from kgbench.analysis.registry import EstimandName, Metric, Purpose, Round, analysis
from kgbench.analysis.repetitions import Item, repetitions
from kgbench.analysis.score_selectors import chosen_scores, parts_by_task, score_name
from kgbench.analysis.scores import BY_CASE, CHOOSING
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.model import Json
from kgbench.rdf import queries
from kgbench.store.protocol import Store

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
