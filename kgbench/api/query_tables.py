# SPDX-License-Identifier: Apache-2.0
"""Queries that users write, and their results as tables with Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyoxigraph as ox

from kgbench.errors import QueryError
from kgbench.rdf import lexer, queries
from kgbench.scores.selection import Selection, filled
from kgbench.store.protocol import Store
from kgbench.tables import Column, Table, Value
from kgbench.vocab import XSD

_KINDS: Mapping[str, Callable[[str], Value]] = {
    XSD.integer: int,
    XSD.double: float,
    XSD.decimal: float,
    XSD.boolean: lambda text: text in {"true", "1"},
}


def run_declared(
    store: Store, name: str, parameters: Mapping[str, Any], chosen: Callable[[], Selection]
) -> Table:
    """Run the declared query ``name``, with the selected graphs filled in."""
    query = queries.load(name)
    rows = queries.run(store, name, **filled(query, parameters, chosen))
    return _table(query.label, rows, (name,))


def ask(store: Store, text: str, *, prefixed: bool = True) -> Any:
    """Execute a query as :func:`kgbench.rdf.queries.ask` does, unless it contains SERVICE.

    The engine would send parts of such a query to other machines; ``kgbench serve`` refuses it too.
    """
    if lexer.refusal(text) == lexer.ASKS_ELSEWHERE:
        raise QueryError(f"{lexer.ASKS_ELSEWHERE}; ask that endpoint itself")
    return queries.ask(store, text, prefixed=prefixed)


def is_empty(answer: Any) -> bool:
    """Return whether a result is false or has no rows; the first row of others is consumed."""
    if isinstance(answer, ox.QueryBoolean):
        return not answer
    return next(iter(answer), None) is None


def run_select(store: Store, text: str) -> Table:
    """Run a SELECT query; raises :class:`~kgbench.errors.QueryError` for other queries."""
    answer = ask(store, text)
    if not hasattr(answer, "variables"):
        raise QueryError("only a SELECT query has a table: use sparql() for ASK and CONSTRUCT")
    return _table("Answer", answer, ())


def _table(title: str, answer: Any, names: tuple[str, ...]) -> Table:
    columns = [variable.value for variable in answer.variables]
    return Table(
        title=title,
        columns=tuple(Column(name, name) for name in columns),
        rows=tuple(tuple(_value(row[name]) for name in columns) for row in answer),
        queries=names,
    )


def _value(term: Any) -> Value:
    """Convert a term to a Python value: integers, doubles, decimals and booleans, else text."""
    if term is None:
        return None
    if not isinstance(term, (ox.NamedNode, ox.Literal)):
        return str(term)
    kind = _KINDS.get(term.datatype.value) if isinstance(term, ox.Literal) else None
    return term.value if kind is None else kind(term.value)
