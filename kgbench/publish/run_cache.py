# SPDX-License-Identifier: Apache-2.0
"""A cache of one run's graphs in memory, where lookups take a hundredth of the time.

A lookup on disk takes a hundred microseconds, and each term a few more; a dialogue needs some
eighty statements and a hundred lookups. So the graphs of a run are read once, sequentially. Large
runs are not cached: they are looked up on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.publish.addresses import Addresses
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules

MOST_DIALOGUES = 2_000
"""The limit for a cached run; the statements of a dialogue take some 40 kB."""

_RENEWED = 400_000  # statements; pyoxigraph keeps the terms of removed graphs in memory

Recorded = Callable[[str], Iterable[ox.Quad]]


class CachedRun(NamedTuple):
    """A cached run: a database, and the statements of its graphs in their original order.

    ``spread`` are the subjects whose statements are not contiguous in a single graph.
    """

    database: ox.Store
    quads: dict[str, list[ox.Quad]]
    spread: frozenset[Any]


class RunCache:
    """Caches one run at a time, together with the graphs ``shared`` by all runs (IRIs).

    ``recorded`` yields the statements of a graph by subject.
    """

    def __init__(self, recorded: Recorded, shared: Iterable[str]) -> None:
        self._recorded = recorded
        self._shared = [quad for graph in shared for quad in recorded(graph)]
        self._subjects = {quad.subject for quad in self._shared}
        self._graphs: list[ox.NamedNode] = []
        self._renew()

    def hold(self, graphs: Iterable[str]) -> CachedRun:
        """Cache a run with these graphs (IRIs) instead of the previous run."""
        for graph in self._graphs:
            self._database.remove_graph(graph)
        if self._added > _RENEWED:
            self._renew()
        self._graphs = [ox.NamedNode(graph) for graph in graphs]
        quads, spread, seen = {}, set[Any](), set(self._subjects)
        for graph in self._graphs:
            statements = list(self._recorded(graph.value))
            self._database.bulk_extend(statements)
            self._added += len(statements)
            for subject, _ in groupby(quad.subject for quad in statements):
                (spread if subject in seen else seen).add(subject)
            quads[graph.value] = statements
        return CachedRun(self._database, quads, frozenset(spread))

    def _renew(self) -> None:
        self._database = ox.Store()
        self._database.bulk_extend(self._shared)
        self._added = 0


class CachedQuadRedactor(QuadRedactor):
    """Converts the quads of a cached run; each subject is converted once."""

    def __init__(self, cached_run: CachedRun, addresses: Addresses, rules: RedactionRules) -> None:
        super().__init__(cached_run.database, addresses, rules)
        self._cached_run = cached_run
        self._known: dict[Any, list[ox.Quad]] = {}

    def graph(self, name: str) -> Iterator[list[ox.Quad]]:
        """Yield the published quads of a graph by subject, in the order on disk; only once.

        The recorded statements are dropped, because their published form is kept.
        """
        quads = self._cached_run.quads.pop(name)
        for subject, group in groupby(quads, key=lambda quad: quad.subject):
            published = self.subject(list(group))
            if subject not in self._cached_run.spread:
                self._known[subject] = published
            if published:
                yield published

    def about(self, subject: Any) -> list[ox.Quad]:
        """Return the published quads about one subject, from all graphs."""
        published = self._known.get(subject)
        return super().about(subject) if published is None else published
