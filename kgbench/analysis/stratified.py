# SPDX-License-Identifier: Apache-2.0
"""Differences of means within strata, with intervals that resample whole clusters.

Two groups that differ in what they consist of have different means without any effect of the
grouping. Taken within strata of equal items, and averaged over them, the difference is due to the
grouping alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.analysis.intervals import Interval
from kgbench.analysis.significance import percentile_interval

BOTH = 0.5
"""The side of an item that belongs to both groups as much."""
_AT_ONCE = 4_000_000  # numbers of resamples that are held in memory together


@dataclass(frozen=True, slots=True)
class Observation:
    """A value, the cluster (case) and the stratum it belongs to, and its group.

    ``inside`` is the share of the item that belongs to the first group: 1, 0, or :data:`BOTH`.
    """

    value: float
    cluster: Hashable
    stratum: Hashable = None
    inside: float = 1.0


@dataclass(frozen=True, slots=True)
class Contrast:
    """An estimate with its 95 % interval, which is ``None`` for one cluster.

    ``inside`` and ``outside`` count the items of each group in strata that have both groups;
    ``clusters`` counts what was resampled.
    """

    value: float
    interval: Interval | None
    inside: int
    outside: int
    clusters: int


def difference(
    observations: Sequence[Observation], *, samples: int = 2_000, seed: int = 0
) -> Contrast | None:
    """The mean of the first group minus that of the second, averaged over strata.

    A stratum has the weight n₁n₀/(n₁+n₀) of its groups of n₁ and n₀ items (Cochran, Biometrics 10,
    1954, section 3.2), which is 0 where a group is missing. ``None`` where all weights are 0. The
    interval is a percentile bootstrap over clusters; resamples without any weight are left out.
    """
    return _estimate(observations, -1.0, samples, seed)


def balanced_mean(
    observations: Sequence[Observation], *, samples: int = 2_000, seed: int = 0
) -> Contrast | None:
    """The mean of which each group makes one half, averaged over strata.

    Weights, interval and ``None`` are those of :func:`difference`. Items of :data:`BOTH` groups
    have their plain mean.
    """
    return _estimate(observations, 1.0, samples, seed)


def _estimate(
    observations: Sequence[Observation], sign: float, samples: int, seed: int
) -> Contrast | None:
    import numpy as np

    clusters: dict[Hashable, int] = {}
    strata: dict[Hashable, int] = {}
    of_cluster = [clusters.setdefault(one.cluster, len(clusters)) for one in observations]
    of_stratum = [strata.setdefault(one.stratum, len(strata)) for one in observations]
    # cluster; stratum; first group's sum and size, second group's sum and size
    sums = np.zeros((len(clusters), len(strata), 4))
    for cluster, stratum, one in zip(of_cluster, of_stratum, observations, strict=True):
        outside = 1 - one.inside
        part = (one.inside * one.value, one.inside, outside * one.value, outside)
        sums[cluster, stratum] += part
    whole = sums.sum(axis=0)
    (value,) = _values(whole[None], sign)
    if np.isnan(value):
        return None
    used = (whole[:, 1] > 0) & (whole[:, 3] > 0)
    counted = [one for one, k in zip(observations, of_stratum, strict=True) if used[k]]
    number = len(clusters)
    return Contrast(
        value=float(value),
        interval=_interval(sums, sign, samples, seed) if number > 1 else None,
        inside=sum(one.inside > 0 for one in counted),
        outside=sum(one.inside == 0 for one in counted),
        clusters=len({one.cluster for one in counted}),
    )


def _values(totals: Any, sign: float) -> Any:
    """The estimate of each sample of ``totals`` (samples, strata, 4); NaN without any weight."""
    import numpy as np

    first, n, second, others = np.moveaxis(totals, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where((n > 0) & (others > 0), n * others / (n + others), 0.0)
        means = np.where(weights > 0, first / n + sign * second / others, 0.0)
        found = (weights * means).sum(axis=-1) / weights.sum(axis=-1)
    return found / 2 if sign > 0 else found


def _interval(sums: Any, sign: float, samples: int, seed: int) -> Interval | None:
    import numpy as np

    number, strata, _ = sums.shape
    rng = np.random.default_rng(seed)
    flat = sums.reshape(number, -1)
    step = max(1, _AT_ONCE // max(number, strata * 4))
    drawn: list[float] = []
    for start in range(0, samples, step):
        size = min(step, samples - start)
        draws = rng.multinomial(number, np.full(number, 1 / number), size=size)
        values = _values((draws @ flat).reshape(size, strata, 4), sign)
        drawn += values[~np.isnan(values)].tolist()
    return percentile_interval(drawn) if drawn else None
