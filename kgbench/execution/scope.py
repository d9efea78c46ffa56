# SPDX-License-Identifier: Apache-2.0
"""Distinction between errors of scope and of grammar in queries that the default engine rejects.

The engine checks both in one pass and often reports only the position. If it accepts the query
after the variables are changed so that none can be out of scope, the grammar was correct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kgbench.rdf.lexer import Kind, tokens

ERROR: Final = "error of scope"

_HINTS: Final = {
    "contains a variable that is unbound": "SELECT names a variable that is neither grouped nor "
    "aggregated, although the query groups or aggregates",
    "overrides an existing variable": "SELECT gives a value to a variable that has one already",
    "SELECT * is not authorized": "SELECT * does not go with GROUP BY",
}
_OTHER: Final = "a variable is given a value, or selected, where its scope does not allow it"
_ENDS: Final = frozenset(("WHERE", "FROM", "{"))
_PASSED: Final = frozenset((Kind.BLANK, Kind.COMMENT))


def explain_scope(query: str, message: str, accepts: Callable[[str], bool]) -> str | None:
    """Describe the scope error in ``query``; ``None`` if the error is one of grammar.

    ``message`` is the engine's message, ``accepts`` returns whether the engine accepts a query.
    """
    free = without_scope_errors(query)
    if free == query or not accepts(free):
        return None
    hint = next((text for pattern, text in _HINTS.items() if pattern in message), _OTHER)
    return f"{ERROR}, {hint}"


def without_scope_errors(query: str) -> str:
    """Return ``query`` changed so that no rule of scope can be violated, with the same grammar.

    Each variable of a SELECT clause, and each variable after AS, becomes a new variable; variables
    in the expressions of a SELECT clause become numbers.

    >>> without_scope_errors("SELECT ?a (COUNT(?b) AS ?c) { BIND(?d AS ?a) }")
    'SELECT (1 AS ?free0) (COUNT(1) AS ?free1) { BIND(?d AS ?free2) }'
    """
    pieces: list[str] = []
    selecting = False
    level = new = 0
    before = ""
    for token in tokens(query):
        text, word = token.text, token.text.upper()
        if word == "SELECT" and token.kind is Kind.WORD:
            selecting, level = True, 0
        elif selecting and level == 0 and word in _ENDS:
            selecting = False
        elif selecting and text in "()" and token.kind is Kind.MARK:
            level += 1 if text == "(" else -1
        if token.kind is Kind.VARIABLE and before == "AS":
            text, new = f"?free{new}", new + 1
        elif selecting and level == 0 and (token.kind is Kind.VARIABLE or text == "*"):
            text, new = f"(1 AS ?free{new})", new + 1
        elif selecting and token.kind is Kind.VARIABLE:
            text = "1"
        if token.kind not in _PASSED:
            before = word
        pieces.append(text)
    return "".join(pieces)
