# SPDX-License-Identifier: Apache-2.0
r"""Reading SPARQL token by token, to tell which queries are never executed.

The engines behind kgbench have no tokeniser of their own: their grammars read character by
character. So ``SERVICEex:x``, ``trueSERVICE<x>`` or an ``a<?b#>`` that starts a comment in one
place and is an IRI in another are decided by what surrounds them. Where this lexer could read a
text otherwise than an engine does, and the text speaks of SERVICE, the query is refused.

>>> refusal("SELECT * { SERVICE # far away\n SILENT <http://example.org/> { ?s ?p ?o } }")
'SERVICE asks another endpoint: such a query is never executed'
>>> refusal('SELECT * { ?service ex:service "SERVICE" }  # SERVICE') is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

ASKS_ELSEWHERE = "SERVICE asks another endpoint: such a query is never executed"
NO_QUERY = "this is no SELECT query: nothing else is executed"

_UPDATES = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
)
_PROLOGUE = frozenset(("BASE", "PREFIX", "VERSION"))


class Kind(Enum):
    """What a token is; ``WORD`` is a keyword, a function's name, ``a``, ``true`` or ``false``."""

    BLANK = "blank"
    COMMENT = "comment"
    STRING = "string"
    IRI = "iri"
    NODE = "node"
    VARIABLE = "variable"
    NAME = "name"
    NUMBER = "number"
    TAG = "tag"
    WORD = "word"
    MARK = "mark"


class Token(NamedTuple):
    """A piece of the query: all pieces, blanks and comments included, make up the whole text."""

    kind: Kind
    text: str
    start: int


