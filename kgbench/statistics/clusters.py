# SPDX-License-Identifier: Apache-2.0
"""Means and their tests where values come in clusters, such as all answers to one case.

Clusters are independent of each other, the values of a cluster are not. Clusters are sampled within
fixed strata (tasks). A stratum with one cluster says nothing about the variance between clusters,
so that a mean over it has neither an interval nor a test.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kgbench.statistics.intervals import (
    Bounds,
    Interval,
    clopper_pearson,
    constant_interval,
    half_width,
    t_quantile,
    wilson,
    with_one_more,
)
from kgbench.statistics.significance import ROUNDING, ClusterRows, equivalence_p, two_sided

FEWEST_FOR_T = 10
"""Below this number of clusters, tests are permutation tests, and only bounded means get intervals.

Only clusters of strata that vary count: the others have no part in the standard error. Cameron and
Miller (Journal of Human Resources 50, 2015, section VI) discuss few clusters.
"""
FEWEST_FOR_INTERVAL = 6
"""Below this number of clusters no interval is given.

Sign flips of five clusters cannot give a p below 0.0625, and intervals had too low a coverage in
simulations.
"""
_DRAWS, _SEED = 9_999, 0
_EXACT = 13  # clusters: 2^12 patterns of signs are fewer than the random ones
_AT_ONCE = 100_000  # clusters whose means are computed together


def least_p(number: int) -> float:
    """Return the least p that the test of ``number`` clusters can give, whatever their values.

    >>> least_p(5), least_p(6), least_p(10)
    (0.0625, 0.03125, 0.0)
    """
    return 0.0 if number >= FEWEST_FOR_T else least_p_of_flips(number)


def least_p_of_flips(number: int) -> float:
    """Return the least p of sign flips of ``number`` clusters that are not 0.

    Of the 2^G patterns of signs, two are as far from 0 as the observed values can be.
    """
    return min(1.0, 2.0 ** (1 - number))


@cache
def _patterns(number: int) -> Any:
    """Return all patterns of signs of a number of clusters, up to an exchange of all signs."""
    import numpy as np

    bits = np.arange(2 ** (number - 1))[:, None] >> np.arange(number)
    return 1.0 - 2.0 * (bits & 1)


class Value(NamedTuple):
    """A value with the names of its stratum and cluster, and its weight in the mean."""

    stratum: Hashable
    cluster: Hashable
    value: float
    weight: float = 1.0


class Sums(NamedTuple):
    """Sums of values in clusters.

    For each cluster: the name of its stratum, the sum of the weights of its values, and their
    weighted sum.
    """

    strata: list[Hashable]
    weights: list[float]
    totals: list[float]

    def add(self, clusters: Iterable[tuple[Hashable, float, float]]) -> None:
        """Add clusters, each with its stratum, weight and total."""
        for stratum, weight, total in clusters:
            self.strata.append(stratum)
            self.weights.append(weight)
            self.totals.append(total)

    @classmethod
    def of(cls, values: Iterable[Value]) -> Sums:
        """Group values into clusters."""
        sums: dict[tuple[Hashable, Hashable], tuple[list[float], list[float]]] = {}
        for item in values:
            weights, totals = sums.setdefault((item.stratum, item.cluster), ([], []))
            weights.append(item.weight)
            totals.append(item.weight * item.value)
        return cls(
            [stratum for stratum, _ in sums],
            [math.fsum(weights) for weights, _ in sums.values()],
            [math.fsum(totals) for _, totals in sums.values()],
        )


@dataclass(frozen=True, eq=False)
class Clusters:
    """A weighted mean of values in clusters, over the strata with at least two clusters.

    It is the row ``index`` of ``rows``.
    """

    rows: ClusterRows
    index: int = 0

    @classmethod
    def of(
        cls,
        values: Iterable[Value],
        opposite: Mapping[Hashable, Hashable] = MappingProxyType({}),
    ) -> Clusters:
        """Group values into clusters.

        ``opposite`` maps strata to each other, as :attr:`ClusterRows.opposite` does.
        """
        sums = Sums.of(values)
        (clusters,) = cls.each([sums])
        if not opposite:
            return clusters
        numbers = _numbers(sums.strata)
        pairs = {numbers[a]: numbers[b] for a, b in opposite.items()}
        return cls(replace(clusters.rows, opposite=pairs))

    @classmethod
    def each(cls, means: Sequence[Sums]) -> list[Clusters]:
        """Make the clusters of each mean from its sums."""
        import numpy as np

        places: dict[int, list[int]] = defaultdict(list)  # by number of clusters
        for place, sums in enumerate(means):
            places[len(sums.totals)].append(place)
        found: dict[int, Clusters] = {}
        for size, of_size in places.items():
            at_once = max(1, _AT_ONCE // max(1, size))
            for start in range(0, len(of_size), at_once):
                part = of_size[start : start + at_once]
                strata = [
                    [*map(_numbers(names).get, names)]
                    for names in (means[place].strata for place in part)
                ]
                rows = ClusterRows.of_sums(
                    np.array(strata, dtype=int),
                    np.ones((len(part), size), dtype=bool),
                    np.array([means[place].weights for place in part], dtype=float),
                    np.array([means[place].totals for place in part], dtype=float),
                )
                found.update((place, cls(rows, index)) for index, place in enumerate(part))
        return [found[place] for place in range(len(means))]

    @property
    def number(self) -> int:
        """The number of clusters."""
        return int(self.rows.number[self.index])

    @property
    def lone(self) -> int:
        """The number of strata with one cluster, whose values are not in the mean."""
        return int(self.rows.lone[self.index])

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the error (:attr:`ClusterRows.freedom`); NaN if it is 0."""
        return float(self.rows.freedom[self.index])

    @property
    def supports_t(self) -> bool:
        """Whether there are enough clusters that vary for a t-test."""
        return int(self.rows.varying[self.index]) >= FEWEST_FOR_T

    @cached_property
    def mean(self) -> float | None:
        """The weighted mean; ``None`` without clusters."""
        return float(self.rows.means[self.index]) if self.number else None

    @cached_property
    def error(self) -> float | None:
        """The cluster-robust standard error of the mean; ``None`` without clusters."""
        return float(self.rows.errors[self.index]) if self.number else None

    @property
    def p(self) -> float | None:
        """Two-sided p of the hypothesis that clusters come from a population with mean 0.

        It is a t-test with :attr:`freedom`; below :data:`FEWEST_FOR_T` clusters that vary, a
        randomisation test: signs of whole clusters are flipped, and answers that are not paired
        are exchanged between the two models. ``None`` without clusters, and where a stratum has one
        cluster.
        """
        if self.mean is None or self.lone:
            return None
        return self.p_of_t if self.supports_t else self._randomised_p()

    @property
    def p_of_t(self) -> float | None:
        """Two-sided p of the t-test for any number of clusters; ``None`` where they do not vary."""
        if self.mean is None or not self.error:
            return None
        return two_sided(self.mean / self.error, self.freedom)

    def p_equivalent(self, margin: float) -> float | None:
        """Return p of the two one-sided t-tests that the mean is within -``margin`` to ``margin``.

        A p below the level shows equivalence (Schuirmann, J. Pharmacokinetics and Biopharmaceutics
        15, 1987). ``None`` below :data:`FEWEST_FOR_T` clusters that vary.
        """
        if self.mean is None or self.error is None or not self.supports_t:
            return None
        return equivalence_p(self.mean, self.error, self.freedom, margin)

    @property
    def least_p(self) -> float:
        """The least p that the test can give with this many clusters, whatever their values."""
        if not bool(self.rows.unpaired[self.index]):
            return least_p(self.number)
        if self.number >= FEWEST_FOR_T:
            return 0.0
        rows = self.rows
        sizes = Counter(rows.strata[self.index].tolist())
        exchanged = [(int(sizes[a]), int(sizes[b])) for a, b in rows.opposite.items()]
        paired = self.number - sum(map(sum, exchanged))
        patterns = 2**paired * math.prod(math.comb(a + b, a) for a, b in exchanged)
        return min(1.0, 2 / int(patterns))

    def _randomised_p(self) -> float:
        """Return p of the randomisation test of whole clusters.

        Without unpaired answers it is a sign-flip test, which is exact for up to 13 clusters whose
        total is not 0 (others change nothing), and where all of these have the same sign. The
        p of random draws counts the observed values as one draw (Phipson and Smyth, Statistical
        Applications in Genetics and Molecular Biology 9, 2010).
        """
        import numpy as np

        rows = self.rows
        strata, totals = rows.strata[self.index], rows.totals[self.index]
        exchanged = {*rows.opposite.keys(), *rows.opposite.values()} & {*strata.tolist()}
        flipped = totals[(totals != 0) & ~np.isin(strata, [*exchanged])]
        least = ROUNDING * float(np.abs(totals).sum())
        if not exchanged:
            if len(set(np.sign(flipped).tolist())) <= 1:
                return least_p_of_flips(len(flipped))
            if len(flipped) <= _EXACT:
                drawn = _patterns(len(flipped)) @ np.sort(flipped)
                return float((np.abs(drawn) >= abs(math.fsum(flipped)) - least).mean())
        generator = np.random.default_rng(_SEED)
        drawn = generator.choice((-1.0, 1.0), (_DRAWS, len(flipped))) @ np.sort(flipped)
        for first, second in rows.opposite.items():
            # Values are doubled and have half of their weight.
            parts = [strata == first, strata == second]
            sums = np.concatenate(
                [sign * totals[part] for sign, part in zip((1, -1), parts, strict=True)]
            )
            weights = np.concatenate([2 * rows.weights[self.index][part] for part in parts])
            if len(sums):
                number = int(parts[0].sum())
                signed = np.where(np.arange(len(sums)) < number, weights, -weights)
                values = np.tile(sums / weights, (_DRAWS, 1))
                drawn += generator.permuted(values, axis=1) @ signed
        beyond = (np.abs(drawn) >= abs(math.fsum(totals)) - least).sum()
        return float((1 + beyond) / (1 + _DRAWS))

    def interval(self, bounds: Bounds) -> Interval | None:
        """Return the 95 % interval of the mean, inside ``bounds`` where these have two ends.

        It is the Clopper-Pearson interval, with the effective number of values from the standard
        error, adjusted by the squared ratio of Student's quantiles for the number of clusters and
        for :attr:`freedom` (after Korn and Graubard 1998), as if one more
        cluster lay at the end of the range
        (:func:`~kgbench.statistics.intervals.with_one_more`). Where clusters do not vary, it is
        :func:`~kgbench.statistics.intervals.constant_interval`. Without bounds, or with clusters
        outside of them, it is Student's t interval. ``None`` below :data:`FEWEST_FOR_INTERVAL`
        clusters, for Student's below :data:`FEWEST_FOR_T` that vary, and where a stratum has one
        cluster: the mean then does not cover all values.
        """
        return self._interval(bounds, _of_mean)

    def difference_interval(self, bounds: Bounds) -> Interval | None:
        """Return the 95 % interval of a mean of paired differences of values in ``bounds``.

        It is :meth:`interval`, but Wilson's with Student's quantile instead of Clopper-Pearson's:
        such means are far from the ends of their range.
        """
        return self._interval(bounds.differences, _of_difference)

    def _interval(self, bounds: Bounds, method: _Method) -> Interval | None:
        low, high = bounds
        if self.mean is None or self.error is None or self.lone:
            return None
        if self.number < FEWEST_FOR_INTERVAL:
            return None
        if low is None or high is None or not self._are_inside(low, high):
            if not self.supports_t:
                return None
            half = half_width(self.error, self.freedom)
            return Interval(self.mean - half, self.mean + half)
        if self.error == 0:
            return constant_interval(self.mean, self.number, low, high)
        return method(self, low, high)

    def _are_inside(self, low: float, high: float) -> bool:
        """Return whether the mean of each cluster is; published values may be outside a range."""
        used = self.rows.used[self.index]
        weights, totals = self.rows.weights[self.index][used], self.rows.totals[self.index][used]
        slack = ROUNDING * weights
        return bool(((low * weights - slack <= totals) & (totals <= high * weights + slack)).all())


