# SPDX-License-Identifier: Apache-2.0
"""Compilation of a graph of SHACL shapes to functions that check one node.

The syntax rules, which parameters there are and which values each may have, follow sections 2 to 5
of the recommendation. A parameter of another name is refused, because a silently ignored constraint
is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.errors import closest
from kgbench.rdf.quads import Quads
from kgbench.validation import components, sparql
from kgbench.validation.components import KINDS, term_text
from kgbench.validation.data import (
    TYPE,
    Data,
    IllFormedShapes,
    Path,
    Term,
    list_members,
    path,
    path_name,
)
from kgbench.validation.literals import is_well_formed
from kgbench.validation.sparql import Component, Owner
from kgbench.vocab import OWL, RDF, RDFS, SH, XSD, compact

_DIGITS = 100  # most digits of a number of values or characters
_MISPLACED = {
    "target": (
        "sh:target (sh:SPARQLTarget and others) belongs to SHACL Advanced Features, which are not "
        "supported: say what a shape is about by sh:targetClass, sh:targetNode, "
        "sh:targetSubjectsOf or sh:targetObjectsOf"
    ),
    **{
        name: f"sh:{name} belongs to a constraint in SPARQL (sh:sparql), not to a shape"
        for name in ("select", "ask", "prefixes")
    },
    **{
        f"{name}Path": f"sh:{name}Path belongs to a path (sh:path [ ... ]), not to a shape"
        for name in ("inverse", "alternative", "zeroOrMore", "oneOrMore", "zeroOrOne")
    },
}


class Parameter(NamedTuple):
    """What the values of a parameter must be, in words and as a check.

    ``is_single`` parameters have at most one value; only shapes with ``sh:path`` have those that
    are ``of_paths``.
    """

    words: str
    fits: Callable[[Data, Term], bool]
    is_single: bool = False
    of_paths: bool = False

    def once(self) -> Parameter:
        """Return a parameter with at most one value."""
        return self._replace(is_single=True)

    def on_paths(self) -> Parameter:
        """Return a parameter of property shapes only."""
        return self._replace(of_paths=True)


def _is_integer(_: Data, term: Term) -> bool:
    return _is_typed(term, XSD.integer) and len(term.value) <= _DIGITS


def _is_typed(term: Term, *datatypes: str) -> bool:
    return (
        isinstance(term, ox.Literal) and term.datatype.value in datatypes and is_well_formed(term)
    )


def _lists(fits: Callable[[Data, Term], bool]) -> Callable[[Data, Term], bool]:
    return lambda graph, head: all(fits(graph, member) for member in list_members(graph, head))


def _is_text(_: Data, term: Term) -> bool:
    return _is_typed(term, XSD.string)


def _is_iri(_: Data, term: Term) -> bool:
    return isinstance(term, ox.NamedNode)


def _is_node(_: Data, term: Term) -> bool:
    return not isinstance(term, ox.Literal)


_ANY = Parameter("any term", lambda _, __: True)
_IRI = Parameter("an IRI", _is_iri)
_NODE = Parameter("a shape", _is_node)
_LITERAL = Parameter("a literal", lambda _, term: isinstance(term, ox.Literal))
_INTEGER = Parameter("an xsd:integer", _is_integer).once()
_BOOLEAN = Parameter("true or false", lambda _, term: _is_typed(term, XSD.boolean)).once()
_TEXT = Parameter("a text", _is_text).once()
_WORDS = Parameter("a text", lambda _, term: _is_typed(term, XSD.string, RDF.langString))
_SHAPES = Parameter("a list of shapes", _lists(_is_node))

PARAMETERS: Mapping[str, Parameter] = {
    **dict.fromkeys(("targetClass", "targetSubjectsOf", "targetObjectsOf"), _IRI),
    "targetNode": Parameter("an IRI or a literal", lambda _, t: not isinstance(t, ox.BlankNode)),
    **dict.fromkeys(("message", "name", "description"), _WORDS),
    "path": Parameter("a path", _is_node).once(),
    "severity": _IRI.once(),
    "deactivated": _BOOLEAN,
    **dict.fromkeys(("order", "group", "defaultValue", "optional"), _ANY),
    **dict.fromkeys(("property", "node", "not", "sparql"), _NODE),
    **dict.fromkeys(("and", "or", "xone"), _SHAPES),
    **dict.fromkeys(("class", "equals", "disjoint"), _IRI),
    **dict.fromkeys(("lessThan", "lessThanOrEquals"), _IRI.on_paths()),
    "datatype": _IRI.once(),
    "nodeKind": Parameter("a node kind, such as sh:IRI", lambda _, t: t.value in KINDS).once(),
    **dict.fromkeys(("minCount", "maxCount"), _INTEGER.on_paths()),
    **dict.fromkeys(("minLength", "maxLength"), _INTEGER),
    **dict.fromkeys(
        ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive"), _LITERAL.once()
    ),
    **dict.fromkeys(("pattern", "flags"), _TEXT),
    "languageIn": Parameter("a list of texts", _lists(_is_text)).once(),
    "uniqueLang": _BOOLEAN.on_paths(),
    "hasValue": _ANY,
    "in": Parameter("a list", _lists(lambda _, __: True)).once(),
    "closed": _BOOLEAN,
    "ignoredProperties": Parameter("a list of IRIs", _lists(_is_iri)).once(),
    "qualifiedValueShape": _NODE.once().on_paths(),
    "qualifiedValueShapesDisjoint": _BOOLEAN,
    **dict.fromkeys(("qualifiedMinCount", "qualifiedMaxCount"), _INTEGER),
}
"""The parameters of shapes, by their names in the namespace of SHACL."""

_SAID = frozenset(("message", "name", "description", "severity", "deactivated", "flags"))
_SAID_ELSEWHERE = frozenset(("path", "datatype", "order", "group", "defaultValue", "optional"))
DECISIVE = tuple(name for name in PARAMETERS if name not in _SAID | _SAID_ELSEWHERE)
"""The parameters that only shapes have, so that a node that has one is a shape."""


def check(graph: Data, name: str, values: Sequence[Term], *, has_path: bool) -> None:
    """Raise :class:`IllFormedShapes` unless a shape may have these values of a parameter."""
    known = PARAMETERS.get(name)
    if known is None:
        hint = closest(name, PARAMETERS, most=1)
        unknown = f"sh:{name} is not known here{'' if hint is None else f': {hint}'}"
        raise IllFormedShapes(_MISPLACED.get(name, unknown))
    if known.of_paths and not has_path:
        raise IllFormedShapes(f"sh:{name} needs a shape with sh:path")
    if known.is_single and len(values) > 1:
        raise IllFormedShapes(f"sh:{name} has {len(values)} values, may have at most 1")
    for value in values:
        if not known.fits(graph, value):
            found = "a node without an IRI" if isinstance(value, ox.BlankNode) else term_text(value)
            raise IllFormedShapes(f"sh:{name} must be {known.words}, not {found}")


# --- compilation ---------------------------------------------------------------------------------


Target: TypeAlias = Callable[[Data], list[Term]]
"""A function from data to the nodes that a shape applies to."""

_SH = str(SH)
_TRUE = ox.Literal(value=True)
_PROPERTY, _SPARQL = ox.NamedNode(SH.property), ox.NamedNode(SH.sparql)
_OF_QUERIES = ("select", "prefixes")
_MOST_LISTED = 5  # most faults of shapes listed in a message
# A shape that is a class is about its instances (section 2.1.3.3). The recommendation names
# instances of rdfs:Class only; owl:Class is a subclass of it that shapes graphs seldom declare so.
CLASSES = (ox.NamedNode(RDFS.Class), ox.NamedNode(OWL.Class))
"""Classes of classes."""
# Parameters with words for people, and the attributes of a shape that hold them.
_TEXTS = {"message": "message", "name": "label", "description": "description"}


@dataclass(eq=False)
class Shape:
    """A compiled shape: its targets, its path, and the constraints on the values of the path.

    ``label`` and ``description`` are those of ``sh:name`` and ``sh:description``.
    """

    name: str
    node: Term
    label: str | None = None
    description: str | None = None
    targets: list[Target] = field(default_factory=list)
    path: Path | None = None
    path_name: str | None = None
    severity: str = "Violation"
    message: str | None = None
    constraints: list[components.Constraint] = field(default_factory=list)
    properties: list[Shape] = field(default_factory=list)


def compiled(shapes: Quads) -> list[Shape]:
    """Compile a shapes graph; return the shapes with targets.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if the shapes break the syntax rules of
    SHACL, are recursive, or have anything that this engine does not know.
    """
    reader = _Reader(Data(shapes))
    try:
        found = [reader.shape(node) for node in reader.nodes()]
    except RecursionError as error:
        raise IllFormedShapes("the shapes are nested too deeply") from error
    if reader.faults:
        more = len(reader.faults) - _MOST_LISTED
        listed = "; ".join(sorted(reader.faults)[:_MOST_LISTED])
        rest = f"; and {more} more faults" if more > 0 else ""
        raise IllFormedShapes(f"the shapes cannot be used: {listed}{rest}")
    return [shape for shape in found if shape.targets]


class _Reader:
    """A reader of a shapes graph that reads each shape once, so that shapes may share others.

    ``faults`` are sentences about what cannot be used.
    """

    def __init__(self, graph: Data) -> None:
        self.graph = graph
        self.faults: set[str] = set()
        self.shape = cache(self._shape)
        self._open: set[Term] = set()
        self._components: list[Component] = []
        with self._noting("the shapes graph"):
            self._components = sparql.components(graph)

    def nodes(self) -> Iterator[Term]:
        """Yield the shapes that are not deactivated (section 2.1 says which nodes are shapes)."""
        nodes: dict[Term, None] = {}
        for kind in (SH.NodeShape, SH.PropertyShape):
            nodes.update(dict.fromkeys(self.graph.instances(ox.NamedNode(kind))))
        for name in (*DECISIVE, "target"):
            nodes.update(dict.fromkeys(self.graph.subjects(ox.NamedNode(SH[name]))))
        for node in nodes:
            if not self._is_deactivated(node):
                yield node

    @contextmanager
    def _noting(self, subject: str) -> Iterator[None]:
        try:
            yield
        except IllFormedShapes as fault:
            self.faults.add(f"{subject}: {fault}")

    def _is_deactivated(self, node: Term) -> bool:
        return any(v.value == "true" for v in self.values(node, "deactivated"))

    def values(self, node: Term, name: str) -> list[Term]:
        return self.graph.values(node, ox.NamedNode(SH[name]))

    def _shape(self, node: Term) -> Shape:
        shape = Shape(_name(node), node)
        if self._is_deactivated(node):
            return shape
        if node in self._open:
            raise IllFormedShapes("it refers to itself, and SHACL leaves open what this means")
        self._open.add(node)
        for name, attribute in _TEXTS.items():
            for text in self.values(node, name):
                setattr(shape, attribute, text.value)
        for severity in self.values(node, "severity"):
            shape.severity = severity.value.removeprefix(_SH)
        text = None
        with self._noting(shape.name):
            for path_node in self.values(node, "path"):
                shape.path, text = path(self.graph, path_node)
                shape.path_name = path_name(text)
            self._check_kind(node, shape)
        shape.targets = list(self._targets(node))
        owner = Owner(node, text)
        subject = f"{shape.name}{'' if text is None else f' of {shape.path_name}'}"
        for predicate, objects in self.graph.about(node).items():
            if predicate.value.startswith(_SH):
                with self._noting(subject):
                    self._add_parameter(shape, owner, predicate.value.removeprefix(_SH), objects)
        for component in self._components:
            with self._noting(subject):
                shape.constraints += sparql.declared_constraints(self.graph, component, owner)
        self._open.discard(node)
        return shape

    def _check_kind(self, node: Term, shape: Shape) -> None:
        kinds = [kind.value for kind in self.graph.values(node, TYPE)]
        is_property = SH.PropertyShape in kinds or self.graph.sources(node, _PROPERTY)
        if shape.path is None and is_property:
            raise IllFormedShapes("a property shape needs sh:path")
        if shape.path is not None and SH.NodeShape in kinds:
            raise IllFormedShapes("a sh:NodeShape has no sh:path")

    def _targets(self, node: Term) -> Iterator[Target]:
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

    def _add_parameter(self, shape: Shape, owner: Owner, name: str, values: list[Term]) -> None:
        node = owner.node
        if name in _OF_QUERIES and self.graph.sources(node, _SPARQL):
            return  # the shape is also a constraint in SPARQL
        check(self.graph, name, values, has_path=shape.path is not None)
        if name == "closed" and values == [_TRUE]:
            shape.constraints.append(components.closed(self._allowed(node)))
        for value in values:
            if name == "property" and not self._is_deactivated(value):
                shape.properties.append(self._property_shape(value, shape))
            elif name == "sparql":
                shape.constraints += sparql.sparql_constraint(self.graph, value, owner)
            elif (constraint := self._constraint(node, name, value)) is not None:
                shape.constraints.append(constraint)

    def _property_shape(self, node: Term, holder: Shape) -> Shape:
        shape = self.shape(node)
        if not isinstance(node, ox.NamedNode):
            shape.name = holder.name
        return shape

    def _constraint(self, node: Term, name: str, value: Term) -> components.Constraint | None:
        if name in components.SIMPLE:
            return components.SIMPLE[name](value)
        if name in components.OF_SHAPES:
            return components.OF_SHAPES[name](self.shape(value))
        if name in components.OF_LISTS:
            return components.OF_LISTS[name](list_members(self.graph, value))
        if name in components.LOGICAL:
            shapes = [self.shape(member) for member in list_members(self.graph, value)]
            return components.LOGICAL[name](shapes)
        if name == "pattern":
            flags = "".join(flag.value for flag in self.values(node, "flags"))
            return components.pattern(value.value, flags)
        return self._qualified(node, name, value)

    def _qualified(self, node: Term, name: str, value: Term) -> components.Constraint | None:
        inner = self.values(node, "qualifiedValueShape")
        if name not in ("qualifiedMinCount", "qualifiedMaxCount") or len(inner) != 1:
            return None
        siblings = [self.shape(one) for one in self._siblings(node, inner[0])]
        return components.qualified(name, int(value.value), self.shape(inner[0]), siblings)

    def _siblings(self, node: Term, own: Term) -> set[Term]:
        """Return the shapes whose values do not count for a qualified shape (section 4.7.3)."""
        if self.values(node, "qualifiedValueShapesDisjoint") != [_TRUE]:
            return set()
        return {
            other
            for holder in self.graph.sources(node, _PROPERTY)
            for sibling in self.values(holder, "property")
            for other in self.values(sibling, "qualifiedValueShape")
        } - {own}

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
