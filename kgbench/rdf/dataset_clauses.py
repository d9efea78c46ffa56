# SPDX-License-Identifier: Apache-2.0
"""Dataset clauses of queries: ``FROM`` and ``FROM NAMED`` (SPARQL 1.1, section 13.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, Token

# The lexer takes milliseconds, and a tenth of a second for ten thousand IRIs of parameters. Many
# queries have no such word but "prov:wasDerivedFrom", or only in a comment at their beginning.
_POSSIBLE: Final = re.compile(r"(?<![:?$\w])\w*from", re.IGNORECASE)


def has_dataset(query: str) -> bool:
    """Return whether a query describes its dataset by FROM or FROM NAMED.

    The engine also reads ``FROM`` without a blank beside a keyword or a prefixed name.

    >>> [has_dataset(f"SELECT * {clause} {{}}") for clause in ("FROM <urn:g>", "FROMex:g")]
    [True, True]
    >>> has_dataset("PREFIX from: <urn:x> SELECT ?from { ?from from:to 'FROM' }  # FROM <urn:g>")
    False
    """
    if "from" not in query.lower():
        return False
    last = max((match.end() for match in _POSSIBLE.finditer(query)), default=0)
    read = list(_tokens_until(query, last))
    words = (token.text for token in read if token.kind is Kind.WORD)
    prefixes = lexer.undeclared("".join(token.text for token in read), {})
    return any("FROM" in word.upper() for word in (*words, *prefixes))


def _tokens_until(query: str, position: int) -> Iterator[Token]:
    """Yield the tokens of ``query`` that begin before ``position``."""
    begin = 0
    for token in lexer.tokens(query):
        if begin >= position:
            return
        yield token
        begin += len(token.text)
