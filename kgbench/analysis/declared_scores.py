# SPDX-License-Identifier: Apache-2.0
"""Checks that the tasks and metrics named in a user's own declaration exist and can be combined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from kgbench.analysis import catalogue
from kgbench.analysis.score_selectors import Score, Selector, name_and_round
from kgbench.errors import QueryError
from kgbench.nearest import nearest
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue as classes
from kgbench.tasks import successors


def check_selectors(store: Store, selectors: Iterable[Selector], file: Path | None) -> None:
    """Refuse selectors of a user's ``file`` that select nothing, or scores that do not combine.

    A glob must match the label of a task in the store or in the installed task classes, and a
    metric must be one of these tasks. More of it must be better, and it must be no error, best at 0
    inside its range, because leaderboards, compasses and preferences combine scores and take more
    for better. Shipped declarations (``None``) are not
    checked, because a store need not have their tasks. Raises
    :class:`~kgbench.errors.QueryError`, for an unknown name with the nearest one.
    """
    if file is None:
        return
    metrics_of_labels = _metrics_of_labels(store)
    tasks, metrics = catalogue.tasks(store), catalogue.metrics(store)
    for selector in selectors:
        glob = selector.glob
        matched = [
            label for label in metrics_of_labels if label == glob or fnmatchcase(label, glob)
        ]
        if not matched:
            raise QueryError(
                f"{file}: no task label matches '{glob}': "
                f"{nearest(glob.strip('*'), metrics_of_labels)}"
            )
        name, _ = name_and_round(selector.metric)
        names = set().union(*(metrics_of_labels[label] for label in matched))
        if name is not None and name not in names:
            raise QueryError(
                f"{file}: no task that matches '{glob}' has a metric '{name}': "
                f"{nearest(name, names)}"
            )
        for score in selector.scores(tasks.values(), metrics.values()):
            metric = metrics[score.metric]
            if not metric.higher_is_better:
                raise QueryError(
                    f"{file}: less of '{metric.name}' of {tasks[score.task].label} is better, but "
                    f"more of a combined score is: leave it out, and see it with "
                    f"`kgbench analyze tasks --metric {metric.name}`"
                )
            agreement = _agreement(tasks[score.task].class_name, metric.name)
            if agreement is not None:
                raise QueryError(
                    f"{file}: '{metric.name}' of {tasks[score.task].label} is best at 0, inside "
                    f"its range, and cannot be combined: take '{agreement}'"
                )


def without_results(
    store: Store, selectors: Iterable[Selector], scored: Iterable[Score], file: Path | None
) -> list[str]:
    """Return a note on the selectors of a user's ``file`` without results, as a list of 0 or 1."""
    if file is None:
        return []
    tasks, metrics = list(catalogue.tasks(store).values()), list(catalogue.metrics(store).values())
    with_results = set(scored)
    lacking = [
        selector.glob if selector.metric is None else f"{selector.glob} ({selector.metric})"
        for selector in selectors
        if with_results.isdisjoint(selector.scores(tasks, metrics))
    ]
    names = ", ".join(dict.fromkeys(lacking))
    return [f"This store has no results for {names}."] if lacking else []


def _agreement(class_name: str, error: str) -> str | None:
    """Return the metric of agreement that a class has for a metric of errors, or ``None``."""
    agreements = successors.agreements(class_name).items()
    return next((name for name, of in agreements if of == error), None)


def _metrics_of_labels(store: Store) -> Mapping[str, set[str]]:
    """Return the short names of the metrics of each task, by task label."""
    of_class: dict[str, set[str]] = defaultdict(set)
    for metric in catalogue.metrics(store).values():
        of_class[metric.task_class].add(metric.name)
    names: dict[str, set[str]] = defaultdict(set)
    for task in catalogue.tasks(store).values():
        for label in (task.label, task.name):
            names[label] |= of_class[task.task_class]
    for label, declared in classes.labelled_tasks().items():
        names[label] |= classes.metric_iris(declared.task_class).keys()
    return names
