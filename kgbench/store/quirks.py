# SPDX-License-Identifier: Apache-2.0
"""Deviations of servers from SPARQL 1.1, and how every client of kgbench handles them.

* Unusual, wrong or missing content types, and byte order marks (:func:`results`, :func:`triples`).
* Further members in JSON results, ``null`` for an unbound variable, and names of blank nodes that
  are no labels, such as ``nodeID://b1`` (:func:`plain`).
* The answer to ASK as a table of one cell, or as a bare word (:func:`boolean`).
* Temporary refusals: deadlocks, and a server that is starting (:func:`is_passing`).
* What only one kind of server does (:class:`Quirks`): a plug-in describes it.

Blank nodes would be duplicated if an update is sent twice, so a store has none. The content of the
default graph differs, so every query and update of kgbench names its graphs. Updates are answered
with any status from 200 to 299, with or without a body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import IO, Any, ClassVar

import pyoxigraph as ox

from kgbench import entry_points
from kgbench.errors import StoreError
from kgbench.rdf import number_text

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
_PASSING = re.compile(r"deadlock|\b40001\b|temporarily unavailable", re.IGNORECASE)  # 40001: SQL
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_PIECE = 1 << 20
_QUOTED = 150  # characters of a reply that cannot be read in a message
# JSON results that the engine reads: nothing after the rows but the head, and no null.
_ARRAY_END = re.compile(rb"\}\s*\]|\[\s*\]")
_PLAIN_END = re.compile(rb"\]\s*\}\s*(?:,\s*\"head\"\s*:\s*\{[^{}]*\}\s*)?\}\s*")
_ODD = re.compile(rb":\s*null\b|\"bnode\"")  # cells that may have a form of their own
_FAILED = re.compile(r"error|exception|fail|partial|truncat|incomplete|timeout", re.IGNORECASE)


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


def lexical(text: str) -> str:
    """Return the XSD form of a floating-point number; other texts are unchanged.

    >>> lexical("nan"), lexical("1e+300"), lexical("0.5"), lexical("-inf"), lexical("1.0E0")
    ('NaN', '1e+300', '0.5', '-INF', '1.0')
    """
    try:
        return number_text(float(text))
    except ValueError:
        return text


# --- what only one kind of server does --------------------------------------------------------

Again = Callable[[Sequence[str], Sequence[str]], dict[str, Any]]
"""Runs a SELECT query again for its variables and further columns; returns the JSON results."""


class Quirks:
    """What servers of one kind do otherwise than SPARQL 1.1; this class is that of all others.

    A plug-in has a subclass: the entry point in ``kgbench.stores`` whose name is the kind's
    ``skos:notation`` in a Turtle file of its folder ``store``.
    """

    truncating: ClassVar[Sequence[str]] = ()
    """Headers of a truncated answer."""
    limit: ClassVar[str] = "its limit of rows or time"
    """What to raise so that answers are complete."""
    rounds: ClassVar[bool] = False
    """Whether doubles in results and graphs are rounded."""

    def is_sender(self, headers: Mapping[str, str]) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether an answer with these headers, in lower case, is of such a server."""
        return False

    def corrected(self, content: bytes, again: Again) -> bytes:  # noqa: ARG002 - for subclasses
        """Return the JSON results of a SELECT query with the terms that the store has."""
        return content

    def truncation(self, status: int, headers: Mapping[str, str]) -> str | None:
        """Return how the status or the headers say that the answer is truncated, or ``None``."""
        lower = _lower(headers)
        names = {name: name.lower() for name in self.truncating}
        marks = [f"{name}: {lower[key]}" for name, key in names.items() if key in lower]
        if status == HTTPStatus.PARTIAL_CONTENT:
            marks.append(f"status {status:d}")
        if not marks:
            return None
        return f"cut its answer off ({', '.join(marks)}): raise {self.limit}, and try again"


_PLAIN = Quirks()


def of_kind(kind: str) -> Quirks:
    """Return the quirks of a kind of server."""
    return next((found for name, found in _known() if name == kind), _PLAIN)


def of_sender(headers: Mapping[str, str], otherwise: Quirks = _PLAIN) -> Quirks:
    """Return the quirks of the server that an answer says it is from, by default ``otherwise``."""
    lower = _lower(headers)
    return next((found for _, found in _known() if found.is_sender(lower)), otherwise)


def _known() -> Iterator[tuple[str, Quirks]]:
    for name in entry_points.names("kgbench.stores"):
        yield name, entry_points.load("kgbench.stores", name)()


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
