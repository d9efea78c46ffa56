# SPDX-License-Identifier: Apache-2.0
"""Queries rewritten so that engines execute BNODE and casts as SPARQL defines them.

Oxigraph makes the text the label of the node. So solutions with the same text share a node, and a
text that is no label (an IRI, words with blanks) has no node at all. In rdflib, too, all solutions
with the same text share a node. The rewritten query gives each solution an identifier and makes it
a part of the label (SPARQL 1.1, section 17.4.2.9).

Most endpoints support them, so published queries use them (``xsd:int(?price)``). The result is that
of the cast to ``xsd:integer`` (XPath and XQuery Functions and Operators 3.1, section 19.1), typed
as ``xsd:integer``, so that arithmetic works with it. Numbers are truncated; strings must have
the lexical form of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final, TypeVar

import pyoxigraph as ox

from kgbench.rdf.lexer import Kind, Token, tokens
from kgbench.vocab import XSD

_T = TypeVar("_T")
_MOST_CALLS: Final = 100  # each is looked for in the whole query
HIDDEN: Final = "kgbenchSolution"
"""The beginning of the names of variables that are no part of a result."""
_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_AGGREGATES: Final = frozenset(
    ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "GROUP", "HAVING")
)


def with_fresh_nodes(query: str) -> str:
    """Return ``query``, or an equivalent one in which ``BNODE(text)`` is right in the engines.

    Calls in BIND and SELECT get the identifier of their solution. In filters and beside aggregates
    each call gets one of its own, so there two calls with the same text give two nodes. A query
    with more than 100 calls is left as it is.

    >>> with_fresh_nodes('SELECT ?n { BIND(BNODE("a b") AS ?n) }').count("STRUUID")
    1
    >>> with_fresh_nodes("SELECT (BNODE() AS ?n) {}")
    'SELECT (BNODE() AS ?n) {}'
    """
    if "bnode" not in query.lower():
        return query
    read = [token for token in tokens(query) if token.kind not in _SILENT]
    calls = list(islice(_calls(read), _MOST_CALLS + 1))
    if not 1 <= len(calls) <= _MOST_CALLS:
        return query
    edits: list[tuple[int, str]] = []
    solutions = _Solutions(read, edits)
    for start, end in calls:
        name = solutions.variable(start)
        prefix = "STRUUID()" if name is None else f"?{name}"
        edits += [
            (read[start + 1].start + 1, f'CONCAT("b", SHA1(CONCAT({prefix}, '),
            (read[end].start, ")))"),
        ]
    pieces, position = [], 0
    for place, text in sorted(edits, key=lambda edit: edit[0]):
        pieces += [query[position:place], text]
        position = place
    return "".join([*pieces, query[position:]])


def execute(run: Callable[[str], _T], query: str, errors: type[Exception] = SyntaxError) -> _T:
    """Return ``run(query)`` with fresh nodes; ``errors`` of syntax have positions in ``query``."""
    rewritten = with_fresh_nodes(query)
    if rewritten is not query:
        try:
            return run(rewritten)
        except errors:
            pass  # that of the query itself has its positions
    return run(query)


def _calls(read: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the places of the word BNODE and of its closing bracket, where it has an argument."""
    for index, token in enumerate(read):
        is_call = token.kind is Kind.WORD and token.text.upper() == "BNODE"
        if is_call and [later.text for later in read[index + 1 : index + 2]] == ["("]:
            end = _closing(read, index + 1)
            if end is not None and end > index + 2:
                yield index, end


def _closing(read: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(read)):
        if read[index].kind is Kind.MARK:
            depth += (read[index].text in "([{") - (read[index].text in ")]}")
            if depth == 0:
                return index
    return None


