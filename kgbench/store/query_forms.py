# SPDX-License-Identifier: Apache-2.0
"""The form of a query, and wrapping of a SELECT query: minimal parsing of SPARQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PROLOGUE = re.compile(
    r"(?:\s+|#[^\n]*(?:\n|$)|BASE\s*<[^<>]*>|PREFIX\s+[^\s:]*:\s*<[^<>]*>)*", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z]+")
FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")


def form(text: str) -> str:
    r"""Return the first word after the prologue in upper case, such as ``SELECT``, or "".

    >>> form("# insert?\nPREFIX delete: <urn:x> ask {}")
    'ASK'
    """
    word = _WORD.match(text, _prologue_end(text))
    return "" if word is None else word[0].upper()


def around(text: str, variables: Sequence[str], columns: Sequence[str]) -> str:
    r"""Wrap a SELECT query in one that returns its ``variables`` and further ``columns``.

    >>> around("SELECT ?a { ?a ?p 1 }", ["a"], ["(STR(?a) AS ?b)"])
    'SELECT ?a (STR(?a) AS ?b) WHERE { { SELECT ?a { ?a ?p 1 }\n } }'
    """
    end = _prologue_end(text)
    names = " ".join(f"?{name}" for name in variables)
    return f"{text[:end]}SELECT {names} {' '.join(columns)} WHERE {{ {{ {text[end:]}\n }} }}"


def _prologue_end(text: str) -> int:
    match = _PROLOGUE.match(text)
    return 0 if match is None else match.end()
