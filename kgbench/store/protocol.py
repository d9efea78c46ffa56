# SPDX-License-Identifier: Apache-2.0
"""The interface of stores: SPARQL queries and atomic writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol, Self

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store.iris import Iris


class Block(NamedTuple):
    """Triples for a named graph: its IRI, and N-Triples lines (``<s> <p> <o> .``)."""

    graph: str
    triples: Sequence[str]


class Store(Protocol):
    """A store of results.

    Content graphs and their registry entries change together: every write also replaces the change
    stamps of the graphs that it changes, in the same atomic operation. All of them get the same
    stamp, so graphs with equal stamps were last changed together.
    """

    iris: Iris
    location: str

    def query(self, text: str) -> Any:
        """Return the result of a SPARQL query, as pyoxigraph's solutions, triples or boolean.

        Raises :class:`~kgbench.errors.QueryError` with the engine's message.
        """
        ...

    def graphs(self) -> list[str]:
        """Return the IRIs of the store's named graphs, registered or not, in order."""
        ...

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """Yield the triples of a named graph, unordered; none if it does not exist."""
        ...

    def about(self, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """Yield the statements about nodes (IRIs)."""
        ...

    def referring(self, name: str, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """Yield the statements with the property ``name`` whose values are among the nodes."""
        ...

    def write(self, blocks: Sequence[Block]) -> None:
        """Write ``blocks`` atomically; they are durable when the method returns."""
        ...

    def bulk_load(self, blocks: Iterable[Block]) -> None:
        """Load many triples, outside any transaction and without change stamps.

        Only for graphs without a registry entry, which are not visible yet; a :meth:`write` that
        registers them completes the load.
        """
        ...

    def drop(self, graphs: Sequence[str]) -> None:
        """Remove graphs with their registry entries, atomically; missing graphs are ignored."""
        ...

    def update(self, text: str) -> None:
        """Run one of the maintenance updates in ``store/``, atomically, without change stamps."""
        ...

    def publish_soon(self) -> None:
        """Make all writes so far visible to readers soon, without waiting for it."""
        ...

    def settle(self) -> None:
        """Sync all writes so far to disk, if the back end allows it."""
        ...

    def close(self) -> None:
        """Make everything visible to readers and close the store; may be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class OwnedStore(Store, Protocol):
    """A store opened by its only owner, with methods for maintenance."""

    def optimize(self) -> None:
        """Compact the database, if the back end allows it."""
        ...


class ReadOnly:
    """The writing methods of a store that is not owned, which raise :class:`StoreError`."""

    location: str

    def _refuse(self, *_: object) -> NoReturn:
        raise StoreError(f"the store {self.location} was opened for reading")

    write = bulk_load = drop = update = publish_soon = _refuse

    def settle(self) -> None:
        """Do nothing: a reader has written nothing."""
