# SPDX-License-Identifier: Apache-2.0
"""Ties in results of reference queries: rows that ORDER BY and LIMIT leave in any order.

The query is executed again without LIMIT and OFFSET, with the expressions of ORDER BY as further
columns. Rows that agree in these columns form a group, and each group has as many places in the
result as LIMIT and OFFSET leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from kgbench.model import QueryResult
from kgbench.policies.compare import Reference
from kgbench.policies.values import by_value
from kgbench.policies.whole_rows import Row, TieGroup
from kgbench.rdf.lexer import Kind, Token, tokens

_KEY: Final = "kgbenchTie"
_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_MODIFIERS: Final = frozenset(("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"))
_DIRECTIONS: Final = frozenset(("ASC", "DESC"))


class Ranking(NamedTuple):
    """The parts of a query that determine ties.

    ``unlimited`` is the query without LIMIT and OFFSET, with another column for each sort key that
    is not a column already; ``added`` is their number. ``keys`` are the columns of all sort keys.
    """

    unlimited: str
    keys: tuple[str, ...]
    added: int
    limit: int | None
    offset: int
    distinct: bool


class ExecutesResults(Protocol):
    """The part of :class:`kgbench.model.Executor` that is needed to find ties."""

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT or an ASK."""
        ...


def reference(
    query: str, graph: str, prefixes: Mapping[str, str], executor: ExecutesResults, ordered: bool
) -> Reference:
    """Execute a reference query, and find ties if it is ordered or limited.

    If ties cannot be found (``SELECT *`` sorted by an expression), the result has none.
    """
    result = executor.results(query, graph, prefixes)
    ranking = (
        None if result.boolean is not None or result.error is not None else parse_ranking(query)
    )
    if ranking is None or not (ordered or ranking.limit is not None or ranking.offset):
        return Reference(result, ordered)
    unlimited = executor.results(ranking.unlimited, graph, prefixes)
    groups = None if unlimited.error is not None else tie_groups(unlimited, ranking)
    if groups is not None and sum(group.places for group in groups) != len(result.rows):
        groups = None  # the engine treats the rewritten query differently
    return Reference(result, ordered, groups)


def tie_groups(unlimited: QueryResult, ranking: Ranking) -> tuple[TieGroup, ...]:
    """Return the groups of tied rows that have places within LIMIT and OFFSET."""
    width = len(unlimited.variables) - ranking.added
    key_columns = [unlimited.variables.index(name) for name in ranking.keys]
    seen: set[Row] = set()
    rows: list[tuple[Row, Row]] = []
    for row in unlimited.rows:
        if ranking.distinct and row[:width] in seen:
            continue  # a distinct row occurs once per combination of sort keys
        seen.add(row[:width])
        cells = (row[index] for index in key_columns)
        keys = tuple(None if cell is None else by_value(cell) for cell in cells)
        rows.append((keys, row[:width]))
    first = ranking.offset
    last = len(rows) if ranking.limit is None else min(len(rows), first + ranking.limit)
    groups = []
    begin = 0
    for _, same in groupby(rows, key=lambda pair: pair[0]):
        members = tuple(row for _, row in same)
        places = min(begin + len(members), last) - max(begin, first)
        begin += len(members)
        if places > 0:
            groups.append(TieGroup(members, places))
    return tuple(groups)


def parse_ranking(query: str) -> Ranking | None:
    """Return the parts of a SELECT that determine ties; ``None`` if it is not sorted or limited.

    >>> parse_ranking("SELECT ?x { ?x ?p ?y } ORDER BY DESC(?y) LIMIT 2").unlimited
    'SELECT ?x (( ?y ) AS ?kgbenchTie0) { ?x ?p ?y } ORDER BY DESC(?y)  '
    """
    read = [token for token in tokens(query) if token.kind not in _SILENT]
    outer = _outer(read)
    if outer is None:
        return None
    projection, modifiers = outer
    clauses = dict(_clauses(modifiers))
    order = clauses.get("ORDER", [])
    limit, offset = (_number(clauses.get(name)) for name in ("LIMIT", "OFFSET"))
    if not order and limit is None and offset is None:
        return None
    star = projection[-1].text == "*"
    columns = {token.text[1:] for token in projection if token.kind is Kind.VARIABLE}
    keys: list[str] = []
    added = ""
    for number, condition in enumerate(_conditions(order[2:])):
        name = _variable(condition)
        if name is None or not (star or name in columns):
            if star:
                return None  # no column can be added to SELECT *
            name = f"{_KEY}{number}"
            added += f" ({' '.join(token.text for token in condition)} AS ?{name})"
        keys.append(name)
    end = projection[-1].start + len(projection[-1].text)
    pieces, position = [query[:end], added], end
    dropped = [*clauses.get("LIMIT", ()), *clauses.get("OFFSET", ())]
    for token in sorted(dropped, key=lambda token: token.start):
        pieces.append(query[position : token.start])
        position = token.start + len(token.text)
    pieces.append(query[position:])
    distinct = any(_is(token, word) for token in projection[:2] for word in ("DISTINCT", "REDUCED"))
    return Ranking("".join(pieces), tuple(keys), added.count(_KEY), limit, offset or 0, distinct)


def _outer(read: Sequence[Token]) -> tuple[list[Token], list[Token]] | None:
    """Return the tokens of the outer SELECT clause, and those after the query's group."""
    starts = [k for k, token in enumerate(read) if _is(token, "SELECT")]
    if not starts:
        return None
    begin = starts[0]
    body = next((k for k in range(begin, len(read)) if read[k].text == "{"), None)
    if body is None:
        return None
    head = next(
        (k for k in range(begin, body) if _is(read[k], "WHERE") or _is(read[k], "FROM")), body
    )
    level = 0
    for k in range(body, len(read)):
        level += {"{": 1, "}": -1}.get(read[k].text, 0) if read[k].kind is Kind.MARK else 0
        if level == 0:
            return list(read[begin:head]), list(read[k + 1 :])
    return None


def _clauses(modifiers: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    clause: list[Token] = []
    level = 0
    for token in modifiers:
        if level == 0 and token.kind is Kind.WORD and token.text.upper() in _MODIFIERS:
            if clause:
                yield clause[0].text.upper(), clause
            clause = []
        if token.kind is Kind.MARK:
            level += {"(": 1, "{": 1, ")": -1, "}": -1}.get(token.text, 0)
        clause.append(token)
    if clause:
        yield clause[0].text.upper(), clause


def _conditions(order: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the expressions of ORDER BY, without their directions."""
    condition: list[Token] = []
    level = 0
    for token in order:
        if level == 0 and token.kind is Kind.WORD and token.text.upper() in _DIRECTIONS:
            continue
        if token.kind is Kind.MARK and token.text == "(":
            level += 1
        elif token.kind is Kind.MARK and token.text == ")":
            level -= 1
        condition.append(token)
        if level == 0 and (token.kind is Kind.VARIABLE or token.text == ")"):
            yield condition
            condition = []


def _variable(condition: Sequence[Token]) -> str | None:
    """Return the name of the variable if an expression is one, in brackets or not."""
    marks = [token for token in condition if token.text not in "()"]
    return marks[0].text[1:] if len(marks) == 1 and marks[0].kind is Kind.VARIABLE else None


def _number(clause: Sequence[Token] | None) -> int | None:
    if clause is None or len(clause) < 2 or not clause[1].text.isdecimal():  # noqa: PLR2004 - word, number
        return None
    return int(clause[1].text)


def _is(token: Token, word: str) -> bool:
    return token.kind is Kind.WORD and token.text.upper() == word
