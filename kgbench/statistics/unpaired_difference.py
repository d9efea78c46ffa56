# SPDX-License-Identifier: Apache-2.0
"""The difference of two means whose values have no clusters in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kgbench.statistics.clusters import FEWEST_FOR_T, Clusters, least_p
from kgbench.statistics.intervals import Bounds, Interval, combined_interval
from kgbench.statistics.significance import equivalence_p, two_sided


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
        """The number of strata with one cluster on the side that has more of them."""
        return max(self.first.lone, self.second.lone)

    @property
    def least_p(self) -> float:
        """The least p that the test can give."""
        return least_p(self.number)

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
        return None if estimate is None else equivalence_p(*estimate, margin)

    def difference_interval(self, bounds: Bounds) -> Interval | None:
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
        if (
            self.lone
            or first.mean is None
            or second.mean is None
            or first.error is None
            or second.error is None
        ):
            return None
        squares = ((first.error**2, first.freedom), (second.error**2, second.freedom))
        total = sum(square for square, _ in squares)
        if total == 0 or min(first.number, second.number) < FEWEST_FOR_T:
            return None
        freedom = total**2 / sum(square**2 / degrees for square, degrees in squares if square)
        return first.mean - second.mean, math.sqrt(total), freedom
