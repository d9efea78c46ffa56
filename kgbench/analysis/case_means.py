# SPDX-License-Identifier: Apache-2.0
"""Means over dialogues with intervals for an estimand, from the values of each case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from kgbench.analysis.clusters import FEWEST_FOR_INTERVAL, Clusters, Value
from kgbench.analysis.estimands import Estimand
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import Inference
from kgbench.analysis.intervals import Bounds, method_note, score_interval
from kgbench.analysis.repetitions import Item, Repetitions
from kgbench.analysis.tables import Column, Kind
from kgbench.analysis.tables import Value as Cell

COLUMNS = (
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
)


class Claim(NamedTuple):
    """A mean over ``number`` clusters with its standard error and the ends of its 95 % interval.

    ``missing`` is the reason, in words, why there is no interval.
    """

    number: int
    mean: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    missing: str | None = None

    @property
    def cells(self) -> tuple[int, float | None, float | None]:
        """The values of :data:`COLUMNS`."""
        return self.number, self.low, self.high


def claim(
    estimand: Estimand,
    cases: Mapping[Item, Histogram],
    bounds: Bounds,
    weights: Mapping[str, float] | None = None,
) -> Claim:
    """Estimate the mean of values by item, with an interval for ``estimand``.

    ``bounds`` is the range of the values. ``weights`` has the weight of the values of each task
    (IRI); by default all values weigh the same.
    """
    if not estimand.clustered:
        pooled = Histogram.pooled(cases.values())
        interval = score_interval(pooled, bounds)
        if interval is None:
            return Claim(pooled.n, pooled.mean, missing="one dialogue" if pooled.n else None)
        return Claim(pooled.n, pooled.mean, pooled.standard_error, interval.low, interval.high)
    clusters = _clusters(estimand, cases, weights or {})
    interval = clusters.interval(bounds)
    if interval is not None:
        return Claim(clusters.number, clusters.mean, clusters.error, interval.low, interval.high)
    missing = _missing(estimand, clusters)
    return Claim(clusters.number, clusters.mean, clusters.error, missing=missing)


class Claims:
    """The claims in the rows of a table, and the notes and context of the table about them."""

    def __init__(self, inference: Inference) -> None:
        self._inference = inference
        self._missing = Counter[str]()
        self._methods = set[str]()

    def make(
        self,
        cases: Mapping[Item, Histogram],
        bounds: Bounds,
        weights: Mapping[str, float] | None = None,
    ) -> Claim:
        """Make the claim of a row by :func:`claim`, and record its method or missing interval."""
        claimed = claim(self._inference.estimand, cases, bounds, weights)
        if claimed.missing is not None and cases:
            self._missing[claimed.missing] += 1
        if claimed.low is not None and not self._inference.estimand.clustered:
            self._methods.add(bounds.method(Histogram.pooled(cases.values())))
        return claimed

    def made_by(self, method: str, claimed: Claim) -> Claim:
        """Record a claim that was made by another method; returns the claim."""
        self._methods.add(method)
        return claimed

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the estimand, the methods, and the reasons for missing intervals."""
        notes = [self._inference.note, method_note(self._methods)]
        if self._missing:
            reasons = ", ".join(
                f"{reason} ({count})" for reason, count in sorted(self._missing.items())
            )
            notes.append(f"Rows without an interval, by reason: {reasons}.")
        return tuple(filter(None, notes))

    @property
    def context(self) -> dict[str, Cell]:
        """The estimand and the methods, for programs."""
        return {"interval": " ".join(sorted(self._methods)) or None, **self._inference.context}


def by_task(reached: Repetitions) -> dict[tuple[str, str], dict[Item, Histogram]]:
    """Group values by model and task (IRIs), then by item."""
    values: dict[tuple[str, str], dict[Item, Histogram]] = defaultdict(dict)
    for item, by_model in reached.items():
        for model, answers in by_model.items():
            values[model, item.task][item] = answers.values
    return values


def _clusters(
    estimand: Estimand, cases: Mapping[Item, Histogram], weights: Mapping[str, float]
) -> Clusters:
    """Return the clusters of the sampled units; a case counts with its number of values."""
    weighted = [weights.get(item.task, 1.0) for item in cases]
    strata = [{"task": item.task, "case": item, None: None}[estimand.fixed] for item in cases]
    if estimand.sampled not in ("task", "case"):
        return Clusters.of(
            Value(stratum, (item, number), value, weight)
            for weight, stratum, (item, values) in zip(weighted, strata, cases.items(), strict=True)
            for number, value in enumerate(values.values())
        )
    sums = [weight * values.n for weight, values in zip(weighted, cases.values(), strict=True)]
    means = [values.mean or 0.0 for values in cases.values()]
    if estimand.sampled == "task":
        tasks = (item.task for item in cases)
        return Clusters.of(map(Value, strata, tasks, means, sums))
    totals = [sum_ * mean for sum_, mean in zip(sums, means, strict=True)]
    return Clusters.each(strata, sums, totals)


def _missing(estimand: Estimand, clusters: Clusters) -> str:
    if clusters.number == 0:
        return f"one {estimand.sampled}"
    if clusters.number < FEWEST_FOR_INTERVAL:
        return f"fewer than {FEWEST_FOR_INTERVAL} {estimand.sampled}s"
    return f"metric without a range, and fewer than 10 {estimand.sampled}s or no variance"
