# SPDX-License-Identifier: Apache-2.0
"""Reads what can be read of a damaged database, in a process of its own.

``python -m kgbench.store.salvage FOLDER FILE MEMORY``, started by :func:`salvage`. A block of an
index that cannot be read ends the reading of that index, and a term that cannot be read spoils
every quad with it. Each quad is in six indexes, so what one path does not reach is looked up by
others: by predicate, and by subject, with its graph and without. The quads go to ``FILE`` as
N-Quads; the answer, one line of JSON on standard output, says which graphs are whole, and which
subjects lack something.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.store.examination import MEMORY, limit

_SECONDS = 600.0
_PER_BYTE = 1e-3  # seconds
_SAME = 1_000  # errors in a row: the index cannot be read further


@dataclass(slots=True)
class Salvaged:
    """What could be read of one database.

    ``whole`` are the graphs that were read to their ends. ``hurt`` has the subjects (IRIs) of other
    graphs of which something could not be read.
    """

    whole: set[str] = field(default_factory=set)
    hurt: dict[str, set[str]] = field(default_factory=dict)

    @property
    def graphs(self) -> set[str]:
        """All graphs of which something could be read."""
        return self.whole | self.hurt.keys()


def salvage(folder: Path, file: Path) -> Salvaged:
    """Write what can be read of the database in ``folder`` to ``file``, from a child process.

    Where the child does not come to its end, nothing of what it has read counts.
    """
    size = sum(one.stat().st_size for one in folder.glob("*") if one.is_file())
    command = [sys.executable, "-P", "-m", "kgbench.store.salvage", str(folder), str(file)]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            [*command, str(MEMORY)],
            capture_output=True,
            text=True,
            timeout=_SECONDS + size * _PER_BYTE,
            check=False,
        )
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        file.write_bytes(b"")
        return Salvaged()
    hurt = {graph: set(subjects) for graph, subjects in said["hurt"].items()}
    return Salvaged(set(said["whole"]), hurt)


def read(folder: Path, out: IO[bytes]) -> Salvaged:
    """Write what can be read of the database in ``folder``, here; quads may come twice."""
    found = Salvaged()
    try:
        reader = _Reader(ox.Store.read_only(str(folder)), out)
    except (OSError, RuntimeError, ValueError):
        return found
    graphs = reader.graphs()
    predicates: set[ox.NamedNode] = set()
    for graph in graphs:
        for quad in reader.written(graph, (None, None, None, graph)):
            predicates.add(quad.predicate)
        if not reader.failed:
            found.whole.add(graph.value)
    for graph in graphs:
        if graph.value not in found.whole:
            found.hurt[graph.value] = _by_every_path(reader, graph, predicates)
    return found


def _by_every_path(reader: _Reader, graph: ox.NamedNode, predicates: set[ox.NamedNode]) -> set[str]:
    """Write what can be read of a graph; the subjects of which that is not all."""
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
    """Reads patterns of a database as far as they can be read, and writes what it has read."""

    def __init__(self, database: ox.Store, out: IO[bytes]) -> None:
        self._database = database
        self._out = out
        self.failed = False

    def written(self, graph: ox.NamedNode, pattern: tuple[Any, Any, Any, Any]) -> Iterator[ox.Quad]:
        """The quads of a pattern that are in ``graph``, written when they are taken.

        ``failed`` tells afterwards whether there are more, which cannot be read.
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
        """The graphs of the database, from their list, or from all quads."""
        self.failed = False
        found = set(self._readable(self._database.named_graphs()))
        if self.failed:
            quads = self._readable(self._database)
            found |= {
                quad.graph_name for quad in quads if isinstance(quad.graph_name, ox.NamedNode)
            }
        return sorted(found, key=lambda graph: graph.value)

    def _readable(self, items: Iterable[Any]) -> Iterator[Any]:
        """What can be read of ``items``: an error of one of them does not end the others."""
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
    """The process."""
    folder, file, memory = sys.argv[1:]
    limit(int(memory))
    with Path(file).open("wb") as out:
        found = read(Path(folder), out)
    hurt = {graph: sorted(subjects) for graph, subjects in found.hurt.items()}
    print(json.dumps({"whole": sorted(found.whole), "hurt": hurt}))  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
