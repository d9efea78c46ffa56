# SPDX-License-Identifier: Apache-2.0
"""The data graph of a validation (all quads of a database as one set), and SHACL property paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.rdf.quads import Quads
from kgbench.vocab import RDF, RDFS, SH, compact

Term: TypeAlias = Any
"""A subject or object of pyoxigraph."""

TYPE = ox.NamedNode(RDF.type)
_SUBCLASS = ox.NamedNode(RDFS.subClassOf)
_CACHE_SIZE = 50_000  # most cached nodes, which bounds memory for databases of any size


class IllFormedShapes(ResourceError):
    """Shapes cannot be used for validation; the message gives the reasons."""


class Data:
    """A reader of triples by node with a bounded cache."""

    def __init__(self, quads: Quads) -> None:
        self._pattern = quads.quads_for_pattern
        self.about = lru_cache(_CACHE_SIZE)(self._about)
        self.types = lru_cache(_CACHE_SIZE)(self._types)
        self.subclasses = lru_cache(None)(self._subclasses)

    @cached_property
    def store(self) -> ox.Store:
        """The triples as the default graph of a database, for queries."""
        store = ox.Store()
        store.extend(self.quads(ox.DefaultGraph()))
        return store

    def quads(self, graph: ox.NamedNode | ox.DefaultGraph) -> Iterator[ox.Quad]:
        """Yield all triples as quads of one graph."""
        for quad in self._pattern(None, None, None, None):
            yield ox.Quad(quad.subject, quad.predicate, quad.object, graph)

    def values(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct values of ``predicate`` at ``node``."""
        return self.about(node).get(predicate, [])

    def sources(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct nodes at which ``predicate`` has the value ``node``."""
        return list({q.subject: None for q in self._pattern(None, predicate, node, None)})

    def subjects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the nodes that have ``predicate``."""
        return list({q.subject: None for q in self._pattern(None, predicate, None, None)})

    def objects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct values of ``predicate`` in the whole data."""
        return list({q.object: None for q in self._pattern(None, predicate, None, None)})

    def instances(self, cls: ox.NamedNode) -> list[Term]:
        """Return the nodes of a class and of its subclasses."""
        nodes: dict[Term, None] = {}
        for subclass in self.subclasses(cls):
            nodes.update((q.subject, None) for q in self._pattern(None, TYPE, subclass, None))
        return list(nodes)

    def is_a(self, node: Term, cls: ox.NamedNode) -> bool:
        """Return whether ``node`` is an instance of a class or of one of its subclasses."""
        return not self.types(node).isdisjoint(self.subclasses(cls))

    def _about(self, node: Term) -> dict[ox.NamedNode, list[Term]]:
        if isinstance(node, ox.Literal):
            return {}
        objects_by_predicate: dict[ox.NamedNode, dict[Term, None]] = {}
        for quad in self._pattern(node, None, None, None):
            objects_by_predicate.setdefault(quad.predicate, {})[quad.object] = None
        return {predicate: list(objects) for predicate, objects in objects_by_predicate.items()}

    def _types(self, node: Term) -> frozenset[Term]:
        if isinstance(node, ox.Literal):
            return frozenset()
        return frozenset(q.object for q in self._pattern(node, TYPE, None, None))

    def _subclasses(self, cls: ox.NamedNode) -> frozenset[Term]:
        result, queue = {cls}, [cls]
        while queue:
            for subclass in self.sources(queue.pop(), _SUBCLASS):
                if subclass not in result:
                    result.add(subclass)
                    queue.append(subclass)
        return frozenset(result)


Path: TypeAlias = Callable[[Data, Term], list[Term]]
"""A function from a node of the data to the distinct values of a path."""

_FIRST, _REST, _NIL = (ox.NamedNode(RDF[name]) for name in ("first", "rest", "nil"))
_INVERSE, _ALTERNATIVE = ox.NamedNode(SH.inversePath), ox.NamedNode(SH.alternativePath)
_IRI = re.compile("<([^<>]*)>")
_QUANTIFIERS = {
    ox.NamedNode(SH.zeroOrMorePath): "*",
    ox.NamedNode(SH.oneOrMorePath): "+",
    ox.NamedNode(SH.zeroOrOnePath): "?",
}


def list_members(shapes: Data, head: Term) -> list[Term]:
    """Return the members of an RDF list.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if the list is ill-formed.
    """
    result: list[Term] = []
    seen: set[Term] = set()
    while head != _NIL:
        members, rest = shapes.values(head, _FIRST), shapes.values(head, _REST)
        if len(members) != 1 or len(rest) != 1 or head in seen:
            raise IllFormedShapes("a list is not one: each part has one rdf:first, one rdf:rest")
        result.append(members[0])
        seen.add(head)
        head = rest[0]
    return result


def path(shapes: Data, node: Term, *, inverse: bool = False) -> tuple[Path, str]:
    """Return the path that a node of a shapes graph describes, and its text in SPARQL.

    With ``inverse``, the path leads from its end to its start. Raises
    :class:`~kgbench.validation.data.IllFormedShapes` if the path is ill-formed.
    """
    if isinstance(node, ox.NamedNode):
        return (_inverse(node), f"^{node}") if inverse else (_property(node), str(node))
    if shapes.values(node, _FIRST):
        steps = _members(shapes, node, inverse=inverse)
        ordered = steps[::-1] if inverse else steps
        return _sequence([step for step, _ in ordered]), "/".join(text for _, text in ordered)
    for inverted in shapes.values(node, _INVERSE):
        return path(shapes, inverted, inverse=not inverse)
    for choices in shapes.values(node, _ALTERNATIVE):
        ways = _members(shapes, choices, inverse=inverse)
        return _alternative([way for way, _ in ways]), f"({'|'.join(text for _, text in ways)})"
    for predicate, quantifier in _QUANTIFIERS.items():
        for inner in shapes.values(node, predicate):
            step, text = path(shapes, inner, inverse=inverse)
            return _repeated(step, quantifier), f"({text}){quantifier}"
    raise IllFormedShapes("sh:path is neither a property nor a path that SHACL knows")


def path_name(text: str) -> str:
    """Return the text of a path for messages: IRIs compact.

    >>> path_name("^<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>/<urn:a>")
    '^rdf:type/urn:a'
    """
    return _IRI.sub(lambda match: compact(match[1]), text)


def _members(shapes: Data, head: Term, *, inverse: bool) -> Sequence[tuple[Path, str]]:
    members = [path(shapes, one, inverse=inverse) for one in list_members(shapes, head)]
    if len(members) < 2:  # noqa: PLR2004 - sections 2.3.1.2 and 2.3.1.3
        raise IllFormedShapes("a sequence or choice of paths has at least two members")
    return members


def _property(predicate: ox.NamedNode) -> Path:
    return lambda data, node: data.values(node, predicate)


def _inverse(predicate: ox.NamedNode) -> Path:
    return lambda data, node: data.sources(node, predicate)


def _sequence(steps: list[Path]) -> Path:
    def follow(data: Data, node: Term) -> list[Term]:
        nodes: Iterable[Term] = [node]
        for step in steps:
            nodes = {value: None for current in nodes for value in step(data, current)}
        return list(nodes)

    return follow


def _alternative(ways: list[Path]) -> Path:
    return lambda data, node: list({value: None for way in ways for value in way(data, node)})


def _repeated(step: Path, quantifier: str) -> Path:
    """Return the path that repeats ``step`` as often as ``*``, ``+`` or ``?`` allows."""

    def follow(data: Data, node: Term) -> list[Term]:
        result: dict[Term, None] = {} if quantifier == "+" else {node: None}
        nodes = [node]
        while nodes:
            fresh = {v: None for current in nodes for v in step(data, current) if v not in result}
            result.update(fresh)
            nodes = [] if quantifier == "?" else list(fresh)
        return list(result)

    return follow