_LETTER = r"[^\W\d_]"
_LOCAL = r"(?:[\w:\u00b7\u200c\u200d\u203f\u2040-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])"
_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_PATTERN = re.compile(
    rf"""
      (?P<blank>\s++)
    | (?P<comment>\#[^\n\r]*+)
    | (?P<string>
          \"\"\"(?:[^"\\]|\\.|"{{1,2}}+(?!"))*+\"\"\"
        | '''(?:[^'\\]|\\.|'{{1,2}}+(?!'))*+'''
        | "(?:[^"\\\n\r]|\\.)*+"
        | '(?:[^'\\\n\r]|\\.)*+'
      )
    | (?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*+>)
    | (?P<node>_:\w(?:\.*[\w\u00b7\u200c\u200d\u203f\u2040-])*+)
    | (?P<variable>[?$]\w[\w\u00b7\u203f\u2040]*+)
    | (?P<name>(?:{_LETTER}(?:\.*[\w\u00b7\u200c\u200d\u203f\u2040-])*+)?:(?:\.*{_LOCAL})*+)
    | (?P<number>(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][+-]?\d++)?+)
    | (?P<tag>@[A-Za-z]++(?:-+[A-Za-z0-9]++)*+)
    | (?P<word>[^\W\d]\w*+)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.value: kind for kind in Kind}
_SILENT = frozenset((Kind.BLANK, Kind.COMMENT))
_OPERANDS = frozenset(
    (Kind.VARIABLE, Kind.NAME, Kind.NUMBER, Kind.STRING, Kind.IRI, Kind.TAG, Kind.NODE)
)
_HIERARCHICAL = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://")


def tokens(query: str) -> Iterator[Token]:
    """All tokens of ``query`` in order; a character of no other kind is a mark."""
    for match in _PATTERN.finditer(query):
        kind = match.lastgroup
        assert kind is not None
        yield Token(_KINDS[kind], match.group(), match.start())


def refusal(query: str) -> str | None:
    """Why ``query`` is never executed, or ``None`` when it may be (its syntax is not checked).

    Only SELECT queries are executed, and none that names another endpoint with SERVICE.
    """
    verdict = None
    for reading in _readings(query):
        verdict = _refusal(reading)
        if verdict == ASKS_ELSEWHERE:
            break
    return verdict


def loads(update: str) -> bool:
    """Whether an engine may find the operation LOAD, which fetches a document, in ``update``.

    >>> loads("LOADSILENT<http://example.org/> INTO GRAPH <urn:a>"), loads("CLEAR GRAPH ex:load")
    (True, False)
    """
    return any(_may_find("load", text) for text in _readings(update) if "load" in text.lower())


def without_service(query: str) -> str:
    """``query`` with each SERVICE (SILENT) written as GRAPH, which has the same grammar.

    Lines and columns stay as they are. Serves to check the syntax of what is never executed.
    """
    pieces: list[str] = []
    after_service = False
    for token in tokens(query):
        text, word = token.text, token.text.upper()
        if token.kind is Kind.WORD and word == "SERVICE":
            text = "GRAPH  "
        elif token.kind is Kind.WORD and word == "SILENT" and after_service:
            text = "      "
        if token.kind not in _SILENT:
            after_service = token.kind is Kind.WORD and word == "SERVICE"
        pieces.append(text)
    return "".join(pieces)


def undeclared(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """The prefixes that ``query`` uses and neither declares itself nor finds in ``prefixes``."""
    declared = set(prefixes)
    used: dict[str, None] = {}
    before = ""
    for token in tokens(query):
        if token.kind is Kind.NAME:
            prefix = token.text.partition(":")[0]
            if before == "PREFIX":
                declared.add(prefix)
            else:
                used.setdefault(prefix)
        if token.kind not in _SILENT:
            before = token.text.upper()
    return [prefix for prefix in used if prefix not in declared]


def is_deeper(query: str, levels: int) -> bool:
    """Whether brackets of any kind are nested in ``query`` deeper than ``levels``."""
    if sum(map(query.count, "([{")) <= levels:
        return False
    level = 0
    for token in tokens(query):
        if token.kind is Kind.MARK and token.text in "([{":
            level += 1
            if level > levels:
                return True
        elif token.kind is Kind.MARK and token.text in ")]}":
            level -= 1
    return False


def _readings(query: str) -> set[str]:
    r"""What an engine may read: with ``\u0041`` resolved or not, CR ending a line or not."""
    found = {query}
    if "\\u" in query or "\\U" in query:
        found |= {_standard_escapes(query), _greedy_escapes(query)}
    return found | {text.replace("\r", " ") for text in found if "\r" in text}


def _standard_escapes(query: str) -> str:
    return re.sub(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})", _character, query)


def _greedy_escapes(query: str) -> str:
    """As rdflib reads them: any case of the letter, eight digits where there are eight."""
    return re.sub(r"(?i)\\u([0-9a-f]{4}(?:[0-9a-f]{4})?)", _character, query)


def _character(match: re.Match[str]) -> str:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code) if code < 0x110000 else match.group()  # noqa: PLR2004 - the end of Unicode


def _refusal(query: str) -> str | None:
    spoken = "service" in query.lower()
    if spoken and _asks_elsewhere(query):
        return ASKS_ELSEWHERE
    first = next(
        (
            token.text.upper()
            for token in tokens(query)
            if token.kind is Kind.WORD and token.text.upper() not in _PROLOGUE
        ),
        "",
    )
    if first.startswith("SELECT"):
        return None
    if first in _UPDATES:
        return f"{first} changes data: updates are never executed"
    return NO_QUERY


def _asks_elsewhere(query: str) -> bool:
    """Whether an engine may find the keyword SERVICE in ``query``."""
    return _may_find("service", query)


def _may_find(keyword: str, query: str) -> bool:
    """Whether an engine may find ``keyword``, which is that of SERVICE or LOAD, in ``query``."""
    brackets: list[str] = []
    previous = before_that = Token(Kind.BLANK, "", 0)
    for token in tokens(query):
        if token.kind in _SILENT:
            continue
        if token.kind is Kind.WORD and keyword in token.text.lower():
            return True
        if keyword == "load" and not brackets and _begins_with_load(token, previous):
            return True
        if keyword == "service" and token.text == "{" and _glued(previous, before_that):
            return True
        if token.kind is Kind.IRI and _is_ambiguous(token, previous, brackets):
            return True
        if token.kind is Kind.MARK and token.text in "([{":
            brackets.append(token.text)
        elif token.kind is Kind.MARK and token.text in ")]}" and brackets:
            brackets.pop()
        previous, before_that = token, previous
    return False


def _glued(name: Token, before: Token) -> bool:
    """Whether ``name``, found before ``{``, may be SERVICE and a prefixed name without a blank."""
    prefix = name.text.partition(":")[0].lower()
    return name.kind is Kind.NAME and "service" in prefix and before.text.upper() != "GRAPH"


def _begins_with_load(name: Token, before: Token) -> bool:
    """Whether ``name`` may be LOAD (SILENT) and a prefixed name without a blank.

    LOAD begins an operation, so that no keyword stands before it; one stands before each name that
    is an operand (WITH, GRAPH, TO ...) or is being declared.
    """
    return (
        name.kind is Kind.NAME
        and name.text.lower().startswith("load")
        and before.kind is not Kind.WORD
    )


def _is_ambiguous(token: Token, previous: Token, brackets: list[str]) -> bool:
    """Whether an IRI may as well be "less than", with a comment or a string that begins inside.

    So it is inside parentheses and after an operand, except for ``scheme://...``, which no
    expression can begin with; and after ``<``, where a triple term may begin.
    """
    if not ("#" in token.text or "'" in token.text) or _HIERARCHICAL.match(token.text):
        return False
    operand = previous.kind in _OPERANDS or previous.text.lower() in (")", "true", "false")
    return previous.text == "<" or (operand and brackets[-1:] == ["("])
