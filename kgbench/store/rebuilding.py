# SPDX-License-Identifier: Apache-2.0
"""Recovery of a damaged store: reassembles its newest readable state.

A graph is taken from the owner's files if it can be read completely there, else from the newest
snapshot in which it can. If newer parts have more of it, their readable quads are added, because
results are only ever added to graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Self

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import registry, snapshots
from kgbench.store.databases import Database
from kgbench.store.iris import Iris
from kgbench.store.read_only import ReadOnly
from kgbench.store.salvage import SalvageResult, salvage
from kgbench.store.templates import fill
from kgbench.vocab import KGB

_AT_ONCE = 10_000  # quads


@dataclass(slots=True)
class Source:
    """A part of a store, and what was salvaged from it."""

    name: str
    salvage: SalvageResult


@dataclass(slots=True)
class RebuiltStore(Database, ReadOnly):
    """A database with the readable content of the store at ``location``.

    ``sources`` are the parts that were read. ``hurt`` maps each graph that no part has completely
    to the subjects with missing triples.
    """

    location: str
    _db: ox.Store | None
    iris: Iris = field(default_factory=Iris)
    sources: list[Source] = field(default_factory=list)
    hurt: dict[str, set[str]] = field(default_factory=dict)

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

    def add_part(self, salvaged: SalvageResult, file: Path, graphs: set[str]) -> None:
        """Add the quads of a part, and update which subjects lack triples in all parts so far."""
        quads = ox.parse(path=str(file), format=ox.RdfFormat.N_QUADS)
        selected = (quad for quad in quads if getattr(quad.graph_name, "value", None) in graphs)
        while batch := list(islice(selected, _AT_ONCE)):
            self._store.bulk_extend(batch)
        for graph in graphs & self.hurt.keys() & salvaged.graphs:  # incomplete in a newer part
            lacking = self.hurt[graph] - salvaged.hurt.get(graph, set())
            self.hurt[graph] -= {subject for subject in lacking if self._has(graph, subject)}
        for graph in graphs & salvaged.hurt.keys() - self.hurt.keys():
            self.hurt[graph] = set(salvaged.hurt[graph])

    def _has(self, graph: str, subject: str) -> bool:
        name, node = ox.NamedNode(graph), ox.NamedNode(subject)
        return next(iter(self._store.quads_for_pattern(node, None, None, name)), None) is not None

    def tidy(self) -> None:
        """Remove duplicate stamps and entries of missing graphs, and force a new declaration."""
        catalogue = self.iris.catalogue
        self._store.update(fill("latest-stamps.ru", catalogue=catalogue))
        node = ox.NamedNode(catalogue)
        self._remove(node, node, ox.NamedNode(KGB.declaredDigest))
        existing = set(self.graphs())
        for graph in registry.graphs(self):
            if graph not in existing:
                self.forget(graph)

    def forget(self, graph: str) -> None:
        """Remove a graph with its registry entry."""
        drops = f"DROP SILENT GRAPH <{graph}>"
        self._store.update(
            fill("drop.ru", catalogue=self.iris.catalogue, graphs=f"<{graph}>", drops=drops)
        )

    def close(self) -> None:
        """Close the database."""
        self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def rebuild(path: Path, scratch: Path) -> RebuiltStore:
    """Rebuild the store at ``path``, which must not be written meanwhile, in an empty folder.

    Raises :class:`~kgbench.errors.StoreError` if nothing can be read.
    """
    rebuilt = RebuiltStore(str(path), ox.Store(str(scratch / "database")))
    files = []
    folders = [path / "data", *snapshots.all_of(path / "snapshots")]
    for number, folder in enumerate(folder for folder in folders if folder.is_dir()):
        file = scratch / f"{number}.nq"
        name = "owner's files" if folder.name == "data" else f"snapshot {int(folder.name)}"
        rebuilt.sources.append(Source(name, salvage(folder, file)))
        files.append(file)
        if rebuilt.sources[-1].salvage.graphs and not rebuilt.sources[-1].salvage.hurt:
            break  # complete: older parts have nothing to add
    readable = [source.salvage for source in rebuilt.sources if source.salvage.graphs]
    if not readable:
        raise StoreError(f"nothing of the store {path} can be read: restore it from a backup")
    graphs = _graphs_to_recover(rebuilt, readable)
    for source, file in zip(rebuilt.sources, files, strict=True):
        rebuilt.add_part(source.salvage, file, graphs)
        for graph in source.salvage.whole & graphs:
            graphs.discard(graph)  # older parts have nothing to add to it
        file.unlink()
    rebuilt.tidy()
    return rebuilt


def _graphs_to_recover(rebuilt: RebuiltStore, readable: list[SalvageResult]) -> set[str]:
    """Return the graphs to recover: those up to the newest part with a readable catalogue.

    Graphs that only older parts have were dropped since, or are completely unreadable.
    """
    catalogue = rebuilt.iris.catalogue
    newest = next((salvaged for salvaged in readable if catalogue in salvaged.whole), None)
    wanted: set[str] = set()
    for salvaged in readable:
        wanted |= salvaged.graphs
        if salvaged is newest:
            break
    return wanted
