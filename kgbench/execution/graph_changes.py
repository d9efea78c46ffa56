# SPDX-License-Identifier: Apache-2.0
"""The changes of updates and the triples of CONSTRUCT queries, as rows, with pyoxigraph.

An update runs on a temporary copy of its graph. Operations that contact another machine, LOAD and
SERVICE, are never executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from kgbench.execution import documents
from kgbench.execution.rewriting import execute
from kgbench.model import QueryResult
from kgbench.rdf import lexer
from kgbench.rdf.quads import to_ntriples

COLUMNS: Final = ("change", "subject", "predicate", "object", "graph")
ADDED: Final = '"added"'
REMOVED: Final = '"removed"'
MOST: Final = 300_000  # triples that a query or update may build, remove or add
LOADS: Final = "LOAD fetches a document: such an update is never executed"
NO_CHANGE: Final = "this is neither an update nor a CONSTRUCT query: nothing else is executed"
_TOO_MANY: Final = f"more than {MOST:,} triples are built, removed or added"

Functions = Mapping[ox.NamedNode, Callable[..., ox.Literal | None]]
Row = tuple[str | None, ...]


def refusal(text: str) -> str | None:
    """Return why an update or a CONSTRUCT query is never executed, or ``None`` if it may be.

    >>> refusal("CONSTRUCT WHERE { ?s ?p ?o }"), refusal("CLEAR ALL")
    (None, None)
    >>> refusal("ASK {}") == NO_CHANGE
    True
    """
    if lexer.refusal(text) == lexer.ASKS_ELSEWHERE:
        return lexer.ASKS_ELSEWHERE
    if is_construct(text):
        return None
    if lexer.may_load(text):
        return LOADS
    return None if lexer.first_word(text) in lexer.UPDATES else NO_CHANGE


def is_construct(text: str) -> bool:
    """Return whether the first word of a text makes it a CONSTRUCT query."""
    return lexer.first_word(text).startswith("CONSTRUCT")


def changes(
    store: ox.Store, text: str, prefixes: Mapping[str, str], functions: Functions
) -> QueryResult:
    """Return what ``text`` adds to and removes from a copy of ``store``.

    The result has the columns :data:`COLUMNS`. Raises the errors of the engine.
    """
    options: dict[str, Any] = {
        "base_iri": documents.BASE_IRI,
        "prefixes": dict(prefixes),
        "custom_functions": dict(functions),
    }
    if is_construct(text):
        triples = execute(lambda query: store.query(query, **options), text)
        assert isinstance(triples, ox.QueryTriples)
        return result(
            (ADDED, str(each.subject), str(each.predicate), to_ntriples(each.object), None)
            for each in triples
        )
    before = frozenset(store)
    copy = ox.Store()
    copy.bulk_extend(before)
    execute(lambda update: copy.update(update, **options), text)
    if len(copy) > len(before) + MOST:
        return QueryResult(COLUMNS, error=_TOO_MANY)
    after = frozenset(copy)
    removed, added = before - after, after - before
    return result([*_rows(REMOVED, removed), *_rows(ADDED, added)])


def result(rows: Iterable[Row]) -> QueryResult:
    """Return distinct rows as a result; blank node labels are local to it."""
    distinct = tuple(dict.fromkeys(islice(rows, MOST + 1)))
    if len(distinct) > MOST:
        return QueryResult(COLUMNS, error=_TOO_MANY)
    return QueryResult(COLUMNS, distinct)


def _rows(change: str, quads: Iterable[ox.Quad]) -> Iterator[Row]:
    default = ox.DefaultGraph()
    for quad in quads:
        graph = None if quad.graph_name == default else str(quad.graph_name)
        yield change, str(quad.subject), str(quad.predicate), to_ntriples(quad.object), graph
