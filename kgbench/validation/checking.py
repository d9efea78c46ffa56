# SPDX-License-Identifier: Apache-2.0
"""Validation of data against compiled shapes, and of small graphs against untrusted shapes.

Untrusted shapes are refused with a message if they break the syntax rules of SHACL, have anything
that is neither SHACL Core nor a constraint in SPARQL, or are recursive, whose meaning SHACL leaves
open. Nothing is fetched: ``owl:imports`` are not followed, and queries ask no other endpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.rdf.quads import IndexedQuads
from kgbench.validation.compiling import Shape, compiled
from kgbench.validation.components import term_text
from kgbench.validation.data import Data, IllFormedShapes, Term


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
