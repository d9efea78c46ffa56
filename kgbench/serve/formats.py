# SPDX-License-Identifier: Apache-2.0
"""The formats of answers: media types as clients ask for them, names as the engine knows them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

from kgbench.serve.negotiation import LONGEST, choose


class Format(NamedTuple):
    """A format: its name (and suffix), the media type that is sent, and those that ask for it."""

    name: str
    media: str
    asked: tuple[str, ...]

    @property
    def content_type(self) -> str:
        """The Content-Type header; text is always UTF-8."""
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
HTML = Format("html", "text/html", ("text/html", "application/xhtml+xml"))
_BY_NAME = {one.name: one for one in (*SOLUTIONS, *GRAPHS)}


def named(name: str) -> Format:
    """The format called ``name``; :class:`KeyError` where there is none."""
    return _BY_NAME[name]


@lru_cache(maxsize=512)
def _negotiate(accept: str | None, offered: tuple[Format, ...]) -> Format | None:
    # Other names of a format count where they are named; a wildcard means the first.
    named_there = (accept or "").lower()
    known = [
        asked
        for one in offered
        for asked in one.asked
        if asked == one.media or asked in named_there
    ]
    media = choose(accept, known)
    return next((one for one in offered if media in one.asked), None)


def negotiate(
    accept: str | None, offered: tuple[Format, ...], wanted: str | None = None
) -> Format | None:
    """The format to answer in, or ``None`` where the client can read none of those offered.

    ``wanted`` is a name or media type that a request names itself; it goes before the header where
    it is known (clients send names of their own making).
    """
    by_name = (f for f in offered if wanted and (wanted == f.name or wanted in f.asked))
    if found := next(by_name, None):
        return found
    return _negotiate(None if accept is None else accept[:LONGEST], offered)


def engine_format(name: str) -> Any:
    """The format called ``name`` as pyoxigraph knows it."""
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
