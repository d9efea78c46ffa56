# SPDX-License-Identifier: Apache-2.0
"""Exact statistics of values that are given as a histogram: each distinct value with its count.

Sums are computed with integers (every float is an integer divided by a power of two), so they have
no rounding errors for any number of values, and constant values have a deviation of exactly zero.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, repeat


@dataclass(frozen=True)
class Histogram:
    """Values and their counts; all values are finite, all counts positive.

    >>> scores = Histogram.of([0.0, 1.0, 1.0, 1.0])
    >>> scores.n, scores.mean, scores.sd, scores.median
    (4, 0.75, 0.5, 1.0)
    >>> Histogram({}).mean is None
    True
    """

    counts: Mapping[float, int]

    @classmethod
    def of(cls, values: Iterable[float]) -> Histogram:
        """Count single values."""
        return cls(Counter(values))

    @classmethod
    def pooled(cls, parts: Iterable[Histogram]) -> Histogram:
        """Combine the values of several histograms."""
        together: Counter[float] = Counter()
        for part in parts:
            together.update(part.counts)
        return cls(together)

    @cached_property
    def n(self) -> int:
        """The number of values."""
        return sum(self.counts.values())

    @cached_property
    def _moments(self) -> tuple[Fraction, Fraction]:
        """The exact sums of the values and of their squares."""
        ratios = [(v.as_integer_ratio(), c) for v, c in self.counts.items()]
        scale = max((q for (_, q), _ in ratios), default=1)
        scaled = [(p * (scale // q), c) for (p, q), c in ratios]
        total = sum(p * c for p, c in scaled)
        squares = sum(p * p * c for p, c in scaled)
        return Fraction(total, scale), Fraction(squares, scale * scale)

    @cached_property
    def mean(self) -> float | None:
        """The arithmetic mean; ``None`` without values."""
        if len(self.counts) == 1:  # without fractions: a study has millions of such cases
            return next(iter(self.counts))
        return float(self._moments[0] / self.n) if self.n else None

    @cached_property
    def variance(self) -> float | None:
        """The sample variance (divided by n - 1); ``None`` for fewer than two values."""
        if self.n <= 1:
            return None
        total, squares = self._moments
        return float((squares - total * total / self.n) / (self.n - 1))

    @property
    def sd(self) -> float | None:
        """The sample standard deviation; ``None`` for fewer than two values."""
        return None if self.variance is None else math.sqrt(self.variance)

    @property
    def population_sd(self) -> float | None:
        """The population standard deviation (divided by n); ``None`` without values."""
        if not self.n:
            return None
        total, squares = self._moments
        return math.sqrt(float((squares - total * total / self.n) / self.n))

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean; ``None`` for fewer than two values."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)

    @cached_property
    def _sorted(self) -> list[tuple[float, int]]:
        return sorted(self.counts.items())

    def quantile(self, share: float) -> float | None:
        """Return the quantile at ``share`` (0 to 1), interpolated linearly between neighbours.

        It equals ``numpy.quantile`` with its default method; ``None`` without values.
        """
        if not self.n:
            return None
        position = share * (self.n - 1)
        below = math.floor(position)
        low, high = self._at(below), self._at(min(below + 1, self.n - 1))
        return low if low == high else low + (high - low) * (position - below)

    @property
    def median(self) -> float | None:
        """The middle value, or the mean of the two in the middle; ``None`` without values."""
        if not self.n:
            return None
        low, high = self._at((self.n - 1) // 2), self._at(self.n // 2)
        return low if low == high else (low + high) / 2

    @property
    def minimum(self) -> float | None:
        """The smallest value; ``None`` without values."""
        return self._sorted[0][0] if self.n else None

    @property
    def maximum(self) -> float | None:
        """The greatest value; ``None`` without values."""
        return self._sorted[-1][0] if self.n else None

    def values(self) -> Iterator[float]:
        """Iterate over all values, repeated by their counts, in ascending order."""
        for value, count in self._sorted:
            yield from repeat(value, count)

    @cached_property
    def _ends(self) -> list[int]:
        """The cumulative counts: for each distinct value, the number of values up to it."""
        return list(accumulate(count for _, count in self._sorted))

    def _at(self, index: int) -> float:
        return self._sorted[bisect(self._ends, index)][0]


def mixture(parts: Iterable[tuple[Histogram, Fraction]]) -> tuple[float, float] | None:
    """Return mean and standard deviation of a weighted mixture of histograms.

    Each histogram counts by its weight, whatever its number of values, and weights need not add up
    to 1. The deviation is that of the whole mixture (``sqrt(E[x^2] - E[x]^2)``), which covers the
    spread within and between its parts. ``None`` where the total weight is 0.

    >>> mixture([(Histogram.of([1.0]), Fraction(1)), (Histogram.of([0.0, 0.0]), Fraction(1))])
    (0.5, 0.5)
    """
    total = first = second = Fraction(0)
    for part, weight in parts:
        if part.n:
            values, squares = part._moments  # noqa: SLF001 - the same module
            total += weight
            first += weight * values / part.n
            second += weight * squares / part.n
    if not total:
        return None
    centre = first / total
    return float(centre), math.sqrt(float(second / total - centre * centre))


def mean(values: Iterable[float]) -> float | None:
    """Return the mean of single values, correctly rounded; ``None`` without values."""
    return Histogram.of(values).mean
