# SPDX-License-Identifier: Apache-2.0
"""Examination of a database, in a child process that damage may kill.

``python -m kgbench.store.examination FOLDER DEPTH MEMORY``, started by :func:`examine`. It computes
count and digest of every graph. Oxigraph keeps each quad of a named graph in six indexes, and
answers a pattern from one of them; with the depth ``indexes``, all of them are read and compared,
so that every block that a query could need is read. The result is one line of JSON on standard
output.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.children import lockdown, one_task
from kgbench.children.endings import ChildTimeout
from kgbench.errors import KgbenchError
from kgbench.store import digests, maintenance, registry
from kgbench.store.databases import Damaged, Database, short_message
from kgbench.store.iris import Iris

MEMORY = 4 << 30  # bytes of address space
_SECONDS = 120.0  # for any database, regardless of its size
_PER_BYTE = 1e-4  # seconds: about twenty times the need of an undamaged database
_POPULAR = 1_000  # quads of an object from which on it is looked up only once


@dataclass(slots=True)
class Examination:
    """The result of examining one database, an owner's files or a snapshot.

    ``damage`` are messages about unreadable parts, ``problems`` about disagreements of registry and
    graphs. ``graphs`` has the number of triples and the digest of each graph that was read
    completely, ``stamps`` the change stamps in the registry.
    """

    layout: int | None = None
    damage: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    graphs: dict[str, tuple[int, str]] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)


class Part(Database):
    """A database of a store, opened for reading without owning the store."""

    def __init__(self, folder: Path) -> None:
        self.iris = Iris()
        self.location = str(folder)
        self._db = ox.Store.read_only(str(folder))

    @property
    def database(self) -> ox.Store:
        """The pyoxigraph store."""
        return self._store


def examine(folder: Path, *, indexes: bool = True) -> Examination:
    """Examine the database in ``folder`` in a child process with limits of memory and time.

    Damage raises no error: a child that fails is itself a finding.
    """
    size = sum(file.stat().st_size for file in folder.glob("*") if file.is_file())
    seconds = _SECONDS + size * _PER_BYTE
    depth = "indexes" if indexes else "graphs"
    arguments = [str(folder), depth, str(MEMORY)]
    try:
        child = one_task.run("kgbench.store.examination", *arguments, seconds=seconds)
    except ChildTimeout:
        return Examination(damage=[f"reading it took more than {seconds:.0f} seconds"])
    try:
        document = json.loads(child.out)
    except ValueError:
        return Examination(damage=[f"reading it ended with {child.reason}"])
    graphs = {graph: (int(n), str(digest)) for graph, (n, digest) in document.pop("graphs").items()}
    return Examination(graphs=graphs, **document)


def examine_in_process(folder: Path, *, indexes: bool = True) -> Examination:
    """Examine the database in ``folder`` in this process."""
    result = Examination()
    try:
        part = Part(folder)
    except (OSError, RuntimeError, ValueError) as error:
        result.damage.append(f"it cannot be opened: {short_message(error)}")
        return result
    database = part.database
    predicates: set[ox.NamedNode] = set()
    graphs = _attempt(result, "the list of graphs", lambda: list(database.named_graphs())) or []
    for graph in graphs:
        reading = partial(_graph, database, graph, result, predicates if indexes else None)
        _attempt(result, graph.value, reading)
    for graph in (None, *graphs) if indexes else ():
        popular: set[object] = set()
        for predicate in predicates:
            label = f"{predicate} in {'any graph' if graph is None else graph.value}"
            reading = partial(_by_object, database, graph, predicate, popular, result)
            _attempt(result, label, reading)
    if not result.damage:
        _attempt(result, "the registry", lambda: _registry(part, result))
    return result


def _attempt(result: Examination, label: str, work: Callable[[], Any]) -> Any:
    """Return the result of ``work``; if it fails, record a message and return ``None``."""
    try:
        return work()
    except Damaged as error:
        result.damage.append(f"{label}: {error}")
    except KgbenchError as error:
        result.problems.append(str(error))
    except (OSError, RuntimeError, ValueError, SyntaxError) as error:
        result.damage.append(f"{label}: {short_message(error)}")
    return None


def _graph(
    database: ox.Store,
    graph: ox.NamedNode,
    result: Examination,
    predicates: set[ox.NamedNode] | None,
) -> None:
    """Read a graph completely; with ``predicates``, look up each of its subjects, too."""
    digest = digests.Digest()
    quads = database.quads_for_pattern(None, None, None, graph)
    for subject, of_subject in groupby(_counted(quads, digest), key=lambda quad: quad.subject):
        count = 0
        for quad in of_subject:
            count += 1
            if predicates is not None:
                predicates.add(quad.predicate)
        if predicates is not None:
            lookup = database.quads_for_pattern(subject, None, None, None)
            _compare(result, subject, count, sum(quad.graph_name == graph for quad in lookup))
    result.graphs[graph.value] = digest.triples, digest.value


def _counted(quads: Iterable[ox.Quad], digest: digests.Digest) -> Iterator[ox.Quad]:
    for quad in quads:
        digest.add(quad.triple)
        yield quad


def _by_object(
    database: ox.Store,
    graph: ox.NamedNode | None,
    predicate: ox.NamedNode,
    popular: set[object],
    result: Examination,
) -> None:
    """Read the quads of a predicate, and look up each of their objects.

    Objects with very many quads are looked up once for all predicates, and added to ``popular``.
    """
    quads = database.quads_for_pattern(None, predicate, None, graph)
    for term, of_object in groupby(quads, key=lambda quad: quad.object):
        count = sum(1 for _ in of_object)
        if term in popular:
            continue
        same = total = 0
        for quad in database.quads_for_pattern(None, None, term, graph):
            total += 1
            # Bug of Oxigraph 0.5.13: a look-up of 255 also yields 256 to 511.
            same += quad.predicate == predicate and quad.object == term
        if total > _POPULAR:
            popular.add(term)
        _compare(result, term, count, same)


def _compare(result: Examination, term: object, expected: int, number: int) -> None:
    if number != expected:
        result.damage.append(f"{str(term)[:100]}: {number} of {expected} quads are in every index")


def _registry(part: Part, result: Examination) -> None:
    checked = maintenance.check(part)
    result.layout = checked.layout
    result.problems += checked.problems
    result.stamps = registry.stamps(part)


def main() -> None:
    """Run the examination in the child process."""
    folder, depth, memory = sys.argv[1:]
    limit(int(memory))
    result = examine_in_process(Path(folder), indexes=depth == "indexes")
    print(json.dumps(asdict(result)))  # noqa: T201 - the result for the parent


def limit(memory: int) -> None:
    """Limit the address space of this process (bytes), and end with the parent."""
    lockdown.die_with_parent(os.getppid())
    lockdown.limit_memory(memory)


if __name__ == "__main__":
    main()
