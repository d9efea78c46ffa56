# SPDX-License-Identifier: Apache-2.0
"""Validation of small graphs against untrusted shapes.

Shapes are refused with a message if they break the syntax rules of SHACL, have anything that is
neither SHACL Core nor a constraint in SPARQL, or are recursive, whose meaning SHACL leaves open.
Nothing is fetched: ``owl:imports`` are not followed, and queries ask no other endpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.rdf.quads import IndexedQuads
from kgbench.validation.checking import complaints
from kgbench.validation.compiling import compiled
from kgbench.validation.data import Data, IllFormedShapes


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
