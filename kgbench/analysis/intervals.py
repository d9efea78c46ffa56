# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of means."""

from __future__ import annotations

from typing import NamedTuple

from kgbench.analysis.histogram import Histogram

CONFIDENCE = 0.95  # of every interval that tables and figures show


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2


def half_width(error: float, freedom: float) -> float:
    """Half the interval of what has the standard ``error``, by Student's t."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error


def mean_interval(values: Histogram) -> Interval | None:
    """The interval of the mean by Student's t; ``None`` for fewer than two values.

    Constant values give an interval without width.
    """
    mean, error = values.mean, values.standard_error
    if mean is None or error is None:
        return None
    if error == 0:
        return Interval(mean, mean)
    half = half_width(error, values.n - 1)
    return Interval(mean - half, mean + half)
