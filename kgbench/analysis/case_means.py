# SPDX-License-Identifier: Apache-2.0
"""What can be claimed of a mean over dialogues, from its values case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kgbench.analysis.clusters import FEWEST_FOR_INTERVAL, Clusters, Value
from kgbench.analysis.estimands import Estimand
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.intervals import Bounds, score_interval
from kgbench.analysis.repetitions import Item
from kgbench.analysis.tables import Column, Kind

COLUMNS = (
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
)


class Claim(NamedTuple):
    """A mean over ``number`` clusters with its standard error and the ends of its 95 % interval.

    ``missing`` says in words why there is no interval.
    """

    number: int
    mean: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    missing: str | None = None

    @property
    def cells(self) -> tuple[int, float | None, float | None]:
        """The cells of :data:`COLUMNS`."""
        return self.number, self.low, self.high


def claim(
    about: Estimand,
    cases: Mapping[Item, Histogram],
    bounds: Bounds,
    weights: Mapping[str, float] | None = None,
) -> Claim:
    """The claim about an estimand that values by item support.

    ``weights`` are those of the values of each task (IRI), by default the same.
    """
    if not about.clustered:
        pooled = Histogram.pooled(cases.values())
        found = score_interval(pooled, bounds)
        if found is None:
            return Claim(pooled.n, pooled.mean, missing="one dialogue" if pooled.n else None)
        return Claim(pooled.n, pooled.mean, pooled.standard_error, found.low, found.high)
    clusters = Clusters.of(_values(about, cases, weights or {}))
    found = clusters.interval(bounds)
    if found is not None:
        return Claim(clusters.number, clusters.mean, clusters.error, found.low, found.high)
    missing = _missing(about, clusters)
    return Claim(clusters.number, clusters.mean, clusters.error, missing=missing)


def missing_note(claims: Iterable[Claim]) -> list[str]:
    """A note on the rows of a table without an interval, with the reasons."""
    reasons = Counter(one.missing for one in claims if one.missing is not None)
    if not reasons:
        return []
    listed = ", ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))
    return [f"Rows without an interval, by reason: {listed}."]


def _values(
    about: Estimand, cases: Mapping[Item, Histogram], weights: Mapping[str, float]
) -> Iterator[Value]:
    for item, values in cases.items():
        weight = weights.get(item.task, 1.0)
        stratum = {"task": item.task, "case": item, None: None}[about.fixed]
        if about.sampled in ("task", "case"):  # one value stands for all of the case
            cluster = item.task if about.sampled == "task" else item
            yield Value(stratum, cluster, values.mean or 0.0, weight * values.n)
        else:
            for number, value in enumerate(values.values()):
                yield Value(stratum, (item, number), value, weight)


def _missing(about: Estimand, clusters: Clusters) -> str:
    if clusters.number == 0:
        return f"one {about.sampled}"
    if clusters.number < FEWEST_FOR_INTERVAL:
        return f"fewer than {FEWEST_FOR_INTERVAL} {about.sampled}s"
    return f"metric without a range, and fewer than 10 {about.sampled}s or no variance"
