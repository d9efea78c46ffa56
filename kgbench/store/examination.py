# SPDX-License-Identifier: Apache-2.0
"""Reads a database from end to end, in a process of its own that damage may end.

``python -m kgbench.store.examination FOLDER DEPTH MEMORY``, started by :func:`examine`. It computes
count and digest of every graph. Oxigraph keeps each quad of a named graph in six indexes, and
answers a pattern from one of them; where the depth is ``indexes``, all are gone through and
compared, so that no block that a query could need is left unread. The answer is one line of JSON on
standard output.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import KgbenchError
from kgbench.store import digests, maintenance, registry
from kgbench.store.databases import Damaged, Database, shortened
from kgbench.store.iris import Iris

MEMORY = 4 << 30  # bytes of address space
_SECONDS = 120.0  # for any database
_PER_BYTE = 1e-4  # seconds: about twenty times what a sound database needs
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_POPULAR = 1_000  # quads of one object, from which on it is looked up once


@dataclass(slots=True)
class Examined:
    """What was found in one database: an owner's files or a snapshot.

    ``damage`` says in words what cannot be read, ``problems`` where registry and graphs disagree.
    ``graphs`` has the number of triples and the digest of each graph that was read to its end,
    ``stamps`` the change stamps of those in the registry.
    """

    layout: int | None = None
    damage: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    graphs: dict[str, tuple[int, str]] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)


class Part(Database):
    """One database of a store, opened without owning it."""

    def __init__(self, folder: Path) -> None:
        self.iris = Iris()
        self.location = str(folder)
        self._db = ox.Store.read_only(str(folder))

    @property
    def database(self) -> ox.Store:
        """The database itself."""
        return self._store


def examine(folder: Path, *, indexes: bool = True) -> Examined:
    """Examine the database in ``folder`` in a child with limits of memory and time.

    Nothing is raised for damage: a child that does not come to its end is itself a finding.
    """
    size = sum(file.stat().st_size for file in folder.glob("*") if file.is_file())
    seconds = _SECONDS + size * _PER_BYTE
    depth = "indexes" if indexes else "graphs"
    command = [sys.executable, "-P", "-m", "kgbench.store.examination", str(folder), depth]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            [*command, str(MEMORY)], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Examined(damage=[f"reading it took more than {seconds:.0f} seconds"])
    try:
        said = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2][:200]
        return Examined(damage=[f"reading it ended with status {done.returncode} ({last})"])
    graphs = {graph: (int(n), str(digest)) for graph, (n, digest) in said.pop("graphs").items()}
    return Examined(graphs=graphs, **said)


def examined(folder: Path, *, indexes: bool = True) -> Examined:
    """Examine the database in ``folder`` in this process."""
    found = Examined()
    try:
        part = Part(folder)
    except (OSError, RuntimeError, ValueError) as error:
        found.damage.append(f"it cannot be opened: {shortened(error)}")
        return found
    database = part.database
    predicates: set[ox.NamedNode] = set()
    graphs = _attempt(found, "the list of graphs", lambda: list(database.named_graphs())) or []
    for graph in graphs:
        reading = partial(_graph, database, graph, found, predicates if indexes else None)
        _attempt(found, graph.value, reading)
    for graph in (None, *graphs) if indexes else ():
        popular: set[object] = set()
        for predicate in predicates:
            what = f"{predicate} in {'any graph' if graph is None else graph.value}"
            reading = partial(_by_object, database, graph, predicate, popular, found)
            _attempt(found, what, reading)
    if not found.damage:
        _attempt(found, "the registry", lambda: _registry(part, found))
    return found


def _attempt(found: Examined, what: str, work: Callable[[], Any]) -> Any:
    """The result of ``work``; where it cannot read, ``None`` and a line about it."""
    try:
        return work()
    except Damaged as error:
        found.damage.append(f"{what}: {error}")
    except KgbenchError as error:
        found.problems.append(str(error))
    except (OSError, RuntimeError, ValueError, SyntaxError) as error:
        found.damage.append(f"{what}: {shortened(error)}")
    return None


def _graph(
    database: ox.Store, graph: ox.NamedNode, found: Examined, predicates: set[ox.NamedNode] | None
) -> None:
    """Read a graph to its end; with ``predicates``, look up each of its subjects, too."""
    digest = digests.Digest()
    quads = database.quads_for_pattern(None, None, None, graph)
    for subject, of_subject in groupby(_counted(quads, digest), key=lambda quad: quad.subject):
        there = 0
        for quad in of_subject:
            there += 1
            if predicates is not None:
                predicates.add(quad.predicate)
        if predicates is not None:
            lookup = database.quads_for_pattern(subject, None, None, None)
            _compare(found, subject, there, sum(quad.graph_name == graph for quad in lookup))
    found.graphs[graph.value] = digest.triples, digest.value


def _counted(quads: Iterable[ox.Quad], digest: digests.Digest) -> Iterator[ox.Quad]:
    for quad in quads:
        digest.add(quad.triple)
        yield quad


def _by_object(
    database: ox.Store,
    graph: ox.NamedNode | None,
    predicate: ox.NamedNode,
    popular: set[object],
    found: Examined,
) -> None:
    """Go through the quads of a predicate, and look up each of their objects.

    What has very many quads is looked up once for all predicates, and added to ``popular``.
    """
    quads = database.quads_for_pattern(None, predicate, None, graph)
    for term, of_object in groupby(quads, key=lambda quad: quad.object):
        there = sum(1 for _ in of_object)
        if term in popular:
            continue
        same = looked = 0
        for quad in database.quads_for_pattern(None, None, term, graph):
            looked += 1
            # Oxigraph 0.5.13 gives 256 to 511 as well where 255 is looked up.
            same += quad.predicate == predicate and quad.object == term
        if looked > _POPULAR:
            popular.add(term)
        _compare(found, term, there, same)


def _compare(found: Examined, term: object, expected: int, number: int) -> None:
    if number != expected:
        found.damage.append(f"{str(term)[:100]}: {number} of {expected} quads are in every index")


def _registry(part: Part, found: Examined) -> None:
    checked = maintenance.check(part)
    found.layout = checked.layout
    found.problems += checked.problems
    found.stamps = registry.stamps(part)


def main() -> None:
    """The process."""
    folder, depth, memory = sys.argv[1:]
    limit(int(memory))
    found = examined(Path(folder), indexes=depth == "indexes")
    print(json.dumps(asdict(found)))  # noqa: T201 - the answer


def limit(memory: int) -> None:
    """Limit the address space of this process, leave no core, and end with who started it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    for which, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # what a platform does not know
            resource.setrlimit(which, (value, value))


if __name__ == "__main__":
    main()
