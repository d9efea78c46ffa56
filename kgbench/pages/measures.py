# SPDX-License-Identifier: Apache-2.0
"""Metrics of a task class for pages: their ranges, and the main metric.

They are read by index look-ups in a snapshot, for each page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS


class Measure(NamedTuple):
    """A metric with its range from ``worst`` to ``best``; an end is ``None`` if it is not declared.

    ``base`` is the short name of the metric that it aggregates.
    """

    iri: str
    name: str
    label: str
    definition: str
    worst: float | None
    best: float | None
    aggregation: str | None
    base: str | None

    def is_perfect(self, value: float) -> bool:
        """Return whether ``value`` is the best value, up to rounding errors."""
        return self.best is not None and math.isclose(value, self.best, rel_tol=1e-9, abs_tol=1e-9)

    def share(self, value: float) -> float | None:
        """Return the position of ``value`` between worst (0) and best (1), if both are known."""
        if self.best is None or self.worst is None or self.best == self.worst:
            return None
        return min(max((value - self.worst) / (self.best - self.worst), 0.0), 1.0)


class Measures(NamedTuple):
    """The metrics of a task class by short name, and its main metrics of dialogues and answers.

    For classes with several rounds, ``main`` aggregates ``of_answer``.
    """

    by_name: Mapping[str, Measure]
    main: str | None
    of_answer: str | None


NONE = Measures({}, None, None)


def measures(view: View, task: str) -> Measures:
    """Return the metrics of the task ``task`` (IRI); none if its class is unknown."""
    task_class = things.text(view, task, KGB.taskClass) if task else None
    if task_class is None:
        return NONE
    metrics = [
        _measure(view, metric.value) for metric in things.values(view, task_class, KGB.metric)
    ]
    by_name = {metric.name: metric for metric in sorted(metrics, key=lambda metric: metric.name)}
    main = things.text(view, task_class, KGB.mainMetric)
    name = next((metric.name for metric in metrics if metric.iri == main), None)
    base = None if name is None else by_name[name].base
    return Measures(by_name, name, base or name)


def _measure(view: View, iri: str) -> Measure:
    statements: dict[str, Any] = {}
    for quad in view.database.quads_for_pattern(ox.NamedNode(iri), None, None):
        statements.setdefault(quad.predicate.value, quad.object)

    def text(predicate: str) -> str | None:
        return str(statements[predicate].value) if predicate in statements else None

    ends = [_number(text(name)) for name in (SCHEMA.minValue, SCHEMA.maxValue)]
    if text(KGB.higherIsBetter) == "false":
        ends.reverse()
    base = text(KGB.aggregationOf)
    return Measure(
        iri,
        name=text(SKOS.notation) or iri.rpartition("/")[2],
        label=text(RDFS.label) or "",
        definition=text(SKOS.definition) or "",
        worst=ends[0],
        best=ends[1],
        aggregation=text(KGB.aggregation),
        base=None if base is None else things.text(view, base, SKOS.notation),
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
