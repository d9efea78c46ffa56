# SPDX-License-Identifier: Apache-2.0
"""Formats of answers: names, media types, formats of pyoxigraph, and the choice among them.

The Accept header is read as RFC 9110 says (section 12.5.1).

>>> [negotiate(accept, SOLUTIONS).name for accept in ("text/csv;q=0.5, */*", "text/*", None)]
['json', 'csv', 'json']
>>> negotiate("image/png", SOLUTIONS) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyoxigraph as ox

_LONGEST = 4_096  # characters of the header that are read
_MOST_RANGES = 64


class Format(NamedTuple):
    """A format: its name and suffix, and its media types, the first that of responses."""

    name: str
    media_types: tuple[str, ...]

    @property
    def media(self) -> str:
        """The media type of responses."""
        return self.media_types[0]

    @property
    def content_type(self) -> str:
        """The value of the Content-Type header; text is always UTF-8."""
        return f"{self.media}; charset=utf-8" if self.media.startswith("text/") else self.media


SOLUTIONS = (
    Format("json", ("application/sparql-results+json", "application/json")),
    Format("xml", ("application/sparql-results+xml", "application/xml", "text/xml")),
    Format("csv", ("text/csv",)),
    Format("tsv", ("text/tab-separated-values",)),
)
GRAPHS = (
    Format("ttl", ("text/turtle", "application/x-turtle")),
    Format("nt", ("application/n-triples", "text/plain")),
    Format("jsonld", ("application/ld+json", "application/json")),
    Format("rdf", ("application/rdf+xml", "application/xml", "text/xml")),
    Format("nq", ("application/n-quads",)),
    Format("trig", ("application/trig", "application/x-trig")),
)
#: The formats of pyoxigraph by name.
ENGINE: dict[str, Any] = {
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
NO_TRIPLE_TERMS = (
    "the answer has triple terms, which JSON-LD cannot express: request another format, such as "
    "text/turtle"
)
HTML = Format("html", ("text/html", "application/xhtml+xml"))
BY_NAME = {form.name: form for form in (*SOLUTIONS, *GRAPHS)}


class _Range(NamedTuple):
    kind: str
    subkind: str
    quality: float


def negotiate(
    accept: str | None, offered: tuple[Format, ...], wanted: str | None = None
) -> Format | None:
    """Choose the format of a response; ``None`` if the client accepts none of those offered.

    Without a header, everything is acceptable. At equal quality the more specific media range wins,
    then the server's order. Invalid media ranges are ignored. ``wanted`` is the name or media type
    in a ``format`` parameter. It takes precedence over the header, unless it is unknown.
    """
    matching = (f for f in offered if wanted and (wanted == f.name or wanted in f.media_types))
    return next(matching, None) or _negotiate((accept or "")[:_LONGEST].lower(), offered)


@lru_cache(maxsize=512)
def _negotiate(accept: str, offered: tuple[Format, ...]) -> Format | None:
    parts = accept.split(",")[:_MOST_RANGES]
    ranges = [parsed for part in parts if (parsed := _range(part))]
    if not ranges:
        return offered[0]
    best: tuple[float, int, int] = (0.0, 0, 0)
    chosen = None
    for index, form in enumerate(offered):
        for media in form.media_types:
            quality, precision = _quality(media, ranges)
            # Alternative media types only count if they are named; a wildcard means the first one.
            counts = quality > 0 and (media == form.media or media in accept)
            if counts and (quality, precision, -index) > best:
                best, chosen = (quality, precision, -index), form
    return chosen


def _range(part: str) -> _Range | None:
    media, *parameters = part.split(";")
    kind, slash, subkind = media.strip().partition("/")
    if not slash or not kind or not subkind or (kind == "*" and subkind != "*"):
        return None
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
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


def can_express(statement: Any, name: str) -> bool:
    """Return whether the format called ``name`` can express a triple or quad (of RDF 1.2)."""
    return name != "jsonld" or not isinstance(statement.object, ox.Triple)
