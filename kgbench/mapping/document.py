# SPDX-License-Identifier: Apache-2.0
"""The data model of mappings: triples maps, and the records and values of their sources."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, isnan
from typing import Final, NamedTuple, Protocol, TypeAlias

from kgbench.vocab import XSD

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


# --- values of sources ---------------------------------------------------------------------------


_DIGITS: Final = 17  # significant digits that distinguish all values of xsd:double


class Value(NamedTuple):
    """A value as text, with the datatype of its natural mapping (``None``: a plain string)."""

    text: str
    datatype: str | None = None

    @property
    def natural(self) -> str:
        """The lexical form of the natural mapping: canonical for xsd:double."""
        return canonical_double(self.text) if self.datatype == XSD.double else self.text


class Record(Protocol):
    """One item of an iteration: a row, an element, or a part of a JSON document."""

    @abstractmethod
    def values(self, reference: str) -> list[Value]:
        """Return the values of a reference in this record; empty if there is none.

        Raises :class:`~kgbench.mapping.limits.MappingError` if the reference is ill-formed.
        """


def canonical_double(text: str) -> str:
    """Return the canonical form of an ``xsd:double`` by XML Schema 1.0.

    >>> canonical_double("30"), canonical_double("0.015"), canonical_double("-inf")
    ('3.0E1', '1.5E-2', '-INF')
    """
    number = float(text)
    if not isfinite(number):
        return "NaN" if isnan(number) else "INF" if number > 0 else "-INF"
    if number == 0:
        return "0.0E0"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits)).rstrip("0")[:_DIGITS] or "0"
    power = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{power}"
