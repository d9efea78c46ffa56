# SPDX-License-Identifier: Apache-2.0
"""Reading a mapping from its triples: RML core, the older RML, or R2RML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.mapping import vocabularies
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
_PLACES: Final = frozenset({"MappingDirectory", "CurrentWorkingDirectory"})
_KINDS_WITH_ITERATOR: Final = frozenset({"json", "xml"})

Node = object
Said = dict[str, list[Node]]


def triples_maps(triples: Iterable[ox.Triple]) -> list[TriplesMap]:
    """Return the triples maps of a mapping, in the order of their first triples.

    Raises :class:`~kgbench.mapping.limits.MappingError` if there is none, and for everything
    that a mapping may not say.
    """
    reader = _Reader(triples)
    found = [reader.triples_map(node) for node in reader.maps()]
    if not found:
        raise MappingError("there is no triples map in the mapping")
    names = {one.name for one in found}
    for each in found:
        for part in each.parts:
            for one in part.objects:
                if isinstance(one, Reference) and one.parent not in names:
                    raise MappingError(
                        f"{each.name} refers to {one.parent}, which is no triples map"
                    )
    return found


class _Reader:
    """The properties of each node of a mapping, by their common names."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._said: dict[Node, Said] = {}
        self._maps: dict[Node, None] = {}
        for triple in triples:
            if triple.predicate.value == RDF.type:
                if isinstance(triple.object, ox.NamedNode) and vocabularies.is_triples_map_class(
                    triple.object.value
                ):
                    self._maps[triple.subject] = None
                continue
            name = vocabularies.name_of(triple.predicate.value)
            if name is not None:
                self._said.setdefault(triple.subject, {}).setdefault(name, []).append(triple.object)
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
        kind = "sql" if formulation is None else vocabularies.formulation_of(_iri(formulation))
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
        nulls = {_text(one) for each in (node, source) for one in self._all(each, "null")}
        path = None if iterator is None else _text(iterator)
        return LogicalSource(kind, self._file(source), path, frozenset(nulls))

    def _file(self, source: Node) -> str:
        """Return the name of a file, as it is or as a path relative to the mapping."""
        if isinstance(source, ox.Literal):
            return source.value
        root = self._optional(source, "root")
        if root is not None and _iri(root).rpartition("/")[2] not in _PLACES:
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
        classes = tuple(f"<{_iri(one)}>" for one in self._all(maps[0], "class"))
        return subject, classes, self._graphs(maps[0])

    def _part(self, node: Node) -> PredicateObjectMap:
        predicates = [self._term_map(one, IRI) for one in self._all(node, "predicateMap")]
        predicates += map(_constant, self._all(node, "predicate"))
        objects = [self._object(one) for one in self._all(node, "objectMap")]
        objects += map(_constant, self._all(node, "object"))
        if not predicates or not objects:
            raise MappingError(f"{node} lacks a {'object' if predicates else 'predicate'} map")
        if any(one.term_type in {LITERAL, BLANK} for one in predicates):
            raise MappingError(f"the predicates of {node} would be no IRIs")
        return PredicateObjectMap(tuple(predicates), tuple(objects), self._graphs(node))

    def _graphs(self, node: Node) -> tuple[TermMap, ...]:
        found = [self._term_map(one, IRI) for one in self._all(node, "graphMap")]
        found += map(_constant, self._all(node, "graph"))
        if any(one.term_type == LITERAL for one in found):
            raise MappingError(f"the graphs of {node} would be literals")
        return tuple(found)

    def _object(self, node: Node) -> TermMap | Reference:
        parent = self._optional(node, "parentTriplesMap")
        if parent is None:
            return self._term_map(node, None)
        joins = [
            (self._side(one, "child"), self._side(one, "parent"))
            for one in self._all(node, "joinCondition")
        ]
        return Reference(str(parent), tuple(joins))

    def _side(self, node: Node, name: str) -> Expression:
        """One side of a join condition."""
        known = self._optional(node, name)
        if known is not None:
            return Expression(reference=_text(known))
        found = self._expression(self._one(node, f"{name}Map"))
        if found == Expression():
            raise MappingError(f"the join condition {node} lacks a {name}")
        return found

    def _term_map(self, node: Node, default: str | None) -> TermMap:
        """A term map; where no ``default`` is given, what it says decides on the kind of terms."""
        expression = self._expression(node)
        language, datatype = (self._short(node, name) for name in ("language", "datatype"))
        if language is not None and datatype is not None:
            raise MappingError(f"{node} has both a language and a datatype")
        said = self._optional(node, "termType")
        kind = None if said is None else vocabularies.term_type_of(_iri(said))
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
        """Return the language or datatype of a term map, by a map or a constant."""
        constant, of = self._optional(node, name), self._optional(node, f"{name}Map")
        if constant is None:
            return None if of is None else self._expression(of)
        return Expression(constant=str(constant))

    def _expression(self, node: Node) -> Expression:
        said = {name: self._optional(node, name) for name in _EXPRESSIONS}
        present = {name: value for name, value in said.items() if value is not None}
        if len(present) > 1:
            raise MappingError(f"{node} has more than one of: {', '.join(present)}")
        for name, value in present.items():
            text = str(value) if name == "constant" else _text(value)
            return Expression(**{name: text})
        return Expression()

    # Properties

    def _all(self, node: Node, name: str) -> Sequence[Node]:
        return self._said.get(node, {}).get(name, ())

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
    found = str(node)
    if _kind(found) == BLANK:
        raise MappingError(f"the constant {found} is a blank node")
    return TermMap(Expression(constant=found), _kind(found))


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
