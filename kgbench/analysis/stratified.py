# SPDX-License-Identifier: Apache-2.0
"""Differences of means within strata, with intervals that resample whole clusters.

The means of two groups differ without any effect of the grouping if the groups contain different
kinds of items. Differences within strata of equal items, averaged over strata, are due to the
grouping alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.statistics.intervals import Interval
from kgbench.statistics.significance import percentile_interval

BOTH = 0.5
"""The value of ``inside`` for an item that belongs to both groups equally."""
_AT_ONCE = 4_000_000  # numbers held in memory at the same time


@dataclass(frozen=True, slots=True)
class Observation:
    """A value with its cluster (case), its stratum and its group.

    ``inside`` is the share of the item that belongs to the first group: 1, 0, or :data:`BOTH`.
    """

    value: float
    cluster: Hashable
    stratum: Hashable = None
    inside: float = 1.0


@dataclass(frozen=True, slots=True)
class Contrast:
    """An estimate with its 95 % interval, which is ``None`` for one cluster.

    ``inside`` and ``outside`` are the numbers of items of each group in strata with both groups;
    ``clusters`` is the number of their clusters.
    """

    value: float
    interval: Interval | None
    inside: int
    outside: int
    clusters: int


def difference(
    observations: Sequence[Observation], *, samples: int = 2_000, seed: int = 0
) -> Contrast | None:
    """Estimate the mean of the first group minus that of the second, averaged over strata.

    A stratum has the weight n₁n₀/(n₁+n₀) of its groups of n₁ and n₀ items (Cochran, Biometrics 10,
    1954, section 3.2), which is 0 where a group is missing. ``None`` where all weights are 0. The
    interval is a percentile bootstrap over clusters; resamples without any weight are left out.
    """
    return _estimate(observations, -1.0, samples, seed)


def balanced_mean(
    observations: Sequence[Observation], *, samples: int = 2_000, seed: int = 0
) -> Contrast | None:
    """Estimate the mean of both groups with equal weights, averaged over strata.

    Weights of strata, interval and ``None`` are as in :func:`difference`. For items that all belong
    to :data:`BOTH` groups, it is their plain mean.
    """
    return _estimate(observations, 1.0, samples, seed)


def _estimate(
    observations: Sequence[Observation], sign: float, samples: int, seed: int
) -> Contrast | None:
    import numpy as np

    if not observations:
        return None
    clusters: dict[Hashable, int] = {}
    kinds = sorted({observation.stratum for observation in observations}, key=repr)
    strata = {stratum: number for number, stratum in enumerate(kinds)}
    of_cluster = [
        clusters.setdefault(observation.cluster, len(clusters)) for observation in observations
    ]
    of_stratum = [strata[observation.stratum] for observation in observations]
    # Axes: cluster; stratum; sum and size of the first group, sum and size of the second group.
    sums = np.zeros((len(clusters), len(strata), 4))
    for cluster, stratum, observation in zip(of_cluster, of_stratum, observations, strict=True):
        outside = 1 - observation.inside
        part = (
            observation.inside * observation.value,
            observation.inside,
            outside * observation.value,
            outside,
        )
        sums[cluster, stratum] += part
    # Resamples depend on what was observed, not on the names of clusters or their order.
    sums = sums[np.lexsort(sums.reshape(len(clusters), -1).T)]
    totals = sums.sum(axis=0)
    (value,) = _values(totals[None], sign)
    if np.isnan(value):
        return None
    balanced = (totals[:, 1] > 0) & (totals[:, 3] > 0)
    counted = [
        observation for observation, k in zip(observations, of_stratum, strict=True) if balanced[k]
    ]
    number = len(clusters)
    return Contrast(
        value=float(value),
        interval=_interval(sums, sign, samples, seed, float(value)) if number > 1 else None,
        inside=sum(observation.inside > 0 for observation in counted),
        outside=sum(observation.inside == 0 for observation in counted),
        clusters=len({observation.cluster for observation in counted}),
    )


def _values(totals: Any, sign: float) -> Any:
    """Return the estimate for each sample of ``totals`` (samples, strata, 4); NaN if weightless."""
    import numpy as np

    first, n_first, second, n_second = np.moveaxis(totals, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(
            (n_first > 0) & (n_second > 0), n_first * n_second / (n_first + n_second), 0.0
        )
        means = np.where(weights > 0, first / n_first + sign * second / n_second, 0.0)
        estimates = (weights * means).sum(axis=-1) / weights.sum(axis=-1)
    return estimates / 2 if sign > 0 else estimates


def _interval(sums: Any, sign: float, samples: int, seed: int, estimate: float) -> Interval | None:
    import numpy as np

    number, strata, _ = sums.shape
    rng = np.random.default_rng(seed)
    flat = sums.reshape(number, -1)
    step = max(1, _AT_ONCE // max(number, strata * 4))
    resampled: list[float] = []
    for start in range(0, samples, step):
        size = min(step, samples - start)
        draws = rng.multinomial(number, np.full(number, 1 / number), size=size)
        values = _values((draws @ flat).reshape(size, strata, 4), sign)
        resampled += values[~np.isnan(values)].tolist()
    return percentile_interval(resampled, estimate)
