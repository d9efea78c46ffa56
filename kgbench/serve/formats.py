# SPDX-License-Identifier: Apache-2.0
"""Formats of answers: names, media types, formats of pyoxigraph, and the choice among them.

The Accept header is read as RFC 9110 says (section 12.5.1).

>>> choose("text/csv;q=0.5, application/json", ["text/csv", "application/json"])
'application/json'
>>> choose("text/*", ["application/json", "text/csv"])
'text/csv'
>>> choose("image/png", ["text/csv"]) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

LONGEST = 4_096  # characters of the header that are read
_MOST_RANGES = 64


class Format(NamedTuple):
    """A format: its name and suffix, the media type of responses, and the accepted media types."""

    name: str
    media: str
    accepted_types: tuple[str, ...]

    @property
    def content_type(self) -> str:
        """The value of the Content-Type header; text is always UTF-8."""
        return f"{self.media}; charset=utf-8" if self.media.startswith("text/") else self.media


SOLUTIONS = (
    Format(
        "json",
        "application/sparql-results+json",
        ("application/sparql-results+json", "application/json"),
    ),
    Format(
        "xml",
        "application/sparql-results+xml",
        ("application/sparql-results+xml", "application/xml", "text/xml"),
    ),
    Format("csv", "text/csv", ("text/csv",)),
    Format("tsv", "text/tab-separated-values", ("text/tab-separated-values",)),
)
GRAPHS = (
    Format("ttl", "text/turtle", ("text/turtle", "application/x-turtle")),
    Format("nt", "application/n-triples", ("application/n-triples", "text/plain")),
    Format("jsonld", "application/ld+json", ("application/ld+json", "application/json")),
    Format("rdf", "application/rdf+xml", ("application/rdf+xml", "application/xml", "text/xml")),
    Format("nq", "application/n-quads", ("application/n-quads",)),
    Format("trig", "application/trig", ("application/trig", "application/x-trig")),
)
NO_TRIPLE_TERMS = (
    "the answer has triple terms, which JSON-LD cannot express: request another format, such as "
    "text/turtle"
)
HTML = Format("html", "text/html", ("text/html", "application/xhtml+xml"))
_BY_NAME = {form.name: form for form in (*SOLUTIONS, *GRAPHS)}


def named(name: str) -> Format:
    """Return the format called ``name``; raises :class:`KeyError`."""
    return _BY_NAME[name]


@lru_cache(maxsize=512)
def _negotiate(accept: str | None, offered: tuple[Format, ...]) -> Format | None:
    # Alternative media types only count if they are named; a wildcard means the first one.
    header = (accept or "").lower()
    known = [
        media_type
        for form in offered
        for media_type in form.accepted_types
        if media_type == form.media or media_type in header
    ]
    media = choose(accept, known)
    return next((form for form in offered if media in form.accepted_types), None)


def negotiate(
    accept: str | None, offered: tuple[Format, ...], wanted: str | None = None
) -> Format | None:
    """Choose the format of a response; ``None`` if the client accepts none of those offered.

    ``wanted`` is the name or media type in a ``format`` parameter. It takes precedence over the
    Accept header, unless it is unknown.
    """
    matching = (f for f in offered if wanted and (wanted == f.name or wanted in f.accepted_types))
    if form := next(matching, None):
        return form
    return _negotiate(None if accept is None else accept[:LONGEST], offered)


def can_express(statement: Any, name: str) -> bool:
    """Return whether the format called ``name`` can express a triple or quad (of RDF 1.2)."""
    import pyoxigraph as ox

    return name != "jsonld" or not isinstance(statement.object, ox.Triple)


def engine_format(name: str) -> Any:
    """Return pyoxigraph's format for the format called ``name``."""
    return _engine_formats()[name]


@cache
def _engine_formats() -> dict[str, Any]:
    import pyoxigraph as ox

    return {
        "json": ox.QueryResultsFormat.JSON,
        "xml": ox.QueryResultsFormat.XML,
        "csv": ox.QueryResultsFormat.CSV,
        "tsv": ox.QueryResultsFormat.TSV,
        "ttl": ox.RdfFormat.TURTLE,
        "nt": ox.RdfFormat.N_TRIPLES,
        "jsonld": ox.RdfFormat.JSON_LD,
        "rdf": ox.RdfFormat.RDF_XML,
        "nq": ox.RdfFormat.N_QUADS,
        "trig": ox.RdfFormat.TRIG,
    }


class _Range(NamedTuple):
    kind: str
    subkind: str
    quality: float


def choose(accept: str | None, offered: Sequence[str]) -> str | None:
    """Choose the best of ``offered`` (in order of preference); ``None`` if none is acceptable.

    Without a header, everything is acceptable. At equal quality the more specific media range wins,
    then the server's order. Invalid media ranges are ignored.
    """
    if accept is None or not accept.strip():
        return offered[0]
    return _choose(accept[:LONGEST], tuple(offered))


def _choose(accept: str, offered: tuple[str, ...]) -> str | None:
    ranges = [parsed for part in accept.split(",")[:_MOST_RANGES] if (parsed := _range(part))]
    if not ranges:
        return offered[0]
    best: tuple[float, int, int] = (0.0, 0, 0)
    chosen = None
    for index, media in enumerate(offered):
        quality, precision = _quality(media, ranges)
        if quality > 0 and (quality, precision, -index) > best:
            best = (quality, precision, -index)
            chosen = media
    return chosen


def _range(part: str) -> _Range | None:
    media, *parameters = part.split(";")
    kind, slash, subkind = media.strip().lower().partition("/")
    if not slash or not kind or not subkind or (kind == "*" and subkind != "*"):
        return None
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                quality = float(value.strip())
            except ValueError:
                return None
            if not 0 <= quality <= 1:
                return None
    return _Range(kind, subkind, quality)


def _quality(media: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """Return the quality of ``media`` by the most specific matching range, and its specificity."""
    kind, _, subkind = media.partition("/")
    quality, precision = 0.0, -1
    for media_range in ranges:
        if media_range.kind not in ("*", kind) or media_range.subkind not in ("*", subkind):
            continue
        specific = (media_range.kind != "*") + (media_range.subkind != "*")
        if specific > precision:
            quality, precision = media_range.quality, specific
    return quality, precision
