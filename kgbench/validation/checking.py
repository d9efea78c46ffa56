# SPDX-License-Identifier: Apache-2.0
"""Validation of data against compiled shapes, the declared shapes, and untrusted shapes.

The declared shapes include those that follow from the metrics of the data: every declared metric is
a property of evaluations with at most one ``xsd:double`` within the metric's declared range, and
evaluations are closed over these properties.

Untrusted shapes are refused with a message if they break the syntax rules of SHACL, have anything
that is neither SHACL Core nor a constraint in SPARQL, or are recursive, whose meaning SHACL leaves
open. Nothing is fetched: ``owl:imports`` are not followed, and queries ask no other endpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation.compiling import Shape, compiled
from kgbench.validation.components import term_text
from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.vocab import BASE, DQV, KGB, SCHEMA, XSD


class Complaint(NamedTuple):
    """A validation result: a constraint that a node violates.

    ``severity`` is Violation, Warning or Info. ``source`` is the shape, ``term`` the value, and
    ``inner`` the shape that it does not conform to, if the constraint is ``sh:node``.
    """

    shape: str
    component: str
    focus: Term
    path: str | None
    value: str | None
    message: str
    severity: str
    source: Shape
    term: Term | None
    inner: Shape | None

    def __str__(self) -> str:
        location = (
            term_text(self.focus) if self.path is None else f"{term_text(self.focus)} {self.path}"
        )
        value = "" if self.value is None else f" (found: {self.value})"
        return f"{location}: {self.message}{value}"


def complaints(data: Data, shapes: list[Shape]) -> Iterator[Complaint]:
    """Yield the validation results of ``data``, shape by shape."""
    for shape in shapes:
        nodes: dict[Term, None] = {}
        for target in shape.targets:
            nodes.update((node, None) for node in target(data))
        for node in nodes:
            yield from validate_node(data, shape, node)


def validate_node(data: Data, shape: Shape, node: Term) -> Iterator[Complaint]:
    """Yield the validation results of one shape for one node."""
    values = [node] if shape.path is None else shape.path(data, node)
    for constraint in shape.constraints:
        for breach in constraint.check(data, node, values):
            yield Complaint(
                shape.name,
                constraint.component,
                node,
                breach.path or shape.path_name,
                None if breach.value is None else term_text(breach.value),
                breach.message if breach.worded else shape.message or breach.message,
                shape.severity,
                shape,
                breach.value,
                constraint.inner,
            )
    for inner in shape.properties:
        for value in values:
            yield from validate_node(data, inner, value)


class Finding(NamedTuple):
    """A validation result.

    ``focus`` is a term in N-Triples syntax. ``component`` is the name of the constraint component
    without namespace and ``ConstraintComponent``. ``path`` is a compact property IRI, or ``None``
    if there is no path or it is not a single property.
    """

    focus: str
    component: str
    path: str | None
    message: str

    @property
    def pair(self) -> tuple[str, str]:
        """The focus node and the component."""
        return self.focus, self.component


class ForeignShapes:
    """An untrusted shapes graph, ready to validate any number of graphs.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if the shapes cannot be used.
    """

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        stated = list(triples)
        if any(isinstance(triple.object, ox.Triple) for triple in stated):
            raise IllFormedShapes("triple terms of RDF 1.2 have no meaning in SHACL")
        self._shapes = compiled(IndexedQuads(stated))

    @property
    def have_targets(self) -> bool:
        """Whether any shape has a target."""
        return bool(self._shapes)

    def select(self, data: Sequence[ox.Triple]) -> bool:
        """Return whether the targets of the shapes select any node of a graph."""
        graph = Data(IndexedQuads(data))
        return any(target(graph) for shape in self._shapes for target in shape.targets)

    def findings(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return the validation results of a graph, in no particular order.

        Raises :class:`~kgbench.validation.data.IllFormedShapes` if a fault of the shapes is only
        detected now.
        """
        try:
            return [
                Finding(str(result.focus), result.component, result.path, result.message)
                for result in complaints(Data(IndexedQuads(data)), self._shapes)
            ]
        except RecursionError as error:
            raise IllFormedShapes("the shapes are nested too deeply") from error


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
    "tasks": ("tasks.ttl", "judged-tasks.ttl"),
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
