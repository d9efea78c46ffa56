# SPDX-License-Identifier: Apache-2.0
"""Graphs as sorted tuples of N-Triples terms with stable blank node labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.characters import BOM
from kgbench.scoring import agreement, result_sets
from kgbench.vocab import XSD

Triple: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object, each in N-Triples syntax."""

_LABEL = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|(_:[^\s<>"]+)')
_WORD = re.compile(r"[^\W_]+")
_STRINGS = (XSD.string, "@")


class TypedLiteral(NamedTuple):
    """A literal: its lexical form, and its datatype IRI, or ``@`` if it has a language tag."""

    lexical: str
    datatype: str

    @property
    def is_text(self) -> bool:
        """Whether the literal is a string, with or without a language."""
        return self.datatype in _STRINGS


@lru_cache(maxsize=8)
def read(text: str, media: str = "turtle") -> tuple[Triple, ...]:
    """Return the triples of a document's default graph, sorted, each once.

    ``media`` is ``turtle`` (N-Triples included), ``xml`` or ``json-ld``. Blank nodes are labelled
    in the order in which they occur, because parsers label them at random.
    Raises :class:`SyntaxError` if the document does not parse.
    """
    parsed = ox.parse(text.removeprefix(BOM).encode("utf-8"), _FORMATS[media], base_iri=_BASE)
    lines = ox.serialize((quad.triple for quad in parsed), format=ox.RdfFormat.N_TRIPLES)
    assert lines is not None
    content = lines.decode("utf-8")
    labels: dict[str, str] = {}

    def relabelled(match: re.Match[str]) -> str:
        label = match.group(1)
        return match.group() if label is None else labels.setdefault(label, f"_:b{len(labels)}")

    parsed_triples = {
        tuple(agreement.terms(_LABEL.sub(relabelled, line) if "_:" in line else line))
        for line in content.split("\n")[:-1]
    }
    return tuple(sorted((s, p, o) for s, p, o in parsed_triples))


def as_ntriples(triples: Iterable[Triple]) -> str:
    """Return ``triples`` as an N-Triples document."""
    return "".join([f"{s} {p} {o} .\n" for s, p, o in triples])


def literal(term: str) -> TypedLiteral | None:
    """Parse a term as a literal; ``None`` for an IRI or a blank node.

    >>> literal('"1"^^<http://www.w3.org/2001/XMLSchema#integer>').lexical
    '1'
    """
    if not term.startswith('"'):
        return None
    tail = term[term.rindex('"') + 1 :]
    datatype = tail[3:-1] if tail.startswith("^^") else "@" if tail else _STRINGS[0]
    return TypedLiteral(result_sets.term_value(term, {}), datatype)


def words(text: str) -> str:
    """Return the words of a text in lower case, between single spaces, with a space at either end.

    ``words(part) in words(whole)`` tests whether ``whole`` contains the words of ``part`` in a row.

    >>> words("Price: 778,15 EUR")
    ' price 778 15 eur '
    """
    return f" {' '.join(_WORD.findall(text.lower()))} "


_BASE = "https://document.invalid/"
_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "xml": ox.RdfFormat.RDF_XML,
    "json-ld": ox.RdfFormat.JSON_LD,
}
