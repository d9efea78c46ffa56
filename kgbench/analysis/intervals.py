# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of means.

An interval of a score never leaves the range of the score. Student's t, which does, stays for the
tables of papers that print it and for quantities without a range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from kgbench.analysis.histogram import Histogram

CONFIDENCE = 0.95  # of every interval that tables and figures show
METHODS = {
    "wilson": "Wilson's score interval, with the effective number of values where scores lie "
    "between the ends of their range (Korn and Graubard 1998)",
    "bootstrap": "percentile bootstrap, because the metric declares no range with two ends",
    "student": "Student's t, as the paper prints it",
}
"""How intervals of means are made, by the name that tables and exports give the method."""
DIFFERENCE_NOTE = (
    "95 % intervals of differences stay inside their range, and are no part of the t-test: "
    "Wilson's score interval where values are paired, else combined from the intervals of both "
    "means (Newcombe 1998)."
)
_SAMPLES, _SEED = 2_000, 0


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2


class Bounds(NamedTuple):
    """The range that a metric declares; ``None`` at an end that it does not declare."""

    low: float | None = None
    high: float | None = None

    def method(self, values: Histogram) -> str:
        """The method for a mean of ``values``, a key of :data:`METHODS`.

        Published values may leave the range that their own formula declares.
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
        """The range that covers several; without an end where one, or every one, has none."""
        known = list(several)
        if not known:
            return cls()
        lows, highs = zip(*known, strict=True)
        return cls(
            None if None in lows else min(lows),
            None if None in highs else max(highs),
        )


UNBOUNDED = Bounds()


def half_width(error: float, freedom: float) -> float:
    """Half the interval of what has the standard ``error``, by Student's t."""
    return t_quantile(freedom) * error


def mean_interval(values: Histogram) -> Interval | None:
    """The interval of the mean by Student's t; ``None`` for fewer than two values.

    Constant values give an interval without width. It can leave the range of the values.
    """
    mean, error = values.mean, values.standard_error
    if mean is None or error is None:
        return None
    if error == 0:
        return Interval(mean, mean)
    half = half_width(error, values.n - 1)
    return Interval(mean - half, mean + half)


def score_interval(values: Histogram, bounds: Bounds) -> Interval | None:
    """The interval of a mean score inside ``bounds``; ``None`` for fewer than two values."""
    if values.n <= 1:
        return None
    if bounds.method(values) == "bootstrap":
        return _bootstrap(values)
    assert bounds.low is not None
    assert bounds.high is not None
    return _wilson(values, bounds.low, bounds.high)


def difference_interval(first: Histogram, second: Histogram, bounds: Bounds) -> Interval | None:
    """The interval of the difference of two unpaired means, first less second.

    It combines those of both means (Zou and Donner, Statistics in Medicine 27, 2008; for shares
    Newcombe 1998, method 10) and stays inside the range of such differences. ``None`` where a side
    has fewer than two values.
    """
    ours, theirs = score_interval(first, bounds), score_interval(second, bounds)
    if ours is None or theirs is None:
        return None
    assert first.mean is not None
    assert second.mean is not None
    return combined_interval(first.mean, ours, second.mean, theirs)


def combined_interval(first: float, ours: Interval, second: float, theirs: Interval) -> Interval:
    """The interval of the difference of two independent means, from the interval of each."""
    difference = first - second
    return Interval(
        difference - math.hypot(first - ours.low, theirs.high - second),
        difference + math.hypot(ours.high - first, second - theirs.low),
    )


def method_note(methods: Iterable[str]) -> str:
    """A sentence that names the methods of the intervals of a table."""
    named = " or ".join(METHODS[method] for method in sorted(set(methods), reverse=True))
    return f"95 % intervals of means over dialogues: {named}." if named else ""


def _wilson(values: Histogram, low: float, high: float) -> Interval:
    """Wilson's interval (Wilson 1927) of a mean between ``low`` and ``high``.

    Values at the two ends are shares: n is their number, and the quantile that of the normal
    distribution. Other values vary less than shares of the same mean: their effective number is
    n (m (1 - m)) / s^2 with the mean m and the sample variance s^2 on the scale from 0 to 1, and
    the quantile is Student's with n - 1 (Korn and Graubard, Survey Methodology 24, 1998).
    """
    assert values.mean is not None
    assert values.variance is not None
    width = high - low
    mean = (values.mean - low) / width
    spread = mean * (1 - mean)
    if set(values.counts) <= {low, high}:
        effective, quantile = float(values.n), normal_quantile()
    elif values.variance == 0:
        return Interval(values.mean, values.mean)
    else:
        effective = values.n * spread / (values.variance / width**2)
        quantile = t_quantile(values.n - 1)
    return wilson(values.mean, effective, quantile, low, high)


def wilson(mean: float, effective: float, quantile: float, low: float, high: float) -> Interval:
    """Wilson's interval of a ``mean`` between ``low`` and ``high`` of ``effective`` values.

    ``quantile`` is that of the normal or of Student's t distribution.
    """
    width = high - low
    share = quantile**2 / effective
    place = (mean - low) / width
    centre = (place + share / 2) / (1 + share)
    half = math.sqrt(share * (place * (1 - place) + share / 4)) / (1 + share)
    # Rounding alone could leave the range, or leave out a mean at its very end.
    bottom = max(low, low + width * (centre - half))
    top = min(high, low + width * (centre + half))
    return Interval(min(bottom, mean), max(top, mean))


def _bootstrap(values: Histogram) -> Interval:
    """The middle share of means of resampled values, which lies between the values themselves."""
    import numpy as np

    kinds = sorted(values.counts.items())
    if len(kinds) == 1:
        return Interval(kinds[0][0], kinds[0][0])
    numbers = np.array([count for _, count in kinds])
    drawn = np.random.default_rng(_SEED).multinomial(
        values.n, numbers / values.n, size=_SAMPLES
    ) @ np.array([value for value, _ in kinds])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn / values.n, [tail, 1 - tail])
    return Interval(max(kinds[0][0], float(low)), min(kinds[-1][0], float(high)))


def t_quantile(freedom: float) -> float:
    """The quantile of Student's t for an interval with :data:`CONFIDENCE`."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def normal_quantile() -> float:
    """The quantile of the normal distribution for an interval with :data:`CONFIDENCE`."""
    from scipy.special import ndtri

    return float(ndtri((1 + CONFIDENCE) / 2))
