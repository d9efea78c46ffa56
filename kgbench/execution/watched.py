# SPDX-License-Identifier: Apache-2.0
"""The executor for judges in a child, which notes each query and skips those that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgbench.execution.shared_status import SharedStatus, query_digest
from kgbench.model import Executor, ParsedGraph, QueryResult

REASONS = {
    "time": "it exceeded the time limit",
    "memory": "it exceeded the memory limit",
    "stack": "the input is nested too deeply for the engine",
}


class WatchedExecutor:
    """An executor that wraps ``engine``.

    ``expired`` maps digests of queries that exceeded a limit in an earlier child to that limit, a
    key of :data:`REASONS`. They are not executed again: they count as valid and have no rows.
    """

    def __init__(self, engine: Executor, board: SharedStatus, expired: Mapping[str, str]) -> None:
        self._engine = engine
        self._board = board
        self._expired = expired

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Parse with the engine."""
        return self._engine.parse(text, rdf_format)

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """Check with the engine; the query is noted, because a check may begin its evaluation."""
        digest = query_digest(query)
        if digest in self._expired:
            return None
        self._board.enter(digest)
        error = self._engine.check(query, prefixes, update=update)
        self._board.leave()
        return error

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Call the engine, except for queries that have exceeded a limit; see :meth:`select`."""
        return self._run(text, lambda: self._engine.changes(text, graph, prefixes))

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Call the engine; a query that has exceeded a limit has no rows and an error instead."""
        return self._run(query, lambda: self._engine.select(query, graph, prefixes))

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Call the engine, except for queries that have exceeded a limit; see :meth:`select`."""
        return self._run(query, lambda: self._engine.results(query, graph, prefixes))

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Call the engine, except for queries that have exceeded a limit; see :meth:`select`."""
        return self._run(query, lambda: self._engine.explore(query, graph, prefixes))

    def _run(self, query: str, run: Callable[[], QueryResult]) -> QueryResult:
        digest = query_digest(query)
        if digest in self._expired:
            return QueryResult(
                error=f"the query was ended: {REASONS[self._expired[digest]]}", expired=True
            )
        self._board.enter(digest)
        result = run()
        self._board.leave()
        return result
