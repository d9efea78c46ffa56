# SPDX-License-Identifier: Apache-2.0
"""Score sets that are declared in RDF, and checks of a user's own declarations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path

from kgbench.errors import QueryError, ResourceError, nearest
from kgbench.rdf.declared import Declared, Node, shipped
from kgbench.rdf.declared_terms import read_declarations
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo, TaskInfo
from kgbench.scores.reading import Score
from kgbench.scores.selectors import Selector, check_round, name_and_round, round_words
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

TESTS = ("clustered", "paired")
"""The tests against the best model: see :func:`kgbench.analysis.leaders.leaders`."""


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """Scores of a score set that are averaged first; ``weight`` is that of the group's mean."""

    name: str
    selectors: tuple[Selector, ...]
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class ScoreSet:
    """A declared set of scores: ``selectors``, or ``groups`` of them.

    With groups, the combined score is the weighted mean over groups of the mean over the scores of
    each, and the deviation is pooled with the same weights. ``test`` is the test against the best
    model that its source uses, one of :data:`TESTS`, and ``estimand`` the name of the estimand of
    intervals and tests. ``file`` is the user's file that declares the set, ``None`` for a shipped
    one.
    """

    name: str
    label: str
    description: str
    selectors: tuple[Selector, ...] = ()
    groups: tuple[ScoreGroup, ...] = ()
    test: str = TESTS[0]
    estimand: str | None = None
    file: Path | None = None

    @property
    def every_selector(self) -> tuple[Selector, ...]:
        """Its selectors and those of its groups."""
        return (*self.selectors, *(s for group in self.groups for s in group.selectors))

    def scores(
        self, tasks: Mapping[str, TaskInfo], metrics: Mapping[str, MetricInfo]
    ) -> list[Score]:
        """Return the selected scores, each once, ordered by task label and metric."""
        selected = self._selected(tasks, metrics).values()
        return list(dict.fromkeys(score for scores in selected for score in scores))

    def weights(
        self,
        tasks: Mapping[str, TaskInfo],
        metrics: Mapping[str, MetricInfo],
        scored: Collection[Score],
    ) -> dict[Score, Fraction]:
        """Return the weights in the combined score of the selected scores that are ``scored``.

        ``scored`` are the scores with results: else weights would depend on tasks of other suites
        in the store. Weights add up to 1. A group without any score is left out, and the weights of
        the other groups are scaled up.
        """
        selected = {
            group: [score for score in scores if score in scored]
            for group, scores in self._selected(tasks, metrics).items()
        }
        total = sum((group.weight for group, scores in selected.items() if scores), Fraction(0))
        weights: dict[Score, Fraction] = {}
        for group, scores in selected.items():
            for score in scores:
                share = group.weight / total / len(scores)
                weights[score] = weights.get(score, Fraction(0)) + share
        return weights

    def _selected(
        self, tasks: Mapping[str, TaskInfo], metrics: Mapping[str, MetricInfo]
    ) -> dict[ScoreGroup, list[Score]]:
        """Return the selected scores of each group, each once."""
        ordered = sorted(tasks.values(), key=lambda task: (task.name, task.iri))
        groups = self.groups or (ScoreGroup(self.name, self.selectors),)
        every_metric = list(metrics.values())
        return {
            group: list(
                dict.fromkeys(
                    s for sel in group.selectors for s in sel.scores(ordered, every_metric)
                )
            )
            for group in groups
        }

    def at(self, round: str | None) -> ScoreSet:
        """Return the set restricted to some answers of each dialogue.

        ``round`` is as in :class:`~kgbench.scores.selectors.Selector`; ``None`` changes
        nothing.
        """
        if round is None:
            return self
        check_round(round)

        def restricted(selectors: tuple[Selector, ...]) -> tuple[Selector, ...]:
            for selector in selectors:
                if selector.round is not None:
                    raise QueryError(
                        f"'{selector.metric or 'main'}' of {selector.glob} already says which "
                        f"answers count (round {selector.round}): leave out '{round}'"
                    )
            return tuple(replace(selector, round=round) for selector in selectors)

        return replace(
            self,
            label=f"{self.label}, {round_words(round)}",
            selectors=restricted(self.selectors),
            groups=tuple(replace(g, selectors=restricted(g.selectors)) for g in self.groups),
        )


