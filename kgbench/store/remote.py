# SPDX-License-Identifier: Apache-2.0
"""The remote back end: a store on any server with SPARQL 1.1 over HTTP.

A write is one update with the content and with change stamps, which only ever grow. It is
idempotent: if it is repeated because its fate is unknown, or arrives late, it changes nothing,
because it has no blank nodes and graphs are sets of triples. Writes above the server's request
limit are sent in pieces, with the registry in a graph beside the catalogue until the last one, so
that incomplete content is not visible.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import pyoxigraph as ox

from kgbench.errors import NoStore, StoreError
from kgbench.rdf import integer
from kgbench.rdf.quads import named
from kgbench.store import declared, registry
from kgbench.store.back_ends import BackEnd
from kgbench.store.client import Client
from kgbench.store.iris import Iris
from kgbench.store.leases import Lease
from kgbench.store.protocol import Block, ReadOnly
from kgbench.store.templates import fill

_NODES = 500  # nodes that one query names
_OVERHEAD = 1_000  # bytes for the text around the triples of an update
_MISFITS = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, AssertionError)


def refuse_misfits(location: str, error: object = None) -> None:
    """Raise :class:`StoreError` if ``error`` comes from kgbench's own code.

    A server may answer a query with rows that miss values or have other types. Such rows cause
    errors in many places of kgbench. Errors that other code raises (a program that uses kgbench)
    are not converted.
    """
    if not isinstance(error, _MISFITS) or error.__traceback__ is None:
        return
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    packages = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in frames]
    others = [package for package in packages if package not in sys.stdlib_module_names]
    if others[-1:] == ["kgbench"]:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise StoreError(
            f"the answer of the server {location} does not match the query ({reason}): check that "
            "the address is that of a kgbench store; --debug shows where it failed"
        ) from error


class _Remote:
    """The reading methods of a store on a server."""

    location: str

    def __init__(self, back_end: BackEnd) -> None:
        self.iris = Iris()
        self.location = back_end.location
        self._client = Client(back_end)

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`."""
        return self._client.query(text)

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        lease = self.iris.mint("leaseGraph")
        names = (row[0].value for row in self.query(fill("graphs.rq", base=self.iris.base)))
        return sorted(graph for graph in names if graph != lease)

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        return self._client.triples(graph)

    def about(self, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """See :meth:`~kgbench.store.protocol.Store.about`."""
        return self._quads("statements-about.rq", nodes)

    def referring(self, name: str, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """See :meth:`~kgbench.store.protocol.Store.referring`."""
        return self._quads("statements-referring.rq", nodes, property=name)

    def _quads(self, query: str, nodes: Iterable[str], **parts: str) -> Iterator[ox.Quad]:
        names = list(map(str, named(dict.fromkeys(nodes))))
        for begin in range(0, len(names), _NODES):
            some = " ".join(names[begin : begin + _NODES])
            for row in self.query(fill(query, nodes=some, **parts)):
                yield ox.Quad(*row)

    def __enter__(self) -> Self:
        return self


class RemoteReader(_Remote, ReadOnly):
    """A store on a server, opened for reading; shows the current state, writes included."""

    def __init__(self, back_end: BackEnd) -> None:
        super().__init__(back_end)
        try:
            empty = registry.check_layout(self) is None
        except BaseException as error:
            self.close()
            refuse_misfits(self.location, error)
            raise
        if empty:
            self.close()
            raise NoStore(f"there is no store at {self.location} yet: `kgbench run` creates one")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __exit__(self, *exception: object) -> None:
        self.close()
        refuse_misfits(self.location, *exception[1:2])


class RemoteStore(_Remote):
    """A store on a server, opened by its owner; see :class:`~kgbench.store.protocol.Store`."""

    def __init__(self, back_end: BackEnd) -> None:
        super().__init__(back_end)
        self._limit = back_end.request_limit
        self._writing = threading.Lock()
        self._stamps: dict[str, int] = {}
        self._loaded: set[str] = set()  # graphs, registered since or not
        self._lease: Lease | None = None
        self._closed = False
        self._in_doubt = False  # whether the server may lack a write whose stamps we have
        try:
            self._lease = Lease(self._client, self.iris, self.location)
            registry.check_layout(self)
            declared.load(self)
            self._read_registry()
            self._loaded.update(self._lease.loaded())
            self._drop_unregistered()
        except BaseException as error:
            self._give_up()
            refuse_misfits(self.location, error)
            raise

    def write(self, blocks: Sequence[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.write`."""
        with self._writing:
            self._confirm_lease()
            if self._in_doubt:
                self._read_registry()
            self._in_doubt = True
            if _size(blocks) > self._limit:
                parts = self._load_in_pieces(blocks)
            else:
                content = "\n".join(
                    f"GRAPH <{graph}> {{\n{chr(10).join(lines)}\n}}"
                    for graph, lines in blocks
                    if lines
                )
                parts = [fill("remote-write.ru", content=content)] if content else []
            graphs = sorted({block.graph for block in blocks})
            parts += self._registration_updates(graphs)
            parts += self._stamp_updates(graphs)
            if parts:
                self._client.update(" ;\n".join(parts))
            self._in_doubt = False

    def update(self, text: str) -> None:
        """Run one of the maintenance updates in ``store/``, which must be idempotent."""
        with self._writing:
            self._confirm_lease()
            self._client.update(text)

    def bulk_load(self, blocks: Iterable[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.bulk_load`."""
        for graph, lines in by_graph(blocks, self._limit):
            with self._writing:
                self._confirm_lease()
                self._load(graph, lines)

    def drop(self, graphs: Sequence[str]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.drop`."""
        drops = " ;\n".join(f"DROP SILENT GRAPH <{graph}>" for graph in graphs)
        terms = " ".join(f"<{graph}>" for graph in graphs)
        self.update(fill("drop.ru", catalogue=self.iris.catalogue, graphs=terms, drops=drops))
        for graph in graphs:
            self._stamps.pop(graph, None)

    def optimize(self) -> None:
        """Do nothing: SPARQL 1.1 has no operation for it."""

    def publish_soon(self) -> None:
        """Do nothing: readers of a server see each write immediately."""

    def settle(self) -> None:
        """Do nothing: durability of acknowledged writes is the server's task."""

    def close(self) -> None:
        """See :meth:`~kgbench.store.protocol.Store.close`."""
        if self._closed:
            return
        try:
            if self._lease is not None:
                self._drop_unregistered()
                self._lease.end()
        finally:
            self._closed = True
            self._client.close()

    def __exit__(self, *exception: object) -> None:
        if exception[:1] in ((), (None,)):
            self.close()
        else:
            self._give_up()
            refuse_misfits(self.location, exception[1])

    def _give_up(self) -> None:
        """Close after an error, without hiding it by another error of the same server."""
        with suppress(StoreError):
            self.close()

    def _read_registry(self) -> None:
        """Read the stamps of all graphs and the last registration from the server."""
        self._stamps = registry.stamps(self)
        self._registered = registry.last_registration(self)

    def _confirm_lease(self) -> None:
        if self._closed or self._lease is None:
            raise StoreError(f"the store {self.location} is closed")
        self._lease.hold()

    def _load(self, graph: str, lines: Sequence[str]) -> None:
        """Add triples to a graph, and note before that a new graph is ours."""
        known = graph in self._loaded or graph in self._stamps or graph == self.iris.catalogue
        if not known and self._lease is not None:
            self._lease.note(graph)
            self._loaded.add(graph)
        self._client.load(graph, lines)

    def _drop_unregistered(self) -> None:
        """Remove what this process, or one whose lease it took, loaded and did not register.

        Other graphs without a registry entry may be anybody's.
        """
        if self._loaded and (lost := sorted(self._loaded - registry.stamps(self).keys())):
            self.drop(lost)

    def _load_in_pieces(self, blocks: Sequence[Block]) -> list[str]:
        """Load ``blocks``, those of the catalogue beside it; return the updates that show them.

        Each graph that is changed first gets a change stamp of its own: their states are not
        consistent with each other until the last piece is written.
        """
        catalogue, beside = self.iris.catalogue, registry.beside(self)
        known = sorted({block.graph for block in blocks if block.graph in self._stamps})
        if stamps := [part for graph in known for part in self._stamp_updates([graph])]:
            self._client.update(" ;\n".join(stamps))
        for graph, lines in by_graph(blocks, self._limit):
            self._load(beside if graph == catalogue else graph, lines)
        return [fill("show.ru", catalogue=catalogue, beside=beside)]

    def _registration_updates(self, graphs: Sequence[str]) -> list[str]:
        """Return the updates that give the new graphs of this write a registration number."""
        catalogue = self.iris.catalogue
        new = [graph for graph in graphs if graph not in self._stamps and graph != catalogue]
        self._registered += bool(new)
        number = integer(self._registered)
        return [
            fill("register.ru", catalogue=catalogue, graph=graph, number=number) for graph in new
        ]

    def _stamp_updates(self, graphs: Sequence[str]) -> list[str]:
        """Return the updates that give ``graphs`` the change stamp of this write."""
        after = registry.next_stamp(self._stamps, graphs)
        catalogue, stamp = self.iris.catalogue, integer(after)
        self._stamps.update(dict.fromkeys(graphs, after))
        return [fill("stamp.ru", catalogue=catalogue, graph=graph, stamp=stamp) for graph in graphs]


def by_graph(blocks: Iterable[Block], limit: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the triples of ``blocks`` in pieces of at most ``limit`` bytes, each for one graph.

    A triple is never divided: one with a literal above the limit is a piece of its own, whatever
    its size. The order within a graph is kept; only a few pieces are in memory at a time.

    >>> list(by_graph([Block("g", ["a"]), Block("h", ["b"]), Block("g", ["c"])], 10_000))
    [('g', ['a', 'c']), ('h', ['b'])]
    """
    most = max(1, limit - _OVERHEAD)
    waiting: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for graph, lines in blocks:
        for line in lines:
            size = len(line.encode("utf-8")) + 1
            if sizes.get(graph, 0) + size > most and waiting.get(graph):
                yield graph, waiting.pop(graph)
                sizes[graph] = 0
            waiting.setdefault(graph, []).append(line)
            sizes[graph] = sizes.get(graph, 0) + size
        if sum(sizes[name] for name in waiting) > 4 * most:
            fullest = max(waiting, key=lambda name: sizes[name])
            yield fullest, waiting.pop(fullest)
            sizes[fullest] = 0
    yield from waiting.items()


def _size(blocks: Iterable[Block]) -> int:
    """Return the approximate size of an update with ``blocks``, in bytes."""
    return _OVERHEAD + sum(len(line.encode("utf-8")) + 1 for b in blocks for line in b.triples)
