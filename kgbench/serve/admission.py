# SPDX-License-Identifier: Apache-2.0
"""Admission of queries by their tokens (query form, bounded look-ups), and refused requests.

The engine would follow SERVICE to other machines; the lexer of :mod:`kgbench.rdf.lexer`
detects it however an engine tokenises the query. A *look-up* is a single triple pattern that an
index answers with one step per row, so that the number of rows bounds its cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, Token
from kgbench.rdf.query_text import explain_error

FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
DEEPEST = 100  # nested brackets; deeper nesting could exhaust the engine's stack
LOOKUP_ROWS = 500
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
_CHANGING = ("RAND", "NOW", "UUID", "STRUUID", "BNODE")
_SILENT = (Kind.BLANK, Kind.COMMENT)
LONGEST_LOOKUP = 2_000  # characters
LONGEST = 500_000  # characters of a query
TOKENS = 100_000  # of a query
INSIDE = 1_000  # tokens of a query that is admitted in the server's event loop
_TERMS = (Kind.IRI, Kind.NAME, Kind.STRING, Kind.NUMBER, Kind.VARIABLE)


class Refused(Exception):
    """A request is refused with ``status`` and ``message``."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        super().__init__(message)


ABORT = "kgbench.abort"  # key in the scope's state of the function that aborts the connection


class ResponseAborted(Exception):
    """A started response cannot be completed; its connection is aborted, so that clients notice."""


def busy(seconds: float) -> Refused:
    """Return a 503 with Retry-After, because all workers are taken."""
    return Refused(
        503,
        "the server is busy with other queries: try again in a moment",
        {"Retry-After": str(max(1, round(seconds)))},
    )


def too_slow(seconds: float) -> Refused:
    """Return a 503 with a long Retry-After, because the request exceeded its time limit."""
    return Refused(
        503,
        f"the request exceeded the time limit of this server ({seconds:g} seconds): "
        "request less data, or download it",
        {"Retry-After": "60"},
    )


def displaced(seconds: float) -> Refused:
    """Return a 503 with a long Retry-After, because another request needed the place."""
    return Refused(
        503,
        f"the request was ended after {seconds:g} seconds because others were waiting: "
        "request less data, or try again later",
        {"Retry-After": "60"},
    )


def too_large() -> Refused:
    """Return a 503, because the answer exceeds the limit of rows or bytes."""
    message = "the answer exceeds the size limit of this server: use LIMIT, or download the data"
    return Refused(503, message)


class Admitted(NamedTuple):
    """A query that may run.

    ``form`` is SELECT, ASK, CONSTRUCT or DESCRIBE. ``lookup`` is the text to run if the query is a
    look-up; it is limited to one row more than :data:`LOOKUP_ROWS`. A ``steady`` query always gives
    the same answer on the same data.
    """

    form: str
    lookup: str | None
    steady: bool


def admit(query: str, max_tokens: int = TOKENS) -> Admitted:
    """Classify ``query``, in time linear in its length.

    Raises :class:`~kgbench.serve.admission.Refused` for queries that are never executed, and
    :class:`~kgbench.rdf.lexer.TooManyTokens` beyond ``max_tokens``.
    """
    if len(query) > LONGEST:
        raise Refused(413, f"the query is longer than {LONGEST:,} characters")
    all_tokens = list(lexer.tokens(query, max_tokens))
    if lexer.refusal(query, all_tokens, max_tokens) == lexer.ASKS_ELSEWHERE:
        raise Refused(400, f"{lexer.ASKS_ELSEWHERE} here")
    if lexer.is_deeper(query, DEEPEST, all_tokens):
        raise Refused(400, f"the query is nested deeper than {DEEPEST} levels")
    tokens = [token for token in all_tokens if token.kind not in _SILENT]
    start = _after_prologue(tokens)
    form = tokens[start].text.upper() if start < len(tokens) else ""
    if form not in FORMS:
        raise Refused(400, _not_a_query(query, tokens, start))
    words = {token.text.upper() for token in tokens if token.kind is Kind.WORD}
    lookup = None
    if form == "SELECT" and len(query) <= LONGEST_LOOKUP:
        lookup = _lookup(query, tokens[start:])
    return Admitted(form, lookup, words.isdisjoint(_CHANGING))


def _not_a_query(query: str, tokens: Sequence[Token], start: int) -> str:
    if start >= len(tokens):
        return "the query is empty"
    word = tokens[start].text[:40]
    if word.upper() in _UPDATES:
        return f"{word.upper()} changes data: send it as an update, where updates are permitted"
    expected = f"the query is not SPARQL: it begins with '{word}', not with {' or '.join(FORMS)}"
    return explain_error(query[: tokens[start].start + 1], expected)


def _after_prologue(tokens: Sequence[Token]) -> int:
    index = 0
    while index < len(tokens):
        word = tokens[index].text.upper()
        if word == "PREFIX":
            index += 3
        elif word in ("BASE", "VERSION"):
            index += 2
        else:
            break
    return index


def _lookup(query: str, tokens: Sequence[Token]) -> str | None:
    """Return ``query`` with a limit if it is a look-up, else ``None``.

    Look-ups have the form ``SELECT variables { pattern } LIMIT n``; the pattern may be in GRAPH.
    """
    index = 1
    while index < len(tokens) and (
        tokens[index].kind is Kind.VARIABLE or tokens[index].text == "*"
    ):
        index += 1
    projection = {token.text[1:] for token in tokens[1:index]}
    remaining = [token for token in tokens[index:] if token.text.upper() != "WHERE"]
    texts = [token.text.upper() for token in remaining]
    if texts[:1] != ["{"] or index == 1:
        return None
    graph: list[Token] = []
    inner = 1
    if texts[1:2] == ["GRAPH"]:
        graph, inner = remaining[2:3], 4
        if texts[3:4] != ["{"]:
            return None
    pattern = remaining[inner : inner + 3]
    closing = [text for text in texts[inner + 3 :] if text != "."]
    depth = 2 if graph else 1
    if closing[:depth] != ["}"] * depth or not _is_bounded(pattern, graph, projection):
        return None
    tail = closing[depth:]
    if not tail:
        return f"{query}\nLIMIT {LOOKUP_ROWS + 1}"
    if len(tail) == 2 and tail[0] == "LIMIT" and tail[1].isdecimal():  # noqa: PLR2004 - LIMIT n
        return query if int(tail[1]) <= LOOKUP_ROWS else None
    return None


def _is_bounded(pattern: Sequence[Token], graph: Sequence[Token], projection: set[str]) -> bool:
    """Return whether each index step yields a row.

    ``pattern`` is subject, predicate and object. No variable may occur twice, the subject or the
    graph must be given, and the variables of the ``projection`` must be in the pattern (``""`` is
    ``*``).
    """
    for position, token in enumerate(pattern):
        if token.kind not in _TERMS and not (position == 1 and token.text == "a"):
            return False
    names = [t.text[1:] for t in (*pattern, *graph) if t.kind is Kind.VARIABLE]
    if len(names) != len(set(names)) or not names or not projection - {""} <= set(names):
        return False
    return bool(graph) or pattern[0].kind is not Kind.VARIABLE
