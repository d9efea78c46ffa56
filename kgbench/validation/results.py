# SPDX-License-Identifier: Apache-2.0
"""The shapes of results, with those that the declared metrics imply."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyoxigraph as ox

from kgbench import resources
from kgbench.shapes import SHAPE_FILES, metric_shapes
from kgbench.validation.compiling import Shape, compiled, declared_shapes
from kgbench.validation.data import Data
from kgbench.vocab import DQV, SCHEMA, XSD

_BOUNDS = (("sh:minInclusive", SCHEMA.minValue), ("sh:maxInclusive", SCHEMA.maxValue))


def result_shapes(data: Data) -> list[Shape]:
    """The shapes that results must conform to, the metrics being those that ``data`` declares."""
    return list(_compiled(_metrics(data)))


def whole_shapes(data: Data) -> str:
    """Return the same shapes as one Turtle document, for other SHACL engines.

    It closes evaluations over the metrics that ``data`` declares, and has their ranges.
    """
    texts = [resources.text("shapes", name) for name in SHAPE_FILES["results"]]
    found = [(metric, list(bounds)) for metric, bounds in _metrics(data)]
    if found:
        texts.append(f"# --- Metrics, and evaluations closed over them\n\n{metric_shapes(found)}\n")
    return "\n".join(texts)


def _metrics(data: Data) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The metrics (IRIs) that are declared, each with its range as SHACL constraints, sorted."""
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
