# SPDX-License-Identifier: Apache-2.0
"""Quads in memory: serialised with triple terms, found by pattern, and made for metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Protocol, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import RDF, VOID, XSD

OPENS: Final = "<<("
CLOSES: Final = ")>>"


def cells(*terms: Any, leaf: Callable[[Any], str] = str) -> Iterator[str]:
    """Yield terms in N-Triples 1.2, with the parts and brackets of triple terms separately.

    ``leaf`` serialises terms that are not triple terms.

    >>> list(cells(ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.Literal("c"))))
    ['<<(', '<urn:a>', '<urn:b>', '"c"', ')>>']
    """
    open_ = list(reversed(terms))
    while open_:
        term = open_.pop()
        if isinstance(term, ox.Triple):
            yield OPENS
            open_ += [CLOSES, term.object, term.predicate, term.subject]
        else:
            yield term if term is CLOSES else leaf(term)


def to_ntriples(term: Any, leaf: Callable[[Any], str] = str) -> str:
    """Return a term in N-Triples 1.2."""
    return " ".join(cells(term, leaf=leaf))


Value = Any


def node(iri: str) -> ox.NamedNode:
    """Return an IRI."""
    return ox.NamedNode(iri)


def text(value: str, language: str | None = None) -> ox.Literal:
    """Return a string literal; lone surrogates, which RDF does not allow, are escaped."""
    clean = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return ox.Literal(clean, language=language) if language else ox.Literal(clean)


def integer(value: int) -> ox.Literal:
    """Return an ``xsd:integer``."""
    return ox.Literal(str(value), datatype=node(XSD.integer))


def moment(value: str) -> ox.Literal:
    """Return an ``xsd:dateTime`` from a date and time in ISO 8601."""
    return ox.Literal(value, datatype=node(XSD.dateTime))


def statements_about(subject: Any, *pairs: tuple[str, Any]) -> list[ox.Quad]:
    """Return quads about ``subject``; ``None`` values are skipped, plain strings are IRIs."""
    quads = []
    for predicate, value in pairs:
        if value is None:
            continue
        term = node(value) if isinstance(value, str) else value
        quads.append(ox.Quad(subject, node(predicate), term))
    return quads


def type_statements(subject: Any, *kinds: str) -> list[ox.Quad]:
    """Return quads with the classes of ``subject``."""
    return statements_about(subject, *((RDF.type, kind) for kind in kinds))


def from_stamp(stamp: str) -> str:
    """Return the time of a change stamp (nanoseconds since 1970) in ISO 8601, in seconds."""
    seconds = int(stamp or 0) / 1e9
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- statistics in VoID --------------------------------------------------------------------------


Facts = Mapping[str, Any]
"""``triples`` is a number; ``classes`` and ``properties`` map IRIs to numbers of uses."""


def void_totals(dataset: ox.NamedNode, facts: Facts) -> list[ox.Quad]:
    """Return quads with the totals of a data set."""
    return statements_about(
        dataset,
        (VOID.triples, integer(facts["triples"])),
        (VOID.classes, integer(len(facts["classes"]))),
        (VOID.properties, integer(len(facts["properties"]))),
    )


def void_partitions(dataset: ox.NamedNode, facts: Facts, base: str) -> list[ox.Quad]:
    """Return quads with a partition per class and property; their IRIs begin with ``base``."""
    quads = []
    for number, (iri, uses) in enumerate(sorted(facts["classes"].items())):
        part = node(f"{base}class-{number}")
        quads += statements_about(dataset, (VOID.classPartition, part))
        quads += statements_about(part, (VOID["class"], iri), (VOID.entities, integer(uses)))
    for number, (iri, uses) in enumerate(sorted(facts["properties"].items())):
        part = node(f"{base}property-{number}")
        quads += statements_about(dataset, (VOID.propertyPartition, part))
        quads += statements_about(part, (VOID.property, iri), (VOID.triples, integer(uses)))
    return quads


Properties: TypeAlias = Mapping[str, list[Any]]
"""The distinct values of each property of a subject, by the IRI of the property."""

Statements: TypeAlias = Mapping[str, Properties]
"""The properties of subjects, by :func:`name`."""

_SUBJECT = attrgetter("subject")


class Quads(Protocol):
    """What can be searched by pattern: a store, a data set or :class:`IndexedQuads`."""

    def quads_for_pattern(
        self, subject: Any, predicate: Any, value: Any, graph_name: Any = None, /
    ) -> Iterator[Any]:
        """Yield the quads that match a pattern; ``None`` matches everything."""


class LookUp(Protocol):
    """Statements that are looked up by the nodes (IRIs) in them, such as those of a store."""

    def about(self, nodes: Iterable[str], /) -> Iterator[Any]:
        """Yield the statements about nodes."""

    def referring(self, name: str, nodes: Iterable[str], /) -> Iterator[Any]:
        """Yield the statements with the property ``name`` whose values are among the nodes."""


class ByIndex:
    """Look-ups by the indexes of ``quads``."""

    def __init__(self, quads: Quads) -> None:
        self._quads = quads

    def about(self, nodes: Iterable[str]) -> Iterator[Any]:
        """See :class:`LookUp`."""
        for node in named(nodes):
            yield from self._quads.quads_for_pattern(node, None, None)

    def referring(self, name: str, nodes: Iterable[str]) -> Iterator[Any]:
        """See :class:`LookUp`."""
        predicate = ox.NamedNode(name)
        for node in named(nodes):
            yield from self._quads.quads_for_pattern(None, predicate, node)


def named(nodes: Iterable[str]) -> Iterator[ox.NamedNode]:
    """Yield the nodes with these IRIs, without what is no IRI and therefore occurs nowhere."""
    for node in nodes:
        with suppress(ValueError):
            yield ox.NamedNode(node)


class IndexedQuads:
    """Quads or triples in memory, indexed by subject; other indexes are made when needed.

    A look-up takes a tenth of the time that a store in memory needs, and literals keep their
    original form, which a store normalises. ``beneath`` has further quads, which are found as well.

    >>> import pyoxigraph as ox
    >>> a, b, p = (ox.NamedNode(f"urn:{name}") for name in "abp")
    >>> quads = IndexedQuads([ox.Quad(a, p, b), ox.Quad(b, p, a)])
    >>> [str(quad.subject) for quad in quads.quads_for_pattern(None, p, b)]
    ['<urn:a>']
    """

    def __init__(self, quads: Iterable[Any] = (), beneath: IndexedQuads | None = None) -> None:
        self._beneath = beneath
        self._by_subject: dict[Any, list[Any]] = {}
        self._by_predicate: dict[Any, list[Any]] = {}
        self._by_object: dict[Any, dict[Any, list[Any]]] = {}
        for subject, successive in groupby(quads, key=_SUBJECT):
            known = self._by_subject.setdefault(subject, [])
            known += successive

    def quads_for_pattern(
        self, subject: Any, predicate: Any, value: Any, graph_name: Any = None, /
    ) -> Iterator[Any]:
        """Yield the quads that match a pattern; ``None`` matches everything."""
        if subject is not None:
            found: Iterable[Any] = self._by_subject.get(subject, ())
            if predicate is not None:
                found = [quad for quad in found if quad.predicate == predicate]
            if value is not None:
                found = [quad for quad in found if quad.object == value]
        elif predicate is None:
            found = (quad for group in self._by_subject.values() for quad in group)
            if value is not None:
                found = (quad for quad in found if quad.object == value)
        elif value is None:
            found = self._with_predicate(predicate)
        else:
            found = self._with_object(predicate, value)
        for quad in found:
            if graph_name is None or quad.graph_name == graph_name:
                yield quad
        if self._beneath is not None:
            yield from self._beneath.quads_for_pattern(subject, predicate, value, graph_name)

    def _with_predicate(self, predicate: Any) -> list[Any]:
        if not self._by_predicate:
            for group in self._by_subject.values():
                for quad in group:
                    self._by_predicate.setdefault(quad.predicate, []).append(quad)
        return self._by_predicate.get(predicate, [])

    def _with_object(self, predicate: Any, value: Any) -> list[Any]:
        index = self._by_object.get(predicate)
        if index is None:
            index = self._by_object[predicate] = {}
            for quad in self._with_predicate(predicate):
                index.setdefault(quad.object, []).append(quad)
        return index.get(value, [])


def by_subject(quads: Iterable[ox.Quad]) -> Statements:
    """Return the properties of each subject, in the order of the quads."""
    index: dict[str, dict[str, dict[Any, None]]] = {}
    for subject, predicate, value, _ in quads:
        key = subject.value if isinstance(subject, ox.NamedNode) else name(subject)
        index.setdefault(key, {}).setdefault(predicate.value, {})[value] = None
    return {
        subject: {predicate: list(values) for predicate, values in properties.items()}
        for subject, properties in index.items()
    }


def name(term: Any) -> str:
    """Return the IRI of a named node, or the label of a blank node with ``_:`` before it."""
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else str(term.value)