_Method: TypeAlias = Callable[[Clusters, float, float], Interval]


def _of_mean(clusters: Clusters, low: float, high: float) -> Interval:
    """Return the interval of :meth:`Clusters.interval` where clusters vary within a range."""
    assert clusters.mean is not None
    adjustment = (t_quantile(clusters.number - 1) / t_quantile(clusters.freedom)) ** 2
    effective = _effective(clusters, low, high) * adjustment
    interval = clopper_pearson(clusters.mean, effective, low, high)
    return with_one_more(interval, clusters.number, low, high)


def _of_difference(clusters: Clusters, low: float, high: float) -> Interval:
    """Return the interval of :meth:`Clusters.difference_interval` in the same case."""
    assert clusters.mean is not None
    effective = _effective(clusters, low, high)
    return wilson(clusters.mean, effective, t_quantile(clusters.freedom), low, high)


def _effective(clusters: Clusters, low: float, high: float) -> float:
    """Return the number of independent shares that would have the same standard error."""
    assert clusters.mean is not None
    assert clusters.error is not None
    share = (clusters.mean - low) / (high - low)
    return share * (1 - share) * ((high - low) / clusters.error) ** 2


def _numbers(names: Iterable[Hashable]) -> dict[Hashable, int]:
    """Return the number of each distinct name, by first occurrence."""
    numbers: dict[Hashable, int] = {}
    for name in names:
        numbers.setdefault(name, len(numbers))
    return numbers
