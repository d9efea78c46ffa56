# SPDX-License-Identifier: Apache-2.0
"""Values of two models, runs or passes, matched by the identity of cases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from kgbench.analysis import catalogue
from kgbench.analysis.catalogue import reaches
from kgbench.analysis.estimands import Estimand
from kgbench.analysis.histogram import mean
from kgbench.analysis.intervals import UNBOUNDED, Bounds
from kgbench.analysis.score_selectors import chosen_scores
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import Selection
from kgbench.analysis.sides import Side, rows_of_side
from kgbench.errors import QueryError
from kgbench.store.protocol import Store


class Pair(NamedTuple):
    """The values of both sides on the same case: all answers, or those of one iteration."""

    a: tuple[ScoreRow, ...]
    b: tuple[ScoreRow, ...]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side."""
        a, b = (math.fsum(row.value for row in rows) / len(rows) for rows in self)
        return a, b

    @property
    def difference(self) -> float:
        """The mean of A minus that of B."""
        a, b = self.means
        return a - b


@dataclass(frozen=True, slots=True)
class Match:
    """The values of one task: the pairs, and the unpaired values of each side.

    ``bounds`` and ``higher_is_better`` are those of the metric. ``same_answers`` says that both
    values of a pair are of the same answer, in two passes.
    """

    pairs: tuple[Pair, ...]
    rest_a: tuple[ScoreRow, ...]
    rest_b: tuple[ScoreRow, ...]
    bounds: Bounds = UNBOUNDED
    higher_is_better: bool = True
    same_answers: bool = False

    @property
    def paired(self) -> bool:
        """Whether there are any pairs."""
        return bool(self.pairs)

    def compared_rows(self) -> tuple[list[ScoreRow], list[ScoreRow]]:
        """Return the values of both sides that are compared: the pairs, or else all values."""
        if self.paired:
            return [row for p in self.pairs for row in p.a], [
                row for p in self.pairs for row in p.b
            ]
        return list(self.rest_a), list(self.rest_b)

    @property
    def alike(self) -> bool:
        """Whether each pair has the same share of the paired answers of both sides."""
        numbers = {Fraction(len(pair.a), len(pair.b)) for pair in self.pairs}
        return len(numbers) <= 1

    @property
    def weights(self) -> list[float]:
        """The weights of the pairs, which sum to 1.

        They are the shares of answers where these are equal on both sides, so that the means are
        those of the leaderboard. Otherwise all pairs weigh the same, so that no difference comes
        from the shares.
        """
        numbers = [len(pair.a) if self.alike else 1 for pair in self.pairs]
        return [number / sum(numbers) for number in numbers]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side, by :attr:`weights`."""
        values = [pair.means for pair in self.pairs]
        if values and not self.alike:
            return mean(a for a, _ in values) or 0.0, mean(b for _, b in values) or 0.0
        a, b = (mean(row.value for row in rows) or 0.0 for rows in self.compared_rows())
        return a, b

    @property
    def numbers_of_cases(self) -> tuple[int, ...]:
        """The number of compared cases: one number for pairs, otherwise one for each side."""
        sides = self.compared_rows()[: 1 if self.paired else 2]
        return tuple(len({row.case for row in rows}) for rows in sides)

    def solved_by_one(self, threshold: float) -> Iterator[tuple[Pair, bool]]:
        """Yield the pairs of which only one mean reaches a threshold, and whether that is A's."""
        for pair in self.pairs:
            of_a, of_b = (
                reaches(value, threshold, higher_is_better=self.higher_is_better)
                for value in pair.means
            )
            if of_a != of_b:
                yield pair, of_a


@dataclass(frozen=True, slots=True)
class TaskValues:
    """All values of two sides on one task.

    ``identity`` names the attributes of values that both sides of a pair share: the case, with the
    model if the sides are runs, or the dialogue if they are passes.
    """

    rows_a: Sequence[ScoreRow]
    rows_b: Sequence[ScoreRow]
    bounds: Bounds = UNBOUNDED
    higher_is_better: bool = True
    identity: tuple[str, ...] = ("case",)

    def match(self, estimand: Estimand) -> Match:
        """Pair the values: all answers to a case, or single iterations where ``estimand`` asks."""
        same_answers = "dialogue" in self.identity
        by_case = estimand.pairs_cases or same_answers
        key = attrgetter("task", *self.identity, *(() if by_case else ("iteration",)))
        sides = []
        for rows in (self.rows_a, self.rows_b):
            ordered = sorted(rows, key=lambda row: (str(key(row)), row.iteration, row.dialogue))
            sides.append({k: tuple(group) for k, group in groupby(ordered, key)})
        a, b = sides
        return Match(
            tuple(Pair(a[k], b[k]) for k in a if k in b),
            tuple(row for k, rows in a.items() if k not in b for row in rows),
            tuple(row for k, rows in b.items() if k not in a for row in rows),
            self.bounds,
            self.higher_is_better,
            same_answers,
        )


def matches(
    store: Store,
    selection: Selection,
    a: Side,
    b: Side,
    *,
    metric: str | None = None,
    round: str | None = None,
    tasks: str | None = None,
) -> dict[str, TaskValues]:
    """Read the values of both sides on the tasks that both have; returns them by task name.

    ``metric``, ``round`` and ``tasks`` (by default those of the selection) are as in
    :func:`~kgbench.analysis.task_scores.task_scores`.
    Raises :class:`~kgbench.errors.QueryError` where the sides share no task.
    """
    chosen = chosen_scores(store, tasks or selection.tasks, metric, round)
    names = {task.iri: task.name for task in catalogue.tasks(store).values()}
    rows_a = rows_of_side(store, selection, a, chosen)
    rows_b = rows_of_side(store, selection, b, chosen)
    metrics = catalogue.metrics(store)
    identity: tuple[str, ...] = ("case",)
    if a.kind != "model" and {i.model for i in rows_a} & {i.model for i in rows_b}:
        identity = ("dialogue",) if a.kind == "pass" else ("model", "case")
    shared = shared_tasks(rows_a, rows_b)
    if not shared:
        raise QueryError(f"'{a.name}' and '{b.name}' have no task in common")
    return {
        names[task]: TaskValues(
            *shared[task],
            metrics[chosen[task].metric].bounds,
            metrics[chosen[task].metric].higher_is_better,
            identity,
        )
        for task in sorted(shared, key=lambda task: names[task])
    }


def shared_tasks(
    rows_a: Iterable[ScoreRow], rows_b: Iterable[ScoreRow]
) -> Mapping[str, tuple[list[ScoreRow], list[ScoreRow]]]:
    """Return the values of both sides by the IRIs of the tasks that both have."""
    sides: list[dict[str, list[ScoreRow]]] = []
    for rows in (rows_a, rows_b):
        by_task: dict[str, list[ScoreRow]] = defaultdict(list)
        for row in rows:
            by_task[row.task].append(row)
        sides.append(by_task)
    first, second = sides
    return {task: (first[task], second[task]) for task in sorted(first.keys() & second.keys())}
