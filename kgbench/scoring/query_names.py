# SPDX-License-Identifier: Apache-2.0
"""Comparison of the names in a SPARQL query with those in a reference query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kgbench.scoring.agreement import Agreement, compare_sets
from kgbench.scoring.result_sets import shorten_iri

_PREFIX = re.compile(r"PREFIX\s+[^\s:]*:\s*<[^<>]*>", re.IGNORECASE)
_TOKEN = re.compile(
    r"""(?P<quote>\"{3}|'{3}|"|')"""
    r"|<(?P<iri>[^<>\s]*)>"
    r"|(?P<name>(?<![\w?$:.-])[A-Za-z]?[\w.-]*:[\w%-]+(?:\.[\w%-]+)*)"
    r"|(?P<type>(?<![\w?$:<.-])a(?![\w:.-]))"
)
_STRINGS = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+", re.DOTALL),
}


def names(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """Return the names in a query, with full IRIs shortened by ``prefixes``.

    Prefixed names are as written, and ``a`` is ``rdf:type``. Prefix declarations and strings are
    ignored; an IRI that no prefix fits stays ``<iri>``.
    """
    used = set()
    for match in _tokens(_PREFIX.sub(" ", query)):
        if match["name"]:
            used.add(match["name"])
        elif match["type"]:
            used.add("rdf:type")
        else:
            used.add(shorten_iri(match["iri"], prefixes))
    return used


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the names in ``text`` outside of strings.

    An unclosed quotation mark begins no string.
    """
    position = 0
    unclosed = dict.fromkeys(_STRINGS, 0)
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        quote = match["quote"]
        if quote is None:
            yield match
        elif len(quote) > 1 and (end := text.find(quote, position)) >= 0:
            position = end + len(quote)
        else:
            # Three marks that are never closed are an empty string and one mark.
            position = match.start() + 1
            mark = quote[0]
            # Whether a mark closes a string does not depend on where the string begins. So none is
            # closed before the end of an unclosed one, and no part is searched twice.
            if position >= unclosed[mark]:
                string = _STRINGS[mark].match(text, position)
                assert string is not None
                if text.startswith(mark, string.end()):
                    position = string.end() + 1
                else:
                    unclosed[mark] = string.end()


def compare_names(
    reference: str, query: str, prefixes: Mapping[str, str]
) -> tuple[Agreement, Agreement]:
    """Agreement of the names in two queries, and agreement of their local names."""
    expected, given = names(reference, prefixes), names(query, prefixes)
    return compare_sets(expected, given), compare_sets(
        set(map(_suffix, expected)), set(map(_suffix, given))
    )


def _suffix(name: str) -> str:
    return name if name.startswith("<") else name.partition(":")[2]
