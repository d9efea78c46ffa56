# SPDX-License-Identifier: Apache-2.0
"""Graphs of counts, and the change stamps that say whether they are up to date.

Counts are in a graph of their own, and are sealed with the change stamp of the graph that they
count. When that graph changes, its stamp differs and the counts are ignored until they are sealed
again: a writer that does not count makes tables slower, not wrong. A write that changes both graphs
gives them the same stamp, and the counts stay valid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kgbench.rdf import integer, queries
from kgbench.record import terms as t
from kgbench.record.entries import registry_entry
from kgbench.store.iris import Iris, new_id
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

FEW = 500  # resources that a query names


class PendingWrite(NamedTuple):
    """Blocks to be written, and a callback for when they are durable."""

    blocks: list[Block]
    then: Callable[[], None] | None = None

    def with_(self, other: PendingWrite) -> PendingWrite:
        """Return both writes as one."""
        callbacks = [then for then in (self.then, other.then) if then is not None]

        def then() -> None:
            for callback in callbacks:
                callback()

        return PendingWrite([*self.blocks, *other.blocks], then if callbacks else None)


class CountGraph(ABC):
    """The graph of the counts of one graph: of a pass or of a run."""

    def __init__(self, store: Store, counted: str) -> None:
        self._store = store
        self._counted = counted
        self.graph = graph_of(store.iris, counted)
        self._node = store.iris.mint("aggregates", **{"pass": counted.rpartition("/")[2]})
        self._added = f"{self._node}/{new_id()}"
        self._parts = 0
        stamp, own = _stamp(store, counted), _stamp(store, self.graph)
        if stamp is None and own is not None:
            store.drop([self.graph])  # left by an interrupted writer
        #: Whether everything stored is counted or marked: only what is new needs counting.
        self.is_whole = stamp is None or stamp == own or stamp in self._sealed_at()

    @abstractmethod
    def rebuild(self) -> None:
        """Count everything again."""

    @abstractmethod
    def finish(self) -> None:
        """Count what an interrupted session marked but did not count."""

    @abstractmethod
    def is_right(self) -> bool:
        """Return whether the counts equal what is counted."""

    def opening(self) -> list[Block]:
        """Return the blocks that describe the graph and register it."""
        lines = [
            f"<{self._node}> {t.TYPE} {t.AGGREGATES} .",
            f"<{self._node}> {t.TYPE} {t.ENTITY} .",
            f"<{self._node}> {t.READ_GRAPH} <{self._counted}> .",
        ]
        entry = registry_entry(self.graph, self._node)
        return [Block(self.graph, lines), Block(self._store.iris.catalogue, entry)]

    def _sealed(self) -> list[Block]:
        """Return the blocks that seal the counts with the stamp of the counted graph."""
        stamp = _stamp(self._store, self._counted)
        assert stamp is not None
        line = f"<{self._node}> {t.STAMP_AT_USE} {integer(stamp)} ."
        return [*self.opening(), Block(self.graph, [line])]

    def _is_sealed(self) -> bool:
        return _stamp(self._store, self._counted) in self._sealed_at()

    def _sealed_at(self) -> set[int]:
        """Return the change stamps of the counted graph at which counts were sealed."""
        text = fill("sealings.rq", graph=self.graph, aggregates=self._node)
        return {int(row["stamp"].value) for row in self._store.query(text)}

    @property
    def _next(self) -> str:
        """The IRI of the next list of counts."""
        return f"{self._added}.{self._parts}"

    def _sweep(self) -> None:
        """Remove the marks on lists that have been written."""
        self._store.update(fill("sweep-marks.ru", graph=self.graph))


def graph_of(iris: Iris, counted: str) -> str:
    """Return the graph of the counts of a graph."""
    return iris.mint("aggregatesGraph", **{"pass": counted.rpartition("/")[2]})


def which(variable: str, iris: Iterable[str]) -> str:
    """Return a ``VALUES`` clause for a template; without IRIs, nothing, which selects all."""
    named = " ".join(f"<{iri}>" for iri in iris)
    return f"VALUES ?{variable} {{ {named} }}" if named else ""


def portions(iris: Sequence[str]) -> list[Sequence[str]]:
    """Return the IRIs in portions that a query can name."""
    return [iris[at : at + FEW] for at in range(0, len(iris), FEW)]


def _stamp(store: Store, graph: str) -> int | None:
    """Return the change stamp of a graph; ``None`` where it is not registered."""
    stamps = (stamp for _, stamp in queries.rows(store, "list-stamps", graph=graph))
    return max((int(stamp) for stamp in stamps if stamp is not None), default=None)
