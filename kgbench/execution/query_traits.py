# SPDX-License-Identifier: Apache-2.0
"""Traits of queries for which engines may give different results, found in the text alone.

A trait is a possible reason why a score differs from a published one, not a diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kgbench.policies.ties import parse_ranking
from kgbench.rdf.lexer import Kind, Token, tokens

LIMIT: Final = "limit without order"
PATH: Final = "property path"
COUNT: Final = "count of all"
ORDER: Final = "order of terms"

_WORDS: Final = {
    LIMIT: "LIMIT without ORDER BY leaves the choice of rows to the engine",
    PATH: "paths of any length count their solutions once in SPARQL 1.1, and not in all engines",
    COUNT: "COUNT(*) with optional parts is counted otherwise by some engines",
    ORDER: "< and > between IRIs are errors in SPARQL 1.1, and not in all engines",
}
_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_LONG: Final = frozenset("*+")


def traits(query: str) -> list[str]:
    """Return the traits of ``query`` with their reasons, the most likely first.

    >>> traits("SELECT ?x { ?x ?p ?y } LIMIT 1")
    ['limit without order: LIMIT without ORDER BY leaves the choice of rows to the engine']
    """
    return [f"{name}: {_WORDS[name]}" for name in _names(query)]


def _names(query: str) -> Iterator[str]:
    read = [token for token in tokens(query) if token.kind not in _SILENT]
    ranking = parse_ranking(query)
    if ranking is not None and not ranking.keys:
        yield LIMIT
    if any(_ends_step(one) and other.text in _LONG for one, other in pairwise(read)):
        yield PATH
    triples = zip(read, read[1:], read[2:], strict=False)
    if any(two.text in "<>" and _is_variable(one, three) for one, two, three in triples):
        yield ORDER
    if any(_is_count(*three) for three in zip(read, read[1:], read[2:], strict=False)):
        yield COUNT


def _ends_step(token: Token) -> bool:
    """Return whether a path step may end here, so that a following ``*`` or ``+`` repeats it."""
    return token.kind in {Kind.IRI, Kind.NAME}


def _is_variable(*pair: Token) -> bool:
    return all(token.kind is Kind.VARIABLE for token in pair)


def _is_count(word: Token, mark: Token, star: Token) -> bool:
    return word.text.upper() == "COUNT" and mark.text == "(" and star.text == "*"
