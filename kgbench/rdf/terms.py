# SPDX-License-Identifier: Apache-2.0
"""Writing RDF terms as N-Triples, and the few rules about text and numbers that go with it.

What kgbench records is written as text, because a store (embedded or remote) takes a whole turn
as one SPARQL update and parses it natively. All escaping is done here, by the serialiser of
pyoxigraph, and nowhere else.
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
    """A text as a store can hold it; ``original`` is its base64 form where that differs."""

    value: str
    original: str | None

    @property
    def original_literal(self) -> str:
        """The original as an ``xsd:base64Binary`` literal; only where there is one."""
        return f'"{self.original}"^^<{XSD.base64Binary}>'


def iri(value: str) -> str:
    """``<value>``, after checking that it is an absolute IRI; :class:`ValueError` otherwise."""
    return str(ox.NamedNode(value))


def string(value: str) -> str:
    """A plain ``xsd:string`` literal, without lone surrogates (see :func:`storable`)."""
    return str(ox.Literal(value))


def integer(value: int) -> str:
    """An ``xsd:integer`` literal."""
    return f'"{value}"{_INTEGER}'


def decimal(value: str) -> str:
    """An ``xsd:decimal`` literal; ``value`` is digits with at most one point."""
    return f'"{value}"^^<{XSD.decimal}>'


def double(value: float) -> str:
    """An ``xsd:double`` literal in shortest round-trip form; NaN and infinities as in XSD."""
    return f'"{number_text(value)}"{_DOUBLE}'


def boolean(value: bool) -> str:
    """An ``xsd:boolean`` literal."""
    return f'"{"true" if value else "false"}"{_BOOLEAN}'


def moment(value: datetime) -> str:
    """An ``xsd:dateTime`` literal; aware times are written in UTC, naive ones as they are."""
    if value.tzinfo is not None:
        return f'"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"{_DATETIME}'
    return f'"{value.isoformat()}"{_DATETIME}'


def json_literal(value: Json) -> str:
    """A canonical ``rdf:JSON`` literal (see :func:`canonical_json`)."""
    return str(ox.Literal(canonical_json(value), datatype=_JSON))


def canonical_json(value: Json) -> str:
    r"""``value`` as JSON with sorted keys, no blanks and ASCII only, so that any text survives.

    JSON has neither infinities nor NaN; they become the texts that XSD has for them.

    >>> canonical_json({"b": 1, "a": "\ud800", "c": [float("inf")]})
    '{"a":"\\ud800","b":1,"c":["INF"]}'
    """
    try:
        return _canonical(value)
    except ValueError:
        return _canonical(_finite(value))


def _canonical(value: Json) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _finite(value: Json) -> Json:
    """``value`` with infinities and NaN as texts, in objects and lists too."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return number_text(value)
    return value


def number_text(value: float) -> str:
    """A number as XSD writes it, in shortest round-trip form.

    >>> number_text(0.1), number_text(float("-inf")), number_text(float("nan"))
    ('0.1', '-INF', 'NaN')
    """
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"


def digest(value: str) -> str:
    """The SHA-256 of a text, in hex; lone surrogates count as their UTF-8-like three bytes."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def storable(value: str) -> Text:
    """``value`` with what Unicode cannot carry as U+FFFD, and the original where needed.

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
    """The text that :func:`storable` was given."""
    if original is None:
        return value
    return base64.b64decode(original).decode("utf-8", "surrogatepass")
