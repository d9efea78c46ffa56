# SPDX-License-Identifier: Apache-2.0
"""The executor that a judge meets in a child: it notes each query, and knows those that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgbench.execution.blackboard import Blackboard, query_digest
from kgbench.model import Executor, ParsedGraph, QueryResult

REASONS = {
    "time": "it exceeded the time limit",
    "memory": "it exceeded the memory limit",
    "stack": "the input is nested too deeply for the engine",
}


class WatchedExecutor:
    """An executor around ``engine``.

    ``expired`` maps digests of queries that ended a child before to the limit they hit, a key of
    :data:`REASONS`. They are not run again: the grammar has accepted them, and they have no rows.
    """

    def __init__(self, engine: Executor, board: Blackboard, expired: Mapping[str, str]) -> None:
        self._engine = engine
        self._board = board
        self._expired = expired

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """As the engine does."""
        return self._engine.parse(text, rdf_format)

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """As the engine does; checking may begin to evaluate, so it is noted too."""
        digest = query_digest(query)
        if digest in self._expired:
            return None
        self._board.enter(digest)
        error = self._engine.check(query, prefixes, update=update)
        self._board.leave()
        return error

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """As the engine does, with the limits of :meth:`select`."""
        return self._noted(text, lambda: self._engine.changes(text, graph, prefixes))

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """As the engine does; a query that hit a limit before gives no rows and says so."""
        return self._noted(query, lambda: self._engine.select(query, graph, prefixes))

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """As the engine does, with the limits of :meth:`select`."""
        return self._noted(query, lambda: self._engine.results(query, graph, prefixes))

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """As the engine does, with the limits of :meth:`select`."""
        return self._noted(query, lambda: self._engine.explore(query, graph, prefixes))

    def _noted(self, query: str, run: Callable[[], QueryResult]) -> QueryResult:
        digest = query_digest(query)
        if digest in self._expired:
            return QueryResult(
                error=f"the query was ended: {REASONS[self._expired[digest]]}", expired=True
            )
        self._board.enter(digest)
        result = run()
        self._board.leave()
        return result
