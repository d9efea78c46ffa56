# SPDX-License-Identifier: Apache-2.0
"""Tests of differences between means, effect sizes, and corrections for multiple tests.

The functions take exact histograms or plain differences. A statistic that is undefined (too few
values, or two equal constants) is ``None`` instead of a meaningless number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from kgbench.statistics.cluster_rows import ROUNDING
from kgbench.statistics.histogram import Histogram, mixture
from kgbench.statistics.intervals import CONFIDENCE, Interval, half_width


class TTest(NamedTuple):
    """A two-sided t-test: difference of means, statistic, degrees of freedom, p and interval."""

    difference: float
    statistic: float
    freedom: float
    p: float
    interval: Interval


def t_test(first: Histogram, second: Histogram) -> TTest | None:
    """Run Student's two-sample test with equal variances (``scipy.stats.ttest_ind``).

    ``None`` where a side is empty, both have one value, or both are the same constant.
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
    if error == 0:
        if difference == 0:
            return None
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
