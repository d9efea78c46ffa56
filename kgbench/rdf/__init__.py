# SPDX-License-Identifier: Apache-2.0
"""RDF terms as text, a SPARQL lexer, and readers of declarations in Turtle files.

Here terms become N-Triples, and texts and numbers get canonical forms. kgbench records its data as
text, because a store (embedded or remote) takes a whole turn as one SPARQL update and parses it
natively. All escaping is done here, by pyoxigraph's serialiser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from datetime import UTC, datetime
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.vocab import RDF, XSD

_INTEGER = f"^^<{XSD.integer}>"
_DOUBLE = f"^^<{XSD.double}>"
_DATETIME = f"^^<{XSD.dateTime}>"
_BOOLEAN = f"^^<{XSD.boolean}>"
_JSON = ox.NamedNode(RDF.JSON)


class Text(NamedTuple):
    """A text that RDF can represent; ``original`` is the base64 of the original if it differs."""

    value: str
    original: str | None


def iri(value: str) -> str:
    """Return ``<value>``; raises :class:`ValueError` unless it is an absolute IRI."""
    return str(ox.NamedNode(value))


def string(value: str) -> str:
    """Return an ``xsd:string`` literal; ``value`` must not have lone surrogates."""
    return str(ox.Literal(value))


def integer(value: int) -> str:
    """Return an ``xsd:integer`` literal."""
    return f'"{value}"{_INTEGER}'


def decimal(value: str) -> str:
    """Return an ``xsd:decimal`` literal; ``value`` is digits with at most one point."""
    return f'"{value}"^^<{XSD.decimal}>'


def double(value: float) -> str:
    """Return an ``xsd:double`` literal in shortest round-trip form."""
    return f'"{number_text(value)}"{_DOUBLE}'


def boolean(value: bool) -> str:
    """Return an ``xsd:boolean`` literal."""
    return f'"{"true" if value else "false"}"{_BOOLEAN}'


def moment(value: datetime) -> str:
    """Return an ``xsd:dateTime`` literal; aware times are converted to UTC, naive ones kept."""
    if value.tzinfo is not None:
        return f'"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"{_DATETIME}'
    return f'"{value.isoformat()}"{_DATETIME}'


def json_literal(value: Json) -> str:
    """Return a canonical ``rdf:JSON`` literal (see :func:`canonical_json`)."""
    return str(ox.Literal(canonical_json(value), datatype=_JSON))


def canonical_json(value: Json) -> str:
    r"""Serialise ``value`` as JSON with sorted keys, without blanks, and in ASCII only.

    ASCII escapes preserve lone surrogates. Infinities and NaN, which JSON lacks, become the strings
    of XSD.

    >>> canonical_json({"b": 1, "a": "\ud800", "c": [float("inf")]})
    '{"a":"\\ud800","b":1,"c":["INF"]}'
    """
    try:
        return _canonical(value)
    except ValueError:
        return _canonical(_finite(value))


_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def _finite(value: Json) -> Json:
    """Replace infinities and NaN by strings, in objects and lists, too."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return number_text(value)
    return value


def number_text(value: float) -> str:
    """Return a number in the form of XSD, in shortest round-trip form.

    >>> number_text(0.1), number_text(float("-inf")), number_text(float("nan"))
    ('0.1', '-INF', 'NaN')
    """
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"


def digest(value: str) -> str:
    """Return the SHA-256 of a text, in hex; lone surrogates are encoded as three bytes each."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def storable(value: str) -> Text:
    """Replace lone surrogates by U+FFFD, and keep the original if that changes the text.

    The original is the base64 of the UTF-8 bytes with surrogates passed through
    (:func:`original_text` reverses it).
    """
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raw = value.encode("utf-8", "surrogatepass")
        visible = "".join("�" if "\ud800" <= c <= "\udfff" else c for c in value)
        return Text(visible, base64.b64encode(raw).decode("ascii"))
    return Text(value, None)


def original_text(value: str, original: str | None) -> str:
    """Return the text that was passed to :func:`storable`."""
    if original is None:
        return value
    return base64.b64decode(original).decode("utf-8", "surrogatepass")
