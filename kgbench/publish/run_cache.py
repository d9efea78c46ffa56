# SPDX-License-Identifier: Apache-2.0
"""A cache of one run's graphs in memory, where look-ups take a hundredth of the time.

A look-up on disk takes a hundred microseconds, and each term a few more; a dialogue needs some
eighty statements and a hundred look-ups. So the graphs of a run are read once, sequentially. Large
runs are not cached: they are looked up on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.publish.addresses import Addresses
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.rdf.quads import IndexedQuads

MOST_DIALOGUES = 2_000
"""The limit for a cached run; the statements of a dialogue take some 40 kB."""

Recorded = Callable[[str], Iterable[ox.Quad]]


class CachedRun(NamedTuple):
    """A cached run: its quads, and those of each graph by subject, in their original order."""

    quads: IndexedQuads
    groups: dict[str, list[list[ox.Quad]]]


class RunCache:
    """Caches one run at a time, together with the graphs ``shared`` by all runs (IRIs).

    ``recorded`` yields the statements of a graph by subject.
    """

    def __init__(self, recorded: Recorded, shared: Iterable[str]) -> None:
        self._recorded = recorded
        self._shared = IndexedQuads(quad for graph in shared for quad in recorded(graph))

    def hold(self, graphs: Iterable[str]) -> CachedRun:
        """Read a run with these graphs (IRIs)."""
        quads = IndexedQuads(beneath=self._shared)
        return CachedRun(quads, {graph: quads.add(self._recorded(graph)) for graph in graphs})


class CachedQuadRedactor(QuadRedactor):
    """Converts the quads of a cached run; each subject is converted once."""

    def __init__(self, cached_run: CachedRun, addresses: Addresses, rules: RedactionRules) -> None:
        super().__init__(cached_run.quads, addresses, rules)
        self._cached_run = cached_run
        self._known: dict[Any, list[ox.Quad]] = {}

    def graph(self, name: str) -> Iterator[list[ox.Quad]]:
        """Yield the published quads of a graph by subject, in the order on disk."""
        quads = self._cached_run.quads
        for group in self._cached_run.groups[name]:
            published = self.subject(group)
            subject = group[0].subject
            # Statements about some subjects are in several graphs.
            if quads.count_about(subject) == len(group):
                self._known[subject] = published
            if published:
                yield published

    def about(self, subject: Any) -> list[ox.Quad]:
        """Return the published quads about one subject, from all graphs."""
        published = self._known.get(subject)
        return super().about(subject) if published is None else published