class _Solutions:
    """The variables with identifiers of solutions; ``edits`` get the expressions that bind them."""

    def __init__(self, read: Sequence[Token], edits: list[tuple[int, str]]) -> None:
        self._read = read
        self._edits = edits
        self._names: dict[int, str] = {}

    def variable(self, call: int) -> str | None:
        """Return the variable for the call at a place, or ``None`` if it can have none."""
        opening = self._outermost_bracket(call)
        if opening is None or opening == 0:
            return None
        if self._word(opening - 1) == "BIND":
            first = self._first_of_run(opening - 1)
            return self._named(first, self._read[first].start, "{} ")
        return self._of_select(opening)

    def _outermost_bracket(self, call: int) -> int | None:
        """Return the place of the outermost round bracket around a call within its braces."""
        depth, found = 0, None
        for index in range(call - 1, -1, -1):
            text = self._read[index].text if self._read[index].kind is Kind.MARK else ""
            if text in (")", "}", "]"):
                depth += 1
            elif text in ("(", "[", "{"):
                if depth:
                    depth -= 1
                elif text != "(":
                    break
                else:
                    found = index
        return found

    def _first_of_run(self, bind: int) -> int:
        """Return the first of the BINDs that directly follow each other up to ``bind``."""
        first, index = bind, bind - 1
        while index > 0 and self._read[index].text in (")", "."):
            if self._read[index].text == ")":
                opening = self._opening(index)
                if self._word(opening - 1) != "BIND":
                    break
                first = index = opening - 1
            index -= 1
        return first

    def _opening(self, closing: int) -> int:
        depth = 0
        for index in range(closing, -1, -1):
            if self._read[index].kind is Kind.MARK:
                depth += (self._read[index].text in ")]}") - (self._read[index].text in "([{")
                if depth == 0:
                    return index
        return 0

    def _of_select(self, bracket: int) -> str | None:
        """Return the variable for an expression of a SELECT without aggregates."""
        index = bracket - 1
        while index >= 0 and self._word(index) != "SELECT":
            if self._read[index].text in ("{", "}"):
                return None  # it belongs to a filter, or to a modifier
            index -= 1
        opening = next((k for k in range(bracket, len(self._read)) if self._is(k, "{")), None)
        closing = None if opening is None or index < 0 else _closing(self._read, opening)
        if opening is None or closing is None or self._has_aggregates(index, opening, closing):
            return None
        start, end = self._read[opening].start + 1, self._read[closing].start
        if self._word(opening + 1) == "SELECT" and opening not in self._names:
            self._edits += [(start, " {"), (end, "} ")]
        return self._named(opening, end, " {} ")

    def _has_aggregates(self, select: int, opening: int, closing: int) -> bool:
        """Return whether the SELECT clause or the modifiers of a query group its solutions."""
        end = closing + 1
        while end < len(self._read) and not self._is(end, "}"):
            end += 1
        places = [*range(select, opening), *range(closing, end)]
        return any(self._word(index) in _AGGREGATES for index in places)

    def _named(self, key: int, place: int, around: str) -> str:
        if key not in self._names:
            self._names[key] = f"{HIDDEN}{len(self._names)}"
            bind = f"BIND(STRUUID() AS ?{self._names[key]})"
            self._edits.append((place, around.format(bind)))
        return self._names[key]

    def _is(self, index: int, mark: str) -> bool:
        return self._read[index].kind is Kind.MARK and self._read[index].text == mark

    def _word(self, index: int) -> str:
        if not 0 <= index < len(self._read) or self._read[index].kind is not Kind.WORD:
            return ""
        return self._read[index].text.upper()


_INTEGER: Final = ox.NamedNode(XSD.integer)
_DERIVED: Final = (
    "int",
    "long",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "unsignedInt",
    "unsignedLong",
    "unsignedShort",
    "unsignedByte",
    "nonPositiveInteger",
    "negativeInteger",
)
_BOOLEAN: Final = ox.NamedNode(XSD.boolean)
_BOOLEANS: Final = {"true": "1", "1": "1", "false": "0", "0": "0"}
_STRING: Final = ox.NamedNode(XSD.string)
_CAST: Final = frozenset(
    ox.NamedNode(f"{XSD}{name}")
    for name in (*_DERIVED, "integer", "decimal", "float", "double", "boolean", "string")
)
_SPACE: Final = " \t\r\n"
_DIGITS: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_LONGEST: Final = 40  # digits of a value; values with huge exponents would fill the memory


def to_integer(*terms: object) -> ox.Literal | None:
    """Cast the only term of ``terms`` to ``xsd:integer``; ``None`` is an expression error."""
    term = terms[0] if len(terms) == 1 else None
    if not isinstance(term, ox.Literal):
        return None
    text = term.value.strip(_SPACE)
    if term.datatype == _BOOLEAN:
        text = _BOOLEANS.get(text, "")
    lexical = _DIGITS if term.datatype == _STRING else _NUMBER
    if term.datatype not in _CAST or lexical.fullmatch(text) is None:
        return None
    value = Decimal(text)
    if value.adjusted() > _LONGEST:
        return None
    return ox.Literal(str(int(value)), datatype=_INTEGER)


FUNCTIONS: Final[dict[ox.NamedNode, Callable[..., ox.Literal | None]]] = {
    ox.NamedNode(f"{XSD}{name}"): to_integer for name in _DERIVED
}
