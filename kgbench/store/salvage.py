# SPDX-License-Identifier: Apache-2.0
"""Salvage of the readable part of a damaged database, in a child process.

``python -m kgbench.store.salvage FOLDER FILE MEMORY``, started by :func:`salvage`. An unreadable
block ends the reading of its index, and an unreadable term makes every quad with it unreadable.
Each quad is in six indexes, so quads that one index does not give are looked up by others: by
predicate, and by subject, with their graph and without. The quads are written to ``FILE`` as
N-Quads; the result, one line of JSON on standard output, has the complete graphs, and the subjects
with missing triples.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.children import one_task
from kgbench.children.endings import ChildTimeout
from kgbench.store.examination import MEMORY, limit

_SECONDS = 600.0
_PER_BYTE = 1e-3  # seconds
_SAME = 1_000  # consecutive errors after which an index is given up


@dataclass(slots=True)
class SalvageResult:
    """The readable part of a database.

    ``whole`` are the graphs that were read completely. ``hurt`` maps the other graphs to the
    subjects (IRIs) with unreadable triples.
    """

    whole: set[str] = field(default_factory=set)
    hurt: dict[str, set[str]] = field(default_factory=dict)

    @property
    def graphs(self) -> set[str]:
        """All graphs that were read at least partly."""
        return self.whole | self.hurt.keys()


def salvage(folder: Path, file: Path) -> SalvageResult:
    """Write the readable part of the database in ``folder`` to ``file``, in a child process.

    If the child does not finish, nothing that it has read is used.
    """
    size = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    seconds = _SECONDS + size * _PER_BYTE
    arguments = [str(folder), str(file), str(MEMORY)]
    try:
        child = one_task.run("kgbench.store.salvage", *arguments, seconds=seconds)
        document = json.loads(child.out)
    except (ChildTimeout, ValueError):
        file.write_bytes(b"")
        return SalvageResult()
    hurt = {graph: set(subjects) for graph, subjects in document["hurt"].items()}
    return SalvageResult(set(document["whole"]), hurt)


def read(folder: Path, out: IO[bytes]) -> SalvageResult:
    """Write the readable part of the database in ``folder`` to ``out``; may have duplicates."""
    result = SalvageResult()
    try:
        reader = _Reader(ox.Store.read_only(str(folder)), out)
    except (OSError, RuntimeError, ValueError):
        return result
    graphs = reader.graphs()
    predicates: set[ox.NamedNode] = set()
    for graph in graphs:
        for quad in reader.written(graph, (None, None, None, graph)):
            predicates.add(quad.predicate)
        if not reader.failed:
            result.whole.add(graph.value)
    for graph in graphs:
        if graph.value not in result.whole:
            result.hurt[graph.value] = _by_every_path(reader, graph, predicates)
    return result


def _by_every_path(reader: _Reader, graph: ox.NamedNode, predicates: set[ox.NamedNode]) -> set[str]:
    """Write the readable quads of a graph by all indexes; return the incomplete subjects."""
    subjects = {quad.subject for quad in reader.written(graph, (None, None, None, graph))}
    for predicate in predicates:
        for scope in (graph, None):
            quads = reader.written(graph, (None, predicate, None, scope))
            subjects.update(quad.subject for quad in quads)
            if not reader.failed:
                break
    hurt = set()
    for subject in subjects:
        for scope in (graph, None):
            for _ in reader.written(graph, (subject, None, None, scope)):
                pass
            if not reader.failed:
                break
        else:
            hurt.add(getattr(subject, "value", str(subject)))
    return hurt


class _Reader:
    """A reader of quad patterns that skips unreadable quads and writes the others."""

    def __init__(self, database: ox.Store, out: IO[bytes]) -> None:
        self._database = database
        self._out = out
        self.failed = False

    def written(self, graph: ox.NamedNode, pattern: tuple[Any, Any, Any, Any]) -> Iterator[ox.Quad]:
        """Yield the quads of a pattern that are in ``graph``, and write them.

        Afterwards ``failed`` says whether some could not be read.
        """
        self.failed = False
        try:
            quads = self._database.quads_for_pattern(*pattern)
        except (OSError, RuntimeError, ValueError):
            self.failed = True
            return
        for quad in self._readable(quads):
            if quad.graph_name == graph:
                self._out.write(f"{quad} .\n".encode())
                yield quad

    def graphs(self) -> list[ox.NamedNode]:
        """Return the graphs of the database, from their list or, if damaged, from all quads."""
        self.failed = False
        names = set(self._readable(self._database.named_graphs()))
        if self.failed:
            quads = self._readable(self._database)
            names |= {
                quad.graph_name for quad in quads if isinstance(quad.graph_name, ox.NamedNode)
            }
        return sorted(names, key=lambda graph: graph.value)

    def _readable(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the readable ``items``; an error of one does not end the iteration."""
        source, in_a_row = iter(items), 0
        while in_a_row < _SAME:
            try:
                item = next(source)
            except StopIteration:
                return
            except (OSError, RuntimeError, ValueError):
                self.failed = True
                in_a_row += 1
                continue
            in_a_row = 0
            yield item


def main() -> None:
    """Run the salvage in the child process."""
    folder, file, memory = sys.argv[1:]
    limit(int(memory))
    with Path(file).open("wb") as out:
        result = read(Path(folder), out)
    hurt = {graph: sorted(subjects) for graph, subjects in result.hurt.items()}
    print(json.dumps({"whole": sorted(result.whole), "hurt": hurt}))  # noqa: T201 - the result for the parent


if __name__ == "__main__":
    main()
