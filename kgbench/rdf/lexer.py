# SPDX-License-Identifier: Apache-2.0
r"""A SPARQL lexer, which decides which queries are never executed.

The engines of kgbench have no tokeniser: their grammars read character by character. How
``SERVICEex:x``, ``trueSERVICE<x>`` or ``a<?b#>`` (a comment in one place, an IRI in another) are
read therefore depends on the context. If this lexer might read a text differently from an engine,
and the text contains SERVICE, the query is refused.

>>> refusal("SELECT * { SERVICE # far away\n SILENT <http://example.org/> { ?s ?p ?o } }")
'SERVICE asks another endpoint: such a query is never executed'
>>> refusal('SELECT * { ?service ex:service "SERVICE" }  # SERVICE') is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

ASKS_ELSEWHERE = "SERVICE asks another endpoint: such a query is never executed"
NO_QUERY = "this is no SELECT query: nothing else is executed"
NO_RESULT_QUERY = "this is neither a SELECT nor an ASK query: nothing else is executed"
NO_EXPLORING = "this is neither a SELECT, an ASK nor a CONSTRUCT query: nothing else is executed"

UPDATES = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
)
_PROLOGUE = frozenset(("BASE", "PREFIX", "VERSION"))


class Kind(Enum):
    """The kind of a token; ``WORD`` is a keyword, a function name, ``a``, ``true`` or ``false``."""

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
    """A token of a query; all tokens, blanks and comments included, make up the whole text."""

    kind: Kind
    text: str
    start: int


_LETTER = r"[^\W\d_]"
_IN_NAME = r"(?:\.*[\w\u00b7\u200c\u200d\u203f\u2040-])"
_LOCAL = r"(?:[\w:\u00b7\u200c\u200d\u203f\u2040-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])"
_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_PREFIX = rf"(?:{_LETTER}{_IN_NAME}*+)?"


def _pattern(prefix: str, beyond: str) -> re.Pattern[str]:
    """Return the pattern of all tokens except strings.

    ``prefix`` matches the part of a name before its colon, ``beyond`` a lookahead after a word.
    """
    return re.compile(
        rf"""
          (?P<blank>\s++)
        | (?P<comment>\#[^\n\r]*+)
        | (?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*+>)
        | (?P<node>_:\w{_IN_NAME}*+)
        | (?P<variable>[?$]\w[\w\u00b7\u203f\u2040]*+)
        | (?P<name>{prefix}:(?:\.*{_LOCAL})*+)
        | (?P<number>(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][+-]?\d++)?+)
        | (?P<tag>@[A-Za-z]++(?:-+[A-Za-z0-9]++)*+)
        | (?P<word>[^\W\d]\w*+{beyond})
        | (?P<mark>.)
        """,
        re.VERBOSE | re.DOTALL,
    )


# If no colon follows as far as a prefix could reach, the group "run" ends at that position.
_TOKEN = _pattern(_PREFIX, rf"(?:(?=(?P<run>{_IN_NAME}++)(?!:))|)")
_IN_RUN = _pattern("", "")
# The body of a string, and its closing quotation mark if it has one.
_SHORT = {
    '"': re.compile(r'"(?:[^"\\\n\r]++|\\.)*+("?)', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\\n\r]++|\\.)*+('?)", re.DOTALL),
}
_LONG = {
    '"': re.compile(r'"""(?:[^"\\]++|\\.|"{1,2}+(?!"))*+("""|)', re.DOTALL),
    "'": re.compile(r"'''(?:[^'\\]++|\\.|'{1,2}+(?!'))*+('''|)", re.DOTALL),
}
KnownTokens: TypeAlias = Sequence[Token] | None
_KINDS = {kind.value: kind for kind in Kind}
_SILENT = frozenset((Kind.BLANK, Kind.COMMENT))
_OPERANDS = frozenset(
    (Kind.VARIABLE, Kind.NAME, Kind.NUMBER, Kind.STRING, Kind.IRI, Kind.TAG, Kind.NODE)
)
_ESCAPING = frozenset((Kind.STRING, Kind.IRI, Kind.COMMENT))
_STANDARD_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_GREEDY_ESCAPE = re.compile(r"(?i)\\u([0-9a-f]{4}(?:[0-9a-f]{4})?)")
_LONE_CR = re.compile(r"\r(?!\n)")
_HIERARCHICAL = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://")


class TooManyTokens(ValueError):
    """A text has more tokens than allowed."""


def tokens(query: str, max_tokens: int | None = None) -> Iterator[Token]:
    r"""Yield all tokens of ``query`` in order; a character of no other kind is a mark.

    Takes linear time for any text, because failed searches are remembered. Raises
    :class:`TooManyTokens` beyond ``max_tokens``.

    The opening mark of an unterminated string becomes a mark, and the text after it is read as if
    no string had begun. All further quotation marks up to the position where the string had to end
    are escaped, so a string that began at one of them would be unterminated, too; the same holds
    for long strings up to the end of the text. Likewise, in a run of prefix characters without a
    colon after it, such as ``a.b.c``, no later name has a colon either.
    """
    position, count = 0, 0
    run = 0  # no name with a prefix begins before this position
    open_until: dict[str, int] = {}  # by opening mark: strings that begin before are unterminated
    while position < len(query):
        match = (_TOKEN if position >= run else _IN_RUN).match(query, position)
        assert match is not None
        kind = match.lastgroup
        assert kind is not None
        end = match.end()
        if kind == "word" and position >= run:
            run = match.end("run")
        elif kind == "mark" and query[position] in _SHORT:
            string = _string_end(query, position, open_until)
            if string is not None:
                kind, end = "string", string
        count += 1
        if max_tokens is not None and count > max_tokens:
            raise TooManyTokens(f"the text has more than {max_tokens:,} tokens")
        yield Token(_KINDS[kind], query[position:end], position)
        position = end


def _string_end(query: str, start: int, open_until: dict[str, int]) -> int | None:
    """Return the end of the string at ``start``, or ``None``; updates ``open_until``."""
    quote = query[start]
    for opening, patterns in ((3 * quote, _LONG), (quote, _SHORT)):
        if start < open_until.get(opening, 0) or not query.startswith(opening, start):
            continue
        match = patterns[quote].match(query, start)
        assert match is not None
        if match[1]:
            return match.end()
        open_until[opening] = len(query) if opening != quote else match.end()
    return None


def refusal(query: str, read: KnownTokens = None, max_tokens: int | None = None) -> str | None:
    """Return why ``query`` is never executed, or ``None`` if it may be (without a syntax check).

    Only SELECT queries without SERVICE are executed. ``read`` are the tokens of ``query`` if they
    are known. Raises :class:`TooManyTokens` for more than ``max_tokens``.
    """
    verdict = None
    for text, known in _readings(query, read, max_tokens):
        reason = _refusal(text, known, max_tokens)
        if reason == ASKS_ELSEWHERE:
            return reason
        verdict = verdict or reason
    return verdict


def result_refusal(query: str) -> str | None:
    """Return why ``query`` is neither an allowed SELECT nor ASK, or ``None``; see :func:`refusal`.

    >>> result_refusal("ASK {}"), result_refusal("DESCRIBE <urn:a>") == NO_RESULT_QUERY
    (None, True)
    """
    reason = refusal(query)
    if reason != NO_QUERY:
        return reason
    return None if _first_word(tokens(query)).startswith("ASK") else NO_RESULT_QUERY


def exploring_refusal(query: str) -> str | None:
    """Return why ``query`` is not executed, or ``None``, where CONSTRUCT is allowed as well.

    >>> exploring_refusal("CONSTRUCT WHERE {?s ?p ?o}") is None
    True
    >>> exploring_refusal("DESCRIBE <urn:a>") == NO_EXPLORING
    True
    """
    reason = result_refusal(query)
    if reason != NO_RESULT_QUERY:
        return reason
    return None if _first_word(tokens(query)).startswith("CONSTRUCT") else NO_EXPLORING


def may_load(update: str, read: KnownTokens = None, max_tokens: int | None = None) -> bool:
    """Return whether an engine may find the operation LOAD, which fetches a document.

    The arguments are those of :func:`refusal`.

    >>> may_load("LOADSILENT<http://example.org/> INTO GRAPH <urn:a>")
    True
    >>> may_load("CLEAR GRAPH ex:load")
    False
    """
    return any(
        _may_find("load", tokens(text, max_tokens) if known is None else known)
        for text, known in _readings(update, read, max_tokens)
        if "load" in text.lower()
    )


def without_service(query: str) -> str:
    """Replace each SERVICE (SILENT) by GRAPH, which has the same grammar.

    Lines and columns stay the same. Used to check the syntax of queries that are never executed.
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


def first_word(text: str) -> str:
    """Return the first word after the prologue, in upper case, or an empty string."""
    return _first_word(tokens(text))


def undeclared(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """Return the prefixes that ``query`` uses and that neither it nor ``prefixes`` declares."""
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


def is_deeper(query: str, levels: int, read: KnownTokens = None) -> bool:
    """Return whether brackets of any kind in ``query`` are nested deeper than ``levels``.

    ``read`` are the tokens of ``query`` if they are known.
    """
    if sum(map(query.count, "([{")) <= levels:
        return False
    level = 0
    for token in tokens(query) if read is None else read:
        if token.kind is Kind.MARK and token.text in "([{":
            level += 1
            if level > levels:
                return True
        elif token.kind is Kind.MARK and token.text in ")]}":
            level -= 1
    return False


def _readings(
    query: str, read: KnownTokens, max_tokens: int | None
) -> Iterator[tuple[str, KnownTokens]]:
    r"""Yield the texts that an engine may read: ``\u0041`` decoded or not, CR as a line end or not.

    Each reading comes with its tokens if they are known. Readings that only differ in letters
    within strings, IRIs and comments have the same tokens, and are left out.
    """
    yield query, read
    texts = {query}
    if _GREEDY_ESCAPE.search(query) and not _escapes_only_letters(
        query, tokens(query, max_tokens) if read is None else read
    ):
        texts |= {_standard_escapes(query), _greedy_escapes(query)}
    for text in sorted(texts | {_LONE_CR.sub(" ", text) for text in texts}):
        if text != query:
            yield text, None


def _escapes_only_letters(query: str, read: Iterable[Token]) -> bool:
    """Return whether all escapes are in strings, IRIs and comments and cannot end these."""
    texts = [token.text for token in read if token.kind in _ESCAPING and "\\" in token.text]
    for escape in (_STANDARD_ESCAPE, _GREEDY_ESCAPE):
        inside = [match for text in texts for match in escape.finditer(text)]
        if sum(1 for _ in escape.finditer(query)) != len(inside):
            return False
        if not all(_is_letter(_character(match)) for match in inside):
            return False
    return True


def _is_letter(character: str) -> bool:
    return character.isalnum() or character >= "\u00a0" or len(character) > 1  # stays an escape


def _standard_escapes(query: str) -> str:
    return _STANDARD_ESCAPE.sub(_character, query)


def _greedy_escapes(query: str) -> str:
    """Decode escapes as rdflib does: any case of the letter, eight digits if there are eight."""
    return _GREEDY_ESCAPE.sub(_character, query)


def _character(match: re.Match[str]) -> str:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code) if code < 0x110000 else match.group()  # noqa: PLR2004 - the end of Unicode


def _refusal(query: str, read: KnownTokens, max_tokens: int | None) -> str | None:
    def lexed() -> Iterable[Token]:
        return tokens(query, max_tokens) if read is None else read

    if "service" in query.lower() and _may_find("service", lexed()):
        return ASKS_ELSEWHERE
    first = _first_word(lexed())
    if first.startswith("SELECT"):
        return None
    if first in UPDATES:
        return f"{first} changes data: updates are never executed"
    return NO_QUERY


def _first_word(read: Iterable[Token]) -> str:
    """Return the first word after the prologue, in upper case, or an empty string."""
    words = (token.text.upper() for token in read if token.kind is Kind.WORD)
    return next((word for word in words if word not in _PROLOGUE), "")


def _may_find(keyword: str, read: Iterable[Token]) -> bool:
    """Return whether an engine may find ``keyword`` (SERVICE or LOAD) in these tokens."""
    brackets: list[str] = []
    previous = before_that = Token(Kind.BLANK, "", 0)
    for token in read:
        if token.kind in _SILENT:
            continue
        if token.kind is Kind.WORD and keyword in token.text.lower():
            return True
        if keyword == "load" and not brackets and _begins_with_load(token, previous):
            return True
        if keyword == "service" and token.text == "{" and _may_be_service(previous, before_that):
            return True
        if token.kind is Kind.IRI and _is_ambiguous(token, previous, brackets):
            return True
        if token.kind is Kind.MARK and token.text in "([{":
            brackets.append(token.text)
        elif token.kind is Kind.MARK and token.text in ")]}" and brackets:
            brackets.pop()
        previous, before_that = token, previous
    return False


def _may_be_service(name: Token, before: Token) -> bool:
    """Return whether ``name`` before ``{`` may be SERVICE and a prefixed name without a blank."""
    prefix = name.text.partition(":")[0].lower()
    return name.kind is Kind.NAME and "service" in prefix and before.text.upper() != "GRAPH"


def _begins_with_load(name: Token, before: Token) -> bool:
    """Return whether ``name`` may be LOAD (SILENT) and a prefixed name without a blank.

    LOAD begins an operation, so no keyword precedes it; names that are operands (of WITH, GRAPH,
    TO ...) or declared prefixes have a keyword before them.
    """
    return (
        name.kind is Kind.NAME
        and name.text.lower().startswith("load")
        and before.kind is not Kind.WORD
    )


def _is_ambiguous(token: Token, previous: Token, brackets: list[str]) -> bool:
    """Return whether an IRI may also be "less than" followed by a comment or a string.

    This is the case in parentheses after an operand, except for ``scheme://...``, which cannot
    begin an expression; and after ``<``, where a triple term may begin.
    """
    if not ("#" in token.text or "'" in token.text) or _HIERARCHICAL.match(token.text):
        return False
    operand = previous.kind in _OPERANDS or previous.text.lower() in (")", "true", "false")
    return previous.text == "<" or (operand and brackets[-1:] == ["("])
