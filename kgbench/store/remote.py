# SPDX-License-Identifier: Apache-2.0
"""The remote back end: a store on any server that speaks SPARQL 1.1 over HTTP.

A write is one update: content, and change stamps that only ever grow. Sent again, because nobody
knows whether it arrived, or arriving late, it changes nothing: there is nothing blank in it, and
what is there already is not added twice. What is larger than the server takes goes in pieces, the
registry last, so that what is not whole is not visible.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.rdf import integer
from kgbench.store import batching, declared, layouts, registry
from kgbench.store.back_ends import BackEnd
from kgbench.store.client import Client
from kgbench.store.iris import Iris
from kgbench.store.leases import Lease
from kgbench.store.protocol import Block
from kgbench.store.read_only import ReadOnly
from kgbench.store.templates import fill

_MISFITS = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, AssertionError)


def refuse_misfits(location: str, error: object = None) -> None:
    """Raise :class:`StoreError` where our code failed on rows that no store of ours could give.

    A server may answer a query with rows in which values are missing or of another kind. They are
    read in many places, each of which would end with an error of its own; what is raised by others
    than kgbench (a program that uses it) is left alone.
    """
    if not isinstance(error, _MISFITS) or error.__traceback__ is None:
        return
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    rooms = (str(frame.f_globals.get("__name__")).partition(".")[0] for frame in reversed(frames))
    if next((room for room in rooms if room not in sys.stdlib_module_names), "") == "kgbench":
        words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise StoreError(
            f"what the server {location} answered does not fit what it was asked ({words}): look "
            "whether the address is that of a kgbench store; --debug shows where it failed"
        ) from error


class RemoteReader(ReadOnly):
    """A store on a server, for reading: what is there now, beside whoever writes it."""

    def __init__(self, back_end: BackEnd) -> None:
        self.iris = Iris()
        self.location = back_end.location
        self._client = Client(back_end)
        try:
            empty = layouts.check(self) is None
        except BaseException as error:
            self.close()
            refuse_misfits(self.location, error)
            raise
        if empty:
            self.close()
            raise StoreError(f"there is no store at {self.location} yet: `kgbench run` makes one")

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`."""
        return self._client.query(text)

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        return sorted(row[0].value for row in self.query(fill("graphs.rq", base=self.iris.base)))

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        return self._client.triples(graph)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
        refuse_misfits(self.location, *exception[1:2])


