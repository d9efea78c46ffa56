# SPDX-License-Identifier: Apache-2.0
"""The data model of mappings: triples maps with their sources and term maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

IRI, BLANK, LITERAL = "IRI", "BlankNode", "Literal"


@dataclass(frozen=True, slots=True)
class Expression:
    """The expression of a term: a template, a reference or a constant.

    Without any of these, each evaluation gives a fresh blank node. ``constant`` is a term in
    N-Triples syntax.
    """

    template: str | None = None
    reference: str | None = None
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class TermMap:
    """An expression with the type of the terms that it produces."""

    expression: Expression
    term_type: str
    language: Expression | None = None
    datatype: Expression | None = None


@dataclass(frozen=True, slots=True)
class LogicalSource:
    """A source with its kind (``csv``, ``json``, ``xml``, ``table``, ``query``) and iterator.

    ``name`` is the name of a file or table, or the text of a query. ``nulls`` are texts that count
    as missing values.
    """

    kind: str
    name: str
    iterator: str | None = None
    nulls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that is the subject of another triples map, joined by pairs of expressions."""

    parent: str
    joins: tuple[tuple[Expression, Expression], ...]


ObjectMap: TypeAlias = TermMap | Reference


@dataclass(frozen=True, slots=True)
class PredicateObjectMap:
    """Maps for the predicates, objects and graphs of triples."""

    predicates: tuple[TermMap, ...]
    objects: tuple[ObjectMap, ...]
    graphs: tuple[TermMap, ...]


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """A triples map, applied to each record of its source; ``name`` is its node in the document."""

    name: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[str, ...]
    graphs: tuple[TermMap, ...]
    parts: tuple[PredicateObjectMap, ...]
    base: str | None
