# SPDX-License-Identifier: Apache-2.0
"""Helpers that make quads, for metadata and for statistics of data sets in VoID."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import RDF, VOID, XSD

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