class RemoteStore:
    """The one owner of a store on a server; see :class:`~kgbench.store.protocol.Store`."""

    def __init__(self, back_end: BackEnd) -> None:
        self.iris = Iris()
        self.location = back_end.location
        self._client = Client(back_end)
        self._limit = back_end.request_limit
        self._writing = threading.Lock()
        self._loaded: set[str] = set()
        self._lease: Lease | None = None
        self._closed = False
        try:
            self._lease = Lease(self._client, self.iris, self.location)
            layouts.bring_up(self)
            declared.load(self)
            self._stamps = registry.stamps(self)
            self._registered = registry.last_registration(self)
            if self._lease.taken_over:
                self._sweep()
        except BaseException as error:
            self._give_up()
            refuse_misfits(self.location, error)
            raise

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`."""
        return self._client.query(text)

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        lease = self.iris.mint("leaseGraph")
        found = (row[0].value for row in self.query(fill("graphs.rq", base=self.iris.base)))
        return sorted(graph for graph in found if graph != lease)

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        return self._client.triples(graph)

    def write(self, blocks: Sequence[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.write`."""
        with self._writing:
            self._held()
            rest = blocks
            if batching.size(blocks) > self._limit:
                self._part({block.graph for block in blocks})
                rest = self._large(blocks)
            content = [
                f"GRAPH <{graph}> {{\n{chr(10).join(lines)}\n}}" for graph, lines in rest if lines
            ]
            parts = [fill("remote-write.ru", content="\n".join(content))] if content else []
            graphs = sorted({block.graph for block in blocks})
            parts += self._numbered(graphs)
            parts += self._stamped(graphs)
            if parts:
                self._client.update(" ;\n".join(parts))

    def update(self, text: str) -> None:
        """Run one of the maintenance updates in ``store/``; sent again, it must change nothing."""
        with self._writing:
            self._held()
            self._client.update(text)

    def bulk_load(self, blocks: Iterable[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.bulk_load`."""
        for graph, lines in batching.by_graph(blocks, self._limit):
            with self._writing:
                lease = self._held()
                if graph not in self._loaded and graph != self.iris.catalogue:
                    self._loaded.add(graph)
                    lease.note_loading(graph)
                self._client.load(graph, lines)

    def drop(self, graphs: Sequence[str]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.drop`."""
        drops = " ;\n".join(f"DROP SILENT GRAPH <{graph}>" for graph in graphs)
        terms = " ".join(f"<{graph}>" for graph in graphs)
        self.update(fill("drop.ru", catalogue=self.iris.catalogue, graphs=terms, drops=drops))
        for graph in graphs:
            self._stamps.pop(graph, None)

    def optimize(self) -> None:
        """Nothing: a server keeps itself in order, and no standard tells it to."""

    def publish_soon(self) -> None:
        """Nothing: readers of a server see each write at once."""

    def settle(self) -> None:
        """Nothing: how a server keeps what it acknowledged is its own affair."""

    def close(self) -> None:
        """See :meth:`~kgbench.store.protocol.Store.close`."""
        if self._closed:
            return
        try:
            if self._lease is not None:
                if self._loaded:
                    self._sweep()
                self._lease.end()
        finally:
            self._closed = True
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[:1] in ((), (None,)):
            self.close()
        else:
            self._give_up()
            refuse_misfits(self.location, exception[1])

    def _give_up(self) -> None:
        """Close after an error, which is not to be hidden by another one of the same server."""
        with suppress(StoreError):
            self.close()

    def _held(self) -> Lease:
        if self._closed or self._lease is None:
            raise StoreError(f"the store {self.location} is closed")
        self._lease.hold()
        return self._lease

    def _large(self, blocks: Sequence[Block]) -> list[Block]:
        """Write in pieces all but the last piece of the catalogue, which is returned."""
        catalogue = self.iris.catalogue
        content = [block for block in blocks if block.graph != catalogue]
        for graph, lines in batching.by_graph(content, self._limit):
            self._client.load(graph, lines)
        registered = [block for block in blocks if block.graph == catalogue]
        pieces = list(batching.by_graph(registered, self._limit))
        for graph, lines in pieces[:-1]:
            self._client.load(graph, lines)
        return [Block(*piece) for piece in pieces[-1:]]

    def _numbered(self, graphs: Sequence[str]) -> list[str]:
        """The updates that number this write as the one that registers its new graphs."""
        catalogue = self.iris.catalogue
        new = [graph for graph in graphs if graph not in self._stamps and graph != catalogue]
        self._registered += bool(new)
        number = integer(self._registered)
        return [
            fill("register.ru", catalogue=catalogue, graph=graph, number=number) for graph in new
        ]

    def _stamped(self, graphs: Sequence[str]) -> list[str]:
        """The updates that give ``graphs`` one new change stamp, which is that of this write."""
        after = registry.next_stamp(self._stamps, graphs)
        catalogue, stamp = self.iris.catalogue, integer(after)
        self._stamps.update(dict.fromkeys(graphs, after))
        return [fill("stamp.ru", catalogue=catalogue, graph=one, stamp=stamp) for one in graphs]

    def _part(self, graphs: Iterable[str]) -> None:
        """Give the graphs of a write that goes in pieces a change stamp each.

        They are not in one state until the last piece has come.
        """
        known = sorted(graph for graph in graphs if graph in self._stamps)
        parts = [part for graph in known for part in self._stamped([graph])]
        if parts:
            self._client.update(" ;\n".join(parts))

    def _sweep(self) -> None:
        """Remove graphs that were loaded in bulk and that nobody came to register."""
        assert self._lease is not None
        known = registry.stamps(self).keys() | {self.iris.catalogue}
        if lost := sorted(self._lease.loading() - known):
            self.drop(lost)
