# SPDX-License-Identifier: Apache-2.0
"""The terms in the text of a query, and whether the query reads the graph at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kgbench.rdf import declared_terms
from kgbench.rdf.lexer import Kind, Token, tokens
from kgbench.rdf.query_text import with_well_known
from kgbench.scoring import result_sets
from kgbench.vocab import PREFIXES

_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_TERMS: Final = frozenset((Kind.VARIABLE, Kind.NAME, Kind.IRI, Kind.STRING, Kind.NUMBER, Kind.NODE))
_MODIFIERS: Final = frozenset(("ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET"))


class QueryTerms(NamedTuple):
    """The IRIs in a query, and the texts of its strings and numbers."""

    iris: frozenset[str]
    texts: frozenset[str]


def significant(query: str) -> list[Token]:
    """Return the tokens of a query without blanks and comments."""
    return [token for token in tokens(query) if token.kind not in _SILENT]


def terms_of(query: str, prefixes: Mapping[str, str]) -> QueryTerms:
    """Return the terms in ``query``, except the numbers of LIMIT and OFFSET.

    >>> found = terms_of('SELECT * { <urn:a> rdf:value "b", 3 } LIMIT 2', {})
    >>> sorted(found.iris), sorted(found.texts)
    (['http://www.w3.org/1999/02/22-rdf-syntax-ns#value', 'urn:a'], ['3', 'b'])
    """
    read = significant(query)
    texts = {_unquoted(token.text) for token in read if token.kind is Kind.STRING}
    for before, token in pairwise(read):
        if token.kind is Kind.NUMBER and before.text.upper() not in {"LIMIT", "OFFSET"}:
            texts.add(token.text)
    iris = frozenset(iri for _, iri in _named(read, prefixes))
    return QueryTerms(iris, frozenset(texts))


def unknown_terms(query: str) -> str | None:
    """Return a note about terms of kgbench in a query that do not exist, or ``None``.

    RDF ignores unknown terms, so a misspelt one makes a result empty without an error.
    """
    iris = terms_of(query, PREFIXES).iris
    return "; ".join(declared_terms.unknown_terms(iris)) or None


def renamed(query: str, prefixes: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Replace IRIs in ``query`` by ``names``, whose keys and values are in angle brackets.

    >>> renamed("SELECT * { ?s rdf:value <urn:b> }", {}, {"<urn:b>": "<urn:c>"})
    'SELECT * { ?s rdf:value <urn:c> }'
    """
    pieces, position = [], 0
    for token, iri in _named(significant(query), prefixes):
        if (name := names.get(f"<{iri}>")) is not None:
            pieces += [query[position : token.start], name]
            position = token.start + len(token.text)
    return "".join([*pieces, query[position:]])


def _named(read: Sequence[Token], prefixes: Mapping[str, str]) -> Iterator[tuple[Token, str]]:
    """Yield the tokens that name an IRI outside of the prologue, with the IRI."""
    known = dict(with_well_known(prefixes))
    index = 0
    while index < len(read):
        token = read[index]
        word = token.text.upper() if token.kind is Kind.WORD else ""
        if word == "PREFIX" and index + 2 < len(read):
            known[read[index + 1].text[:-1]] = read[index + 2].text[1:-1]
            index += 2
        elif word == "BASE":
            index += 1
        elif token.kind is Kind.IRI:
            yield token, token.text[1:-1]
        elif token.kind is Kind.NAME:
            prefix, _, local = token.text.partition(":")
            if prefix in known:
                yield token, known[prefix] + local.replace("\\", "")
        index += 1


def reads_graph(query: str) -> bool:
    """Return whether a valid query has a triple pattern, so that its result depends on the graph.

    >>> reads_graph("SELECT ?x { VALUES ?x { <urn:a> } BIND(1 AS ?y) }")
    False
    >>> reads_graph("ASK { FILTER EXISTS { ?a ?b ?c } }")
    True
    """
    read = significant(query)
    inside: list[str] = []  # the content of each open bracket: a group, values or an expression
    index = 0
    while index < len(read):
        token = read[index]
        word = token.text.upper() if token.kind is Kind.WORD else ""
        at_group = bool(inside) and inside[-1] == "group"
        if token.text == "{":
            inside.append("values" if _follows_values(read, index) else "group")
        elif token.text == "(":
            inside.append("values" if inside and inside[-1] == "values" else "expression")
        elif token.text in {"}", ")"} and inside:
            inside.pop()
        elif word == "VALUES":
            index = _until(read, index, "{") - 1
        elif word == "SELECT":
            index = _until(read, index, "{", "WHERE") - 1
        elif at_group and word in _MODIFIERS:
            index = _until(read, index, "}") - 1
        elif word in {"GRAPH", "FILTER"}:
            index += read[index + 1 : index + 2] != [] and read[index + 1].kind in _TERMS
        elif at_group and (token.kind in _TERMS or token.text == "a"):
            return True
        index += 1
    return False


def _follows_values(read: Sequence[Token], index: int) -> bool:
    """Return whether the brace at ``index`` opens data: ``VALUES ?x {``, ``VALUES (?x ?y) {``."""
    index -= 1
    if index >= 0 and read[index].text == ")":
        while index >= 0 and read[index].text != "(":
            index -= 1
        return index > 0 and read[index - 1].text.upper() == "VALUES"
    return index > 0 and read[index - 1].text.upper() == "VALUES"


def _until(read: Sequence[Token], index: int, *ends: str) -> int:
    """Return the index of the first of ``ends`` after ``index``, within the same brackets."""
    depth = 0
    for later in range(index + 1, len(read)):
        text = read[later].text
        if depth == 0 and text.upper() in ends:
            return later
        depth += (text in {"(", "{"}) - (text in {")", "}"})
    return len(read)


def _unquoted(text: str) -> str:
    quote = 3 if text[:3] in {'"""', "'''"} else 1
    body = text[quote:-quote].replace('"', '\\"') if text[0] == "'" else text[quote:-quote]
    return result_sets.term_value(f'"{body}"', {})
