# SPDX-License-Identifier: Apache-2.0
"""Telling errors of scope from errors of grammar in a query that the default engine refuses.

The engine checks both at once and often says no more than how far it has read. A query that it
takes once no variable can be out of scope was grammatical.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kgbench.execution.lexer import Kind, tokens

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


def explained(query: str, message: str, accepts: Callable[[str], bool]) -> str | None:
    """What is wrong with the scope of a variable in ``query``; ``None`` where nothing is.

    ``message`` is what the engine says of the query, ``accepts`` whether it takes another one.
    """
    free = freed(query)
    if free == query or not accepts(free):
        return None
    hint = next((said for part, said in _HINTS.items() if part in message), _OTHER)
    return f"{ERROR}, {hint}"


def freed(query: str) -> str:
    """``query`` with nothing that a rule of scope could forbid, of the same grammar.

    What SELECT names at its own level, and each variable after AS, becomes a new variable; within
    the expressions of SELECT a variable becomes a number.

    >>> freed("SELECT ?a (COUNT(?b) AS ?c) { BIND(?d AS ?a) }")
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
