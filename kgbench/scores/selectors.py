# SPDX-License-Identifier: Apache-2.0
"""Choosing the scores of an analysis: selectors of tasks, metrics and rounds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgbench.errors import QueryError
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo, TaskInfo
from kgbench.scores.reading import Score, ScoreRow, score_rows
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Table, Value

ROUNDS: Mapping[str, str | None] = {"first": None, "last": "last", "best": "max"}
"""The names for answers of a dialogue, with the aggregation of their scores."""
_OF_ROUND = re.compile(r"(?P<round>\d{1,4})_(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of scores: tasks whose label matches ``glob``, with a metric.

    Without ``metric``, it is the main metric of each task. A metric may include its round, as
    published names do: ``0_combined``. ``round`` says which answers count for tasks with several
    rounds: ``first``, ``last``, ``best``, or a round as text, counted from 0; ``metric`` must then
    be a metric of single answers.
    """

    glob: str
    metric: str | None = None
    round: str | None = None

    def scores(self, tasks: Iterable[TaskInfo], metrics: Iterable[MetricInfo]) -> list[Score]:
        """Return the selected scores in the order of the tasks.

        Tasks without the metric are left out, as are tasks whose main metric is a score of each
        round, or an error (:func:`left_out`). Raises :class:`~kgbench.errors.QueryError` where a
        metric of single answers is named for a task with several rounds without naming a round,
        because the values of all rounds would be pooled, and where ``round`` contradicts a named
        round or aggregate.
        """
        known = _Metrics(metrics)
        name, round_ = name_and_round(self.metric)
        selected = []
        for task in tasks:
            if not task.fits(self.glob):
                continue
            metric = known.metric(task, name)
            if metric is None:
                continue
            if self.round is not None:
                if round_ is not None or (name is not None and metric.aggregation is not None):
                    given_name = self.metric or metric.name
                    raise QueryError(
                        f"'{given_name}' of {task.label} already says which answers "
                        f"count: leave out '{self.round}', or name a metric of single answers"
                    )
                score = known.at(task, metric, self.round)
            elif task.rounds > 1 and metric.aggregation is None and round_ is None:
                if name is None:
                    continue  # the task class should declare an aggregate: see left_out
                raise QueryError(
                    f"'{metric.name}' of {task.label} is a score of each round: name a round, "
                    f"or an aggregate such as max_{metric.name}"
                )
            elif task.rounds == 1 and round_ is not None:
                score = Score(task.iri, metric.iri, None) if round_ == 0 else None
            else:
                score = Score(task.iri, metric.iri, round_)
            if score is not None:
                selected.append(score)
        return selected


class _Metrics:
    """The metrics of a catalogue, indexed by name, by IRI and by the metric that they aggregate."""

    def __init__(self, metrics: Iterable[MetricInfo]) -> None:
        self._by_iri = {metric.iri: metric for metric in metrics}
        all_metrics = self._by_iri.values()
        self._named = {(m.task_class, m.name): m for m in all_metrics}
        self._summaries = {(m.base, m.aggregation): m for m in all_metrics if m.base is not None}

    def metric(self, task: TaskInfo, name: str | None) -> MetricInfo | None:
        """Return the metric of a task with this short name, or its main metric."""
        if name is None:
            return self._by_iri.get(task.main_metric or "")
        return self._named.get((task.task_class, name))

    def at(self, task: TaskInfo, metric: MetricInfo, round: str) -> Score | None:
        """Return the score of a ``round``; ``None`` where the task has no such answers."""
        if task.rounds == 1:
            exists = round in ROUNDS or int(round) == 0
            return Score(task.iri, metric.iri, None) if exists else None
        base = metric.iri if metric.base is None else metric.base
        if round not in ROUNDS or round == "first":
            return Score(task.iri, base, 0 if round == "first" else int(round))
        summary = self._summaries.get((base, ROUNDS[round]))
        return None if summary is None else Score(task.iri, summary.iri, None)


def check_round(text: str) -> str:
    """Check that ``text`` names answers of a dialogue, and return it.

    It is ``first``, ``last``, ``best`` or a round from 0. Raises
    :class:`~kgbench.errors.QueryError` otherwise.
    """
    if text in ROUNDS or re.fullmatch(r"[0-9]{1,4}", text):
        return text
    raise QueryError(f"'{text}' is not a round: choose first, last, best, or a number from 0")


def round_words(round: str) -> str:
    """Return the name of answers in words: ``first answers``, ``answers of round 2``."""
    return f"{round} answers" if round in ROUNDS else f"answers of round {round}"


def score_name(score: Score, metrics: Mapping[str, MetricInfo]) -> str:
    """Return the published short name of a score: ``f1``, or ``0_f1`` for a score of round 0."""
    name = metrics[score.metric].name
    return name if score.round is None else f"{score.round}_{name}"


