# SPDX-License-Identifier: Apache-2.0
"""Tests of differences between means, of one pair or of many at once; effect sizes, corrections.

The functions take exact histograms or plain differences. A statistic that is undefined (too few
values, or two equal constants) is ``None`` instead of a meaningless number.

Of the differences of all pairs of models, :class:`ClusterRows` has the clusters of each as a row of
an array: a call of NumPy has a fixed cost, which is most of its time for an array of a hundred
clusters. One by one, the half a million pairs of a thousand models would take minutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from kgbench.statistics.histogram import Histogram, mixture
from kgbench.statistics.intervals import CONFIDENCE, Interval, half_width

ROUNDING = 1e-12
"""Differences of means of scores of the size of 1 that the rounding of sums can explain.

It is smaller than :data:`~kgbench.model.TOLERANCE`, which makes two recorded scores equal: means
over different numbers of dialogues, such as 100,000 and 99,999, can differ by 1e-10 in fact.
"""


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Clusters of several weighted means: the arrays have a row for each mean.

    For each cluster, ``strata`` has the number of its stratum, ``weights`` the sum of the weights
    of its values, and ``totals`` their weighted sum. A cluster that does not belong to a row has
    the stratum ``count``, which is the number of strata. ``lone`` has the number of strata of each
    row that are left out because they have one cluster. ``opposite`` maps the stratum of the
    answers of a first model to that of the answers of a second model to the same case: these
    answers are not paired.
    """

    strata: Any
    weights: Any
    totals: Any
    count: int
    lone: Any
    opposite: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of_sums(
        cls,
        strata: Any,
        present: Any,
        weights: Any,
        totals: Any,
        opposite: Mapping[int, int] = MappingProxyType({}),
    ) -> ClusterRows:
        """Make rows from the stratum of each cluster, and the clusters ``present`` in each row.

        ``strata`` numbers strata from 0, in one row for all rows or in as many. Strata with one
        cluster are left out of a row. Its clusters are sorted, so that no floating-point sum
        depends on the order of rows of a table, which differs between a store and its publication.
        A total that differs from 0 only by rounding is 0: else equal means of repeated values, such
        as of .1, .2 and .3 and of .2, .2 and .2, would differ in every case.
        """
        import numpy as np

        count = int(strata.max()) + 1 if strata.size else 0
        every = np.broadcast_to(strata, present.shape)
        numbers = summed(strata, count, present)
        used = present & (np.take_along_axis(numbers, every, 1) > 1)
        arrays = (
            np.where(used, every, count),
            np.where(used, weights, 0.0),
            np.where(used & (np.abs(totals) > ROUNDING * weights), totals, 0.0),
        )
        order = np.lexsort((arrays[1], arrays[2], arrays[0]), axis=-1)
        strata, weights, totals = (np.take_along_axis(array, order, 1) for array in arrays)
        lone = (numbers[:, :count] == 1).sum(axis=1)
        return cls(strata, weights, totals, count, lone, opposite)

    @cached_property
    def used(self) -> Any:
        """Whether each cluster belongs to its row."""
        return self.strata < self.count

    @cached_property
    def _numbers(self) -> Any:
        """The numbers of clusters by row and stratum."""
        return summed(self.strata, self.count, self.used)[:, : self.count].astype(int)

    @cached_property
    def number(self) -> Any:
        """The number of clusters of each row."""
        return self._numbers.sum(axis=1)

    @cached_property
    def unpaired(self) -> Any:
        """Whether each row has strata of answers that are not paired (``opposite``)."""
        return self._numbers[:, [*self.opposite]].any(axis=1)

    @cached_property
    def varying(self) -> Any:
        """The number of clusters of each row in strata whose clusters vary."""
        return (self._numbers * (self._variances > 0)).sum(axis=1)

    @cached_property
    def freedom(self) -> Any:
        """The effective degrees of freedom of each error; NaN where no stratum varies.

        With the variance V of the contribution of each stratum of G clusters, these are
        (sum of V)^2 / (sum of V^2 / (G - 1)) (Satterthwaite, Biometrics Bulletin 2, 1946): G - 1 in
        one stratum, and at most clusters less strata. A stratum that does not vary, such as a task
        that both models always solve, tells nothing about the variance of the others.
        """
        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            shares = self._variances / _exact_sums(self._variances)[:, None]
            parts = np.where(self._numbers > 1, shares**2 / (self._numbers - 1), 0.0)
            return 1 / _exact_sums(parts)

    @cached_property
    def _all_weights(self) -> Any:
        return _exact_sums(self.weights)

    @cached_property
    def means(self) -> Any:
        """The weighted mean of each row; NaN without clusters."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return _exact_sums(self.totals) / self._all_weights

    @cached_property
    def errors(self) -> Any:
        """The cluster-robust standard error of each mean; NaN without clusters."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return np.sqrt(_exact_sums(self._variances)) / self._all_weights

    @cached_property
    def _variances(self) -> Any:
        """The variance of the weighted sum of each stratum, by row.

        It is G / (G - 1) times the sum over clusters of the squared sum of residuals from the mean
        of the stratum (Liang and Zeger, Biometrika 73, 1986; Miller, arXiv 2411.00640, section 2.2,
        with the correction for G).
        """
        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            centres = summed(self.strata, self.count, self.totals) / summed(
                self.strata, self.count, self.weights
            )
            expected = np.where(
                self.used, self.weights * np.take_along_axis(centres, self.strata, 1), 0.0
            )
            residuals = self.totals - expected
            rounding = ROUNDING * (np.abs(self.totals) + np.abs(expected) + self.weights)
            squares = np.where(np.abs(residuals) > rounding, residuals, 0.0) ** 2
            factors = np.where(self._numbers > 1, self._numbers / (self._numbers - 1), 0.0)
            return factors * summed(self.strata, self.count, squares)[:, : self.count]


