# SPDX-License-Identifier: Apache-2.0
"""The power of a comparison of two models on the same cases, each asked several times.

A score is the mean of its task plus an effect of the case (variance ``between``) plus what differs
from one repetition to the next (variance ``within``). Two models meet the same cases, and the case
effects of both correlate. With m repetitions, the difference of both models on a case has the
variance 2 (between (1 - correlation) + within / m) (Miller, Adding Error Bars to Evals, 2024,
arXiv 2411.00640, sections 4 and 5). The test is that of ``kgbench compare``
(:mod:`kgbench.analysis.clusters`): t over cases from ten cases on, below exact sign flips of cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgbench.analysis.clusters import FEWEST_FOR_T, least_p
from kgbench.errors import QueryError

MOST_CASES = 10_000_000
_HALVINGS = 60
_QUANTILES = 4_000
_SAMPLES, _SEED = 10_000, 0  # of the power of sign flips
_ROUNDING = 1e-9  # of sums of deviates


@dataclass(frozen=True, slots=True)
class Variances:
    """Variances of scores between the cases of a task and between repetitions of a case.

    ``correlation`` is that of the case effects of two models, -1 to 1. ``within`` is ``None`` where
    it is unknown, because no case was repeated: then ``between`` is that of single answers, and
    holds for one repetition alone.
    """

    between: float
    within: float | None
    correlation: float = 0.0

    def of_difference(self, repetitions: float) -> float | None:
        """The variance of the difference of two models on a case; ``None`` where unknown.

        Where cases differ in their repetitions, it is the harmonic mean of these that counts.
        """
        if self.within is None and repetitions > 1:
            return None
        return 2 * (self.between * (1 - self.correlation) + (self.within or 0.0) / repetitions)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The two-sided paired test over cases at the level ``alpha``, as ``kgbench compare`` makes it.

    Degrees of freedom of t are the number of cases less that of ``tasks``, whose means are fixed.
    """

    alpha: float = 0.05
    tasks: int = 1

    @property
    def least(self) -> int:
        """The least number of cases that the test can find anything by: at least two a task.

        Sign flips of fewer cases never give a p below ``alpha``.
        """
        enough = next(n for n in range(2, FEWEST_FOR_T + 1) if least_p(n) < self.alpha)
        return max(2 * self.tasks, enough)

    def power(self, variance: float, cases: int, difference: float) -> float:
        """The chance to find a true ``difference`` with differences of this ``variance``.

        For t it follows from the noncentral t distribution, as the mean over the quantiles of the
        estimated deviation: ``scipy.special.nctdtr`` is not a number for great differences. For
        sign flips it is the share of simulated comparisons with normal differences. Without any
        variance the test flips signs, too. 0 where the test cannot reach the level.
        """
        if cases < self.least:
            return 0.0
        if variance <= 0:
            return float(2.0 ** (1 - cases) < self.alpha)
        shift = difference / math.sqrt(variance)
        if cases < FEWEST_FOR_T:
            return _power_of_flips(shift, cases, self.alpha)
        return self._power_of_t(shift * math.sqrt(cases), cases - self.tasks)

    def _power_of_t(self, shift: float, freedom: int) -> float:
        import numpy as np
        from scipy.special import chdtri, ndtr, stdtrit  # type: ignore[import-untyped]

        critical = float(stdtrit(freedom, 1 - self.alpha / 2))
        quantiles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        reached = critical * np.sqrt(chdtri(freedom, quantiles) / freedom)
        return float(np.mean(ndtr(shift - reached) + ndtr(-shift - reached)))

    def cases(self, variance: float, difference: float, power: float) -> int:
        """The least number of cases by which a true ``difference`` is found with this ``power``.

        Raises :class:`~kgbench.errors.QueryError` for more than ten million cases.
        """
        for number in range(self.least, FEWEST_FOR_T):
            if self.power(variance, number, difference) >= power:
                return number
        low = high = max(self.least, FEWEST_FOR_T)
        while self.power(variance, high, difference) < power:
            low, high = high + 1, 2 * high
            if high > MOST_CASES:
                raise QueryError(
                    f"a difference of {difference:g} needs more than {MOST_CASES:,} cases: plan "
                    f"for a greater one"
                )
        while low < high:
            middle = (low + high) // 2
            if self.power(variance, middle, difference) < power:
                low = middle + 1
            else:
                high = middle
        return high

    def difference(self, variance: float, cases: int, power: float) -> float | None:
        """The least difference that this number of cases finds with this ``power``.

        ``None`` for fewer cases than :attr:`least`, by which no difference is ever found.
        """
        if cases < self.least:
            return None
        low, high = 0.0, math.sqrt(max(variance, 0.0))
        while self.power(variance, cases, high) < power:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.power(variance, cases, middle) < power:
                low = middle
            else:
                high = middle
        return high


def _power_of_flips(shift: float, cases: int, alpha: float) -> float:
    """The share of samples from N(``shift``, 1) whose sign flips give a p below ``alpha``."""
    import numpy as np

    values, signs = _samples(cases)
    sums = np.abs(values.sum(axis=1) + cases * shift)
    flipped = np.abs(values @ signs + shift * signs.sum(axis=0))
    p = (flipped >= sums[:, None] - _ROUNDING).mean(axis=1)
    return float((p < alpha).mean())


@cache
def _samples(cases: int) -> tuple[Any, Any]:
    """Simulated differences (samples x cases), and signs (cases x patterns) up to a common one."""
    import numpy as np

    values = np.random.default_rng(_SEED).standard_normal((_SAMPLES, cases))
    patterns = np.arange(2 ** (cases - 1))
    bits = (patterns[None, :] >> np.arange(cases)[:, None]) & 1  # the last sign stays: symmetry
    return values, 1.0 - 2.0 * bits
