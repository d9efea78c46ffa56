# SPDX-License-Identifier: Apache-2.0
"""Copies of a store to another back end, verified by counts and digests.

Content is copied first, and the catalogue, which makes it visible, last: an interrupted copy to a
server leaves nothing visible, and the next one starts again. A folder gets its name when the copy
in it is complete.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import digests, registry
from kgbench.store.digests import Digest
from kgbench.store.protocol import Block, OwnedStore, Store
from kgbench.store.templates import fill

_LINES = 5_000  # triples per block


class CopiedGraph(NamedTuple):
    """A copied graph, with the number of its triples and their digest."""

    graph: str
    triples: int
    digest: str


def copy(
    source: Store, target: OwnedStore, watch: Callable[[str, int], None] | None = None
) -> list[CopiedGraph]:
    """Copy every registered graph and the catalogue of ``source`` into the empty ``target``.

    Afterwards each graph is read back; its count and digest must be those of the source. ``watch``
    is called with each graph and its number of triples. The target should be closed and reopened.
    Raises :class:`~kgbench.errors.StoreError` if the target has results, the source changes
    meanwhile, or a graph differs.
    """
    registry.check_layout(source)
    catalogue = source.iris.catalogue
    if target.iris.catalogue != catalogue:
        raise StoreError(f"{source.location} and {target.location} have different bases")
    registry.refuse_results(target)
    stamps = registry.stamps(source)
    known = registry.graphs(source)
    if not known:
        raise StoreError(f"the store {source.location} holds no results to copy")
    missing = sorted(set(known) - set(source.graphs()))
    target.drop(sorted(known))  # an interrupted copy may have left some
    copied = []

    def note(graph: str, digest: Digest) -> None:
        _check_source(source, graph, digest, empty=graph in missing)
        copied.append(CopiedGraph(graph, digest.triples, digest.value))
        if watch is not None:
            watch(graph, digest.triples)

    def content() -> Iterator[Block]:
        for graph in known:
            digest = Digest()
            yield from _blocks(graph, digest.through(source.triples(graph)))
            note(graph, digest)

    # All graphs together: the engine rewrites its indexes after every second load.
    target.bulk_load(content())
    digest = Digest()
    _catalogue(digest.through(source.triples(catalogue)), target, {*known, catalogue})
    note(catalogue, digest)
    if registry.stamps(source) != stamps:
        raise StoreError(
            f"the store {source.location} changed while it was copied: stop what writes it, empty "
            f"{target.location}, and copy again"
        )
    for item in copied:
        verify(target, item)
    return copied


def verify(store: Store, expected: CopiedGraph) -> None:
    """Raise :class:`StoreError` unless a graph has the ``expected`` count and digest."""
    actual = digests.of(store.triples(expected.graph))
    if (actual.triples, actual.value) != (expected.triples, expected.digest):
        raise StoreError(
            f"{store.location}: the graph {expected.graph} was copied with {actual.triples} of "
            f"{expected.triples} triples, or with other ones (digest {actual.value[:12]}, expected "
            f"{expected.digest[:12]}): do not use this copy"
        )


def _catalogue(triples: Iterable[ox.Triple], target: OwnedStore, known: set[str]) -> None:
    """Replace the catalogue of ``target``: first the descriptions, then the registry at once."""
    catalogue, beside = target.iris.catalogue, registry.beside(target)
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
    target.bulk_load([Block(beside, entries)])
    target.update(fill("show.ru", catalogue=catalogue, beside=beside))


def _blocks(graph: str, triples: Iterable[ox.Triple]) -> Iterator[Block]:
    lines: list[str] = []
    for triple in triples:
        lines.append(f"{triple} .")
        if len(lines) == _LINES:
            yield Block(graph, lines)
            lines = []
    yield Block(graph, lines)


def _check_source(source: Store, graph: str, digest: Digest, *, empty: bool) -> None:
    if digest.blank:
        raise StoreError(
            f"{source.location}: the graph {graph} has blank nodes ({digest.blank} triples), which "
            "cannot be copied so that they can be compared: remove them first"
        )
    if digest.triples == 0 and not empty:
        raise StoreError(f"{source.location}: the graph {graph} vanished while it was copied")


@contextmanager
def new_store(location: str) -> Iterator[str]:
    """Yield the location at which the new store at ``location`` is written until the block ends.

    Raises :class:`~kgbench.errors.StoreError` if a folder exists.
    """
    from kgbench.store import back_ends, embedded

    if location == "memory:" or back_ends.is_remote(location):
        yield location
        return
    with embedded.new_folder(Path(location)) as folder:
        yield str(folder)


@contextmanager
def local(location: str) -> Iterator[Path]:
    """Yield the folder of an embedded store at ``location``, or of a temporary copy of a server's.

    With it, functions for embedded stores also work for a store on a server. The copy is verified,
    has the secrets that this machine keeps for the store, and is removed afterwards.
    """
    from kgbench.store import back_ends, embedded_only, open_reader, open_store, publication_keys

    if not back_ends.is_remote(location):
        yield embedded_only(location, "this")
        return
    with tempfile.TemporaryDirectory(prefix="kgbench-copy-") as scratch:
        folder = Path(scratch) / "store"
        with open_reader(location) as source, open_store(str(folder)) as target:
            copy(source, target)
        publication_keys.carry(location, str(folder))
        yield folder
