# SPDX-License-Identifier: Apache-2.0
"""Deviations of servers from SPARQL 1.1, and how every client of kgbench handles them.

* Unusual, wrong or missing content types, and byte order marks (:func:`results`, :func:`triples`).
* Further members in JSON results, ``null`` for an unbound variable, and names of blank nodes that
  are no labels, such as ``nodeID://b1`` (:func:`plain`).
* The answer to ASK as a table of one cell, or as a bare word (:func:`boolean`).
* Unusual forms of typed literals: booleans as 0 and 1, doubles as ``1e+300`` or ``nan``, plain text
  as ``xsd:string`` (:func:`tidy`); and doubles rounded to six digits, which are queried again with
  all digits (:func:`rounded`, :func:`exact`).
* Results truncated at a limit of the server, with a status of success (:func:`truncation`).
* Temporary refusals: deadlocks, and a server that is starting (:func:`is_passing`).

Blank nodes would be duplicated if an update is sent twice, so a store has none. The content of the
default graph differs, so every query and update of kgbench names its graphs. Updates are answered
with any status from 200 to 299, with or without a body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
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
UNREADABLE = (
    *(SyntaxError, ValueError, LookupError, TypeError, AttributeError, RecursionError),
    MemoryError,  # pyoxigraph raises it for a term of more than 16 MiB
)
"""Errors that parsers raise for invalid answers."""
ACCEPT_GRAPH = "application/n-triples, text/turtle;q=0.5, application/rdf+xml;q=0.2"
ACCEPT_JSON = "application/sparql-results+json, application/sparql-results+xml;q=0.5"
ACCEPT_TSV = "text/tab-separated-values, application/sparql-results+json;q=0.5"
_TEXT_BOOLEAN = re.compile(rb"\s*(true|false|yes|no)\s*", re.IGNORECASE)
_PASSING = re.compile(r"deadlock|\b40001\b|SR172|temporarily unavailable", re.IGNORECASE)
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_PIECE = 1 << 20
_CUT = ("X-SPARQL-MaxRows", "X-SQL-State", "X-Exec-Partial")
_QUOTED = 150  # characters of a reply that cannot be read in a message
# JSON results that the engine reads: nothing after the rows but the head, and no null.
_ARRAY_END = re.compile(rb"\}\s*\]|\[\s*\]")
_PLAIN_END = re.compile(rb"\]\s*\}\s*(?:,\s*\"head\"\s*:\s*\{[^{}]*\}\s*)?\}\s*")
_ODD = re.compile(rb":\s*null\b|\"bnode\"")  # cells that may have a form of their own
_FAILED = re.compile(r"error|exception|fail|partial|truncat|incomplete|timeout", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_TYPED = re.compile(rb"XMLSchema#(?:boolean|double|float)")


def media(headers: Mapping[str, str]) -> str:
    """Return the media type of an answer, by default ""."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def results(
    headers: Mapping[str, str], body: IO[bytes], requested_format: ox.QueryResultsFormat
) -> ox.QueryResultsFormat:
    """Return the format of an answer to SELECT or ASK: what it looks like, or claims to be.

    Its first character tells JSON and XML, whatever the server claims; the position in ``body`` is
    restored. Raises :class:`ValueError` if the answer is empty, which some formats would read as a
    result without rows.
    """
    begin = body.tell()
    start = body.read(_PIECE >> 10)
    body.seek(begin)
    if not start:
        raise ValueError("it is empty")
    looks = {b"{": ox.QueryResultsFormat.JSON, b"<": ox.QueryResultsFormat.XML}
    claimed = _RESULTS.get(media(headers), requested_format)
    if claimed == ox.QueryResultsFormat.TSV:  # whose first cell may be an IRI
        return claimed
    return looks.get(start.lstrip()[:1], claimed)


def quoted(body: IO[bytes]) -> str:
    """Return the beginning of an answer that cannot be read, for a message."""
    body.seek(0)
    return " ".join(body.read(4 * _QUOTED).decode("utf-8", "replace").split())[:_QUOTED]


def plain(content: bytes) -> bytes:
    """Return JSON results without further members and ``null`` cells, which the engine refuses.

    Blank nodes get labels; equal names of blank nodes get equal ones. Raises :class:`ValueError` if
    a further member says that the query failed or was cut off, or if a member occurs twice.
    """
    if len(_ARRAY_END.findall(content)) == 1 and not _ODD.search(content):
        last = _PLAIN_END.search(content, content.rfind(b"]"))
        if last is not None and last.end() == len(content):
            return content
    document = json.loads(content, object_pairs_hook=_without_repetition)
    for member, value in [*document.items(), *document.get("results", {}).items()]:
        if _FAILED.search(member) and value:
            raise ValueError(f"its member '{member}' says: {value}")
    if "boolean" in document:
        return content
    if missing := [member for member in ("head", "results") if member not in document]:
        raise ValueError(f"it has no member '{missing[0]}'")
    head, table = document["head"], document["results"]
    meta = document.get("meta")
    whole = meta.get("result-size-total") if isinstance(meta, dict) else None  # QLever's
    if isinstance(whole, int) and whole > len(table["bindings"]):
        raise ValueError(f"it has {len(table['bindings']):,} of {whole:,} rows")
    bound = [
        {name: cell for name, cell in row.items() if cell is not None} for row in table["bindings"]
    ]
    _label([cell for row in bound for cell in row.values()])
    return json.dumps({"head": {"vars": head["vars"]}, "results": {"bindings": bound}}).encode()


def _label(cells: list[dict[str, Any]]) -> None:
    """Give labels to the blank nodes in cells, in place, and to those in their triple terms."""
    labels: dict[str, str] = {}
    for cell in cells:  # which grow
        if cell["type"] == "bnode":
            cell["value"] = labels.setdefault(cell["value"], f"b{len(labels)}")
        elif cell["type"] == "triple":
            cells += cell["value"].values()


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a JSON object has the same member twice")
    return members


def triples(headers: Mapping[str, str]) -> ox.RdfFormat:
    """Return the format of a graph."""
    return _GRAPHS.get(media(headers), ox.RdfFormat.N_TRIPLES)


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


def truncation(status: int, headers: Mapping[str, str]) -> str | None:
    """Return how the status or the headers say that the answer is truncated, or ``None``."""
    lower = {name.lower(): value for name, value in headers.items()}
    marks = [f"{name}: {lower[name.lower()]}" for name in _CUT if name.lower() in lower]
    if status == HTTPStatus.PARTIAL_CONTENT:
        marks.append(f"status {status:d}")
    if not marks:
        return None
    return (
        f"cut its answer off ({', '.join(marks)}): "
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
    is_json = form == ox.QueryResultsFormat.JSON
    result = ox.parse_query_results(plain(content) if is_json else content, form)
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
