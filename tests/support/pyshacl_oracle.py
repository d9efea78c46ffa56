# SPDX-License-Identifier: Apache-2.0
"""pySHACL, an engine by others whose findings those of :mod:`kgbench.validation` are held to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pyoxigraph as ox
import pyshacl
import rdflib
from rdflib import SH

from kgbench import resources
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import SHAPE_FILES, Data, whole_shapes
from kgbench.validation.checking import Finding
from kgbench.validation.compiling import CLASSES
from kgbench.vocab import RDFS, XSD, compact

_SUBCLASS = ox.NamedNode(RDFS.subClassOf)


class Oracle:
    """Shapes, ready to validate any number of graphs with pySHACL."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        stated = list(triples)
        graph = Data(IndexedQuads(stated))
        kinds = {kind for cls in CLASSES for kind in graph.subclasses(cls)}
        # pySHACL takes only direct subclasses of rdfs:Class for classes.
        direct = [ox.Triple(kind, _SUBCLASS, CLASSES[0]) for kind in kinds]
        self._shapes = rdflib_graph([*stated, *direct])

    def findings(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return the validation results of a graph."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ill-typed values are reported as results
            _, report, text = pyshacl.validate(rdflib_graph(data), shacl_graph=self._shapes)
        assert isinstance(report, rdflib.Graph), text
        return [_finding(report, node) for node in report.objects(None, SH.result)]


def parsed(turtle: str) -> Oracle:
    """Return the oracle of shapes in Turtle."""
    return Oracle(quad.triple for quad in ox.parse(turtle, ox.RdfFormat.TURTLE))


def _finding(report: rdflib.Graph, node: Any) -> Finding:
    path = report.value(node, SH.resultPath)
    component = str(report.value(node, SH.sourceConstraintComponent))
    messages = sorted(str(text) for text in report.objects(node, SH.resultMessage))
    focus: Any = report.value(node, SH.focusNode)
    name = component.removeprefix(str(SH)).removesuffix("ConstraintComponent")
    named = compact(str(path)) if isinstance(path, rdflib.URIRef) else None
    return Finding(focus.n3(), name, named, "; ".join(messages))


def shapes_for(data: Iterable[ox.Quad | ox.Triple], shape_set: str) -> rdflib.Graph:
    """Return the declared shapes of ``shape_set``; for results, with those of metrics in data."""
    if shape_set != "results":
        return _declared(shape_set)
    text = whole_shapes(Data(IndexedQuads(data)))
    return rdflib.Graph(bind_namespaces="none").parse(data=text, format="turtle")


@cache
def _declared(shape_set: str) -> rdflib.Graph:
    graph = rdflib.Graph(bind_namespaces="none")
    for name in SHAPE_FILES[shape_set]:
        graph.parse(data=resources.text("shapes", name), format="turtle")
    return graph


def rdflib_graph(data: Iterable[ox.Quad | ox.Triple]) -> rdflib.Graph:
    """Return ``data`` as one rdflib graph; literals keep their lexical forms."""
    graph = rdflib.Graph(bind_namespaces="none")
    for item in data:
        graph.add((_term(item.subject), _term(item.predicate), _term(item.object)))
    return graph


@cache
def _term(value: Any) -> Any:
    if isinstance(value, ox.NamedNode):
        return rdflib.URIRef(value.value)
    if isinstance(value, ox.BlankNode):
        return rdflib.BNode(value.value)
    if value.language is not None:
        return rdflib.Literal(value.value, lang=value.language)
    datatype = value.datatype.value
    return rdflib.Literal(
        value.value,
        datatype=None if datatype == XSD.string else rdflib.URIRef(datatype),
        normalize=False,
    )
