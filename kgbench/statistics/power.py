# SPDX-License-Identifier: Apache-2.0
"""Variance components of scores, and the power of a comparison of two models on the same cases.

Values are nested in cases, and cases in tasks.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from kgbench.errors import QueryError
from kgbench.statistics.clusters import FEWEST_FOR_T, least_p
from kgbench.statistics.histogram import Histogram, mean

Nested: TypeAlias = Mapping[str, Mapping[str, Histogram]]
"""Values by task and case."""
_ROUNDED = 1e-12  # of squares of scores


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of values that are nested in cases, and cases in tasks.

    A component is ``None`` where it cannot be estimated: ``cases`` where no task has two cases,
    ``within`` where no case has two answers. Without ``within``, ``cases`` is the variance of
    single answers.
    """

    cases: float | None
    within: float | None

    @classmethod
    def mean(cls, several: Iterable[Components]) -> Components:
        """Average unbiased estimates of each component, zero where the mean would be negative."""
        estimates = [(estimate.cases, estimate.within) for estimate in several]
        means = [
            mean(v for v in column if v is not None) for column in zip(*estimates, strict=True)
        ]
        return cls(
            *(
                None if estimate is None else estimate if estimate > _ROUNDED else 0.0
                for estimate in means
            )
        )

    @classmethod
    def moments(cls, values: Nested, elsewhere: float | None = None) -> Components:
        """Estimate the components by the method of moments, without a cut at zero.

        Sums of squares are equated to their expectations (Henderson's method 1; Searle, Casella
        and McCulloch, Variance Components, 1992, section 5.3). Balanced values give the estimates
        of the analysis of variance. ``elsewhere`` is the component within cases of other values,
        for values without repetitions.
        """
        cases = [case for of_task in values.values() for case in of_task.values()]
        tasks = [Histogram.pooled(of_task.values()) for of_task in values.values()]
        n = sum(task.n for task in tasks)
        squares_in_cases = sum(map(_squares, cases))
        within = _ratio(squares_in_cases, n - len(cases))
        inside = (elsewhere if within is None else within) or 0.0
        per_task = sum(
            sum(case.n**2 for case in of_task.values()) / task.n
            for of_task, task in zip(values.values(), tasks, strict=True)
        )
        freedom = len(cases) - len(tasks)
        squares = sum(map(_squares, tasks)) - squares_in_cases - freedom * inside
        return cls(_ratio(squares, n - per_task) if freedom else None, within)


class MeasuredComponents(NamedTuple):
    """The mean components of several models, and the numbers of tasks, cases and models used.

    ``correlation`` is that of two models over cases; it is 0 where no two models share cases
    (``pairs`` is 0). ``left_out`` counts the tasks with only one case, which say nothing about
    other cases.
    """

    components: Components
    correlation: float
    tasks: int
    cases: int
    models: int
    pairs: int
    left_out: int


def of_models(values: Mapping[str, Nested]) -> MeasuredComponents:
    """Estimate the components from values by model, over the tasks with several cases.

    The covariance of two models is that of their means of the cases of a task. Repetitions do not
    contribute to it, because they are independent.
    """
    by_name = {
        m: {task: cases for task, cases in of_model.items() if len(cases) > 1}
        for m, of_model in values.items()
    }
    several = {m: of_model for m, of_model in by_name.items() if of_model}
    if not several:
        raise QueryError(
            "no task has scores on two cases, so the variance between cases is unknown: declare "
            "variances, or run a suite with several cases for each task"
        )
    within = Components.mean(map(Components.moments, several.values())).within
    components = Components.mean(Components.moments(one, within) for one in several.values())
    pairs = [
        c for a, b in combinations(several.values(), 2) if (c := _covariance(a, b)) is not None
    ]
    correlation = (mean(pairs) or 0.0) / components.cases if components.cases else 0.0
    all_tasks = {task for of_model in values.values() for task in of_model}
    items = {
        (task, case)
        for of_model in several.values()
        for task in of_model
        for case in of_model[task]
    }
    tasks = {task for task, _ in items}
    return MeasuredComponents(
        components,
        max(-1.0, min(1.0, correlation)),
        tasks=len(tasks),
        cases=len(items),
        models=len(several),
        pairs=len(pairs),
        left_out=len(all_tasks - tasks),
    )


def _covariance(a: Nested, b: Nested) -> float | None:
    """Return the covariance of two models over cases within tasks; ``None`` without two of them."""
    total, freedom = 0.0, 0
    for task in a.keys() & b.keys():
        both = sorted(a[task].keys() & b[task].keys())
        if len(both) > 1:
            means_a, means_b = (
                [values[task][case].mean or 0.0 for case in both] for values in (a, b)
            )
            mean_a, mean_b = mean(means_a) or 0.0, mean(means_b) or 0.0
            total += sum((x - mean_a) * (y - mean_b) for x, y in zip(means_a, means_b, strict=True))
            freedom += len(both) - 1
    return total / freedom if freedom else None


def _squares(values: Histogram) -> float:
    """Return the sum of squared deviations from the mean."""
    return (values.variance or 0.0) * (values.n - 1)


def _ratio(squares: float, freedom: float) -> float | None:
    return squares / freedom if freedom > 0 else None


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
