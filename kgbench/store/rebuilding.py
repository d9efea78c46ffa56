# SPDX-License-Identifier: Apache-2.0
"""Recovery of a damaged store: all that those of its files have of which most can be read.

These are the owner's files or, if they are damaged and a snapshot has more that can be read, that
snapshot. Snapshots share most files with the store, so that joining them would add little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import registry, snapshots
from kgbench.store.databases import ReadDatabase
from kgbench.store.examination import examine
from kgbench.store.iris import Iris
from kgbench.store.templates import fill
from kgbench.vocab import KGB


@dataclass(slots=True)
class RebuiltStore(ReadDatabase):
    """A database with the readable content of the store at ``location``.

    ``source`` names the files that were read, and ``unread`` the newer ones that cannot be opened,
    or of which less can be read.
    ``hurt`` maps each incomplete graph to the subjects with missing triples.
    """

    location: str
    source: str
    unread: list[str]
    hurt: dict[str, list[str]]
    _db: ox.Store | None
    iris: Iris = field(default_factory=Iris)

    def remove(self, graph: str, subject: str) -> None:
        """Remove the triples about a subject from a graph."""
        self._remove(ox.NamedNode(graph), ox.NamedNode(subject), None)

    def _remove(
        self, graph: ox.NamedNode, subject: ox.NamedNode, predicate: ox.NamedNode | None
    ) -> None:
        for quad in list(self._store.quads_for_pattern(subject, predicate, None, graph)):
            self._store.remove(quad)

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add triples, as N-Triples lines, to a graph."""
        content = "\n".join(lines).encode()
        self._store.load(content, ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))

    def about(self, graph: str, term: ox.NamedNode) -> Iterator[ox.Triple]:
        """Yield the triples of a graph that have ``term`` as their object."""
        for quad in self._store.quads_for_pattern(None, None, term, ox.NamedNode(graph)):
            yield quad.triple

    def tidy(self) -> None:
        """Remove entries of missing graphs, and force a new declaration."""
        node = ox.NamedNode(self.iris.catalogue)
        self._remove(node, node, ox.NamedNode(KGB.declaredDigest))
        existing = set(self.graphs())
        for graph in registry.graphs(self):
            if graph not in existing:
                graphs, drops = f"<{graph}>", f"DROP SILENT GRAPH <{graph}>"
                self._store.update(
                    fill("drop.ru", catalogue=self.iris.catalogue, graphs=graphs, drops=drops)
                )


def rebuild(path: Path, scratch: Path) -> RebuiltStore:
    """Rebuild the store at ``path``, which must not be written meanwhile, in an empty folder.

    Raises :class:`~kgbench.errors.StoreError` if nothing can be read.
    """
    file = scratch / "read.nq"
    unread: list[str] = []
    most: RebuiltStore | None = None
    quads = 0
    for folder in (path / "data", *snapshots.all_of(path / "snapshots")):
        name = "owner's files" if folder.name == "data" else f"snapshot {int(folder.name)}"
        found = examine(folder, file)
        if (found.graphs or found.hurt) and file.stat().st_size:
            database = ox.Store(str(scratch / folder.name))
            database.bulk_load(path=str(file), format=ox.RdfFormat.N_QUADS)
            file.unlink()
            if len(database) > quads:
                unread += [] if most is None else [most.source]
                most = RebuiltStore(str(path), name, list(unread), found.hurt, database)
                quads = len(database)
            if not found.damage:
                break
        elif most is None:
            unread.append(name)
    if most is None:
        raise StoreError(f"nothing of the store {path} can be read: restore it from a backup")
    most.tidy()
    return most
