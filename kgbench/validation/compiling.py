# SPDX-License-Identifier: Apache-2.0
"""Compilation of a graph of SHACL shapes to functions that check one node.

An unsupported parameter of a shape raises :class:`~kgbench.errors.ResourceError`, because a
silently ignored constraint is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.rdf.quads import Quads
from kgbench.validation import components
from kgbench.validation.data import Data, Term
from kgbench.validation.paths import Path, list_members, path
from kgbench.vocab import OWL, RDF, RDFS, SH, compact

Target: TypeAlias = Callable[[Data], list[Term]]
"""A function from data to the nodes that a shape applies to."""

_SH = str(SH)
_TYPE = ox.NamedNode(RDF.type)
# A shape that is a class is about its instances (section 2.1.3.3). The recommendation names
# instances of rdfs:Class only; owl:Class is a subclass of it that shapes graphs seldom declare so.
CLASSES = (ox.NamedNode(RDFS.Class), ox.NamedNode(OWL.Class))
"""Classes of classes."""
_FALSE = ox.Literal(value=False)
TARGETS = ("targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf")
"""The parameters that select the target nodes of a shape."""
# Parameters without a constraint, or read together with another parameter.
_NOT_CONSTRAINTS = frozenset(
    {
        SH.path,
        SH.property,
        SH.message,
        SH.name,
        SH.description,
        SH.order,
        SH.group,
        SH.severity,
        SH.deactivated,
        SH.ignoredProperties,
        SH.flags,
        SH.qualifiedValueShape,
        SH.defaultValue,
    }
)
# Parameters with words for people, and the attributes of a shape that hold them.
_TEXTS = {"message": "message", "name": "label", "description": "description"}


@dataclass(eq=False)
class Shape:
    """A compiled shape: its targets, its path, and the constraints on the values of the path.

    ``label`` and ``description`` are those of ``sh:name`` and ``sh:description``.
    """

    name: str
    label: str | None = None
    description: str | None = None
    targets: list[Target] = field(default_factory=list)
    path: Path | None = None
    path_name: str | None = None
    severity: str = "Violation"
    message: str | None = None
    constraints: list[components.Constraint] = field(default_factory=list)
    properties: list[Shape] = field(default_factory=list)


def declared_shapes(names: Iterable[str]) -> ox.Store:
    """Load the files of ``shapes/`` with the given names into one shapes graph."""
    store = ox.Store()
    for name in names:
        store.load(resources.text("shapes", name).encode(), format=ox.RdfFormat.TURTLE)
    return store


def compiled(shapes: Quads) -> list[Shape]:
    """Compile a shapes graph; return the shapes with targets.

    Raises :class:`~kgbench.errors.ResourceError` if a shape has an unsupported parameter.
    """
    reader = _Reader(Data(shapes))
    return [shape for shape in map(reader.shape, reader.nodes()) if shape.targets]


def targets(shapes: Quads) -> dict[Term, list[Target]]:
    """Return the targets of each shape that has any, also of shapes that cannot be compiled."""
    reader = _Reader(Data(shapes))
    return {node: found for node in reader.nodes() if (found := list(reader.targets(node)))}


class _Reader:
    """A reader of a shapes graph that reads each shape once, so that shapes may share others."""

    def __init__(self, graph: Data) -> None:
        self.graph = graph
        self.shape = cache(self._shape)

    def nodes(self) -> Iterator[Term]:
        """Yield the shapes that are not deactivated."""
        nodes: dict[Term, None] = {}
        for kind in (SH.NodeShape, SH.PropertyShape):
            nodes.update(dict.fromkeys(self.graph.instances(ox.NamedNode(kind))))
        for target in TARGETS:  # a node with a target is a shape even without an explicit type
            nodes.update(dict.fromkeys(self.graph.subjects(ox.NamedNode(SH[target]))))
        for node in nodes:
            if not self._is_deactivated(node):
                yield node

    def _is_deactivated(self, node: Term) -> bool:
        return any(v.value == "true" for v in self.values(node, "deactivated"))

    def values(self, node: Term, name: str) -> list[Term]:
        return self.graph.values(node, ox.NamedNode(SH[name]))

    def _shape(self, node: Term) -> Shape:
        shape = Shape(_name(node))
        if self._is_deactivated(node):
            return shape
        for name, attribute in _TEXTS.items():
            for text in self.values(node, name):
                setattr(shape, attribute, text.value)
        for severity in self.values(node, "severity"):
            shape.severity = severity.value.removeprefix(_SH)
        for path_node in self.values(node, "path"):
            shape.path, shape.path_name = path(self.graph, path_node)
        shape.targets = list(self.targets(node))
        for predicate, objects in self.graph.about(node).items():
            if predicate.value.startswith(_SH) and predicate.value not in _NOT_CONSTRAINTS:
                self._add_parameter(shape, node, predicate.value.removeprefix(_SH), objects)
        for inner in self.values(node, "property"):
            if not self._is_deactivated(inner):
                shape.properties.append(self._property_shape(inner, shape))
        return shape

    def _property_shape(self, node: Term, holder: Shape) -> Shape:
        shape = self.shape(node)
        if not isinstance(node, ox.NamedNode):
            shape.name = holder.name
        return shape

    def targets(self, node: Term) -> Iterator[Target]:
        if any(self.graph.is_a(node, cls) for cls in CLASSES):
            yield partial(Data.instances, cls=node)
        for cls in self.values(node, "targetClass"):
            yield partial(Data.instances, cls=cls)
        for target in self.values(node, "targetNode"):
            yield partial(_itself, target)
        for prop in self.values(node, "targetSubjectsOf"):
            yield partial(Data.subjects, predicate=prop)
        for prop in self.values(node, "targetObjectsOf"):
            yield partial(Data.objects, predicate=prop)

    def _add_parameter(self, shape: Shape, node: Term, name: str, objects: list[Term]) -> None:
        if name.startswith("target"):
            if name not in TARGETS:
                raise ResourceError(f"shape {shape.name}: sh:{name} is not known here")
            return
        if name == "qualifiedValueShapesDisjoint" and objects == [_FALSE]:
            return
        if name == "closed":
            if any(value != _FALSE for value in objects):
                shape.constraints.append(components.closed(self._allowed(node)))
            return
        for value in objects:
            shape.constraints.append(self._constraint(shape.name, node, name, value))

    def _constraint(self, shape: str, node: Term, name: str, value: Term) -> components.Constraint:
        if name in components.SIMPLE:
            return components.SIMPLE[name](value)
        if name in components.LOGICAL:
            shapes = [self.shape(member) for member in list_members(self.graph, value)]
            return components.LOGICAL[name](shapes)
        if name in components.OF_SHAPES:
            return components.OF_SHAPES[name](self.shape(value))
        if name in components.OF_LISTS:
            return components.OF_LISTS[name](list_members(self.graph, value))
        if name == "pattern":
            flags = "".join(flag.value for flag in self.values(node, "flags"))
            return components.pattern(value.value, flags)
        if name in components.QUALIFIED:
            inner = self.values(node, "qualifiedValueShape")
            if len(inner) == 1:
                return components.QUALIFIED[name](self.shape(inner[0]), int(value.value))
        raise ResourceError(f"shape {shape}: sh:{name} is not known here; pySHACL may know it")

    def _allowed(self, node: Term) -> frozenset[Any]:
        """Return the properties that a closed shape allows."""
        allowed = {
            path_node
            for inner in self.values(node, "property")
            for path_node in self.values(inner, "path")
        }
        for head in self.values(node, "ignoredProperties"):
            allowed.update(list_members(self.graph, head))
        return frozenset(allowed)


def _itself(node: Term, _: Data) -> list[Term]:
    return [node]


def _name(node: Term) -> str:
    return compact(node.value) if isinstance(node, ox.NamedNode) else "(a shape without a name)"
