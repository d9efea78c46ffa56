# SPDX-License-Identifier: Apache-2.0
"""What updates change and what CONSTRUCT queries build, as rows, with pyoxigraph.

An update runs on a copy of its graph, which is thrown away. Nothing that could reach another
machine is executed: neither LOAD nor SERVICE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import pyoxigraph as ox

from kgbench.execution import documents, lexer
from kgbench.model import QueryResult
from kgbench.rdf.triple_terms import written

COLUMNS: Final = ("change", "subject", "predicate", "object", "graph")
ADDED: Final = '"added"'
REMOVED: Final = '"removed"'
MOST: Final = 300_000  # triples that one text may build, remove or add
LOADS: Final = "LOAD fetches a document: such an update is never executed"
NO_CHANGE: Final = "this is neither an update nor a CONSTRUCT query: nothing else is executed"
_TOO_MANY: Final = f"more than {MOST:,} triples are built, removed or added"

Functions = Mapping[ox.NamedNode, Callable[..., ox.Literal | None]]
Row = tuple[str | None, ...]


def refusal(text: str) -> str | None:
    """Why an update or a CONSTRUCT query is never executed, or ``None`` where it may be.

    >>> refusal("CONSTRUCT WHERE { ?s ?p ?o }"), refusal("CLEAR ALL")
    (None, None)
    >>> refusal("ASK {}") == NO_CHANGE
    True
    """
    if lexer.refusal(text) == lexer.ASKS_ELSEWHERE:
        return lexer.ASKS_ELSEWHERE
    if is_construct(text):
        return None
    if lexer.loads(text):
        return LOADS
    return None if lexer.first_word(text) in lexer.UPDATES else NO_CHANGE


def is_construct(text: str) -> bool:
    """Whether a text is a CONSTRUCT query by its first word."""
    return lexer.first_word(text).startswith("CONSTRUCT")


def changes(
    store: ox.Store, text: str, prefixes: Mapping[str, str], functions: Functions
) -> QueryResult:
    """What ``text`` adds to and removes from a copy of ``store``, in columns :data:`COLUMNS`.

    Raises what the engine raises.
    """
    if is_construct(text):
        found = store.query(
            text,
            base_iri=documents.BASE_IRI,
            prefixes=dict(prefixes),
            custom_functions=dict(functions),
        )
        assert isinstance(found, ox.QueryTriples)
        return result(built(found))
    before = frozenset(store)
    copy = ox.Store()
    copy.bulk_extend(before)
    copy.update(
        text,
        base_iri=documents.BASE_IRI,
        prefixes=dict(prefixes),
        custom_functions=dict(functions),
    )
    if len(copy) > len(before) + MOST:
        return QueryResult(COLUMNS, error=_TOO_MANY)
    after = frozenset(copy)
    removed, added = before - after, after - before
    return result([*_rows(REMOVED, removed), *_rows(ADDED, added)])


def result(rows: Iterable[Row]) -> QueryResult:
    """Rows, each once, as a result; labels of blank nodes mean nothing outside of it."""
    found = tuple(dict.fromkeys(islice(rows, MOST + 1)))
    if len(found) > MOST:
        return QueryResult(COLUMNS, error=_TOO_MANY)
    return QueryResult(COLUMNS, found)


def built(triples: Iterable[ox.Triple]) -> Iterator[Row]:
    """The triples of a CONSTRUCT as rows."""
    for one in triples:
        yield ADDED, str(one.subject), str(one.predicate), written(one.object), None


def _rows(change: str, quads: Iterable[ox.Quad]) -> Iterator[Row]:
    default = ox.DefaultGraph()
    for one in quads:
        graph = None if one.graph_name == default else str(one.graph_name)
        yield change, str(one.subject), str(one.predicate), written(one.object), graph
