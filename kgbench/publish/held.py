# SPDX-License-Identifier: Apache-2.0
"""The graphs of one run in memory, where looking something up takes a hundredth of the time.

The engine reads a term from disk in several microseconds, and finds where to begin in a hundred; a
dialogue takes some eighty statements and a hundred beginnings. So the graphs of a run are read
once, from their beginning to their end. Large runs are not held: they are looked up on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.publish.addresses import Addresses
from kgbench.publish.outgoing import Outgoing, Rules

MOST_DIALOGUES = 2_000
"""Of a run that is held: its statements take some 40 kB for each."""

_RENEWED = 400_000  # statements; the engine never forgets the terms of what is removed

Recorded = Callable[[str], Iterable[ox.Quad]]


class Held(NamedTuple):
    """A run: what the engine answers from, and the statements of its graphs in their order.

    ``spread`` are the subjects of which it is spoken in several graphs, or in several places of
    one.
    """

    database: ox.Store
    quads: dict[str, list[ox.Quad]]
    spread: frozenset[Any]


class Holder:
    """Holds one run at a time, with the graphs that are ``shared`` by all (IRIs).

    ``recorded`` gives the statements of a graph, subject by subject.
    """

    def __init__(self, recorded: Recorded, shared: Iterable[str]) -> None:
        self._recorded = recorded
        self._shared = [quad for graph in shared for quad in recorded(graph)]
        self._subjects = {quad.subject for quad in self._shared}
        self._graphs: list[ox.NamedNode] = []
        self._renew()

    def hold(self, graphs: Iterable[str]) -> Held:
        """A run with these graphs (IRIs), in place of the one before."""
        for graph in self._graphs:
            self._database.remove_graph(graph)
        if self._added > _RENEWED:
            self._renew()
        self._graphs = [ox.NamedNode(graph) for graph in graphs]
        quads, spread, seen = {}, set[Any](), set(self._subjects)
        for graph in self._graphs:
            found = list(self._recorded(graph.value))
            self._database.bulk_extend(found)
            self._added += len(found)
            for subject, _ in groupby(quad.subject for quad in found):
                (spread if subject in seen else seen).add(subject)
            quads[graph.value] = found
        return Held(self._database, quads, frozenset(spread))

    def _renew(self) -> None:
        self._database = ox.Store()
        self._database.bulk_extend(self._shared)
        self._added = 0


class HeldOutgoing(Outgoing):
    """Publishes the quads of a run that is held; each subject is prepared once."""

    def __init__(self, held: Held, addresses: Addresses, rules: Rules) -> None:
        super().__init__(held.database, addresses, rules)
        self._held = held
        self._known: dict[Any, list[ox.Quad]] = {}

    def graph(self, name: str) -> Iterator[list[ox.Quad]]:
        """All of a graph of the run, subject by subject, as the store on disk keeps it; once.

        Its statements are let go then, because what is published of them is kept.
        """
        quads = self._held.quads.pop(name)
        for subject, group in groupby(quads, key=lambda quad: quad.subject):
            found = self.subject(list(group))
            if subject not in self._held.spread:
                self._known[subject] = found
            if found:
                yield found

    def about(self, subject: Any) -> list[ox.Quad]:
        """What is published of one subject, in all graphs."""
        known = self._known.get(subject)
        return super().about(subject) if known is None else known
