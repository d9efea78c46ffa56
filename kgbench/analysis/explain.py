# SPDX-License-Identifier: Apache-2.0
"""From a cell of a table down to its dialogues: the query asked, and every value behind it."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from kgbench.analysis import queries
from kgbench.analysis import scores as fetch
from kgbench.analysis.characterization import levels_of
from kgbench.analysis.choosing import Score, chosen_metrics
from kgbench.analysis.compass import Compass
from kgbench.analysis.declarations import ScoreSet
from kgbench.analysis.feedback import metrics_of_answers
from kgbench.analysis.format_preference import FormatComparison
from kgbench.analysis.selection import Selection
from kgbench.analysis.superseded import Superseded
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

SEPARATOR = "::"
COLUMNS = (
    Column("part", "Part"),
    Column("metric", "Metric"),
    Column("round", "Round", Kind.COUNT),
    Column("iteration", "Iteration", Kind.COUNT),
    Column("value", "Value", Kind.SCORE),
    Column("dialogue", "Dialogue"),
)


def of_score_set(store: Store, combined: ScoreSet) -> dict[str, list[Score]]:
    """The scores behind a leaderboard, by task."""
    tasks = fetch.tasks(store)
    parts: dict[str, list[Score]] = {}
    for score in combined.scores(tasks, fetch.metrics(store)):
        parts.setdefault(tasks[score.task].name, []).append(score)
    return parts


def of_tasks(store: Store, glob: str, metric: str | None) -> dict[str, list[Score]]:
    """The scores behind tables of single tasks, by task."""
    names = fetch.tasks(store)
    chosen = chosen_metrics(store, glob, metric)
    return {names[task].name: [Score(task, found, None)] for task, found in chosen.items()}


def of_compass(store: Store, declared: Compass) -> dict[str, list[Score]]:
    """The scores behind a compass, by axis."""
    tasks, metrics = fetch.tasks(store).values(), fetch.metrics(store).values()
    return {
        axis.name: [s for selector in axis.selectors for s in selector.scores(tasks, metrics)]
        for axis in declared.axes
    }


def of_formats(store: Store, declared: FormatComparison) -> dict[str, list[Score]]:
    """The scores behind a format comparison, by pair; both formats together."""
    tasks, metrics = fetch.tasks(store).values(), fetch.metrics(store).values()
    return {
        pair.label: [
            *pair.first.scores(tasks, metrics),
            *pair.second.scores(tasks, metrics),
        ]
        for pair in declared.pairs
    }


def of_characteristics(store: Store) -> dict[str, list[Score]]:
    """The scores behind characterisations of tasks, by ``characteristic/level``."""
    levels = levels_of(store)
    parts: dict[str, list[Score]] = {}
    for task in fetch.tasks(store).values():
        if task.main_metric is not None:
            for characteristic, level in levels.get(task.task_class, ()):
                score = Score(task.iri, task.main_metric, None)
                parts.setdefault(f"{characteristic}/{level}", []).append(score)
    return parts


def of_answers(store: Store) -> dict[str, list[Score]]:
    """The scores of single answers behind what feedback brings, by task; every round of them."""
    names = fetch.tasks(store)
    return {
        names[task].name: [Score(task, metric.iri, None)]
        for task, metric in metrics_of_answers(store).items()
    }


def explain(
    store: Store, selection: Selection, parts: Mapping[str, list[Score]], cell: str
) -> tuple[str, Table]:
    """The query behind a cell with its parameters, and the values and dialogues it rests on.

    ``cell`` is ``MODEL`` or ``MODEL::PART``, where a part is a task, an axis, a pair or a level of
    ``parts`` (a glob). Raises :class:`~kgbench.errors.QueryError` for a cell that is not there.
    """
    wanted, _, part_glob = cell.partition(SEPARATOR)
    model = fetch.models(store).find(wanted)
    chosen = {
        name: set(scores) for name, scores in parts.items() if fnmatchcase(name, part_glob or "*")
    }
    if not any(chosen.values()):
        raise QueryError(f"no part fits '{part_glob}'; there are: {', '.join(sorted(parts))}")
    everything = {score for scores in chosen.values() for score in scores}
    later = Superseded(store, selection)
    given: dict[str, queries.Value | list[str] | None] = {
        "passGraph": list(selection.pass_graphs),
        "metric": later.with_later(score.metric for score in everything),
        "task": sorted({score.task for score in everything}),
        "model": model.iri,
        "latest": selection.latest,
    }
    text = queries.bind(queries.load("score-rows"), **given)
    named = {metric.iri: metric.name for metric in fetch.metrics(store).values()}
    rows = []
    for row in store.query(text):
        task = row["task"].value
        metric = later.of_task(task, row["metric"].value)
        round_ = None if row["round"] is None else int(row["round"].value)
        mine = {Score(task, metric, None), Score(task, metric, round_)}
        rows += [
            (
                part,
                named.get(metric, metric),
                round_,
                int(row["iteration"].value),
                float(row["value"].value),
                row["dialogue"].value.removeprefix(store.iris.base),
            )
            for part, scores in chosen.items()
            if mine & scores
        ]
    table = Table(
        title=f"{len(rows)} values of {model.name}",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (row[0], row[1], row[3], row[2] or 0, row[5]))),
        notes=("`kgbench show DIALOGUE` shows what was asked, answered and judged.",),
        queries=fetch.ROWS,
        context={**selection.context, "cell": cell},
    )
    return text, table
