# SPDX-License-Identifier: Apache-2.0
r"""What kgbench and a judging child say to each other: messages, and the query that runs now.

Messages are JSON, with cases, verdicts and results. Texts are UTF-8 with surrogates passed through:
escaped as ``\ud83d\ude00``, two lone surrogates would be decoded as one character.

The child's executor notes the current query in shared memory, for its parent to read: that costs no
system call and survives a crash of the child. It skips queries that failed before.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Mapping
from typing import Any

from kgbench.model import Case, Executor, Json, Outcome, ParsedGraph, QueryResult, Verdict
from kgbench.tool_calls import ToolOutcome, ToolResult

SIZE = 64  # bytes of a SHA-256 in hex; all zero while no query runs
_BLANK = bytes(SIZE)
REASONS = {
    "time": "it exceeded the time limit",
    "memory": "it exceeded the memory limit",
    "stack": "the input is nested too deeply for the engine",
}


def encode(message: Json) -> bytes:
    """Encode ``message`` as the payload of a frame; :func:`decode` reverses it."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=_as_json)
    return text.encode("utf-8", "surrogatepass")


def _as_json(value: object) -> dict[str, Json]:
    if isinstance(value, Case | ToolResult):
        return {name: getattr(value, name) for name in value.__slots__}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def decode(payload: bytes) -> Json:
    """Decode the payload of a frame."""
    return json.loads(payload.decode("utf-8", "surrogatepass"))


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Convert a verdict to JSON; :func:`verdict_from_json` reverses it."""
    fields = {name: getattr(verdict, name) for name in Verdict.__slots__}
    return {**fields, "scores": dict(verdict.scores), "infos": dict(verdict.infos)}


def verdict_from_json(value: Mapping[str, Any]) -> Verdict:
    """Restore a verdict from :func:`verdict_to_json`."""
    return Verdict(**{**value, "outcome": Outcome(value["outcome"])})


def result_from_json(value: Mapping[str, Any]) -> ToolResult:
    """Restore a tool's result from its JSON."""
    return ToolResult(value["text"], ToolOutcome(value["outcome"]))


def query_digest(query: str) -> str:
    """Return the digest that identifies a query in shared memory and in requests."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()


class SharedStatus:
    """A note in shared memory; ``descriptor`` is an open file of :data:`SIZE` bytes."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def enter(self, digest: str) -> None:
        """Note that the query with this digest starts."""
        self._memory[:] = digest.encode("ascii")

    def leave(self) -> None:
        """Note that no query runs."""
        self._memory[:] = _BLANK

    def read(self) -> str | None:
        """Return the digest of the current query, or of the query in which the child ended."""
        note = bytes(self._memory)
        return None if note == _BLANK else note.decode("ascii")


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
