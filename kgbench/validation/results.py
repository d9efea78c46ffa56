# SPDX-License-Identifier: Apache-2.0
"""The shapes of results, including those derived from the declared metrics."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyoxigraph as ox

from kgbench import resources
from kgbench.validation.compiling import Shape, compiled, declared_shapes
from kgbench.validation.data import Data
from kgbench.validation.with_pyshacl import SHAPE_FILES, metric_shapes
from kgbench.vocab import DQV, SCHEMA, XSD

_BOUNDS = (("sh:minInclusive", SCHEMA.minValue), ("sh:maxInclusive", SCHEMA.maxValue))


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
        shapes = metric_shapes(metrics)
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
        text = metric_shapes([(metric, list(bounds)) for metric, bounds in metrics])
        graph.load(text.encode(), format=ox.RdfFormat.TURTLE)
    return tuple(compiled(graph))


def _range(data: Data, metric: ox.NamedNode) -> Iterable[str]:
    for constraint, bound in _BOUNDS:
        for value in data.values(metric, ox.NamedNode(bound)):
            if isinstance(value, ox.Literal) and value.datatype.value == XSD.double:
                yield f"{constraint} {value}"
