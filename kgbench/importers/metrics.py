# SPDX-License-Identifier: Apache-2.0
"""Names of published scores -> metrics of kgbench.

A score is the declared metric of its task class where the class is declared in the same version.
Any other gets an IRI of the same pattern and is remembered, so that whoever writes the scores can
describe it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kgbench.errors import TaskError
from kgbench.model import Metric, TaskClass
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue

_AGGREGATIONS = ("last", "max", "mean", "meanExt")  # as shapes of metrics have them


@dataclass(frozen=True, slots=True)
class UndeclaredMetric:
    """A metric that no task class declares: all that is known of it.

    ``aggregation`` and ``base`` (the IRI of the metric that is aggregated) are set for a score of
    a whole dialogue that is aggregated in a known way.
    """

    iri: str
    name: str
    task_class: str
    version: str
    aggregation: str | None = None
    base: str | None = None


@dataclass(slots=True)
class MetricNames:
    """The metrics of published scores; ``undeclared`` grows as unknown ones are met."""

    iris: Iris
    undeclared: dict[str, UndeclaredMetric] = field(default_factory=dict)
    _known: dict[tuple[str, str, str, str | None], str] = field(default_factory=dict)

    def iri(self, task_class: str, version: str, name: str, aggregation: str | None = None) -> str:
        """The metric ``name`` of a task class, or its ``aggregation`` over a dialogue."""
        key = (task_class, version, name, aggregation)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._resolve(*key)
        return found

    def _resolve(self, task_class: str, version: str, name: str, aggregation: str | None) -> str:
        full = name if aggregation is None else f"{aggregation}_{name}"
        declared = declared_class(task_class, version)
        if declared is not None and full in declared.metrics:
            return declared.metrics[full].iri
        found = self.iris.mint("metric", task_class=task_class, version=version, name=slug(full))
        known = aggregation if aggregation in _AGGREGATIONS else None
        base = None if known is None else self.iri(task_class, version, name)
        self.undeclared[found] = UndeclaredMetric(found, full, task_class, version, known, base)
        return found


def out_of_reach(metric: Metric | None, value: float) -> str | None:
    """What is wrong with a score that the formula of its metric cannot give, else ``None``.

    Nothing is, where the metric is not declared (``None``).

    >>> f1 = declared_class("RdfFriendCount", "4.4").metrics["f1"]
    >>> out_of_reach(f1, 1.7)
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
    """Whether a task class is declared in exactly this version."""
    return declared_class(task_class, version) is not None


def declared_class(task_class: str, version: str) -> TaskClass | None:
    """The declaration of a task class in exactly this version, or ``None``."""
    try:
        found = catalogue.task_class(task_class)
    except TaskError:
        return None
    return found if found.version == version else None
