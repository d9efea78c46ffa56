# SPDX-License-Identifier: Apache-2.0
"""Prediction-powered means: the mean of a judge's values, corrected by a small labelled part.

A judge's mean is biased if the judge errs more to one side. A labelled part (executed or rated by
people) measures that error; the mean of many verdicts minus the error has a valid interval for any
judge.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kgbench.errors import QueryError
from kgbench.model import TOLERANCE
from kgbench.statistics.intervals import UNBOUNDED, Bounds, Interval, half_width

CLUSTERS = 30  # the least number of labelled clusters for a normal approximation
DISAGREEMENTS = 10  # the least number of labelled clusters with an error, and with each label


class LabelledItem(NamedTuple):
    """An item with its known value, the judge's value, and its cluster (case)."""

    value: float
    judged: float
    cluster: Hashable


class UnlabelledItem(NamedTuple):
    """An item that only the judge has rated, and its cluster (case)."""

    judged: float
    cluster: Hashable


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A corrected mean with its 95 % interval, and the means of each part alone.

    ``judge`` is the biased mean of all verdicts; ``labelled`` is the mean of known values, with
    ``labelled_interval``; ``trust`` (0 to 1) is the weight of the verdicts; ``n`` and
    ``unlabelled`` are the numbers of labelled and other items, ``clusters`` is the number of
    clusters in the labelled part. If that is too small, about ``needed`` labels are enough, and
    mean, intervals and trust are ``None``.
    """

    judge: float
    labelled: float | None
    n: int
    unlabelled: int
    clusters: int
    mean: float | None = None
    interval: Interval | None = None
    labelled_interval: Interval | None = None
    trust: float | None = None
    needed: int | None = None


def powered_mean(
    labelled: Sequence[LabelledItem],
    unlabelled: Sequence[UnlabelledItem],
    bounds: Bounds = UNBOUNDED,
) -> PoweredMean:
    """Compute the prediction-powered mean (Angelopoulos et al., Science 382, 2023).

    The estimate is t·mean(f') + mean(y - t·f) with known values y, verdicts f on the same items
    and f' on the others (arXiv 2301.09633). The weight t minimises the variance (power tuning:
    Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453, section 6) and is kept between 0 and 1,
    so that an uninformative judge does not widen the interval. Variances are between clusters; the
    quantile is Student's t with one degree of freedom less than there are labelled clusters. The
    labelled items must be a random sample of all items, and no cluster may have items in both
    parts. Mean and intervals stay inside ``bounds``, the range of the values: a correction can
    exceed it where the parts differ.

    Raises :class:`~kgbench.errors.QueryError` where a cluster is in both parts or ``unlabelled`` is
    empty.
    """
    import numpy as np

    groups = {item.cluster for item in labelled}
    if shared := groups & {item.cluster for item in unlabelled}:
        raise QueryError(
            f"{len(shared)} clusters have both labelled and unlabelled items, so the two parts "
            f"are not independent: label whole clusters"
        )
    if not unlabelled:
        raise QueryError("there are no items that only the judge has rated: use the labelled mean")
    true_values = np.array([item.value for item in labelled])
    judged_values = np.array([item.judged for item in labelled])
    unlabelled_values = np.array([item.judged for item in unlabelled])
    found = PoweredMean(
        judge=float(np.concatenate([judged_values, unlabelled_values]).mean()),
        labelled=float(true_values.mean()) if labelled else None,
        n=len(labelled),
        unlabelled=len(unlabelled),
        clusters=len(groups),
    )
    needed = labels_needed(labelled)
    if len(groups) < CLUSTERS or needed > len(labelled):
        return replace(found, needed=max(needed, len(labelled) + 1))
    by_label = _codes([item.cluster for item in labelled])
    by_other = _codes([item.cluster for item in unlabelled])
    between = _covariance(unlabelled_values, unlabelled_values, by_other)
    spread = _covariance(judged_values, judged_values, by_label) + between
    shared_part = _covariance(true_values, judged_values, by_label)
    trust = float(np.clip(shared_part / spread, 0, 1)) if spread else 0.0
    residuals = true_values - trust * judged_values
    mean = _inside(float(trust * unlabelled_values.mean() + residuals.mean()), bounds)
    variance = trust**2 * between + _covariance(residuals, residuals, by_label)
    of_labels = _covariance(true_values, true_values, by_label)
    freedom = len(groups) - 1
    return replace(
        found,
        mean=mean,
        interval=_interval(mean, variance, freedom, bounds),
        labelled_interval=_interval(float(true_values.mean()), of_labels, freedom, bounds),
        trust=trust,
    )


def labels_needed(labelled: Sequence[LabelledItem]) -> int:
    """Estimate from the items in ``labelled`` how many labelled items an interval needs.

    There must be enough clusters for means to be nearly normal, and enough to include some items
    with each of two labels and some errors of the judge, because an interval without them would be
    too narrow. Rates are estimated with one success and one failure added (Laplace), so that no
    rate is 0.
    """
    clusters = len({item.cluster for item in labelled})
    if not clusters:
        return CLUSTERS
    per_cluster = len(labelled) / clusters
    needed = [CLUSTERS]
    wrong = {item.cluster for item in labelled if abs(item.value - item.judged) > TOLERANCE}
    needed.append(_clusters_needed(len(wrong), clusters))
    values = {item.value for item in labelled}
    if len(values) <= 2:  # noqa: PLR2004 - right or wrong
        for value in values if len(values) > 1 else (*values, None):
            having = {item.cluster for item in labelled if item.value == value}
            needed.append(_clusters_needed(len(having), clusters))
    return math.ceil(max(needed) * per_cluster)


def _clusters_needed(seen: int, clusters: int) -> int:
    """Return how many clusters are needed for :data:`DISAGREEMENTS` with a property.

    The property was seen in ``seen`` of ``clusters`` clusters; 0 where that is enough already.
    """
    if seen >= DISAGREEMENTS:
        return 0
    return max(clusters + 1, math.ceil(DISAGREEMENTS * (clusters + 2) / (seen + 1)))


def _codes(names: Sequence[Hashable]) -> Any:
    import numpy as np

    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)


def _covariance(first: Any, second: Any, clusters: Any) -> float:
    """Return the clustered covariance of two means of the same items; 0 for one cluster.

    G/(G-1)·Σ_g Σ_{i∈g}(x_i - x̄)·Σ_{i∈g}(y_i - ȳ)/n².
    """
    import numpy as np

    sums = [np.bincount(clusters, values - values.mean()) for values in (first, second)]
    number = len(sums[0])
    if number < 2:  # noqa: PLR2004 - a variance needs two
        return 0.0
    return float((sums[0] * sums[1]).sum() * number / (number - 1) / len(first) ** 2)


def _interval(mean: float, variance: float, freedom: float, bounds: Bounds) -> Interval:
    half = half_width(math.sqrt(max(0.0, variance)), freedom)
    return Interval(_inside(mean - half, bounds), _inside(mean + half, bounds))


def _inside(value: float, bounds: Bounds) -> float:
    """Return the nearest value to ``value`` inside ``bounds``."""
    if bounds.low is not None:
        value = max(bounds.low, value)
    return value if bounds.high is None else min(bounds.high, value)
