# SPDX-License-Identifier: Apache-2.0
"""Reader of mappings from triples in RML core, the older RML, or R2RML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.mapping import document
from kgbench.mapping.document import (
    BLANK,
    IRI,
    LITERAL,
    Expression,
    LogicalSource,
    PredicateObjectMap,
    Reference,
    TermMap,
    TriplesMap,
)
from kgbench.mapping.limits import MappingError
from kgbench.vocab import RDF

_EXPRESSIONS: Final = ("template", "reference", "constant")
_ROOTS: Final = frozenset({"MappingDirectory", "CurrentWorkingDirectory"})
_USUAL: Final = {"encoding": "UTF-8", "compression": "none"}
"""What a mapping may say about the files, which are given as texts."""
_KINDS_WITH_ITERATOR: Final = frozenset({"json", "xml"})

Node = object
Properties = dict[str, list[Node]]


def triples_maps(triples: Iterable[ox.Triple]) -> list[TriplesMap]:
    """Read the triples maps of a mapping, in the order of their first triples.

    Raises :class:`~kgbench.mapping.limits.MappingError` if there is none, or if the mapping is
    ill-formed.
    """
    reader = _Reader(triples)
    maps = [reader.triples_map(node) for node in reader.maps()]
    if not maps:
        raise MappingError("there is no triples map in the mapping")
    names = {triples_map.name for triples_map in maps}
    for triples_map in maps:
        for part in triples_map.parts:
            for object_map in part.objects:
                if isinstance(object_map, Reference) and object_map.parent not in names:
                    raise MappingError(
                        f"{triples_map.name} refers to {object_map.parent}, which is no triples map"
                    )
    return maps


class _Reader:
    """A reader of a mapping, with the properties of each node by their common names."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._properties: dict[Node, Properties] = {}
        self._maps: dict[Node, None] = {}
        for triple in triples:
            if triple.predicate.value == RDF.type:
                if isinstance(triple.object, ox.NamedNode) and document.is_triples_map_class(
                    triple.object.value
                ):
                    self._maps[triple.subject] = None
                continue
            name = document.name_of(triple.predicate.value)
            if name is not None:
                self._properties.setdefault(triple.subject, {}).setdefault(name, []).append(
                    triple.object
                )
                if name == "logicalSource":
                    self._maps[triple.subject] = None

    def maps(self) -> Iterable[Node]:
        return self._maps

    def triples_map(self, node: Node) -> TriplesMap:
        base = self._optional(node, "baseIRI")
        subject, classes, graphs = self._subject(node)
        return TriplesMap(
            str(node),
            self._source(self._one(node, "logicalSource")),
            subject,
            classes,
            graphs,
            tuple(map(self._part, self._all(node, "predicateObjectMap"))),
            None if base is None else _text(base),
        )

    # Sources

    def _source(self, node: Node) -> LogicalSource:
        formulation = self._optional(node, "referenceFormulation")
        kind = "sql" if formulation is None else document.formulation_of(_iri(formulation))
        table, query = self._optional(node, "tableName"), self._optional(node, "sqlQuery")
        iterator = self._optional(node, "iterator")
        if table is not None or query is not None:
            if table is not None and query is not None:
                raise MappingError(f"{node} has both a table and a query")
            return LogicalSource("query" if table is None else "table", _text(query or table))
        if kind in {"table", "query"}:
            return LogicalSource(kind, _text(self._one(node, "iterator")))
        if formulation is None:
            raise MappingError(f"{node} has neither a reference formulation, nor a table or query")
        if kind == "sql":
            raise MappingError(f"{node} has neither a table nor a query")
        if kind in _KINDS_WITH_ITERATOR and iterator is None:
            raise MappingError(f"{node} lacks an iterator")
        source = self._one(node, "source")
        for name, usual in _USUAL.items():
            value = self._optional(source, name)
            if value is None:
                continue
            if re.split("[/#]", _text(value))[-1].casefold() != usual.casefold():
                raise MappingError(
                    f"{value} is no {name} of the sources: it is {usual} for all of them"
                )
        nulls = {_text(null) for holder in (node, source) for null in self._all(holder, "null")}
        path = None if iterator is None else _text(iterator)
        return LogicalSource(kind, self._file(source), path, frozenset(nulls))

    def _file(self, source: Node) -> str:
        """Return the name of the file of a source, given as a literal or by a relative path."""
        if isinstance(source, ox.Literal):
            return source.value
        root = self._optional(source, "root")
        if root is not None and _iri(root).rpartition("/")[2] not in _ROOTS:
            raise MappingError(f"{root} is no place where files of the mapping are")
        path = self._optional(source, "path")
        if path is None:
            raise MappingError(f"names a source that the case does not have: {source}")
        return _text(path)

    # Terms

    def _subject(self, node: Node) -> tuple[TermMap, tuple[str, ...], tuple[TermMap, ...]]:
        maps, constants = self._all(node, "subjectMap"), self._all(node, "subject")
        if len(maps) + len(constants) != 1:
            number = len(maps) + len(constants)
            raise MappingError(f"{node} has {number} subject maps: exactly one is needed")
        if constants:
            return _constant(constants[0]), (), ()
        subject = self._term_map(maps[0], IRI)
        if subject.term_type == LITERAL:
            raise MappingError(f"the subjects of {node} would be literals")
        classes = tuple(f"<{_iri(cls)}>" for cls in self._all(maps[0], "class"))
        return subject, classes, self._graphs(maps[0])

    def _part(self, node: Node) -> PredicateObjectMap:
        predicates = [self._term_map(inner, IRI) for inner in self._all(node, "predicateMap")]
        predicates += map(_constant, self._all(node, "predicate"))
        objects = [self._object(inner) for inner in self._all(node, "objectMap")]
        objects += map(_constant, self._all(node, "object"))
        if not predicates or not objects:
            raise MappingError(f"{node} lacks a {'object' if predicates else 'predicate'} map")
        if any(predicate.term_type in {LITERAL, BLANK} for predicate in predicates):
            raise MappingError(f"the predicates of {node} would be no IRIs")
        return PredicateObjectMap(tuple(predicates), tuple(objects), self._graphs(node))

    def _graphs(self, node: Node) -> tuple[TermMap, ...]:
        graphs = [self._term_map(graph, IRI) for graph in self._all(node, "graphMap")]
        graphs += map(_constant, self._all(node, "graph"))
        if any(graph.term_type == LITERAL for graph in graphs):
            raise MappingError(f"the graphs of {node} would be literals")
        return tuple(graphs)

    def _object(self, node: Node) -> TermMap | Reference:
        parent = self._optional(node, "parentTriplesMap")
        if parent is None:
            return self._term_map(node, None)
        joins = [
            (self._side(condition, "child"), self._side(condition, "parent"))
            for condition in self._all(node, "joinCondition")
        ]
        return Reference(str(parent), tuple(joins))

    def _side(self, node: Node, name: str) -> Expression:
        """Read one side of a join condition."""
        known = self._optional(node, name)
        if known is not None:
            return Expression(reference=_text(known))
        expression = self._expression(self._one(node, f"{name}Map"))
        if expression == Expression():
            raise MappingError(f"the join condition {node} lacks a {name}")
        return expression

    def _term_map(self, node: Node, default: str | None) -> TermMap:
        """Read a term map; without a ``default``, its properties decide the type of the terms."""
        expression = self._expression(node)
        language, datatype = (self._short(node, name) for name in ("language", "datatype"))
        if language is not None and datatype is not None:
            raise MappingError(f"{node} has both a language and a datatype")
        declared = self._optional(node, "termType")
        kind = None if declared is None else document.term_type_of(_iri(declared))
        if expression.constant is not None:
            own = _kind(expression.constant)
            if kind not in {None, own} or own == BLANK:
                raise MappingError(
                    f"the constant {expression.constant} of {node} is no {kind or IRI}"
                )
            kind = own
        elif expression == Expression() and kind != BLANK:
            raise MappingError(f"{node} has no template, reference or constant")
        if kind is None:
            typed = language is not None or datatype is not None
            by_value = expression.reference is not None
            kind = default or (LITERAL if by_value or typed else IRI)
        if kind != LITERAL and (language is not None or datatype is not None):
            raise MappingError(f"{node} has a language or datatype, but makes no literals")
        return TermMap(expression, kind, language, datatype)

    def _short(self, node: Node, name: str) -> Expression | None:
        """Read the language or datatype of a term map, from its map or its constant."""
        constant, map_node = self._optional(node, name), self._optional(node, f"{name}Map")
        if constant is None:
            return None if map_node is None else self._expression(map_node)
        return Expression(constant=str(constant))

    def _expression(self, node: Node) -> Expression:
        values = {name: self._optional(node, name) for name in _EXPRESSIONS}
        present = {name: value for name, value in values.items() if value is not None}
        if len(present) > 1:
            raise MappingError(f"{node} has more than one of: {', '.join(present)}")
        for name, value in present.items():
            text = str(value) if name == "constant" else _text(value)
            return Expression(**{name: text})
        return Expression()

    # Properties

    def _all(self, node: Node, name: str) -> Sequence[Node]:
        return self._properties.get(node, {}).get(name, ())

    def _optional(self, node: Node, name: str) -> Node | None:
        values = self._all(node, name)
        if len(values) > 1:
            raise MappingError(f"{node} has {len(values)} values of {name}: one is allowed")
        return values[0] if values else None

    def _one(self, node: Node, name: str) -> Node:
        value = self._optional(node, name)
        if value is None:
            raise MappingError(f"{node} has no {name}")
        return value


def _constant(node: Node) -> TermMap:
    term = str(node)
    if _kind(term) == BLANK:
        raise MappingError(f"the constant {term} is a blank node")
    return TermMap(Expression(constant=term), _kind(term))


def _kind(term: str) -> str:
    return LITERAL if term.startswith('"') else IRI if term.startswith("<") else BLANK


def _text(node: Node) -> str:
    if isinstance(node, ox.Literal | ox.NamedNode):
        return node.value
    raise MappingError(f"{node} should be a text")


def _iri(node: Node) -> str:
    if isinstance(node, ox.NamedNode):
        return node.value
    raise MappingError(f"{node} should be an IRI")
