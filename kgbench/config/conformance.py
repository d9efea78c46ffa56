# SPDX-License-Identifier: Apache-2.0
"""Validation of configuration graphs by ``shapes/configuration.ttl``, with readable findings.

Messages describe what is allowed by the shape's ``sh:description``, and what was found by the
content of the file. kgbench's own validation decides first; only graphs that it refuses go to
pySHACL, which takes longer to load but reports which of several nested shapes refuses a value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgbench import resources
from kgbench.config import graphs
from kgbench.config.documents import Document
from kgbench.config.graphs import ConfigurationGraph, key_of, terms
from kgbench.config.trees import below
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.nearest import nearest
from kgbench.validation import Shape, compiled, complaints, declared_shapes
from kgbench.validation.data import Term
from kgbench.validation.with_pyshacl import rdflib_graph
from kgbench.vocab import RDF, SH, XSD

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_LONGEST = 60  # characters of a value that a message shows
_SHAPES = "configuration.ttl"


@cache
def shapes() -> Graph:
    """Return the shapes of configurations."""
    from rdflib import Graph

    return Graph().parse(data=resources.text("shapes", _SHAPES), format="turtle", publicID="urn:x")


@cache
def _compiled() -> list[Shape]:
    return compiled(declared_shapes([_SHAPES]))


def accepted(configuration: ConfigurationGraph) -> bool:
    """Return whether kgbench's own validation accepts the configuration."""
    return next(complaints(configuration.graph, _compiled()), None) is None


def findings(configuration: ConfigurationGraph) -> list[Finding]:
    """Return the findings of the shapes, in the order of the file; empty if they accept."""
    return [] if accepted(configuration) else shacl_findings(configuration)


def value_findings(values: Mapping[str, Json]) -> list[Finding]:
    """Return the findings of the shapes about single values, by key, that no file contains."""
    needed = {"iterations": 1, "tasks": ["any"], "models": ["any:model"]}  # accepted as they are
    text = json.dumps({**needed, **values})
    try:
        return findings(graphs.read(Document("", Path(), "json", text)))
    except ConfigurationError as error:
        return error.findings


def shacl_findings(configuration: ConfigurationGraph) -> list[Finding]:
    """Return the findings of pySHACL, in the order of the file."""
    from pyshacl import validate

    graph = rdflib_graph(configuration.triples)
    conforms, report, _ = validate(graph, shacl_graph=shapes(), inference="none")
    if conforms:
        return []
    result = {_finding(configuration, report, result) for result in _results(report)}
    return sorted(result, key=lambda f: (f.line or 0, f.pointer, f.message))


def _results(report: Graph) -> Iterator[Node]:
    """Yield the nodes of the SHACL report that become findings."""
    from rdflib import URIRef

    for result in report.objects(None, URIRef(SH.result)):
        yield from _described_results(report, result)


def _described_results(report: Graph, result: Node) -> list[Node]:
    """Return the nested results whose shape has a description, or else ``result`` itself."""
    from rdflib import URIRef

    details = report.objects(result, URIRef(SH.detail))
    described = [
        nested
        for detail in details
        for nested in _described_results(report, detail)
        if _is_described(report, nested)
    ]
    return described or [result]


def _is_described(report: Graph, result: Node) -> bool:
    closed = _value(report, result, SH.sourceConstraintComponent)
    return (
        str(closed) == SH.ClosedConstraintComponent
        or _description(_shape(report, result)) is not None
    )


def _shape(report: Graph, result: Node) -> Node:
    shape = _value(report, result, SH.sourceShape)
    assert shape is not None
    return shape


def _value(graph: Graph, node: Node, prop: str) -> Node | None:
    from rdflib import URIRef

    return graph.value(node, URIRef(prop), any=True)


def _description(shape: Node) -> str | None:
    description = _value(shapes(), shape, SH.description)
    return None if description is None else str(description)


def _finding(configuration: ConfigurationGraph, report: Graph, result: Node) -> Finding:
    component = str(_value(report, result, SH.sourceConstraintComponent))
    focus = _value(report, result, SH.focusNode)
    assert focus is not None
    if component == SH.ClosedConstraintComponent:
        return _unknown_key(configuration, report, result, focus)
    shape = _shape(report, result)
    allowed = _description(shape) or "what the shapes of configurations say"
    value = _value(report, result, SH.value)
    name = _value(shapes(), shape, SH.name)
    pointer = _pointer(configuration, focus)
    if component == SH.MaxCountConstraintComponent:
        return configuration.finding(
            below(pointer, str(name)), f"found more than one value; allowed: {allowed}"
        )
    if name is not None and value is not None:
        pointer = _member_pointer(configuration, focus, str(name), value)
        return configuration.finding(pointer, f"found {_value_text(value)}; allowed: {allowed}")
    return configuration.finding(pointer, f"needed: {allowed}")


def _unknown_key(
    configuration: ConfigurationGraph, report: Graph, result: Node, focus: Node
) -> Finding:
    from rdflib import URIRef

    predicate = str(_value(report, result, SH.resultPath))
    pointer = _pointer(configuration, focus)
    shape = _shape(report, result)
    paths = [
        _value(shapes(), node, SH.path) for node in shapes().objects(shape, URIRef(SH.property))
    ]
    known = sorted({key_of(str(path)) for path in paths if isinstance(path, URIRef)})
    if predicate in (RDF.first, RDF.rest):
        return configuration.finding(
            pointer, f"found a list; allowed: an object with {', '.join(known)}"
        )
    key = _short(key_of(predicate))
    problem = f"the key '{key}' does not belong here" if key in terms() else f"unknown key '{key}'"
    hint = nearest(key, known)
    listing = "" if hint.startswith("known") else f" (known here are {', '.join(known)})"
    return configuration.finding(below(pointer, key), f"{problem}: {hint}{listing}")


def _pointer(configuration: ConfigurationGraph, node: Node) -> str:
    return configuration.places.get(to_term(node), "")


def to_term(node: Node) -> Term:
    """Convert a node of a report from rdflib to pyoxigraph."""
    from rdflib import BNode, Literal

    if isinstance(node, BNode):
        return ox.BlankNode(str(node))
    if not isinstance(node, Literal):
        return ox.NamedNode(str(node))
    if node.language is not None:
        return ox.Literal(str(node), language=node.language)
    return ox.Literal(str(node), datatype=ox.NamedNode(str(node.datatype or XSD.string)))


def _member_pointer(configuration: ConfigurationGraph, focus: Node, name: str, value: Node) -> str:
    """Return the pointer of ``value`` under the key ``name`` of ``focus``, with a list index."""
    pointer, term = _pointer(configuration, focus), to_term(value)
    for key in name.split("/"):
        pointer = below(pointer, key)
    iri = terms().get(name)
    lists = () if iri is None else configuration.graph.values(to_term(focus), ox.NamedNode(iri))
    for head in lists:
        members = configuration.members(head) or []
        if term in members and term != head:
            return below(pointer, members.index(term))
    return pointer


def _value_text(value: Node) -> str:
    from rdflib import Literal, URIRef

    if not isinstance(value, Literal):
        return "an empty list" if value == URIRef(RDF.nil) else "an object or a list"
    if value.datatype is None or str(value.datatype) == XSD.string:
        language = f" in the language {value.language}" if value.language else ""
        return f"the text {_short(value)!r}{language}"
    return _short(value)


def _short(text: str) -> str:
    return str(text) if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
