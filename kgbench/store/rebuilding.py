# SPDX-License-Identifier: Apache-2.0
"""Puts together what can be read of a damaged store: its newest state, as far as it is there.

A graph is taken from the owner's files where it can be read to its end there, else from the newest
snapshot where it can. Where that one is not the newest, later parts add what can be read of theirs:
results are only ever added.
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
from kgbench.store.salvage import Salvaged, salvage
from kgbench.store.templates import fill
from kgbench.vocab import KGB

_AT_ONCE = 10_000  # quads


@dataclass(slots=True)
class Source:
    """A part of a store that something was read from."""

    name: str
    found: Salvaged


@dataclass(slots=True)
class Rebuilt(Database, ReadOnly):
    """A database with what could be read of the store at ``location``.

    ``sources`` are the parts that were read. ``hurt`` has, for each graph that no part holds whole
    in its newest state, the subjects of which something is missing.
    """

    location: str
    _db: ox.Store | None
    iris: Iris = field(default_factory=Iris)
    sources: list[Source] = field(default_factory=list)
    hurt: dict[str, set[str]] = field(default_factory=dict)

    def remove(self, graph: str, subject: str) -> None:
        """Remove what is said of a subject in a graph."""
        self._remove(ox.NamedNode(graph), ox.NamedNode(subject), None)

    def _remove(
        self, graph: ox.NamedNode, subject: ox.NamedNode, predicate: ox.NamedNode | None
    ) -> None:
        for quad in list(self._store.quads_for_pattern(subject, predicate, None, graph)):
            self._store.remove(quad)

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add triples, as lines of N-Triples, to a graph."""
        content = "\n".join(lines).encode()
        self._store.load(content, ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))

    def about(self, graph: str, term: ox.NamedNode) -> Iterator[ox.Triple]:
        """The triples of a graph that have ``term`` as their object."""
        for quad in self._store.quads_for_pattern(None, None, term, ox.NamedNode(graph)):
            yield quad.triple

    def add_part(self, found: Salvaged, file: Path, graphs: set[str]) -> None:
        """Add the quads of one part, and note of which subjects all parts so far lack something."""
        quads = ox.parse(path=str(file), format=ox.RdfFormat.N_QUADS)
        wanted = (quad for quad in quads if getattr(quad.graph_name, "value", None) in graphs)
        while some := list(islice(wanted, _AT_ONCE)):
            self._store.bulk_extend(some)
        for graph in graphs & self.hurt.keys() & found.graphs:  # hurt in a later part
            lacking = self.hurt[graph] - found.hurt.get(graph, set())
            self.hurt[graph] -= {subject for subject in lacking if self._has(graph, subject)}
        for graph in graphs & found.hurt.keys() - self.hurt.keys():
            self.hurt[graph] = set(found.hurt[graph])

    def _has(self, graph: str, subject: str) -> bool:
        name, node = ox.NamedNode(graph), ox.NamedNode(subject)
        return next(iter(self._store.quads_for_pattern(node, None, None, name)), None) is not None

    def tidy(self) -> None:
        """Keep one stamp of each graph and entries of graphs that are there; declare anew."""
        catalogue = self.iris.catalogue
        self._store.update(fill("latest-stamps.ru", catalogue=catalogue))
        node = ox.NamedNode(catalogue)
        self._remove(node, node, ox.NamedNode(KGB.declaredDigest))
        there = set(self.graphs())
        for graph in registry.graphs(self):
            if graph not in there:
                self.forget(graph)

    def forget(self, graph: str) -> None:
        """Remove a graph with its entry."""
        drops = f"DROP SILENT GRAPH <{graph}>"
        self._store.update(
            fill("drop.ru", catalogue=self.iris.catalogue, graphs=f"<{graph}>", drops=drops)
        )

    def close(self) -> None:
        """Give the database up."""
        self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def rebuild(path: Path, scratch: Path) -> Rebuilt:
    """Rebuild the store at ``path``, which nobody writes meanwhile, in an empty folder.

    Raises :class:`~kgbench.errors.StoreError` where nothing can be read.
    """
    made = Rebuilt(str(path), ox.Store(str(scratch / "database")))
    files = []
    folders = [path / "data", *snapshots.all_of(path / "snapshots")]
    for number, folder in enumerate(folder for folder in folders if folder.is_dir()):
        file = scratch / f"{number}.nq"
        name = "owner's files" if folder.name == "data" else f"snapshot {int(folder.name)}"
        made.sources.append(Source(name, salvage(folder, file)))
        files.append(file)
        if made.sources[-1].found.graphs and not made.sources[-1].found.hurt:
            break  # whole: older ones have nothing to add
    readable = [source.found for source in made.sources if source.found.graphs]
    if not readable:
        raise StoreError(f"nothing of the store {path} can be read: restore it from a backup")
    graphs = _wanted(made, readable)
    for source, file in zip(made.sources, files, strict=True):
        made.add_part(source.found, file, graphs)
        for graph in source.found.whole & graphs:
            graphs.discard(graph)  # older parts have nothing to add to it
        file.unlink()
    made.tidy()
    return made


def _wanted(made: Rebuilt, readable: list[Salvaged]) -> set[str]:
    """The graphs to take: all of the newest part that lists its graphs to the end.

    What only older parts have was dropped since, or cannot be read in the newest at all.
    """
    catalogue = made.iris.catalogue
    newest = next((one for one in readable if catalogue in one.whole), None)
    found: set[str] = set()
    for one in readable:
        found |= one.graphs
        if one is newest:
            break
    return found
