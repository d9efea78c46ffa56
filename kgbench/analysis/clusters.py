# SPDX-License-Identifier: Apache-2.0
"""Means and their tests where values come in clusters, such as all answers to one case.

Clusters are independent of each other, the values of a cluster are not. Clusters are sampled within
fixed strata (tasks). A stratum with one cluster says nothing about the variance between clusters,
so its values are not used.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from kgbench.analysis.cluster_rows import ROUNDING, ClusterRows
from kgbench.analysis.intervals import (
    Bounds,
    Interval,
    clopper_pearson,
    combined_interval,
    constant_interval,
    half_width,
    t_quantile,
    wilson,
    with_one_more,
)
from kgbench.analysis.significance import two_sided

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
_FLIPS, _SEED = 9_999, 0
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

    strata: Sequence[Hashable]
    weights: Sequence[float]
    totals: Sequence[float]

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

    It is the row ``index`` of ``rows``. ``left_out`` are the names of the strata with one cluster,
    whose values are not in the mean.
    """

    rows: ClusterRows
    index: int = 0
    left_out: tuple[Hashable, ...] = ()

    @classmethod
    def of(cls, values: Iterable[Value]) -> Clusters:
        """Group values into clusters."""
        return cls.each([Sums.of(values)])[0]

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
                numbered = [_numbered(means[place].strata) for place in part]
                rows = ClusterRows.of_sums(
                    np.array([numbers for numbers, _ in numbered], dtype=int),
                    np.ones((len(part), size), dtype=bool),
                    np.array([means[place].weights for place in part], dtype=float),
                    np.array([means[place].totals for place in part], dtype=float),
                )
                for index, (place, (_, single)) in enumerate(zip(part, numbered, strict=True)):
                    found[place] = cls(rows, index, single)
        return [found[place] for place in range(len(means))]

    @property
    def number(self) -> int:
        """The number of clusters."""
        return int(self.rows.number[self.index])

    @property
    def lone(self) -> int:
        """The number of strata with one cluster, whose values are not in the mean."""
        return len(self.left_out)

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
        sign-flip test of whole clusters. ``None`` without clusters.
        """
        if self.mean is None:
            return None
        return self.p_of_t if self.supports_t else self._sign_flip_p()

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
        return _equivalent(self.mean, self.error, self.freedom, margin)

    def _sign_flip_p(self) -> float:
        """Return p of the sign-flip test of whole clusters.

        It is exact for up to 13 clusters whose total is not 0 (others change nothing), and where
        all of these have the same sign.
        """
        import numpy as np

        totals = self.rows.totals[self.index]
        totals = totals[totals != 0]
        if len(set(np.sign(totals).tolist())) <= 1:
            return least_p_of_flips(len(totals))

        from scipy import stats  # type: ignore[import-untyped]

        test = stats.permutation_test(
            (np.sort(totals),),
            lambda sums, axis: np.sum(sums, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=_FLIPS,
            rng=np.random.default_rng(_SEED),
        )
        return float(test.pvalue)

    def interval(self, bounds: Bounds) -> Interval | None:
        """Return the 95 % interval of the mean, inside ``bounds`` where these have two ends.

        It is the Clopper-Pearson interval, with the effective number of values from the standard
        error, and with degrees of freedom adjusted by the squared ratio of Student's quantiles for
        the number of values and for :attr:`freedom` (Korn and Graubard 1998), as if one more
        cluster lay at the end of the range
        (:func:`~kgbench.analysis.intervals.with_one_more`). Where clusters do not vary, it is
        :func:`~kgbench.analysis.intervals.constant_interval`. Without bounds, or with clusters
        outside of them, it is Student's t interval. ``None`` below :data:`FEWEST_FOR_INTERVAL`
        clusters, and for Student's below :data:`FEWEST_FOR_T` that vary.
        """
        return self._interval(bounds, _of_mean)

    def difference_interval(self, bounds: Bounds) -> Interval | None:
        """Return the 95 % interval of a mean of paired differences, which ``bounds`` encloses.

        It is :meth:`interval`, but Wilson's with Student's quantile instead of Clopper-Pearson's:
        such means are far from the ends of their range.
        """
        return self._interval(bounds, _of_difference)

    def _interval(self, bounds: Bounds, method: _Method) -> Interval | None:
        low, high = bounds
        if self.mean is None or self.error is None or self.number < FEWEST_FOR_INTERVAL:
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
    weight = float(clusters.rows.weights[clusters.index][clusters.rows.used[clusters.index]].sum())
    values = max(clusters.number, weight)  # weights need not be numbers of values
    adjustment = (t_quantile(values - 1) / t_quantile(clusters.freedom)) ** 2
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


@dataclass(frozen=True)
class UnpairedDifference:
    """The difference of two means over different clusters: the first minus the second."""

    first: Clusters
    second: Clusters

    @property
    def number(self) -> int:
        """The number of clusters of both sides together."""
        return sum(self.sides)

    @property
    def sides(self) -> tuple[int, int]:
        """The number of clusters of each side."""
        return self.first.number, self.second.number

    @property
    def lone(self) -> int:
        """The number of strata with one cluster on either side."""
        return len({*self.first.left_out, *self.second.left_out})

    @property
    def p(self) -> float | None:
        """Two-sided p of the hypothesis that the means are equal.

        It is a t-test with Welch's degrees of freedom. ``None`` where a side has fewer than
        :data:`FEWEST_FOR_T` clusters, or neither side varies.
        """
        estimate = self._estimate()
        return None if estimate is None else two_sided(estimate[0] / estimate[1], estimate[2])

    def p_equivalent(self, margin: float) -> float | None:
        """Return p of the two one-sided t-tests, as :meth:`Clusters.p_equivalent` does."""
        estimate = self._estimate()
        return None if estimate is None else _equivalent(*estimate, margin)

    def interval(self, bounds: Bounds) -> Interval | None:
        """Return the 95 % interval of the difference, from the intervals of both means.

        ``bounds`` is the range of the values. The method is that of Zou and Donner (Statistics in
        Medicine 27, 2008). ``None`` where a side has no interval.
        """
        first_interval, second_interval = self.first.interval(bounds), self.second.interval(bounds)
        if first_interval is None or second_interval is None:
            return None
        assert self.first.mean is not None
        assert self.second.mean is not None
        return combined_interval(self.first.mean, first_interval, self.second.mean, second_interval)

    def _estimate(self) -> tuple[float, float, float] | None:
        """Return the difference, its standard error and degrees of freedom.

        ``None`` is returned where :attr:`p` is ``None``.
        """
        first, second = self.first, self.second
        if first.mean is None or second.mean is None or first.error is None or second.error is None:
            return None
        squares = ((first.error**2, first.freedom), (second.error**2, second.freedom))
        total = sum(square for square, _ in squares)
        if total == 0 or min(first.number, second.number) < FEWEST_FOR_T:
            return None
        freedom = total**2 / sum(square**2 / degrees for square, degrees in squares if square)
        return first.mean - second.mean, math.sqrt(total), freedom


def _numbered(names: Sequence[Hashable]) -> tuple[list[int], tuple[Hashable, ...]]:
    """Return the number of the stratum of each cluster, and the strata with one cluster."""
    numbers: dict[Hashable, int] = {}
    numbered = [numbers.setdefault(name, len(numbers)) for name in names]
    sizes = Counter(numbered)
    return numbered, tuple(name for name, number in numbers.items() if sizes[number] == 1)


def _equivalent(mean: float, error: float, freedom: float, margin: float) -> float:
    from scipy.special import stdtr  # type: ignore[import-untyped]

    return float(stdtr(freedom, (abs(mean) - margin) / error))
