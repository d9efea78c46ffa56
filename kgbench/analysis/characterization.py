# SPDX-License-Identifier: Apache-2.0
"""Scores by demands of tasks: cognitive process, knowledge dimension, relational complexity.

The score is the mean of the task means; the deviation is that of all values together. A task with
several levels of a characteristic counts in each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from kgbench.analysis.case_means import Claim, Claims, Row
from kgbench.analysis.registry import Arguments, EstimandName, Purpose, analysis
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.inference import AVAILABLE, check_estimand, find_estimand, inference
from kgbench.scores.reading import BY_CASE, CHOOSING, Item, Score, repetitions
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores
from kgbench.statistics.histogram import Histogram, mean
from kgbench.statistics.intervals import Bounds
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value
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
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
)
QUERIES = (*CHOOSING, *BY_CASE, "task-characteristics")


def _parts(store: Store, _: Selection, __: Arguments) -> dict[str, list[Score]]:
    """Return the scores behind the table, by ``characteristic/level``."""
    levels = levels_of(store)
    parts: dict[str, list[Score]] = {}
    for task in catalogue.tasks(store).values():
        if task.main_metric is not None:
            for characteristic, level in levels.get(task.task_class, ()):
                score = Score(task.iri, task.main_metric, None)
                parts.setdefault(f"{characteristic}/{level}", []).append(score)
    return parts


@analysis("characterization", Purpose.UNDERSTAND, parts=_parts)
def characterization(
    store: Store, selection: Selection, *, estimand: EstimandName = AVAILABLE
) -> Table:
    """Show scores by cognitive process, knowledge dimension and relational complexity.

    >>> results = kgbench.open("kgbench-results")
    >>> results.characterization().where("level", "understand").column("n")
    [16, 16]
    """
    requested = find_estimand(check_estimand(estimand))
    tasks, levels, metrics = catalogue.tasks(store), levels_of(store), catalogue.metrics(store)
    chosen = chosen_scores(store, "*", None)
    parts: dict[tuple[str, str, str], dict[str, dict[Item, Histogram]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    uncharacterised: set[str] = set()
    for item, by_model in repetitions(store, selection, chosen).items():
        task = tasks[item.task]
        characteristics = levels.get(task.task_class, set())
        if not characteristics:
            uncharacterised.add(task.class_name)
        for characteristic, level in characteristics:
            for model, answers in by_model.items():
                parts[characteristic, level, model][item.task][item] = answers.values
    if not parts:
        raise QueryError("no task class with scores is characterised")
    names = catalogue.models(store)
    pooled = {
        key: {task: Histogram.pooled(cases.values()) for task, cases in of_tasks.items()}
        for key, of_tasks in parts.items()
    }
    of_rows = [
        Row(
            {item: values for cases in of_tasks.values() for item, values in cases.items()},
            Bounds.around(metrics[chosen[task].metric].bounds for task in of_tasks),
            {task: 1 / values.n for task, values in pooled[key].items()},
        )
        for key, of_tasks in parts.items()
    ]
    numbers = (len(cases) for of_tasks in parts.values() for cases in of_tasks.values())
    claims = Claims(inference(requested.of_tasks(numbers).name))
    rows = [
        (c, level, names.name(model), *_statistics(of_tasks, claimed))
        for ((c, level, model), of_tasks), claimed in zip(
            pooled.items(), claims.make(of_rows), strict=True
        )
    ]
    notes = [f"Not characterised: {', '.join(sorted(uncharacterised))}."] if uncharacterised else []
    return Table(
        title=f"Scores by characteristics of tasks ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: [str(value) for value in row[:3]])),
        notes=(*notes, *claims.notes),
        queries=QUERIES,
        context={**selection.context, **claims.context},
    )


def levels_of(store: Store) -> dict[str, set[tuple[str, str]]]:
    """Return the characteristics of each task class (IRI) as pairs of characteristic and level."""
    levels: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for task_class, _, characteristic, level in queries.rows(store, "task-characteristics"):
        levels[str(task_class)].add((TITLES[str(characteristic)], str(level)))
    return levels


def _statistics(parts: Mapping[str, Histogram], claimed: Claim) -> tuple[Value, ...]:
    score = mean(part.mean for part in parts.values() if part.mean is not None)
    all_values = Histogram.pooled(parts.values())
    return (
        len(parts),
        all_values.n,
        score,
        all_values.sd,
        claimed.number,
        claimed.low,
        claimed.high,
    )
