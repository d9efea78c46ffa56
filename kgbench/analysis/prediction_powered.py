# SPDX-License-Identifier: Apache-2.0
"""Means of what a judge says, corrected by a small part whose truth is known.

A judge's mean is biased wherever the judge errs more to one side. A labelled part (executed or
rated by people) measures that error; the mean of many verdicts minus the error has a valid
interval, whatever the judge is like.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.analysis.intervals import UNBOUNDED, Bounds, Interval, half_width
from kgbench.errors import QueryError

CLUSTERS = 30  # labelled clusters from which the normal approximation is taken to hold
DISAGREEMENTS = 10  # labelled clusters that show the judge's error, and as many of each label
_SAME = 1e-9


class TooFewLabels(QueryError):
    """A labelled part is too small for an interval; about ``needed`` labels would do."""

    def __init__(self, labels: int, needed: int) -> None:
        self.needed = needed
        super().__init__(
            f"{labels} labelled items are too few to correct the judge's mean: label about {needed}"
        )


@dataclass(frozen=True, slots=True)
class Labelled:
    """An item with a known value, the judge's value of it, and the cluster (case) it belongs to."""

    value: float
    judged: float
    cluster: Hashable


@dataclass(frozen=True, slots=True)
class Judged:
    """An item that only the judge has rated, and the cluster (case) it belongs to."""

    judged: float
    cluster: Hashable


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A corrected mean with its 95 % interval, and what each part alone says.

    ``judge`` is the mean of all verdicts, which is biased; ``labelled`` the mean of known values,
    with ``labelled_interval``; ``trust`` (0 to 1) is the weight that the verdicts got; ``n`` and
    ``unlabelled`` count items, ``clusters`` those of the labelled part.
    """

    mean: float
    interval: Interval
    judge: float
    labelled: float
    labelled_interval: Interval
    trust: float
    n: int
    unlabelled: int
    clusters: int


def powered_mean(
    labelled: Sequence[Labelled], unlabelled: Sequence[Judged], bounds: Bounds = UNBOUNDED
) -> PoweredMean:
    """The prediction-powered mean (Angelopoulos et al., Science 382, 2023; arXiv 2301.09633).

    The estimate is t·mean(f') + mean(y - t·f) with known values y, verdicts f on the same items
    and f' on the others. The weight t minimises the variance (power tuning: Angelopoulos, Duchi and
    Zrnic, PPI++, arXiv 2311.01453, section 6), kept between 0 and 1: a judge that knows nothing
    does not widen the interval. Variances are between clusters; the quantile is Student's t with
    one degree of freedom less than there are labelled clusters. The labelled items must be a
    random part of all. A cluster must not have items in both parts. No interval leaves ``bounds``,
    the range of the values.

    Raises :class:`TooFewLabels` where the labelled part is too small to tell, and
    :class:`~kgbench.errors.QueryError` where a cluster is in both parts or the other one is empty.
    """
    import numpy as np

    groups = {one.cluster for one in labelled}
    if shared := groups & {one.cluster for one in unlabelled}:
        raise QueryError(
            f"{len(shared)} clusters have labelled and unlabelled items, which are then not "
            f"independent: label whole clusters"
        )
    if not unlabelled:
        raise QueryError("there are no items that only the judge has rated: take the labelled mean")
    _refuse_small(labelled)
    known = np.array([one.value for one in labelled])
    seen = np.array([one.judged for one in labelled])
    others = np.array([one.judged for one in unlabelled])
    by_label = _codes([one.cluster for one in labelled])
    by_other = _codes([one.cluster for one in unlabelled])
    within = _covariance(seen, seen, by_label)
    between = _covariance(others, others, by_other)
    spread = within + between
    trust = float(np.clip(_covariance(known, seen, by_label) / spread, 0, 1)) if spread else 0.0
    rest = known - trust * seen
    mean = trust * others.mean() + rest.mean()
    variance = trust**2 * between + _covariance(rest, rest, by_label)
    freedom = len(groups) - 1
    return PoweredMean(
        mean=float(mean),
        interval=_around(float(mean), variance, freedom, bounds),
        judge=float(np.concatenate([seen, others]).mean()),
        labelled=float(known.mean()),
        labelled_interval=_around(
            float(known.mean()), _covariance(known, known, by_label), freedom, bounds
        ),
        trust=trust,
        n=len(labelled),
        unlabelled=len(unlabelled),
        clusters=len(groups),
    )


def labels_needed(labelled: Sequence[Labelled]) -> int:
    """How many labelled items an interval needs, as far as ``labelled`` can tell.

    So many clusters that means are about normal; and so many that some of each of two labels, and
    some errors of the judge, are among them: an interval from none would be too narrow. The rates
    are estimated with one success and one failure added (Laplace), so that none seen is not never.
    """
    clusters = len({one.cluster for one in labelled})
    if not clusters:
        return CLUSTERS
    per_cluster = len(labelled) / clusters
    needed = [CLUSTERS]
    wrong = {one.cluster for one in labelled if abs(one.value - one.judged) > _SAME}
    needed.append(_for(len(wrong), clusters))
    values = {one.value for one in labelled}
    if len(values) <= 2:  # noqa: PLR2004 - right or wrong
        for value in values if len(values) > 1 else (*values, None):
            having = {one.cluster for one in labelled if one.value == value}
            needed.append(_for(len(having), clusters))
    return math.ceil(max(needed) * per_cluster)


def _for(seen: int, clusters: int) -> int:
    """How many clusters have :data:`DISAGREEMENTS` of what ``seen`` of ``clusters`` have."""
    if seen >= DISAGREEMENTS:
        return 0
    return max(clusters + 1, math.ceil(DISAGREEMENTS * (clusters + 2) / (seen + 1)))


def _refuse_small(labelled: Sequence[Labelled]) -> None:
    needed = labels_needed(labelled)
    clusters = len({one.cluster for one in labelled})
    if clusters < CLUSTERS or needed > len(labelled):
        raise TooFewLabels(len(labelled), max(needed, len(labelled) + 1))


def _codes(names: Sequence[Hashable]) -> Any:
    import numpy as np

    place: dict[Hashable, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=int)


def _covariance(first: Any, second: Any, clusters: Any) -> float:
    """The covariance of two means of the same items, clustered (0 for one cluster).

    G/(G-1)·Σ_g Σ_{i∈g}(x_i - x̄)·Σ_{i∈g}(y_i - ȳ)/n².
    """
    import numpy as np

    sums = [np.bincount(clusters, values - values.mean()) for values in (first, second)]
    number = len(sums[0])
    if number < 2:  # noqa: PLR2004 - a variance needs two
        return 0.0
    return float((sums[0] * sums[1]).sum() * number / (number - 1) / len(first) ** 2)


def _around(mean: float, variance: float, freedom: float, bounds: Bounds) -> Interval:
    half = half_width(math.sqrt(max(0.0, variance)), freedom)
    low, high = mean - half, mean + half
    return Interval(
        low if bounds.low is None else max(bounds.low, low),
        high if bounds.high is None else min(bounds.high, high),
    )
