# SPDX-License-Identifier: Apache-2.0
"""Deviations of servers from SPARQL 1.1, and how they are handled.

* Unusual or missing content types, other charsets (:func:`results`, :func:`triples`).
* The answer to ASK as a table of one cell, or as a bare word (:func:`boolean`).
* Unusual forms of typed literals: booleans as 0 and 1, doubles as ``1e+300`` or ``nan``, plain text
  as ``xsd:string`` (:func:`tidy`); and doubles rounded to six digits, which are queried again with
  all digits (:func:`rounded`, :func:`exact`).
* Results truncated at a limit of the server, with a status of success (:func:`refuse_partial`).
* Temporary refusals: deadlocks, and a server that is starting (:func:`is_passing`).

Blank nodes would be duplicated if an update is sent twice, so a store has none. The content of the
default graph differs, so every query and update of kgbench names its graphs. Updates are answered
with any status from 200 to 299, with or without a body.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import IO, Any

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.rdf import number_text
from kgbench.vocab import XSD

_RESULTS = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "application/xml": ox.QueryResultsFormat.XML,
    "text/xml": ox.QueryResultsFormat.XML,
    "text/tab-separated-values": ox.QueryResultsFormat.TSV,
}
_GRAPHS = {
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "text/plain": ox.RdfFormat.N_TRIPLES,
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/turtle": ox.RdfFormat.TURTLE,
    "application/x-turtle": ox.RdfFormat.TURTLE,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}
ACCEPT_GRAPH = "application/n-triples, text/turtle;q=0.5, application/rdf+xml;q=0.2"
ACCEPT_JSON = "application/sparql-results+json"
ACCEPT_TSV = "text/tab-separated-values, application/sparql-results+json;q=0.5"
_TEXT_BOOLEAN = re.compile(rb"\s*(true|false|yes|no)\s*", re.IGNORECASE)
_PASSING = re.compile(r"deadlock|\b40001\b|SR172|temporarily unavailable", re.IGNORECASE)
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_PIECE = 1 << 20
_CUT = ("X-SPARQL-MaxRows", "X-SQL-State", "X-Exec-Partial")
_DIGIT = re.compile(r"\d")
_TYPED = re.compile(rb"XMLSchema#(?:boolean|double|float)")


def media(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the media type and charset of an answer; the defaults are "" and UTF-8."""
    claimed = headers.get("content-type", "")
    kind, _, parameters = claimed.partition(";")
    charset = re.search(r"charset\s*=\s*\"?([\w.-]+)", parameters, re.IGNORECASE)
    return kind.strip().lower(), "utf-8" if charset is None else charset[1].lower()


def to_utf8(body: IO[bytes], charset: str) -> IO[bytes]:
    """Return ``body`` in UTF-8."""
    if charset in ("utf-8", "utf8", "us-ascii", "ascii"):
        return body
    try:
        return io.BytesIO(body.read().decode(charset).encode("utf-8"))
    except (LookupError, UnicodeDecodeError) as error:
        raise StoreError(f"the server's answer is not {charset}, as it says: {error}") from None


def results(
    headers: Mapping[str, str], requested_format: ox.QueryResultsFormat
) -> ox.QueryResultsFormat:
    """Return the format of an answer to SELECT or ASK: the claimed one, if it is known."""
    return _RESULTS.get(media(headers)[0], requested_format)


def triples(headers: Mapping[str, str]) -> ox.RdfFormat:
    """Return the format of a graph."""
    return _GRAPHS.get(media(headers)[0], ox.RdfFormat.N_TRIPLES)


def refuse_entities(body: IO[bytes]) -> None:
    """Raise :class:`ValueError` if RDF/XML declares entities, whose expansion may be endless.

    The engine's parser expands entities without a limit. The position in ``body`` is restored.
    """
    begin, rest = body.tell(), b""
    while piece := body.read(_PIECE):
        if _ENTITY.search(rest + piece):
            raise ValueError("it is RDF/XML that declares entities, which are never resolved")
        rest = piece[-len(b"<!ENTITY") :]
    body.seek(begin)


def refuse_partial(headers: Mapping[str, str]) -> None:
    """Raise :class:`StoreError` if the headers say that the server truncated its answer."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name in _CUT:
        if name.lower() in lower:
            raise StoreError(
                f"the server cut its answer off ({name}: {lower[name.lower()]}): "
                "raise its limit of rows or time (Virtuoso: ResultSetMaxRows), and try again"
            )


def is_passing(text: str) -> bool:
    """Return whether a refusal (status 500 with this text) is temporary."""
    return _PASSING.search(text) is not None


def boolean(content: bytes, form: ox.QueryResultsFormat) -> ox.QueryBoolean:
    """Parse the answer to ASK, in any of its forms."""
    word = _TEXT_BOOLEAN.fullmatch(content)
    if word is not None:
        return _boolean(word[1].lower() in (b"true", b"yes"))
    result = ox.parse_query_results(content, form)
    if isinstance(result, ox.QueryBoolean):
        return result
    match [list(row) for row in result]:
        case []:
            return _boolean(value=False)
        case [[ox.Literal() as cell, *_]]:
            return _boolean(cell.value.lower() in ("1", "true"))
    raise StoreError("the server's answer to ASK is no boolean")


def _boolean(value: bool) -> ox.QueryBoolean:
    text = json.dumps({"head": {}, "boolean": value}).encode("ascii")
    result = ox.parse_query_results(text, ox.QueryResultsFormat.JSON)
    assert isinstance(result, ox.QueryBoolean)
    return result


# --- literals in JSON results ---------------------------------------------------------------------


def is_typed(content: bytes) -> bool:
    """Return whether JSON results have literals whose form may need correction."""
    return _TYPED.search(content) is not None


def tidy(document: dict[str, Any]) -> None:
    """Correct the lexical forms of booleans, doubles and floats in a JSON result, in place."""
    for row in document["results"]["bindings"]:
        for cell in row.values():
            datatype = cell.get("datatype")
            if datatype == XSD.boolean:
                cell["value"] = {"0": "false", "1": "true"}.get(cell["value"], cell["value"])
            elif datatype in (XSD.double, XSD.float):
                cell["value"] = lexical(cell["value"])


def lexical(text: str) -> str:
    """Return the XSD form of a floating-point number; other texts are unchanged.

    >>> lexical("nan"), lexical("1e+300"), lexical("0.5"), lexical("-inf"), lexical("1.0E0")
    ('NaN', '1e+300', '0.5', '-INF', '1.0')
    """
    try:
        return number_text(float(text))
    except ValueError:
        return text


def rounded(document: dict[str, Any]) -> list[str]:
    """Return the variables with finite doubles, which the server may have rounded.

    The text does not show it: with six digits, 1.0000000000000002 is written as 1.
    """
    names = set()
    for row in document["results"]["bindings"]:
        for name, cell in row.items():
            is_double = name not in names and cell.get("datatype") == XSD.double
            if is_double and _DIGIT.search(cell["value"]):
                names.add(name)
    return sorted(names)


def exact(document: dict[str, Any], names: Sequence[str], mark: str) -> None:
    """Replace rounded doubles by the values of the extra columns (name and ``mark``), in place."""
    for row in document["results"]["bindings"]:
        for name in names:
            text = row.pop(name + mark, {}).get("value")
            if text and row.get(name, {}).get("datatype") == XSD.double:
                row[name]["value"] = text
    heads = document["head"]["vars"]
    heads[:] = [name for name in heads if not name.endswith(mark)]