def summed(groups: Any, count: int, values: Any) -> Any:
    """Sum the values of each row by group, in order.

    ``groups`` numbers the group of each value from 0 to ``count``, in one row for all rows of
    ``values`` or in as many. The result has a column for each number.
    """
    import numpy as np

    places = np.arange(len(values))[:, None] * (count + 1) + groups
    sums = np.bincount(places.ravel(), values.ravel(), len(values) * (count + 1))
    return sums.reshape(len(values), count + 1)


def _exact_sums(values: Any) -> Any:
    """Sum each row exactly, so that the result does not depend on the order of its values."""
    import numpy as np

    return np.array([math.fsum(row) for row in values.tolist()])


class TTest(NamedTuple):
    """A two-sided t-test: difference of means, statistic, degrees of freedom, p and interval."""

    difference: float
    statistic: float
    freedom: float
    p: float
    interval: Interval


def t_test(first: Histogram, second: Histogram) -> TTest | None:
    """Run Student's two-sample test with equal variances (``scipy.stats.ttest_ind``).

    ``None`` where a side is empty, both have one value, or both are the same constant, apart from
    rounding.
    """
    if not first.n or not second.n or first.n + second.n <= 2:  # noqa: PLR2004 - two means estimated
        return None
    freedom = first.n + second.n - 2
    squares = (first.n - 1) * (first.variance or 0.0) + (second.n - 1) * (second.variance or 0.0)
    error = math.sqrt(squares / freedom * (1 / first.n + 1 / second.n))
    return _test(_difference(first, second), error, freedom)


def paired_test(differences: Iterable[float]) -> TTest | None:
    """Run Student's test of paired differences against zero (``scipy.stats.ttest_rel``).

    ``None`` for fewer than two differences, or where all are zero.
    """
    values = Histogram.of(differences)
    if values.mean is None or values.standard_error is None:
        return None
    return _test(values.mean, values.standard_error, values.n - 1)


def _difference(first: Histogram, second: Histogram) -> float:
    assert first.mean is not None
    assert second.mean is not None
    return first.mean - second.mean


def _test(difference: float, error: float, freedom: float) -> TTest | None:
    if max(abs(difference), error) <= ROUNDING:
        return None
    if error == 0:
        certain = math.copysign(math.inf, difference)
        return TTest(difference, certain, freedom, 0.0, Interval(difference, difference))
    half = half_width(error, freedom)
    statistic = difference / error
    interval = Interval(difference - half, difference + half)
    return TTest(difference, statistic, freedom, two_sided(statistic, freedom), interval)


