# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of means.

An interval of a score never leaves the range of the score. Intervals by Student's t can; they are
used for the tables of papers that print them, and for quantities without a range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from kgbench.statistics.histogram import Histogram

CONFIDENCE = 0.95  # of every interval that tables and figures show
METHODS = {
    "wilson": "Wilson's, with the effective number of values (Korn and Graubard 1998)",
    "bootstrap": "percentile bootstrap, because the metric declares no range with two ends",
    "student": "Student's t, as the paper prints it",
}
"""Descriptions of the methods for intervals of means, by their names in tables and exports."""
DIFFERENCE_NOTE = (
    "95 % intervals of differences are not those of the t-test: they stay inside the range of "
    "scores (Wilson 1927; Newcombe 1998)."
)
_SAMPLES, _SEED = 2_000, 0
_DIGITS = 12  # of values on the scale from 0 to 1; others differ by rounding


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


class Bounds(NamedTuple):
    """The range that a metric declares; an undeclared end is ``None``."""

    low: float | None = None
    high: float | None = None

    def method(self, values: Histogram) -> str:
        """Return the method for a mean of ``values``, a key of :data:`METHODS`.

        It depends on the values, because published values may lie outside the declared range.
        """
        if self.low is None or self.high is None or not self.low < self.high:
            return "bootstrap"
        inside = all(self.low <= value <= self.high for value in values.counts)
        return "wilson" if inside else "bootstrap"

    @property
    def differences(self) -> Bounds:
        """The range of differences between two values of this range."""
        if self.low is None or self.high is None:
            return Bounds(None, None)
        return Bounds(self.low - self.high, self.high - self.low)

    @classmethod
    def around(cls, several: Iterable[Bounds]) -> Bounds:
        """Return the range that covers several ranges; an end is ``None`` where any lacks it."""
        ranges = list(several)
        if not ranges:
            return cls()
        lows, highs = zip(*ranges, strict=True)
        return cls(
            None if None in lows else min(lows),
            None if None in highs else max(highs),
        )


UNBOUNDED = Bounds()


def half_width(error: float, freedom: float) -> float:
    """Return half the width of the interval of an estimate with standard ``error``, by t."""
    return t_quantile(freedom) * error


def mean_interval(values: Histogram) -> Interval | None:
    """Return the interval of the mean by Student's t; ``None`` for fewer than two values.

    Constant values give an interval of width 0. The interval can leave the range of the values.
    """
    mean, error = values.mean, values.standard_error
    if mean is None or error is None:
        return None
    if error == 0:
        return Interval(mean, mean)
    half = half_width(error, values.n - 1)
    return Interval(mean - half, mean + half)


def score_interval(values: Histogram, bounds: Bounds) -> Interval | None:
    """Return the interval of a mean score inside ``bounds``; ``None`` for fewer than two values."""
    if values.n <= 1:
        return None
    if bounds.method(values) == "bootstrap":
        return _bootstrap(values)
    assert bounds.low is not None
    assert bounds.high is not None
    return _wilson(values, bounds.low, bounds.high)


def difference_interval(first: Histogram, second: Histogram, bounds: Bounds) -> Interval | None:
    """Return the interval of the difference of two unpaired means, first minus second.

    It combines those of both means (Zou and Donner, Statistics in Medicine 27, 2008; for shares
    Newcombe 1998, method 10) and stays inside the range of such differences. ``None`` where a side
    has fewer than two values.
    """
    first_interval, second_interval = score_interval(first, bounds), score_interval(second, bounds)
    if first_interval is None or second_interval is None:
        return None
    assert first.mean is not None
    assert second.mean is not None
    return combined_interval(first.mean, first_interval, second.mean, second_interval)


def combined_interval(
    first: float, first_interval: Interval, second: float, second_interval: Interval
) -> Interval:
    """Return the interval of the difference of two independent means, from their intervals."""
    difference = first - second
    return Interval(
        difference - math.hypot(first - first_interval.low, second_interval.high - second),
        difference + math.hypot(first_interval.high - first, second - second_interval.low),
    )


def method_note(methods: Iterable[str]) -> str:
    """Return a sentence that names the methods of the intervals of a table."""
    descriptions = " or ".join(METHODS[method] for method in sorted(set(methods), reverse=True))
    return f"95 % intervals of means: {descriptions}." if descriptions else ""


