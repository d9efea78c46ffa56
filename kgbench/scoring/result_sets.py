# SPDX-License-Identifier: Apache-2.0
"""The result of a SELECT as one set of texts, in the form of published result sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}

Row = tuple[str | None, ...]


def values(rows: Iterable[Row], prefixes: Mapping[str, str]) -> set[str]:
    """Return all bound values of all rows and columns, each as :func:`term_value` writes it."""
    return {term_value(term, prefixes) for row in rows for term in row if term is not None}


def bound_rows(rows: Iterable[Row]) -> int:
    """Return the number of rows with at least one bound value."""
    return sum(any(term is not None for term in row) for row in rows)


def term_value(term: str, prefixes: Mapping[str, str]) -> str:
    r"""Convert an N-Triples term to a value: IRIs by prefix if one fits, literals by lexical form.

    >>> term_value("<http://e.org/a>", {"": "http://e.org/"})
    ':a'
    >>> term_value('"1"^^<http://e.org/i>', {})
    '1'
    """
    if term.startswith("<"):
        return shorten_iri(term[1:-1], prefixes)
    literal = _LITERAL.match(term)
    return _ESCAPE.sub(_character, literal[1]) if literal else term


def shorten_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return ``prefix:local`` by the longest namespace that fits, else ``<iri>``."""
    best_prefix, best = "", ""
    for prefix, namespace in prefixes.items():
        if len(namespace) > len(best) and iri.startswith(namespace):
            best_prefix, best = prefix, namespace
    return f"{best_prefix}:{iri[len(best) :]}" if best else f"<{iri}>"


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CHARACTERS.get(match[3], match[3])
