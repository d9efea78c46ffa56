# SPDX-License-Identifier: Apache-2.0
"""Documents in JSON-LD, with a line for each node; IRIs are the only names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyoxigraph as ox

from kgbench.rdf.quads import Properties, by_subject, name
from kgbench.vocab import PREFIXES, RDF, XSD

_ALL_PREFIXES = {prefix: str(iri) for prefix, iri in PREFIXES.items()}
_MOST_KEPT = 2_000  # names with their prefixes
CLOSING = "\n]}\n"
"""The end of a JSON-LD document."""


def document(quads: Iterable[ox.Quad]) -> str:
    """Return a small graph as one JSON-LD document, with its context and a line for each node."""
    statements = list(quads)
    terms = Terms()
    terms.add(statements)
    return "".join((terms.opening(), *joined(lines(statements)), CLOSING))


class Terms:
    """Collects the prefixes of a JSON-LD document from its statements."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """Add the prefixes of some statements."""
        for node, properties in by_subject(quads).items():
            names = _names(_compacted(node, properties))
            self._used.update(short.partition(":")[0] for short in names)

    def opening(self) -> str:
        """Return the beginning of the document, with its context."""
        context = {
            prefix: _ALL_PREFIXES[prefix] for prefix in sorted(self._used & set(_ALL_PREFIXES))
        }
        return f'{{"@context": {json.dumps(context)}, "@graph": [\n'


def lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield a line of a JSON-LD document for each node."""
    for node, properties in by_subject(quads).items():
        yield json.dumps(_compacted(node, properties), ensure_ascii=False)


def joined(nodes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a JSON-LD document with separators."""
    for number, line in enumerate(nodes):
        yield f",\n{line}" if number else line


def _compacted(node: str, properties: Properties) -> dict[str, Any]:
    """Return a node with prefixes.

    The result equals that of pyld, which takes fifty times as long, because IRIs are the only
    names.
    """
    compacted: dict[str, Any] = {"@id": node}
    for predicate, terms in properties.items():
        if predicate == RDF.type:
            compacted["@type"] = _one_or_all([_short(name(term)) for term in terms])
        else:
            compacted[_short(predicate)] = _one_or_all([_short_value(term) for term in terms])
    return compacted


def _one_or_all(values: list[Any]) -> Any:
    return values if len(values) > 1 else values[0]


def _short_value(term: Any) -> Any:
    if not isinstance(term, ox.Literal):
        return {"@id": name(term)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    datatype = term.datatype.value
    # A string, not a JSON number, to preserve the lexical form.
    return (
        term.value if datatype == XSD.string else {"@type": _short(datatype), "@value": term.value}
    )


@lru_cache(maxsize=_MOST_KEPT)
def _short(iri: str) -> str:
    """Return ``iri`` with a prefix, if one fits and the result cannot be taken for a URL."""
    for prefix, space in _ALL_PREFIXES.items():
        if iri.startswith(space):
            local = iri[len(space) :]
            return iri if local.startswith("//") else f"{prefix}:{local}"
    return iri


def _names(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names in a node that may have a prefix."""
    for key, values in node.items():
        if key == "@type":
            yield from [values] if isinstance(values, str) else values
        elif key != "@id":
            yield key
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, dict) and "@type" in value:
                    yield value["@type"]
