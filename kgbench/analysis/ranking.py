# SPDX-License-Identifier: Apache-2.0
"""Models against each other on the same dialogues: tests of pairs, ranges of ranks, and groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from kgbench.analysis.choosing import Score
from kgbench.analysis.clusters import Clusters
from kgbench.analysis.estimands import Estimand
from kgbench.analysis.significance import holm

Case: TypeAlias = tuple[str, int | None]
"""A case (IRI) and an iteration."""
Units: TypeAlias = Mapping[Score, Mapping[Case, Mapping[str, Sequence[float]]]]
"""Values by score, by case and iteration, and by model (IRI)."""


class Rivals:
    """The values of models on the scores of a set, in clusters of an estimand.

    A model's mean is that over the scores of the set, by their weights, of the mean over dialogues.
    Two models are compared on the dialogues (case and iteration) that both have.
    """

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        models: Sequence[str],
        about: Estimand,
    ) -> None:
        import numpy as np

        self._place = {model: place for place, model in enumerate(models)}
        cells = [
            (score, case, by_model)
            for score, dialogues in sorted(units.items(), key=str)
            for case, by_model in sorted(dialogues.items(), key=str)
        ]
        self._sums = np.zeros((len(models), len(cells)))
        self._sizes = np.zeros((len(models), len(cells)))
        for column, (_, _, by_model) in enumerate(cells):
            for model, values in by_model.items():
                if model in self._place:
                    self._sums[self._place[model], column] = sum(values)
                    self._sizes[self._place[model], column] = len(values)
        scores = [score for score, _, _ in cells]
        self._scores = _numbered(scores)
        self._weights = np.array([float(weights[score]) for score in scores])
        strata = [_unit(about.fixed, score, case) for score, case, _ in cells]
        self._clusters = _numbered(
            [
                (stratum, _unit(about.sampled, score, case))
                for stratum, (score, case, _) in zip(strata, cells, strict=True)
            ]
        )
        numbered = _numbered(strata)
        self._strata = np.zeros(len(set(self._clusters.tolist())), dtype=int)
        self._strata[self._clusters] = numbered
        several = np.bincount(self._strata) > 1 if cells else np.zeros(0, dtype=bool)
        self.left_out = int((~several).sum())
        """How many fixed units support no claim."""
        kept = several[numbered] if cells else several
        self.tasks = len({score.task for score, keep in zip(scores, kept, strict=True) if keep})
        """On how many tasks claims rest."""

    def of(self, model: str) -> Clusters:
        """The values of one model."""
        place = self._place[model]
        return self._made(self._sizes[place], self._sums[place])

    def between(self, first: str, second: str) -> Clusters:
        """The differences of two models, first less second, where both have values."""
        import numpy as np

        a, b = self._place[first], self._place[second]
        sizes = np.minimum(self._sizes[a], self._sizes[b])
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = self._sums[a] / self._sizes[a] - self._sums[b] / self._sizes[b]
        return self._made(sizes, np.where(sizes > 0, sizes * apart, 0.0))

    def _made(self, sizes: Any, sums: Any) -> Clusters:
        import numpy as np

        there = sizes > 0
        if not there.any():
            return Clusters.of([])
        of_scores = np.bincount(self._scores, sizes)
        shares = self._weights[there] / of_scores[self._scores[there]]
        numbers = np.bincount(self._clusters[there], minlength=len(self._strata))
        weights = np.bincount(self._clusters[there], shares * sizes[there], len(self._strata))
        totals = np.bincount(self._clusters[there], shares * sums[there], len(self._strata))
        held = numbers > 0
        return Clusters.of_sums(self._strata[held], weights[held], totals[held])


def told_apart(rivals: Rivals, models: Sequence[str], alpha: float) -> dict[str, set[str]]:
    """For each model those that are worse: p of all pairs, by Holm, is below ``alpha``."""
    pairs = list(combinations(models, 2))
    found = [rivals.between(*pair) for pair in pairs]
    worse: dict[str, set[str]] = {model: set() for model in models}
    for (a, b), clusters, p in zip(pairs, found, holm([one.p for one in found]), strict=True):
        if p is not None and p < alpha and clusters.mean:
            better, other = (a, b) if clusters.mean > 0 else (b, a)
            worse[better].add(other)
    return worse


def rank_ranges(worse: Mapping[str, set[str]]) -> dict[str, tuple[int, int]]:
    """The first and last rank that each model can have.

    It stands behind all that are better and before all that are worse. With p of all pairs
    corrected by Holm, all ranges hold at once with the confidence of the tests (Mogstad, Romano,
    Shaikh and Wilhelm, Review of Economic Studies 91, 2024).
    """
    return {
        model: (
            1 + sum(model in others for others in worse.values()),
            len(worse) - len(worse[model]),
        )
        for model in worse
    }


def groups(order: Sequence[str], worse: Mapping[str, set[str]]) -> dict[str, str]:
    """Letters of groups for models in the ``order`` of their scores.

    A group is a longest run of models of which no two are told apart.
    """
    apart = {frozenset((a, b)) for a, others in worse.items() for b in others}
    found: list[range] = []
    end = 0
    for start in range(len(order)):
        stop = max(end, start + 1)
        while stop < len(order) and all(
            frozenset((order[stop], order[k])) not in apart for k in range(start, stop)
        ):
            stop += 1
        if stop > end:
            found.append(range(start, stop))
            end = stop
    return {
        model: " ".join(_letter(k) for k, group in enumerate(found) if place in group)
        for place, model in enumerate(order)
    }


def _letter(number: int) -> str:
    """A to z, then aa, ab and so on."""
    before, last = divmod(number, 26)
    return ("" if before == 0 else _letter(before - 1)) + chr(ord("a") + last)


def _unit(kind: str | None, score: Score, case: Case) -> Hashable:
    """What names the unit of a kind (:class:`~kgbench.analysis.estimands.Estimand`)."""
    if kind is None:
        return None
    if kind == "task":
        return score.task
    return (score.task, case[0]) if kind == "case" else (score.task, *case)


def _numbered(names: Sequence[Hashable]) -> Any:
    """Each name by the number of its first place among the distinct names."""
    import numpy as np

    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=int)