def _wilson(values: Histogram, low: float, high: float) -> Interval:
    """Return Wilson's interval (Wilson 1927) of a mean between ``low`` and ``high``.

    Where all values lie at the two ends, they are treated as shares: n is their number, and the
    quantile that of the normal distribution. Other values vary less than shares of the same mean:
    their effective number is n (m (1 - m)) / s^2 with the mean m and the sample variance s^2 on the
    scale from 0 to 1, and the quantile is Student's with n - 1 degrees of freedom (Korn and
    Graubard, Survey Methodology 24, 1998). Equal values between the ends have
    :func:`constant_interval`.
    """
    assert values.mean is not None
    assert values.variance is not None
    width = high - low
    mean = (values.mean - low) / width
    spread = mean * (1 - mean)
    kinds = {round((value - low) / width, _DIGITS) for value in values.counts}
    if kinds <= {0.0, 1.0}:
        effective, quantile = float(values.n), normal_quantile()
    elif len(kinds) == 1:
        return constant_interval(values.mean, values.n, low, high)
    else:
        effective = values.n * spread / (values.variance / width**2)
        quantile = t_quantile(values.n - 1)
    return wilson(values.mean, effective, quantile, low, high)


def constant_interval(value: float, number: int, low: float, high: float) -> Interval:
    """Return the interval of the mean of a ``number`` of equal values in ``low`` to ``high``.

    A further value deviates with at most the probability of Wilson's upper bound for zero
    successes, and then lies at the end of the range.
    """
    square = normal_quantile() ** 2
    reach = square / (number + square)
    return Interval(value - reach * (value - low), value + reach * (high - value))


def wilson(mean: float, effective: float, quantile: float, low: float, high: float) -> Interval:
    """Return Wilson's interval of a ``mean`` of ``effective`` values in ``low`` to ``high``.

    ``quantile`` is that of the normal or of Student's t distribution.
    """
    width = high - low
    share = quantile**2 / effective
    scaled = (mean - low) / width
    centre = (scaled + share / 2) / (1 + share)
    half = math.sqrt(share * (scaled * (1 - scaled) + share / 4)) / (1 + share)
    # Rounding errors must neither leave the range nor exclude a mean at the end of the range.
    bottom = max(low, low + width * (centre - half))
    top = min(high, low + width * (centre + half))
    return Interval(min(bottom, mean), max(top, mean))


def clopper_pearson(mean: float, effective: float, low: float, high: float) -> Interval:
    """Return the Clopper-Pearson interval of a ``mean`` of ``effective`` values between two ends.

    The number of values need not be whole (Clopper and Pearson, Biometrika 26, 1934; Korn and
    Graubard, Survey Methodology 24, 1998). The mean lies strictly between ``low`` and ``high``.
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    width, tail = high - low, (1 - CONFIDENCE) / 2
    successes = effective * (mean - low) / width
    failures = effective - successes
    bottom = low + width * float(betaincinv(successes, failures + 1, tail))
    top = low + width * float(betaincinv(successes + 1, failures, 1 - tail))
    return Interval(min(bottom, mean), max(top, mean))


def with_one_more(interval: Interval, number: int, low: float, high: float) -> Interval:
    """Widen the interval of a mean of ``number`` units as if one more lay at the end of the range.

    The sample may lack the rare units that are far from the others; the same addition makes the
    bound of Gaffke hold (Mathematical Methods of Statistics 14, 2005).
    """
    share = 1 / (number + 1)
    return Interval(
        interval.low + share * (low - interval.low), interval.high + share * (high - interval.high)
    )


def _bootstrap(values: Histogram) -> Interval:
    """Return the percentile bootstrap interval, which stays inside the range of the values."""
    import numpy as np

    kinds = sorted(values.counts.items())
    if len(kinds) == 1:
        return Interval(kinds[0][0], kinds[0][0])
    numbers = np.array([count for _, count in kinds])
    sums = np.random.default_rng(_SEED).multinomial(
        values.n, numbers / values.n, size=_SAMPLES
    ) @ np.array([value for value, _ in kinds])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(sums / values.n, [tail, 1 - tail])
    return Interval(max(kinds[0][0], float(low)), min(kinds[-1][0], float(high)))


def t_quantile(freedom: float) -> float:
    """Return the quantile of Student's t for an interval with :data:`CONFIDENCE`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def normal_quantile() -> float:
    """Return the quantile of the normal distribution for :data:`CONFIDENCE`."""
    from scipy.special import ndtri

    return float(ndtri((1 + CONFIDENCE) / 2))
