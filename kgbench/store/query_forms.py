# SPDX-License-Identifier: Apache-2.0
"""What kind of query a text is, and a query around it: as much of SPARQL as a client must know."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PROLOGUE = re.compile(
    r"(?:\s+|#[^\n]*(?:\n|$)|BASE\s*<[^<>]*>|PREFIX\s+[^\s:]*:\s*<[^<>]*>)*", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z]+")
FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")


def form(text: str) -> str:
    r"""``SELECT``, ``ASK``, ``CONSTRUCT`` or ``DESCRIBE``; any other first word, or "".

    >>> form("# insert?\nPREFIX delete: <urn:x> ask {}")
    'ASK'
    """
    word = _WORD.match(text, _prologue_end(text))
    return "" if word is None else word[0].upper()


def around(text: str, variables: Sequence[str], columns: Sequence[str]) -> str:
    r"""A query that gives the ``variables`` of a SELECT query with more ``columns`` beside them.

    >>> around("SELECT ?a { ?a ?p 1 }", ["a"], ["(STR(?a) AS ?b)"])
    'SELECT ?a (STR(?a) AS ?b) WHERE { { SELECT ?a { ?a ?p 1 }\n } }'
    """
    end = _prologue_end(text)
    names = " ".join(f"?{name}" for name in variables)
    return f"{text[:end]}SELECT {names} {' '.join(columns)} WHERE {{ {{ {text[end:]}\n }} }}"


def _prologue_end(text: str) -> int:
    found = _PROLOGUE.match(text)
    return 0 if found is None else found.end()
