# SPDX-License-Identifier: Apache-2.0
"""What a mapping says: its triples maps, read from the triples of its document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

IRI, BLANK, LITERAL = "IRI", "BlankNode", "Literal"


@dataclass(frozen=True, slots=True)
class Expression:
    """What a term is made of; without any of these, a fresh blank node.

    ``constant`` is a term as N-Triples write it.
    """

    template: str | None = None
    reference: str | None = None
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class TermMap:
    """An expression, and the kind of terms that it makes."""

    expression: Expression
    term_type: str
    language: Expression | None = None
    datatype: Expression | None = None


@dataclass(frozen=True, slots=True)
class LogicalSource:
    """Which source is read, how (``csv``, ``json``, ``xml``, ``table``, ``query``), and what of it.

    ``name`` is that of a file or table, or a query; ``nulls`` are texts that say nothing.
    """

    kind: str
    name: str
    iterator: str | None = None
    nulls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that is the subject of another triples map, where the pairs of values agree."""

    parent: str
    joins: tuple[tuple[Expression, Expression], ...]


ObjectMap: TypeAlias = TermMap | Reference


@dataclass(frozen=True, slots=True)
class PredicateObjectMap:
    """Predicates, objects and graphs of triples."""

    predicates: tuple[TermMap, ...]
    objects: tuple[ObjectMap, ...]
    graphs: tuple[TermMap, ...]


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """What is said of each record of a source; ``name`` is the node of the document."""

    name: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[str, ...]
    graphs: tuple[TermMap, ...]
    parts: tuple[PredicateObjectMap, ...]
    base: str | None
