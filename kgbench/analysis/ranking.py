# SPDX-License-Identifier: Apache-2.0
"""Ranking of models by tests of all pairs: ranges of ranks and groups of equal models."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from kgbench.analysis.cluster_rows import ClusterRows, summed
from kgbench.analysis.clusters import FEWEST_FOR_T, Clusters, least_p_of_flips
from kgbench.analysis.estimands import Estimand
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.significance import holm, two_sided_each

_AT_ONCE = 100_000  # cells of all differences that are computed together
Case: TypeAlias = tuple[str, int | None]
"""A case (IRI) and an iteration."""
Units: TypeAlias = Mapping[Score, Mapping[Case, Mapping[str, Sequence[float]]]]
"""Values by score, by case and iteration, and by model (IRI)."""


class TestedPair(NamedTuple):
    """The difference of two models: p of its test (``is_bound``: a lower bound of p) and mean.

    Both are ``None`` if the models share too few dialogues.
    """

    p: float | None
    mean: float | None
    is_bound: bool = False


class Rivals:
    """The values of models on the scores of a set, in the clusters of an estimand.

    A model's mean is the weighted mean, over the scores of the set, of the mean over dialogues. Two
    models are compared on the dialogues (case and iteration) that both have.
    """

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        models: Sequence[str],
        estimand: Estimand,
    ) -> None:
        import numpy as np

        self._index = {model: index for index, model in enumerate(models)}
        cells = [
            (score, case, by_model)
            for score, dialogues in sorted(units.items(), key=str)
            for case, by_model in sorted(dialogues.items(), key=str)
        ]
        self._sums = np.zeros((len(models), len(cells)))
        self._sizes = np.zeros((len(models), len(cells)))
        for column, (_, _, by_model) in enumerate(cells):
            for model, values in by_model.items():
                if model in self._index:
                    self._sums[self._index[model], column] = math.fsum(values)
                    self._sizes[self._index[model], column] = len(values)
        scores = [score for score, _, _ in cells]
        self._scores = _numbered(scores)
        self._score_count = len(set(scores))
        self._weights = np.array([float(weights[score]) for score in scores])
        strata = [_unit(estimand.fixed, score, case) for score, case, _ in cells]
        self._clusters = _numbered(
            [
                (stratum, _unit(estimand.sampled, score, case))
                for stratum, (score, case, _) in zip(strata, cells, strict=True)
            ]
        )
        numbered = _numbered(strata)
        self._strata = np.zeros(len(set(self._clusters.tolist())), dtype=int)
        self._strata[self._clusters] = numbered
        several = np.bincount(self._strata) > 1 if cells else np.zeros(0, dtype=bool)
        self.left_out = int((~several).sum())
        """The number of fixed units that support no claim."""
        supporting = several[numbered] if cells else several
        self.tasks = len(
            {score.task for score, supports in zip(scores, supporting, strict=True) if supports}
        )
        """The number of tasks that support claims."""

    def of(self, model: str) -> Clusters:
        """Return the clustered values of one model."""
        index = [self._index[model]]
        return Clusters(self._rows(self._sizes[index], self._sums[index]))

    def between(self, first: str, second: str) -> Clusters:
        """Return the clustered differences of two models, first minus second, where both exist."""
        return Clusters(self._differences(first, [second]))

    def against(
        self, first: str, others: Sequence[str], *, bounded: bool = False
    ) -> Iterator[TestedPair]:
        """Yield p and mean of the differences from each other model, as of :meth:`between`.

        If ``bounded``, sign-flip tests of differences in both directions, which take a millisecond
        each, are not made: p is the least that they can give.
        """
        import numpy as np

        at_once = max(1, _AT_ONCE // max(1, len(self._scores)))
        for start in range(0, len(others), at_once):
            rows = self._differences(first, others[start : start + at_once])
            with np.errstate(invalid="ignore", divide="ignore"):
                ps = two_sided_each(rows.means / rows.errors, rows.freedom)
            better, worse = (rows.totals > 0).sum(axis=1), (rows.totals < 0).sum(axis=1)
            arrays = (rows.number, rows.varying, rows.means, better, worse, ps)
            for index, (number, varying, mean, of_first, of_other, p) in enumerate(
                zip(*(array.tolist() for array in arrays), strict=True)
            ):
                if not number:
                    yield TestedPair(None, None)
                elif varying >= FEWEST_FOR_T:
                    yield TestedPair(p, mean)
                elif not of_first or not of_other:
                    yield TestedPair(least_p_of_flips(of_first + of_other), mean)
                elif bounded:
                    yield TestedPair(least_p_of_flips(of_first + of_other), mean, is_bound=True)
                else:
                    yield TestedPair(Clusters(rows, index).p, mean)

    def _differences(self, first: str, others: Sequence[str]) -> ClusterRows:
        """Return a row of clustered differences from each other model."""
        import numpy as np

        a, rest = self._index[first], [self._index[other] for other in others]
        sizes = np.minimum(self._sizes[a], self._sizes[rest])
        with np.errstate(invalid="ignore", divide="ignore"):
            differences = self._sums[a] / self._sizes[a] - self._sums[rest] / self._sizes[rest]
        return self._rows(sizes, np.where(sizes > 0, sizes * differences, 0.0))

    def _rows(self, sizes: Any, sums: Any) -> ClusterRows:
        """Return clusters from the sizes and sums of cells, in rows."""
        import numpy as np

        has_values = sizes > 0
        of_scores = summed(self._scores, self._score_count, sizes)[:, self._scores]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(has_values, self._weights / of_scores, 0.0)
        present, weights, totals = (
            summed(self._clusters, len(self._strata), values)[:, :-1]
            for values in (has_values, shares * sizes, shares * sums)
        )
        return ClusterRows.of_sums(self._strata, present > 0, weights, totals)


def significantly_worse(rivals: Rivals, models: Sequence[str], alpha: float) -> dict[str, set[str]]:
    """Return, for each model, the significantly worse models.

    These are the pairs with p below ``alpha``, corrected by Holm over all pairs.
    """
    tested = _tested(rivals, models, bounded=True)
    corrected = holm([pair.p for pair in tested])
    # Greater p than the bounds make no further pair significant. If no pair with a bound is, the
    # others stay so, because they come first in Holm's order, whatever the tests would give.
    if any(pair.is_bound and (p or 0) < alpha for pair, p in zip(tested, corrected, strict=True)):
        tested = _tested(rivals, models, bounded=False)
        corrected = holm([pair.p for pair in tested])
    pairs = combinations(models, 2)
    worse: dict[str, set[str]] = {model: set() for model in models}
    for (a, b), (_, mean, _), p in zip(pairs, tested, corrected, strict=True):
        if p is not None and p < alpha and mean:
            better, loser = (a, b) if mean > 0 else (b, a)
            worse[better].add(loser)
    return worse


def _tested(rivals: Rivals, models: Sequence[str], *, bounded: bool) -> list[TestedPair]:
    # The clusters are not kept, because a thousand models have half a million pairs.
    return [
        pair
        for number, model in enumerate(models, 1)
        for pair in rivals.against(model, models[number:], bounded=bounded)
    ]


def rank_ranges(worse: Mapping[str, set[str]]) -> dict[str, tuple[int, int]]:
    """Return the first and last rank that each model can have.

    A model ranks behind all significantly better models and before all worse ones. With p of all
    pairs corrected by Holm, the ranges hold simultaneously with the confidence of the tests
    (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024).
    """
    return {
        model: (
            1 + sum(model in worse_models for worse_models in worse.values()),
            len(worse) - len(worse[model]),
        )
        for model in worse
    }


def groups(order: Sequence[str], worse: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the letters of the groups of each model; ``order`` has models by their scores.

    A group is a maximal run of models of which no two differ significantly.
    """
    apart = {frozenset((a, b)) for a, worse_models in worse.items() for b in worse_models}
    runs: list[range] = []
    end = 0
    for start in range(len(order)):
        stop = max(end, start + 1)
        while stop < len(order) and all(
            frozenset((order[stop], order[k])) not in apart for k in range(start, stop)
        ):
            stop += 1
        if stop > end:
            runs.append(range(start, stop))
            end = stop
    return {
        model: " ".join(_letter(k) for k, group in enumerate(runs) if position in group)
        for position, model in enumerate(order)
    }


def _letter(number: int) -> str:
    """Return the letters of a group: a to z, then aa, ab and so on."""
    prefix, last = divmod(number, 26)
    return ("" if prefix == 0 else _letter(prefix - 1)) + chr(ord("a") + last)


def _unit(kind: str | None, score: Score, case: Case) -> Hashable:
    """Return the identity of a unit (:class:`~kgbench.analysis.estimands.Estimand`)."""
    if kind is None:
        return None
    if kind == "task":
        return score.task
    return (score.task, case[0]) if kind == "case" else (score.task, *case)


def _numbered(names: Sequence[Hashable]) -> Any:
    """Return an array of the names' numbers, with distinct names numbered by first occurrence."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)
