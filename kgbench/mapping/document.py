# SPDX-License-Identifier: Apache-2.0
"""The data model of mappings: triples maps, records and values of sources, and common names.

The common names for the vocabularies (RML core, the older RML, and R2RML) are those of RML core,
which covers the others, with ``tableName`` and ``sqlQuery`` of R2RML in addition.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, isnan
from typing import Final, NamedTuple, Protocol, TypeAlias

from kgbench.mapping.limits import MappingError
from kgbench.vocab import XSD, Namespace

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


RML: Final = Namespace("http://w3id.org/rml/")
OLD_RML: Final = Namespace("http://semweb.mmlab.be/ns/rml#")
R2RML: Final = Namespace("http://www.w3.org/ns/r2rml#")
OLD_QL: Final = Namespace("http://semweb.mmlab.be/ns/ql#")

_SHARED: Final = """
    subjectMap subject predicateObjectMap predicateMap predicate objectMap object graphMap graph
    class template constant termType datatype language parentTriplesMap joinCondition child parent
"""
_NAMES: Final = {
    RML: f"""{_SHARED} logicalSource source path root iterator referenceFormulation null reference
        datatypeMap languageMap childMap parentMap baseIRI query encoding compression""",
    OLD_RML: "logicalSource source iterator referenceFormulation reference query languageMap",
    R2RML: f"{_SHARED} logicalTable tableName sqlQuery sqlVersion column inverseExpression",
}
_RENAMED: Final = {"logicalTable": "logicalSource", "column": "reference", "query": "sqlQuery"}
_IGNORED: Final = frozenset({"sqlVersion", "inverseExpression"})
_KNOWN: Final = {
    f"{namespace}{name}": _RENAMED.get(name, name)
    for namespace, names in _NAMES.items()
    for name in names.split()
}
_FORMULATIONS: Final = {
    "CSV": "csv",
    "JSONPath": "json",
    "XPath": "xml",
    "SQL2008Table": "table",
    "SQL2008Query": "query",
    "SQL2008": "sql",
}
FORMULATION_OF: Final = {kind: name for name, kind in _FORMULATIONS.items()}
"""The local name of the reference formulation for each kind of source."""
_TERM_TYPES: Final = {
    name: name for name in ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode", "Literal")
}


def name_of(predicate: str) -> str | None:
    """Return the common name of a property; ``None`` if it is irrelevant to mappings.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the property is in one of the
    vocabularies but not supported.
    """
    known = _KNOWN.get(predicate)
    if known is not None:
        return None if known in _IGNORED else known
    if predicate.startswith((str(RML), str(OLD_RML), str(R2RML))):
        raise MappingError(f"<{predicate}> is no property of mappings that is supported here")
    return None


def formulation_of(iri: str) -> str:
    """Return the kind of source of a reference formulation, such as ``csv`` or ``table``.

    Raises :class:`~kgbench.mapping.limits.MappingError` if it is not supported.
    """
    return _local_name(iri, _FORMULATIONS, "reference formulation")


def term_type_of(iri: str) -> str:
    """Return the local name of a term type.

    Raises :class:`~kgbench.mapping.limits.MappingError` if it is not supported.
    """
    return _local_name(iri, _TERM_TYPES, "term type")


def is_default_graph(iri: str) -> bool:
    """Return whether an IRI stands for the default graph."""
    return iri in {f"{RML}defaultGraph", f"{R2RML}defaultGraph"}


def is_triples_map_class(iri: str) -> bool:
    """Return whether an IRI is the class of triples maps."""
    return iri in {f"{RML}TriplesMap", f"{R2RML}TriplesMap"}


def _local_name(iri: str, known: dict[str, str], kind: str) -> str:
    for namespace in (RML, OLD_QL, OLD_RML, R2RML):
        name = iri.removeprefix(str(namespace))
        if name != iri and name in known:
            return known[name]
    raise MappingError(f"<{iri}> is no {kind} that is supported here")
