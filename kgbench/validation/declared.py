# SPDX-License-Identifier: Apache-2.0
"""The declared shapes, including those that follow from the metrics of the data.

Every declared metric is a property of evaluations with at most one ``xsd:double`` within the
metric's declared range, and evaluations are closed over these properties.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyoxigraph as ox

from kgbench import resources
from kgbench.validation.compiling import Shape, compiled
from kgbench.validation.data import Data
from kgbench.vocab import BASE, DQV, KGB, SCHEMA, XSD

SHAPE_FILES = {
    "results": (
        "results.ttl",
        "analyses.ttl",
        "benchmarks.ttl",
        "catalogue.ttl",
        "tasks.ttl",
        "queries.ttl",
        "policies.ttl",
    ),
    "queries": ("queries.ttl",),
    "tasks": ("tasks.ttl",),
    "datasets": ("datasets.ttl",),
    "published": ("published.ttl",),
    "companions": ("companions.ttl",),
    "stores": ("stores.ttl",),
}
"""The files of ``shapes/`` that each set of shapes has."""

_EVALUATION_SHAPE = f"{BASE}shapes/Evaluation"
_FINITE = "^[-+.0-9Ee]+$"  # no NaN, no INF: an undefined score is left out
_BOUNDS = (("sh:minInclusive", SCHEMA.minValue), ("sh:maxInclusive", SCHEMA.maxValue))


def declared_shapes(names: Iterable[str]) -> ox.Store:
    """Load the files of ``shapes/`` with the given names into one shapes graph."""
    store = ox.Store()
    for name in names:
        store.load(resources.text("shapes", name).encode(), format=ox.RdfFormat.TURTLE)
    return store


def result_shapes(data: Data) -> list[Shape]:
    """Compile the shapes of results, including those of the metrics that ``data`` declares."""
    return list(_compiled(_metrics(data)))


def whole_shapes(data: Data) -> str:
    """Return the shapes of results as one Turtle document, for other SHACL engines.

    The document closes evaluations over the metrics that ``data`` declares and states their ranges.
    """
    texts = [resources.text("shapes", name) for name in SHAPE_FILES["results"]]
    metrics = [(metric, list(bounds)) for metric, bounds in _metrics(data)]
    if metrics:
        shapes = _metric_shapes(metrics)
        texts.append(f"# --- Metrics, and evaluations closed over them\n\n{shapes}\n")
    return "\n".join(texts)


def _metrics(data: Data) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the declared metrics (IRIs) with their ranges as SHACL constraints, sorted."""
    return tuple(
        sorted(
            (metric.value, tuple(_range(data, metric)))
            for metric in data.instances(ox.NamedNode(DQV.Metric))
            if isinstance(metric, ox.NamedNode)
        )
    )


@lru_cache(maxsize=4)
def _compiled(metrics: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[Shape, ...]:
    graph = declared_shapes(SHAPE_FILES["results"])
    if metrics:
        text = _metric_shapes([(metric, list(bounds)) for metric, bounds in metrics])
        graph.load(text.encode(), format=ox.RdfFormat.TURTLE)
    return tuple(compiled(graph))


def _range(data: Data, metric: ox.NamedNode) -> Iterable[str]:
    for constraint, bound in _BOUNDS:
        for value in data.values(metric, ox.NamedNode(bound)):
            if isinstance(value, ox.Literal) and value.datatype.value == XSD.double:
                yield f"{constraint} {value}"


def _metric_shapes(metrics: list[tuple[str, list[str]]]) -> str:
    """Turtle with shapes for each metric, and the evaluation shape closed over all of them.

    ``metrics`` are IRIs, each with the constraints of its range in Turtle, such as
    ``sh:minInclusive 0.0e0``.
    """
    closed = " ".join(f"<{metric}>" for metric, _ in metrics)
    lines = [
        "@prefix sh: <http://www.w3.org/ns/shacl#> .",
        f"<{_EVALUATION_SHAPE}> sh:closed true ; sh:ignoredProperties ( {closed} ) .",
    ]
    for metric, constraints in metrics:
        property_constraints = " ; ".join(
            [
                f"sh:path <{metric}>",
                "sh:maxCount 1",
                f"sh:datatype <{XSD.double}>",
                f'sh:pattern "{_FINITE}"',
            ]
        )
        lines.append(
            f"<{metric}#shape> a sh:NodeShape ; sh:targetSubjectsOf <{metric}> ; "
            f"sh:class <{KGB.Evaluation}> ; sh:property [ {property_constraints} ] ."
        )
        if constraints:
            range_constraints = " ; ".join([f"sh:path <{metric}>", *constraints])
            lines.append(
                f"<{metric}#shape> sh:property [ {range_constraints} ; "
                f'sh:message "A score lies beyond the range of <{metric}>." ] .'
            )
    return "\n".join(lines)
