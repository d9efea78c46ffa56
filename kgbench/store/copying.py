# SPDX-License-Identifier: Apache-2.0
"""Moving a store from one back end to another, and proving that nothing changed on the way.

Content goes first and the catalogue, which makes it visible, last: a copy that is interrupted
leaves nothing that counts, and the next one begins anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import digests, layouts, registry
from kgbench.store.digests import Digest
from kgbench.store.iris import Iris
from kgbench.store.protocol import Block, OwnedStore

_LINES = 5_000  # triples handed over at once


class Source(Protocol):
    """What can be copied: a store, or a dump of one."""

    iris: Iris
    location: str

    def query(self, text: str) -> Any:
        """See :meth:`kgbench.store.protocol.Store.query`."""
        ...

    def graphs(self) -> list[str]:
        """See :meth:`kgbench.store.protocol.Store.graphs`."""
        ...

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`kgbench.store.protocol.Store.triples`."""
        ...


class Copied(NamedTuple):
    """One graph that was copied and verified."""

    graph: str
    triples: int
    digest: str


def copy(
    source: Source, target: OwnedStore, watch: Callable[[str, int], None] | None = None
) -> list[Copied]:
    """Copy every registered graph and the catalogue of ``source`` into the empty ``target``.

    Afterwards each graph is read back; its count and digest must be those of the source. ``watch``
    is told of each graph with its number of triples. The target should be closed and opened anew.
    Raises :class:`~kgbench.errors.StoreError` where the target holds results, the source changed
    meanwhile, or a graph came out otherwise.
    """
    layouts.check(source)
    catalogue = source.iris.catalogue
    if target.iris.catalogue != catalogue:
        raise StoreError(f"{source.location} and {target.location} have different bases")
    there = registry.graphs(target)
    if there:
        raise StoreError(
            f"the store {target.location} holds results already ({len(there)} graphs): copy into "
            "an empty one"
        )
    stamps = registry.stamps(source)
    known = registry.graphs(source)
    if not known:
        raise StoreError(f"the store {source.location} holds no results to copy")
    missing = sorted(set(known) - set(source.graphs()))
    target.drop(sorted(known))  # what an interrupted copy may have left
    copied = []
    for graph in [*known, catalogue]:
        digest = Digest()
        if graph == catalogue:
            _catalogue(digest.through(source.triples(graph)), target, {*known, catalogue})
        else:
            target.bulk_load(_blocks(graph, digest.through(source.triples(graph))))
        _whole(source, graph, digest, empty=graph in missing)
        copied.append(Copied(graph, digest.triples, digest.value))
        if watch is not None:
            watch(graph, digest.triples)
    if registry.stamps(source) != stamps:
        raise StoreError(
            f"the store {source.location} changed while it was copied: stop what writes it, empty "
            f"{target.location}, and copy again"
        )
    for one in copied:
        verify(target, one)
    return copied


def verify(store: Source, expected: Copied) -> None:
    """Raise :class:`StoreError` unless a graph holds what is ``expected``."""
    found = digests.of(store.triples(expected.graph))
    if (found.triples, found.value) != (expected.triples, expected.digest):
        raise StoreError(
            f"{store.location}: the graph {expected.graph} was copied with {found.triples} of "
            f"{expected.triples} triples, or with other ones (digest {found.value[:12]} instead of "
            f"{expected.digest[:12]}): do not use this copy"
        )


def _catalogue(triples: Iterable[ox.Triple], target: OwnedStore, known: set[str]) -> None:
    """Replace the catalogue of ``target``: first what is described, then the registry."""
    catalogue = target.iris.catalogue
    target.update(f"DROP SILENT GRAPH <{catalogue}>")
    entries: list[str] = []

    def described() -> Iterator[ox.Triple]:
        for triple in triples:
            subject = triple.subject
            if isinstance(subject, ox.NamedNode) and subject.value in known:
                entries.append(f"{triple} .")
            else:
                yield triple

    target.bulk_load(_blocks(catalogue, described()))
    target.bulk_load([Block(catalogue, entries)])


def _blocks(graph: str, triples: Iterable[ox.Triple]) -> Iterator[Block]:
    lines: list[str] = []
    for triple in triples:
        lines.append(f"{triple} .")
        if len(lines) == _LINES:
            yield Block(graph, lines)
            lines = []
    yield Block(graph, lines)


def _whole(source: Source, graph: str, digest: Digest, *, empty: bool) -> None:
    if digest.blank:
        raise StoreError(
            f"{source.location}: the graph {graph} has blank nodes ({digest.blank} triples), which "
            "cannot be copied so that they can be compared: remove them first"
        )
    if digest.triples == 0 and not empty:
        raise StoreError(f"{source.location}: the graph {graph} vanished while it was copied")


@contextmanager
def local(location: str) -> Iterator[Path]:
    """The folder of an embedded store with what is at ``location``: itself, or a copy.

    What needs an embedded store can so be done with one on a server. The copy is verified, knows
    the secrets that this machine keeps for the store, and is gone afterwards.
    """
    from kgbench.store import back_ends, embedded_only, known_keys, open_reader, open_store

    if not back_ends.is_remote(location):
        yield embedded_only(location, "this")
        return
    with tempfile.TemporaryDirectory(prefix="kgbench-copy-") as scratch:
        folder = Path(scratch) / "store"
        with open_reader(location) as source, open_store(str(folder)) as target:
            copy(source, target)
        known_keys.carry(location, str(folder))
        yield folder