def two_sided(statistic: float, freedom: float) -> float:
    """Return the two-sided p of a statistic under Student's t distribution."""
    return float(two_sided_each(statistic, freedom))


def two_sided_each(statistics: Any, freedom: Any) -> Any:
    """Return the two-sided p of each statistic in an array, with as many degrees of freedom."""
    import numpy as np
    from scipy.special import stdtr  # type: ignore[import-untyped]

    return np.minimum(1.0, 2 * stdtr(freedom, -np.abs(statistics)))


def equivalence_p(mean: float, error: float, freedom: float, margin: float) -> float:
    """Return p of two one-sided t-tests that a mean is within -``margin`` to ``margin``."""
    from scipy.special import stdtr

    return float(stdtr(freedom, (abs(mean) - margin) / error))


def cohens_d(first: Histogram, second: Histogram, difference: float | None = None) -> float | None:
    """Return the difference of means in pooled standard deviations (Cohen 1988, section 2.2).

    ``difference`` is that of weighted means, if they are to be compared. ``None`` where the pooled
    deviation is zero or undefined.
    """
    freedom = first.n + second.n - 2
    if freedom <= 0 or not first.n or not second.n:
        return None
    squares = (first.n - 1) * (first.variance or 0.0) + (second.n - 1) * (second.variance or 0.0)
    if not squares:
        return None
    between = _difference(first, second) if difference is None else difference
    return between / math.sqrt(squares / freedom)


def cohens_dz(*tasks: Histogram) -> float | None:
    """Return the mean of paired differences in standard deviations (Cohen 1988, section 2.3.5).

    Tasks weigh the same, whatever their numbers of pairs.
    """
    mixed, n = mixture((values, Fraction(1)) for values in tasks), sum(v.n for v in tasks)
    if mixed is None or not mixed[1]:
        return None
    return mixed[0] / mixed[1] * math.sqrt((n - 1) / n)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Correct p values for their number by Holm's step-down method; ``None`` stays ``None``.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    ordered = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    highest = 0.0
    for position, (p, index) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - position) * p))
        corrected[index] = highest
    return corrected


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Adjust p values to control the false discovery rate (Benjamini and Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """
    from scipy import stats  # type: ignore[import-untyped]

    defined = [p for p in ps if p is not None]
    corrected = iter(stats.false_discovery_control(defined)) if defined else iter(())
    return [None if p is None else float(next(corrected)) for p in ps]


def bootstrap_means(
    groups: Sequence[Sequence[float]], *, samples: int = 10_000, seed: int = 0
) -> list[float]:
    """Return the means of bootstrap samples of whole groups, such as the values of one case.

    Groups are drawn with replacement. The values of a case are not independent, so they stay
    together. The result is empty without groups.
    """
    import numpy as np

    if not groups:
        return []
    sums = np.array([math.fsum(group) for group in groups])
    sizes = np.array([len(group) for group in groups])
    draws = np.random.default_rng(seed).integers(0, len(groups), size=(samples, len(groups)))
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    return [float(value) for value in means]


def percentile_interval(samples: Sequence[float], estimate: float | None) -> Interval | None:
    """Return the middle 95 % of a bootstrap distribution; ``None`` where it is empty.

    It is extended to the ``estimate`` where a skewed distribution excludes it.
    """
    if not samples:
        return None
    values = Histogram.of(samples)
    low, high = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    bottom, top = values.quantile(low), values.quantile(high)
    assert bottom is not None
    assert top is not None
    if estimate is None:
        return Interval(bottom, top)
    return Interval(min(bottom, estimate), max(top, estimate))


def bootstrap_p(samples: Sequence[float]) -> float | None:
    """Return two-sided p of a bootstrap distribution of differences, from its tail beyond zero.

    Differences that rounding can explain are zero, and belong to both tails.
    """
    if not samples:
        return None
    below = sum(value <= ROUNDING for value in samples)
    above = sum(value >= -ROUNDING for value in samples)
    return min(1.0, 2 * (1 + min(below, above)) / (1 + len(samples)))