def selectors(source: Declared, node: Node) -> tuple[Selector, ...]:
    """Read the score selectors of a set or an axis.

    Raises :class:`~kgbench.errors.ResourceError` where there is none.
    """
    if not source.objects(node, KGB.scoreSelector):
        raise ResourceError(f"{source.file}: {node} has no <{KGB.scoreSelector}>")
    return tuple(
        Selector(
            glob=source.required(selector, KGB.taskGlob),
            metric=source.text(selector, KGB.metricName),
            round=source.read(selector, KGB.round, _round),
        )
        for selector in source.objects(node, KGB.scoreSelector)
    )


def score_set(name: str, file: Path | None = None) -> ScoreSet:
    """Return the declared score set ``name``, a shipped one or one from the user's ``file``."""
    source = read_declarations(file, "leaderboard.ttl", "compass.ttl")
    node = source.named(KGB.ScoreSet, name)
    has_axes = bool(source.objects(node, KGB.axis))
    if has_axes and source.objects(node, KGB.scoreSelector):
        raise ResourceError(f"{source.file}: {node} has axes and selectors: leave one out")
    grouped = source.parts(node, KGB.axis, SKOS.notation) if has_axes else {}
    return ScoreSet(
        name=name,
        label=source.required(node, RDFS.label),
        description=source.required(node, DCTERMS.description),
        selectors=() if grouped else selectors(source, node),
        groups=tuple(
            ScoreGroup(
                axis_name,
                selectors(source, axis),
                source.read(axis, KGB.weight, _weight) or Fraction(1),
            )
            for axis_name, axis in grouped.items()
        ),
        test=source.read(node, KGB.significanceTest, _test) or TESTS[0],
        estimand=source.read(node, KGB.estimand, _estimand),
        file=file,
    )


def score_sets() -> list[tuple[str, str]]:
    """Return name and label of each shipped score set, the set of all tasks first."""
    source = read_declarations(None, "leaderboard.ttl", "compass.ttl")
    entries = [
        (source.required(node, SKOS.notation), source.required(node, RDFS.label))
        for node in source.instances(KGB.ScoreSet)
    ]
    return sorted(entries, key=lambda entry: (entry[0] != "main", entry[1]))


def _round(text: str) -> str:
    number = int(text)
    if number < 0:
        raise ValueError("rounds are counted from 0")
    return str(number)


def _weight(text: str) -> Fraction:
    weight = float(text)
    if not 0 < weight < math.inf:
        raise ValueError("a weight is a positive number")
    return Fraction(text)


def _test(text: str) -> str:
    if text not in TESTS:
        raise ValueError(nearest(text, TESTS))
    return text


def _estimand(iri: str) -> str:
    """Return the name of the declared estimand with an IRI."""
    source = shipped("queries", "estimands.ttl")
    nodes = source.instances(KGB.Estimand)
    names = {str(node.value): source.required(node, SKOS.notation) for node in nodes}
    if iri not in names:
        raise ValueError(nearest(iri, names))
    return names[iri]


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
    from kgbench.tasks import catalogue  # for declarations of users only

    agreements = catalogue.agreements(class_name).items()
    return next((name for name, of in agreements if of == error), None)


def _metrics_of_labels(store: Store) -> Mapping[str, set[str]]:
    """Return the short names of the metrics of each task, by task label."""
    from kgbench.tasks import catalogue as task_classes  # for declarations of users only

    of_class: dict[str, set[str]] = defaultdict(set)
    for metric in catalogue.metrics(store).values():
        of_class[metric.task_class].add(metric.name)
    names: dict[str, set[str]] = defaultdict(set)
    for task in catalogue.tasks(store).values():
        for label in (task.label, task.name):
            names[label] |= of_class[task.task_class]
    for label, declared in task_classes.labelled_tasks().items():
        names[label] |= task_classes.metric_iris(declared.task_class).keys()
    return names
