# SPDX-License-Identifier: Apache-2.0
"""The power of a comparison of two models on the same cases, with repetitions of each case.

A score is the mean of its task plus an effect of the case (variance ``between``) plus an effect of
the repetition (variance ``within``). Both models get the same cases, so their case effects
correlate. With m repetitions, the difference between the models on a case has the variance
2 (between (1 - correlation) + within / m) (Miller, Adding Error Bars to Evals, 2024,
arXiv 2411.00640, sections 4 and 5). The test is that of ``kgbench compare``
(:mod:`kgbench.statistics.clusters`): a t-test over cases from ten cases on, an exact sign-flip test
below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgbench.errors import QueryError
from kgbench.statistics.clusters import FEWEST_FOR_T, least_p

MOST_CASES = 10_000_000
_HALVINGS = 60
_QUANTILES = 4_000
_SAMPLES, _SEED = 10_000, 0  # of the simulation of sign-flip tests
_ROUNDING = 1e-9  # tolerance for sums of deviates


@dataclass(frozen=True, slots=True)
class Variances:
    """Variances of scores between the cases of a task and between repetitions of a case.

    ``correlation`` is that of the case effects of two models, -1 to 1. ``within`` is ``None`` where
    it is unknown, because no case was repeated: ``between`` is then the variance of single answers,
    and holds only for one repetition.
    """

    between: float
    within: float | None
    correlation: float = 0.0

    def of_difference(self, repetitions: float) -> float | None:
        """Return the variance of the difference between two models on a case; ``None`` if unknown.

        Where the number of repetitions differs between cases, pass their harmonic mean.
        """
        if self.within is None and repetitions > 1:
            return None
        return 2 * (self.between * (1 - self.correlation) + (self.within or 0.0) / repetitions)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The two-sided paired test over cases at the level ``alpha``, as in ``kgbench compare``.

    The cases are spread evenly over ``tasks``, in which differences vary alike.
    """

    alpha: float = 0.05
    tasks: int = 1

    @property
    def least(self) -> int:
        """The least number of cases with which the test can reach the level.

        There are at least two cases per task. Sign flips of fewer cases never give a p below
        ``alpha``.
        """
        enough = next(n for n in range(2, FEWEST_FOR_T + 1) if least_p(n) < self.alpha)
        return max(2 * self.tasks, enough)

    def power(self, variance: float, cases: int, difference: float) -> float:
        """Return the probability of detecting a true ``difference``, from 0 to 1.

        ``variance`` is that of the difference on a case. For the t-test, the power follows from the
        noncentral t distribution, computed as the mean over the quantiles of the estimated
        deviation, because ``scipy.special.nctdtr`` returns NaN for great differences. For the
        sign-flip test it is the share of simulated comparisons with normal differences. Without
        any variance the test is the sign-flip test, too. The power is 0 where the test cannot
        reach the level.
        """
        if cases < self.least:
            return 0.0
        if variance <= 0:
            return float(2.0 ** (1 - cases) < self.alpha)
        shift = difference / math.sqrt(variance)
        if cases < FEWEST_FOR_T:
            return _power_of_flips(shift, cases, self.alpha)
        return self._power_of_t(shift * math.sqrt(cases), self._freedom(cases))

    def _freedom(self, cases: int) -> float:
        """Return the degrees of freedom that Satterthwaite's formula gives on average.

        With T tasks of g cases each, variances V of equal tasks have the mean 1 and the variance
        2 / (g - 1). Put into (sum of V)^2 / (sum of V^2 / (g - 1)), this gives
        (T (g - 1) + 2) (g - 1) / (g + 1): g - 1 for one task, and less than the number of cases
        minus that of tasks for several.
        """
        of_task = cases / self.tasks
        return (self.tasks * (of_task - 1) + 2) * (of_task - 1) / (of_task + 1)

    def _power_of_t(self, shift: float, freedom: float) -> float:
        import numpy as np
        from scipy.special import chdtri, ndtr, stdtrit  # type: ignore[import-untyped]

        critical = float(stdtrit(freedom, 1 - self.alpha / 2))
        quantiles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        reached = critical * np.sqrt(chdtri(freedom, quantiles) / freedom)
        return float(np.mean(ndtr(shift - reached) + ndtr(-shift - reached)))

    def cases(self, variance: float, difference: float, power: float) -> int:
        """Return the least number of cases that detect a true ``difference`` with this ``power``.

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
                    f"for a greater difference"
                )
        while low < high:
            middle = (low + high) // 2
            if self.power(variance, middle, difference) < power:
                low = middle + 1
            else:
                high = middle
        return high

    def difference(self, variance: float, cases: int, power: float) -> float | None:
        """Return the least difference that this number of cases detects with this ``power``.

        ``None`` for fewer cases than :attr:`least`, which never detect a difference.
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
    """Return the share of samples from N(``shift``, 1) with a sign-flip p below ``alpha``."""
    import numpy as np

    values, signs = _samples(cases)
    sums = np.abs(values.sum(axis=1) + cases * shift)
    flipped = np.abs(values @ signs + shift * signs.sum(axis=0))
    p = (flipped >= sums[:, None] - _ROUNDING).mean(axis=1)
    return float((p < alpha).mean())


@cache
def _samples(cases: int) -> tuple[Any, Any]:
    """Simulate differences (samples x cases), and list sign patterns (cases x patterns).

    The sign of the last case is fixed: by symmetry, half of the patterns suffice.
    """
    import numpy as np

    values = np.random.default_rng(_SEED).standard_normal((_SAMPLES, cases))
    patterns = np.arange(2 ** (cases - 1))
    bits = (patterns[None, :] >> np.arange(cases)[:, None]) & 1
    return values, 1.0 - 2.0 * bits
