# SPDX-License-Identifier: Apache-2.0
"""Making quads by hand, for what a publication says of itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import RDF, XSD

Value = Any


def node(iri: str) -> ox.NamedNode:
    """An IRI."""
    return ox.NamedNode(iri)


def text(value: str, language: str | None = None) -> ox.Literal:
    """A text; lone surrogates, which no RDF can carry, become visible."""
    whole = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return ox.Literal(whole, language=language) if language else ox.Literal(whole)


def number(value: int) -> ox.Literal:
    """An integer that is not negative."""
    return ox.Literal(str(value), datatype=node(XSD.nonNegativeInteger))


def integer(value: int) -> ox.Literal:
    """An integer."""
    return ox.Literal(str(value), datatype=node(XSD.integer))


def moment(value: str) -> ox.Literal:
    """A date and time in ISO 8601."""
    return ox.Literal(value, datatype=node(XSD.dateTime))


def said(subject: Any, *pairs: tuple[str, Any]) -> list[ox.Quad]:
    """Quads about ``subject``; values that are ``None`` are passed over, plain texts are IRIs."""
    found = []
    for predicate, value in pairs:
        if value is None:
            continue
        term = node(value) if isinstance(value, str) else value
        found.append(ox.Quad(subject, node(predicate), term))
    return found


def typed(subject: Any, *kinds: str) -> list[ox.Quad]:
    """The classes of ``subject``."""
    return said(subject, *((RDF.type, kind) for kind in kinds))


def from_stamp(stamp: str) -> str:
    """The moment of a change stamp (nanoseconds since 1970), in ISO 8601 to the second."""
    seconds = int(stamp or 0) / 1e9
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
