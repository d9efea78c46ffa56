# SPDX-License-Identifier: Apache-2.0
"""Dataset clauses of queries: ``FROM`` and ``FROM NAMED`` (SPARQL 1.1, section 13.2)."""

from __future__ import annotations

import re
from typing import Final

from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind

# The lexer takes milliseconds, and many queries have no such word but "prov:wasDerivedFrom".
_POSSIBLE: Final = re.compile(r"(?<![:?$\w])\w*from", re.IGNORECASE)


def has_dataset(query: str) -> bool:
    """Return whether a query describes its dataset by FROM or FROM NAMED.

    The engine also reads ``FROM`` without a blank beside a keyword or a prefixed name.

    >>> [has_dataset(f"SELECT * {clause} {{}}") for clause in ("FROM <urn:g>", "FROMex:g")]
    [True, True]
    >>> has_dataset("PREFIX from: <urn:x> SELECT ?from { ?from from:to 'FROM' }  # FROM <urn:g>")
    False
    """
    if "from" not in query.lower() or _POSSIBLE.search(query) is None:
        return False
    words = (token.text for token in lexer.tokens(query) if token.kind is Kind.WORD)
    return any("FROM" in word.upper() for word in (*words, *lexer.undeclared(query, {})))
