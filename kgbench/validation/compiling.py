# SPDX-License-Identifier: Apache-2.0
"""From a graph of SHACL shapes to functions that check one node.

A parameter of a shape that is not known here raises :class:`~kgbench.errors.ResourceError`: a
constraint that is passed over is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.validation import components
from kgbench.validation.data import Data, Quads, Term
from kgbench.validation.paths import Path, listed, path
from kgbench.vocab import RDF, RDFS, SH, compact

Target: TypeAlias = Callable[[Data], list[Term]]
"""The nodes that a shape applies to."""

_SH = str(SH)
_TYPE, _CLASS = ox.NamedNode(RDF.type), ox.NamedNode(RDFS.Class)
_FALSE = ox.Literal(value=False)
TARGETS = ("targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf")
"""The parameters that say which nodes a shape is about."""
_SAID = frozenset(  # what says nothing about the data, or is read together with another parameter
    SH[name]
    for name in (
        *("path", "property", "message", "name", "description", "order", "group", "severity"),
        *("deactivated", "ignoredProperties", "flags", "qualifiedValueShape", "defaultValue"),
    )
)


@dataclass
class Shape:
    """A shape: where it applies, and what it demands of the values that its path leads to."""

    name: str
    targets: list[Target] = field(default_factory=list)
    path: Path | None = None
    path_name: str | None = None
    severity: str = "Violation"
    message: str | None = None
    constraints: list[components.Constraint] = field(default_factory=list)
    properties: list[Shape] = field(default_factory=list)


def declared_shapes(names: Iterable[str]) -> ox.Store:
    """Return the shapes in the files of ``shapes/`` called ``names``, as one graph."""
    store = ox.Store()
    for name in names:
        store.load(resources.text("shapes", name).encode(), format=ox.RdfFormat.TURTLE)
    return store


def compiled(shapes: Quads) -> list[Shape]:
    """Return the shapes of a shapes graph that have targets."""
    reader = _Reader(Data(shapes))
    return [shape for shape in reader.all() if shape.targets]


class _Reader:
    """Reads the shapes of one graph, each once, so that shapes may refer to each other."""

    def __init__(self, graph: Data) -> None:
        self.graph = graph
        self.shape = cache(self._shape)

    def all(self) -> Iterator[Shape]:
        nodes: dict[Term, None] = {}
        for kind in (SH.NodeShape, SH.PropertyShape):
            nodes.update(dict.fromkeys(self.graph.instances(ox.NamedNode(kind))))
        for target in TARGETS:  # what has a target is a shape, whether or not it is called one
            nodes.update(dict.fromkeys(self.graph.subjects(ox.NamedNode(SH[target]))))
        for node in nodes:
            if not self._off(node):
                yield self.shape(node)

    def _off(self, node: Term) -> bool:
        return any(v.value == "true" for v in self.values(node, "deactivated"))

    def values(self, node: Term, name: str) -> list[Term]:
        return self.graph.values(node, ox.NamedNode(SH[name]))

    def _shape(self, node: Term) -> Shape:
        shape = Shape(_name(node))
        if self._off(node):
            return shape
        for text in self.values(node, "message"):
            shape.message = text.value
        for severity in self.values(node, "severity"):
            shape.severity = severity.value.removeprefix(_SH)
        for at in self.values(node, "path"):
            shape.path, shape.path_name = path(self.graph, at)
        shape.targets = list(self._targets(node))
        for predicate, objects in self.graph.about(node).items():
            if predicate.value.startswith(_SH) and predicate.value not in _SAID:
                self._read(shape, node, predicate.value.removeprefix(_SH), objects)
        for inner in self.values(node, "property"):
            if not self._off(inner):
                shape.properties.append(self._named(inner, shape))
        return shape

    def _named(self, node: Term, holder: Shape) -> Shape:
        shape = self.shape(node)
        if not isinstance(node, ox.NamedNode):
            shape.name = holder.name
        return shape

    def _targets(self, node: Term) -> Iterator[Target]:
        if _CLASS in self.graph.values(node, _TYPE):
            yield partial(Data.instances, cls=node)
        for cls in self.values(node, "targetClass"):
            yield partial(Data.instances, cls=cls)
        for one in self.values(node, "targetNode"):
            yield partial(_itself, one)
        for prop in self.values(node, "targetSubjectsOf"):
            yield partial(Data.subjects, predicate=prop)
        for prop in self.values(node, "targetObjectsOf"):
            yield partial(Data.objects, predicate=prop)

    def _read(self, shape: Shape, node: Term, name: str, objects: list[Term]) -> None:
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
            shapes = [self.shape(each) for each in listed(self.graph, value)]
            return components.LOGICAL[name](shapes)
        if name in components.OF_SHAPES:
            return components.OF_SHAPES[name](self.shape(value))
        if name in components.OF_LISTS:
            return components.OF_LISTS[name](listed(self.graph, value))
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
            at for inner in self.values(node, "property") for at in self.values(inner, "path")
        }
        for head in self.values(node, "ignoredProperties"):
            allowed.update(listed(self.graph, head))
        return frozenset(allowed)


def _itself(node: Term, _: Data) -> list[Term]:
    return [node]


def _name(node: Term) -> str:
    return compact(node.value) if isinstance(node, ox.NamedNode) else "(a shape without a name)"
