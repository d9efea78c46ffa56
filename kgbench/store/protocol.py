# SPDX-License-Identifier: Apache-2.0
"""What a store is to the rest of kgbench: SPARQL in, results out, atomic writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import pyoxigraph as ox

from kgbench.store.iris import Iris


class Block(NamedTuple):
    """Triples for one named graph: its IRI, and N-Triples lines (``<s> <p> <o> .``)."""

    graph: str
    triples: Sequence[str]


class Store(Protocol):
    """Reads and writes one result store.

    Content graphs and what the registry says of them change together: every write also replaces
    the change stamps of the graphs it touches, in the same atomic operation. They all get the same
    stamp, so that graphs with equal stamps were last changed together.
    """

    iris: Iris
    location: str

    def query(self, text: str) -> Any:
        """The result of a SPARQL query: solutions, triples or a boolean, as pyoxigraph gives them.

        Raises :class:`~kgbench.errors.QueryError` with the engine's message.
        """
        ...

    def graphs(self) -> list[str]:
        """The IRIs of the store's named graphs, registered or not, in order."""
        ...

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """The triples of one named graph, in no order; none where there is no such graph."""
        ...

    def write(self, blocks: Sequence[Block]) -> None:
        """Write all of ``blocks``, or nothing; durable when it returns."""
        ...

    def bulk_load(self, blocks: Iterable[Block]) -> None:
        """Load much at once, outside any transaction and without change stamps.

        For graphs that no registry entry makes visible yet; a :meth:`write` that registers them
        completes the load.
        """
        ...

    def drop(self, graphs: Sequence[str]) -> None:
        """Remove graphs with their registry entries, atomically; absent ones are passed over."""
        ...

    def update(self, text: str) -> None:
        """Run one of the maintenance updates in ``store/``, atomically, without change stamps."""
        ...

    def publish_soon(self) -> None:
        """Have readers see what was written until now as soon as can be; does not wait for it."""
        ...

    def settle(self) -> None:
        """Bring everything written until now to the disk, where that is in our hands."""
        ...

    def close(self) -> None:
        """Make everything visible to readers and give the store up; may be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class OwnedStore(Store, Protocol):
    """A store that was opened by its one owner, with what maintenance needs."""

    def optimize(self) -> None:
        """Put the database in order, where that is in our hands."""
        ...
