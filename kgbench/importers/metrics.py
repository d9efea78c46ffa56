# SPDX-License-Identifier: Apache-2.0
"""Mapping of the names of published scores to metrics of kgbench.

If a task class is declared in the same version, its scores are the declared metrics. Other scores
get an IRI of the same pattern and are collected, so that the import can describe them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kgbench.errors import TaskError
from kgbench.model import Metric, TaskClass
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue, successors

_AGGREGATIONS = ("last", "max", "mean", "meanExt")  # as the shapes of metrics require


@dataclass(frozen=True, slots=True)
class UndeclaredMetric:
    """A metric that no task class declares.

    ``aggregation`` and ``base`` (the IRI of the aggregated metric) are set for scores of dialogues
    with a known aggregation. ``agreement_of`` is the metric of errors (IRI) from which the import
    computes this one.
    """

    iri: str
    name: str
    task_class: str
    version: str
    aggregation: str | None = None
    base: str | None = None
    agreement_of: str | None = None


@dataclass(slots=True)
class MetricNames:
    """Resolves names of scores to metrics, and collects the undeclared ones by IRI.

    ``agreements`` maps the metrics of errors (IRIs) to those of the agreement that the import adds.
    """

    iris: Iris
    undeclared: dict[str, UndeclaredMetric] = field(default_factory=dict)
    agreements: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str, str, str | None], str] = field(default_factory=dict)

    def iri(self, task_class: str, version: str, name: str, aggregation: str | None = None) -> str:
        """Return the IRI of the metric ``name``, or of its ``aggregation`` over a dialogue."""
        key = (task_class, version, name, aggregation)
        metric = self._known.get(key)
        if metric is None:
            metric = self._known[key] = self._resolve(*key)
        return metric

    def _resolve(self, task_class: str, version: str, name: str, aggregation: str | None) -> str:
        full_name = name if aggregation is None else f"{aggregation}_{name}"
        declared = declared_class(task_class, version)
        known = aggregation if aggregation in _AGGREGATIONS else None
        if declared is not None and full_name in declared.metrics:
            metric = declared.metrics[full_name].iri
        else:
            metric = self.iris.mint(
                "metric", task_class=task_class, version=version, name=slug(full_name)
            )
            base = None if known is None else self.iri(task_class, version, name)
            self.undeclared[metric] = UndeclaredMetric(
                metric, full_name, task_class, version, known, base
            )
        for agreement, error in successors.agreements(task_class).items():
            if error == full_name:
                added = self.agreements[metric] = self.iri(task_class, version, agreement)
                if added in self.undeclared:
                    described = replace(self.undeclared[added], agreement_of=metric)
                    self.undeclared[added] = described
        return metric


def range_error(metric: Metric | None, value: float) -> str | None:
    """Return an error message for a score outside the range of its metric, else ``None``.

    Undeclared metrics (``None``) have no range.

    >>> f1 = declared_class("RdfFriendCount", "4.4").metrics["f1"]
    >>> range_error(f1, 1.7)
    'is 1.7, which f1 cannot be: it is declared from 0 to 1'
    """
    if metric is None:
        return None
    low, high = metric.minimum, metric.maximum
    if (low is None or low <= value) and (high is None or value <= high):
        return None
    ends = [f"{word} {end:.17g}" for word, end in (("from", low), ("to", high)) if end is not None]
    return f"is {value!r}, which {metric.name} cannot be: it is declared {' '.join(ends)}"


def is_declared(task_class: str, version: str) -> bool:
    """Return whether a task class is declared in exactly this version."""
    return declared_class(task_class, version) is not None


def declared_class(task_class: str, version: str) -> TaskClass | None:
    """Return the declaration of a task class in exactly this version, or ``None``."""
    try:
        declared = catalogue.task_class(task_class)
    except TaskError:
        return None
    return declared if declared.version == version else None
