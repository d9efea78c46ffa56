# SPDX-License-Identifier: Apache-2.0
"""Reading what Turtle files declare: the one way from declared RDF to Python values.

Task classes, score sets, prices, data sets, queries and known names are declared in Turtle. Each
room makes its own dataclasses of them, and asks :class:`Declared` for the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import QueryError, ResourceError
from kgbench.model import Json
from kgbench.nearest import close
from kgbench.vocab import BASE, RDF, SH, SKOS, XSD

T = TypeVar("T")
Node = ox.NamedNode | ox.BlankNode
DERIVED = {
    b"aggregations": ("ontology", "metric-aggregates.rq"),
    b"kgb:axis": ("ontology", "collections.rq"),
}
"""Queries for what follows from declarations, by a word that stands in all these.

They give the metrics of whole dialogues, and the members of score sets.
"""

KINDS: dict[str, type] = {
    XSD.string: str,
    XSD.integer: int,
    XSD.double: float,
    XSD.boolean: bool,
}
"""The Python types of the datatypes that declared values can have."""


def quads(content: bytes, base: str = BASE) -> list[ox.Quad]:
    """The triples of a Turtle document, as written, and those that follow from them.

    Raises :class:`SyntaxError` where the document does not parse.
    """
    written = list(ox.parse(content, ox.RdfFormat.TURTLE, base_iri=base, rename_blank_nodes=True))
    found = list(written)
    for word, query in DERIVED.items():
        if word in content:  # in few files, and a look at bytes is cheaper than a query
            graph = ox.Store()
            graph.extend(written)
            derived: Any = graph.query(resources.text(*query))
            found += (ox.Quad(*triple) for triple in derived)
    return found


class Declared:
    """What one or more Turtle files declare together.

    Every reading method raises :class:`~kgbench.errors.ResourceError`, which names the file, the
    resource and the property, where what is declared is not what was asked for.
    """

    def __init__(self, *files: Path, base: str = BASE) -> None:
        self.file = files[0]
        self.graph = ox.Store()
        for file in files:
            try:
                self.graph.extend(quads(file.read_bytes(), base))
            except (SyntaxError, OSError) as error:
                raise ResourceError(f"the declarations {file} cannot be read: {error}") from error

    # Every loop over the engine's answers ends here: an error that kept one in its traceback
    # could make another thread free it, which the engine forbids.

    def instances(self, kind: str) -> list[Any]:
        """The resources of a class, in the order of their IRIs."""
        quads = self.graph.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
        return sorted((quad.subject for quad in quads), key=str)

    def only(self, kind: str) -> Any:
        """The one resource of a class."""
        found = self.instances(kind)
        if len(found) != 1:
            raise ResourceError(f"{self.file} must describe one {_name(kind)}, not {len(found)}")
        return found[0]

    def named(self, kind: str, name: str) -> Any:
        """The resource of a class with the notation ``name``.

        Raises :class:`~kgbench.errors.QueryError` with the names there are and the nearest.
        """
        known = {self.required(node, SKOS.notation): node for node in self.instances(kind)}
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            hint = f" ({near})" if (near := close(name, known)) else ""
            what = _name(kind)
            raise QueryError(f"{self.file} declares no {what} '{name}'; there are: {listed}{hint}")
        return known[name]

    def subjects(self, predicate: str, value: Node | ox.Literal | None = None) -> list[Any]:
        """The resources with a property, or with this value of it, in the order of their IRIs."""
        quads = self.graph.quads_for_pattern(None, ox.NamedNode(predicate), value)
        return sorted({quad.subject for quad in quads}, key=str)

    def objects(self, node: Node, predicate: str) -> list[Any]:
        """The values of a property, sorted."""
        quads = self.graph.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return sorted((quad.object for quad in quads), key=str)

    def ordered(self, node: Node, predicate: str) -> list[Any]:
        """The values of a property in the order of their ``sh:order``."""
        return sorted(
            self.objects(node, predicate),
            key=lambda part: (self.read(part, SH.order, float) or 0.0, str(part)),
        )

    def texts(self, node: Node, predicate: str) -> list[str]:
        """The lexical values (of IRIs, their text) of a property, sorted."""
        return sorted(str(value.value) for value in self.objects(node, predicate))

    def text(self, node: Node, predicate: str) -> str | None:
        """The lexical value of a property that has at most one, or ``None``."""
        found = self._at_most_one(node, predicate)
        return None if found is None else str(found.value)

    def required(self, node: Node, predicate: str) -> str:
        """The lexical value of a property that has exactly one."""
        found = self.text(node, predicate)
        if found is None:
            raise self._lacks(node, predicate)
        return found

    def read(self, node: Node, predicate: str, kind: Callable[[str], T]) -> T | None:
        """The value of a property that has at most one, by ``kind``, which raises ValueError."""
        text = self.text(node, predicate)
        try:
            return None if text is None else kind(text)
        except ValueError as error:
            raise ResourceError(
                f"{self.file}: the <{predicate}> of {node} cannot be '{text}': {error}"
            ) from error

    def needed(self, node: Node, predicate: str, kind: Callable[[str], T]) -> T:
        """The value of a property that has exactly one, by ``kind`` as for :meth:`read`."""
        self.required(node, predicate)
        found = self.read(node, predicate, kind)
        assert found is not None
        return found

    def value(self, node: Node, predicate: str) -> Json:
        """The Python value of a property that has at most one, or ``None``: see :data:`KINDS`."""
        found = self._at_most_one(node, predicate)
        return None if found is None else _python(found)

    def required_value(self, node: Node, predicate: str) -> Json:
        """The Python value of a property that has exactly one."""
        found = self.value(node, predicate)
        if found is None:
            raise self._lacks(node, predicate)
        return found

    def values(self, node: Node, predicate: str) -> list[Json]:
        """The Python values of a property, in the order of their terms; of IRIs, their text."""
        return [_python(term) for term in self.objects(node, predicate)]

    def _at_most_one(self, node: Node, predicate: str) -> Any:
        found = self.objects(node, predicate)
        if len(found) > 1:
            raise ResourceError(f"{self.file}: {node} has several values of <{predicate}>")
        return found[0] if found else None

    def _lacks(self, node: Node, predicate: str) -> ResourceError:
        return ResourceError(f"{self.file}: {node} has no <{predicate}>")


def shipped(folder: str, *parts: str) -> Declared:
    """What a file in a top-level folder of kgbench declares; each file is read once."""
    return _shipped(resources.path(folder, *parts))


@cache
def _shipped(path: Path) -> Declared:
    return Declared(path)


def _python(term: Any) -> Json:
    kind = KINDS.get(term.datatype.value, str) if isinstance(term, ox.Literal) else str
    return term.value == "true" if kind is bool else kind(term.value)


def _name(kind: str) -> str:
    return re.split("[#/]", kind)[-1]
