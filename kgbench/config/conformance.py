# SPDX-License-Identifier: Apache-2.0
"""Holding a configuration's graph against ``shapes/configuration.ttl``, and saying it in words.

SHACL decides. What is allowed is told in the words of the shape (``sh:description``), what was
found in those of the file. What our own validation accepts is accepted; all else goes to pySHACL,
which takes longer to load than that, and tells which of nested shapes refuses a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgbench import resources
from kgbench.config.graphs import ConfigurationGraph, key_of, terms
from kgbench.config.trees import below
from kgbench.errors import Finding
from kgbench.nearest import nearest
from kgbench.shapes import rdflib_graph
from kgbench.validation import Shape, compiled, complaints, declared_shapes
from kgbench.validation.data import Term
from kgbench.vocab import RDF, SH, XSD

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_LONGEST = 60  # characters of a value that a message shows
_SHAPES = "configuration.ttl"


@cache
def shapes() -> Graph:
    """The shapes of configurations."""
    from rdflib import Graph

    return Graph().parse(data=resources.text("shapes", _SHAPES), format="turtle", publicID="urn:x")


@cache
def _compiled() -> list[Shape]:
    return compiled(declared_shapes([_SHAPES]))


def accepted(configuration: ConfigurationGraph) -> bool:
    """Whether our own validation finds no fault."""
    return next(complaints(configuration.graph, _compiled()), None) is None


def findings(configuration: ConfigurationGraph) -> list[Finding]:
    """Everything the shapes refuse, in the order of the file; empty when they accept."""
    return [] if accepted(configuration) else told(configuration)


def told(configuration: ConfigurationGraph) -> list[Finding]:
    """The same by pySHACL."""
    from pyshacl import validate

    graph = rdflib_graph(configuration.triples)
    conforms, report, _ = validate(graph, shacl_graph=shapes(), inference="none")
    if conforms:
        return []
    found = {_finding(configuration, report, result) for result in _results(report)}
    return sorted(found, key=lambda f: (f.line or 0, f.pointer, f.message))


def _results(report: Graph) -> Iterator[Node]:
    """What to tell of each result."""
    from rdflib import URIRef

    for result in report.objects(None, URIRef(SH.result)):
        yield from _telling(report, result)


def _telling(report: Graph, result: Node) -> list[Node]:
    """The nested results that say in words why a value is refused; else ``result`` itself."""
    from rdflib import URIRef

    details = report.objects(result, URIRef(SH.detail))
    found = [told for each in details for told in _telling(report, each) if _says(report, told)]
    return found or [result]


def _says(report: Graph, result: Node) -> bool:
    closed = _one(report, result, SH.sourceConstraintComponent)
    return (
        str(closed) == SH.ClosedConstraintComponent
        or _description(_shape(report, result)) is not None
    )


def _shape(report: Graph, result: Node) -> Node:
    shape = _one(report, result, SH.sourceShape)
    assert shape is not None
    return shape


def _one(graph: Graph, node: Node, prop: str) -> Node | None:
    from rdflib import URIRef

    return graph.value(node, URIRef(prop), any=True)


def _description(shape: Node) -> str | None:
    found = _one(shapes(), shape, SH.description)
    return None if found is None else str(found)


def _finding(configuration: ConfigurationGraph, report: Graph, result: Node) -> Finding:
    component = str(_one(report, result, SH.sourceConstraintComponent))
    focus = _one(report, result, SH.focusNode)
    assert focus is not None
    if component == SH.ClosedConstraintComponent:
        return _unknown_key(configuration, report, result, focus)
    shape = _shape(report, result)
    allowed = _description(shape) or "what the shapes of configurations say"
    value = _one(report, result, SH.value)
    name = _one(shapes(), shape, SH.name)
    place = _place(configuration, focus)
    if component == SH.MaxCountConstraintComponent:
        return configuration.finding(
            below(place, str(name)), f"found more than one value; allowed: {allowed}"
        )
    if name is not None and value is not None:
        place = _member_place(configuration, focus, str(name), value)
        return configuration.finding(place, f"found {_shown(value)}; allowed: {allowed}")
    return configuration.finding(place, f"needed: {allowed}")


def _unknown_key(
    configuration: ConfigurationGraph, report: Graph, result: Node, focus: Node
) -> Finding:
    from rdflib import URIRef

    predicate = str(_one(report, result, SH.resultPath))
    place = _place(configuration, focus)
    shape = _shape(report, result)
    paths = [_one(shapes(), each, SH.path) for each in shapes().objects(shape, URIRef(SH.property))]
    known = sorted({key_of(str(path)) for path in paths if isinstance(path, URIRef)})
    if predicate in (RDF.first, RDF.rest):
        return configuration.finding(
            place, f"found a list; allowed: an object with {', '.join(known)}"
        )
    key = _short(key_of(predicate))
    what = f"the key '{key}' does not belong here" if key in terms() else f"unknown key '{key}'"
    hint = nearest(key, known)
    listing = "" if hint.startswith("known") else f" (known here are {', '.join(known)})"
    return configuration.finding(below(place, key), f"{what}: {hint}{listing}")


def _place(configuration: ConfigurationGraph, node: Node) -> str:
    return configuration.places.get(as_read(node), "")


def as_read(node: Node) -> Term:
    """A node of a report as configurations have it."""
    from rdflib import BNode, Literal

    if isinstance(node, BNode):
        return ox.BlankNode(str(node))
    if not isinstance(node, Literal):
        return ox.NamedNode(str(node))
    if node.language is not None:
        return ox.Literal(str(node), language=node.language)
    return ox.Literal(str(node), datatype=ox.NamedNode(str(node.datatype or XSD.string)))


def _member_place(configuration: ConfigurationGraph, focus: Node, name: str, value: Node) -> str:
    """The pointer of ``value`` below the key ``name`` of ``focus``, with its index in a list."""
    place, wanted = _place(configuration, focus), as_read(value)
    for key in name.split("/"):
        place = below(place, key)
    iri = terms().get(name)
    lists = () if iri is None else configuration.graph.values(as_read(focus), ox.NamedNode(iri))
    for head in lists:
        members = configuration.members(head) or []
        if wanted in members and wanted != head:
            return below(place, members.index(wanted))
    return place


def _shown(value: Node) -> str:
    from rdflib import Literal, URIRef

    if not isinstance(value, Literal):
        return "an empty list" if value == URIRef(RDF.nil) else "an object or a list"
    if value.datatype is None or str(value.datatype) == XSD.string:
        language = f" in the language {value.language}" if value.language else ""
        return f"the text {_short(value)!r}{language}"
    return _short(value)


def _short(text: str) -> str:
    return str(text) if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
