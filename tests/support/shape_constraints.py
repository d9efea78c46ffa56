# SPDX-License-Identifier: Apache-2.0
"""The constraints of SHACL shapes, and the nodes of a graph that they apply to."""

from __future__ import annotations

from typing import NamedTuple

from rdflib import RDF, SH, Graph, URIRef
from rdflib.collection import Collection
from rdflib.paths import AlternativePath, InvPath, MulPath, Path, SequencePath, ZeroOrMore
from rdflib.term import Node

_NO_CONSTRAINTS = {
    RDF.type, SH.path, SH.property, SH.targetClass, SH.targetSubjectsOf, SH.targetObjectsOf,
    SH.message, SH.name, SH.description, SH.order, SH.defaultValue, SH.ignoredProperties,
}  # fmt: skip


class Constraint(NamedTuple):
    """One constraint of a shape, with its path (``None``: the node itself)."""

    shape: URIRef
    path: Node | None
    parameter: URIRef
    value: Node
    property_shape: Node

    def __str__(self) -> str:
        local = str(self.shape).removeprefix("https://w3id.org/kgbench/")
        path = (
            ""
            if self.path is None
            else f" {self.path.n3() if isinstance(self.path, URIRef) else 'path'}"
        )
        return f"{local}{path} {self.parameter.fragment} {self.value.n3()}"


def constraints(shapes: Graph) -> list[Constraint]:
    """Return the constraints of all named node shapes and of their direct property shapes."""
    found = []
    named = {s for s in shapes.subjects(RDF.type, SH.NodeShape) if isinstance(s, URIRef)}
    for shape in sorted(named):
        for holder in [shape, *shapes.objects(shape, SH.property)]:
            path = shapes.value(holder, SH.path)
            found += [
                Constraint(shape, path, p, o, holder)
                for p, o in shapes.predicate_objects(holder)
                if p not in _NO_CONSTRAINTS
            ]
    return sorted(found, key=str)


def focus_nodes(shapes: Graph, data: Graph, shape: Node) -> list[Node]:
    """Return the nodes of ``data`` that ``shape`` applies to, by targets or via other shapes."""
    found: set[Node] = set()
    for cls in shapes.objects(shape, SH.targetClass):
        found |= set(data.subjects(RDF.type, cls))
    for prop in shapes.objects(shape, SH.targetSubjectsOf):
        found |= set(data.subjects(prop))
    for prop in shapes.objects(shape, SH.targetObjectsOf):
        found |= set(data.objects(None, prop))
    for user in shapes.subjects(SH.node, shape):
        path = shapes.value(user, SH.path)
        if path is None:
            found |= set(focus_nodes(shapes, data, user))
        for owner in shapes.subjects(SH.property, user):
            for node in focus_nodes(shapes, data, owner):
                found |= set(data.objects(node, path_of(shapes, path)))
    return sorted(found, key=str)


def path_of(shapes: Graph, node: Node) -> URIRef | Path:
    """Return a SHACL property path in rdflib's form."""
    if isinstance(node, URIRef):
        return node
    inverse = shapes.value(node, SH.inversePath)
    if inverse is not None:
        return InvPath(path_of(shapes, inverse))
    repeated = shapes.value(node, SH.zeroOrMorePath)
    if repeated is not None:
        return MulPath(path_of(shapes, repeated), ZeroOrMore)
    alternatives = shapes.value(node, SH.alternativePath)
    if alternatives is not None:
        return AlternativePath(*(path_of(shapes, one) for one in Collection(shapes, alternatives)))
    return SequencePath(*(path_of(shapes, step) for step in Collection(shapes, node)))