def less_is_better(scores: Iterable[Score], metrics: Mapping[str, MetricInfo]) -> dict[str, Value]:
    """Return a part of a table's context: the names of the scores of which less is better, if any.

    Figures read it, which show the best models.
    """
    names = {score_name(s, metrics) for s in scores if not metrics[s.metric].higher_is_better}
    return {"less_is_better": " ".join(sorted(names))} if names else {}


def name_and_round(metric: str | None) -> tuple[str | None, int | None]:
    """Split a short name such as ``f1`` or ``0_combined`` into the metric's name and its round."""
    match = _OF_ROUND.fullmatch(metric or "")
    return (metric, None) if match is None else (match["name"], int(match["round"]))


def chosen_scores(
    store: Store, glob: str, metric: str | None, round: str | None = None
) -> dict[str, Score]:
    """Choose one score for each task (IRI) whose label matches ``glob``.

    ``metric`` is a short name with or without a round (``0_combined``); without one it is each
    task's main metric. ``round`` is as in :class:`Selector`. Raises
    :class:`~kgbench.errors.QueryError` when no task or metric matches.
    """
    tasks = catalogue.tasks(store).values()
    if not any(task.fits(glob) for task in tasks):
        raise QueryError(f"no task label matches '{glob}'")
    selector = Selector(glob, metric, None if round is None else check_round(round))
    chosen = selector.scores(tasks, catalogue.metrics(store).values())
    if not chosen:
        for_answers = "" if round is None else f" for {round_words(round)}"
        raise QueryError(
            f"no task that matches '{glob}' has a metric '{metric or 'main'}'{for_answers}"
        )
    return {score.task: score for score in chosen}


def parts_by_task(
    store: Store, selection: Selection, arguments: Mapping[str, Any]
) -> dict[str, list[Score]]:
    """Return the scores behind tables of single tasks, by task."""
    names = catalogue.tasks(store)
    chosen = chosen_scores(store, selection.tasks, arguments["metric"], arguments["round"])
    return {names[task].name: [score] for task, score in chosen.items()}


def chosen_rows(
    store: Store, selection: Selection, chosen: Mapping[str, Score], *, model: str | None = None
) -> list[ScoreRow]:
    """Return every value of the score chosen for each task (IRI), of one ``model`` (IRI) if given.

    ``chosen`` is the result of :func:`chosen_scores`.
    """
    metrics = {score.metric for score in chosen.values()}
    rows = score_rows(store, selection, metrics, model=model)
    return [row for row in rows if _stands_for(row, chosen.get(row.task))]


def _stands_for(row: ScoreRow, score: Score | None) -> bool:
    same = score is not None and row.metric == score.metric
    return same and score is not None and score.round in (None, row.round)


def left_out(store: Store) -> list[str]:
    """Return a note for each task class whose main metric has no single value for a dialogue."""
    metrics = catalogue.metrics(store)
    notes = set()
    for task in catalogue.tasks(store).values():
        main = metrics.get(task.main_metric or "")
        if task.rounds > 1 and main is not None and main.aggregation is None:
            notes.add(
                f"{task.class_name} {task.version} is left out, because its main metric "
                f"'{main.name}' has a value for each round and none for a dialogue: choose another "
                f"with --metric, or declare one such as max_{main.name} in a new version."
            )
    return sorted(notes)


def with_left_out_notes(store: Store, table: Table) -> Table:
    """Add a note to the table for each task class that it leaves out (:func:`left_out`)."""
    return replace(table, notes=(*table.notes, *left_out(store)))


def common_tasks(scored: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the tasks on which every model has a score; ``scored`` has tasks by model name.

    Models without any score are ignored. Raises :class:`~kgbench.errors.QueryError` where the
    models have no task in common.
    """
    covered = {model: set(tasks) for model, tasks in scored.items()}
    covered = {model: tasks for model, tasks in covered.items() if tasks}
    shared = set.intersection(*covered.values()) if covered else set()
    if not shared:
        fewest = sorted(covered, key=lambda model: (len(covered[model]), model))
        examples = ", ".join(f"{model} ({len(covered[model])})" for model in fewest[:5])
        raise QueryError(
            f"no task was scored for all {len(covered)} models: choose models with --model. The "
            f"models with the fewest tasks are {examples}"
            if covered
            else "no model has scores, so there is no common task"
        )
    return shared


def common_note(tasks: Sequence[str], models: int) -> str:
    """Return a note that names the tasks on which models are compared."""
    counted = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return (
        f"Compared on the {counted} that all {models} models were scored on: "
        f"{', '.join(sorted(tasks))}."
    )


def of_common_tasks(table: Table) -> Table:
    """Restrict a table of tasks and models (with a column ``n``) to the tasks of all models."""
    scored: dict[str, set[str]] = defaultdict(set)
    for row in table.records():
        if row["n"]:
            scored[str(row["model"])].add(str(row["task"]))
    shared = common_tasks(scored)
    index = table.names.index("task")
    return replace(
        table,
        rows=tuple(row for row in table.rows if row[index] in shared),
        notes=(common_note(list(shared), len(scored)), *table.notes),
        context={**table.context, "common": True},
    )
