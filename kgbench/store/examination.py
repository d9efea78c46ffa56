# SPDX-License-Identifier: Apache-2.0
"""Examination of embedded stores: the owner's files and every snapshot are read completely.

Files are compared with their checksums. Each part is read in a child process, because damage can
make the engine loop forever: ``python -m kgbench.store.examination FOLDER FILE MEMORY``, started by
:func:`examine`. It computes count and digest of every graph; the result is one line of JSON on
standard output. With a ``FILE``, all that can be read is also written to it as N-Quads.

Oxigraph has each quad in several indexes. A damaged block ends the reading of one of them, and an
unreadable term makes every quad with it unreadable, so the rest of a damaged graph is read by
predicate and by subject as well.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.children import lockdown
from kgbench.children.answering import ChildTimeout
from kgbench.children.child import run_once
from kgbench.errors import KgbenchError
from kgbench.store import maintenance, registry, snapshots
from kgbench.store.copying import Digest
from kgbench.store.databases import ReadDatabase, is_store, no_store, short_message
from kgbench.store.iris import Iris
from kgbench.store.maintenance import CheckResult

OWNER = "owner's files"
MEMORY = 4 << 30  # bytes of address space
_SECONDS = 600.0  # for any database, regardless of its size
_PER_BYTE = 1e-3  # seconds: far more than any database needs that can be read at all
_SAME = 1_000  # consecutive errors after which an index is given up
_FAILURES = (OSError, RuntimeError, ValueError, SyntaxError)


@dataclass(slots=True)
class Examination:
    """What was read of one database, an owner's files or a snapshot.

    ``damage`` are messages about unreadable parts, ``problems`` about disagreements of registry and
    graphs, and ``registered`` are the graphs in the registry; damage leaves the last two empty.
    ``graphs`` has the number of triples and the digest of each graph that was read completely.
    ``hurt`` maps the others, where they were written to a file, to the subjects (IRIs) with
    unreadable triples.
    """

    layout: int | None = None
    registered: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    graphs: dict[str, tuple[int, str]] = field(default_factory=dict)
    hurt: dict[str, list[str]] = field(default_factory=dict)


def check(path: Path) -> CheckResult:
    """Examine the store at ``path``, and lock it against writers meanwhile.

    If a process owns the store, its files are not examined, and ``writer`` names the process.
    Raises :class:`~kgbench.errors.StoreError` if there is no store.
    """
    with unowned(path) as owner, ExitStack() as stack:
        result = CheckResult(str(path), None, writer=owner)
        parts = [] if owner is not None else [path / "data"]
        for snapshot in snapshots.all_of(path / "snapshots"):
            if (held := snapshots.hold(snapshot)) is not None:  # else pruned in the meantime
                stack.enter_context(held)
                parts.append(snapshot)
        first: Examination | None = None
        for folder in parts:
            examined = examine(folder)
            wrong = [*snapshots.faults(folder, owned=folder.name == "data"), *examined.damage]
            if first is None and not wrong:
                # A snapshot may be from the middle of a bulk load, so its registry may lack graphs.
                first = examined
                wrong += examined.problems
            result.parts[name(folder)] = wrong
            result.problems += [f"{name(folder)}: {problem}" for problem in wrong]
        if not parts:
            result.problems.append("there is nothing to read: no snapshot, and no owner's files")
        if first is not None:
            catalogue = Iris().catalogue
            registered = [graph for graph in first.registered if graph != catalogue]
            content = {graph: first.graphs[graph] for graph in (*registered, catalogue)}
            result.layout, result.graphs = first.layout, len(registered)
            result.triples = sum(triples for triples, _ in content.values())
            result.digests = {graph: digest for graph, (_, digest) in content.items()}
        return result


def name(folder: Path) -> str:
    """Return the name of a part of a store in messages."""
    return OWNER if folder.name == "data" else f"snapshot {int(folder.name)}"


@contextmanager
def unowned(path: Path) -> Iterator[str | None]:
    """Lock the store at ``path`` against writers, or yield the name of the process that owns it."""
    if not is_store(path):
        raise no_store(path)
    file = path / "lock"
    with suppress(OSError):  # a disk that cannot be written has no writers
        file.touch()
    if not file.is_file():
        yield None
        return
    with file.open(encoding="ascii", errors="replace") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield f"process {lock.read().strip() or '?'}"
        else:
            yield None


def examine(folder: Path, file: Path | None = None) -> Examination:
    """Read the database in ``folder`` in a child process with limits of memory and time.

    What can be read is written to ``file``, if given. Damage raises no error: a child that fails is
    itself a finding, and nothing that it has written may be used.
    """
    size = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    seconds = _SECONDS + size * _PER_BYTE
    arguments = [str(folder), "" if file is None else str(file), str(MEMORY)]
    try:
        child = run_once("kgbench.store.examination", *arguments, seconds=seconds)
    except ChildTimeout:
        return Examination(damage=[f"reading it took more than {seconds:.0f} seconds"])
    try:
        document = json.loads(child.out)
    except ValueError:
        return Examination(damage=[f"reading it ended with {child.reason}"])
    graphs = {graph: (int(n), str(digest)) for graph, (n, digest) in document.pop("graphs").items()}
    return Examination(graphs=graphs, **document)


# --- the child process --------------------------------------------------------------------------


def read(folder: Path, out: IO[bytes] | None = None) -> Examination:
    """Read the database in ``folder`` in this process; see :func:`examine`."""
    result = Examination()
    try:
        database = ox.Store.read_only(str(folder))
    except _FAILURES as error:
        result.damage.append(f"it cannot be opened: {short_message(error)}")
        return result
    reader = _Reader(database, out)
    graphs = reader.graphs()
    if reader.failure is not None:
        result.damage.append(f"the list of graphs: {reader.failure}")
    predicates: set[ox.NamedNode] = set()
    for graph in graphs:
        digest = Digest()
        for quad in reader.quads(graph, (None, None, None, graph)):
            digest.add(quad.triple)
            predicates.add(quad.predicate)
        if reader.failure is None:
            result.graphs[graph.value] = digest.triples, digest.value
        else:
            result.damage.append(f"{graph.value}: {reader.failure}")
    if not result.damage:
        _check_registry(ReadDatabase(str(folder), database), result)
    elif out is not None:
        for graph in graphs:
            if graph.value not in result.graphs:
                result.hurt[graph.value] = sorted(_read_on(reader, graph, predicates))
    return result


def _check_registry(part: ReadDatabase, result: Examination) -> None:
    """Check whether registry and graphs agree."""
    try:
        checked = maintenance.check(part)
    except KgbenchError as error:
        result.problems.append(str(error))
    except _FAILURES as error:
        result.damage.append(f"the registry: {short_message(error)}")
    else:
        result.layout = checked.layout
        result.problems += checked.problems
        result.registered = sorted(registry.graphs(part))


def _read_on(reader: _Reader, graph: ox.NamedNode, predicates: set[ox.NamedNode]) -> set[str]:
    """Write the readable rest of a graph; return the subjects that are incomplete."""
    subjects = {quad.subject for quad in reader.quads(graph, (None, None, None, graph))}
    for predicate in predicates:
        subjects |= {quad.subject for quad in reader.either(graph, None, predicate)}
    hurt = set()
    for subject in subjects:
        for _ in reader.either(graph, subject, None):
            pass
        if reader.failure is not None:
            hurt.add(getattr(subject, "value", str(subject)))
    return hurt


class _Reader:
    """A reader of quad patterns that skips unreadable quads, and writes the others to ``out``.

    Afterwards ``failure`` is a message about what could not be read, or ``None``.
    """

    def __init__(self, database: ox.Store, out: IO[bytes] | None) -> None:
        self._database = database
        self._out = out
        self.failure: str | None = None

    def quads(self, graph: ox.NamedNode, pattern: tuple[Any, Any, Any, Any]) -> Iterator[ox.Quad]:
        """Yield the quads of a pattern that are in ``graph``."""
        self.failure = None
        try:
            quads = self._database.quads_for_pattern(*pattern)
        except _FAILURES as error:
            self.failure = short_message(error)
            return
        for quad in self._readable(quads):
            if quad.graph_name == graph:
                if self._out is not None:
                    self._out.write(f"{quad} .\n".encode())
                yield quad

    def either(self, graph: ox.NamedNode, subject: Any, predicate: Any) -> Iterator[ox.Quad]:
        """Yield quads from the index of a graph and, if it is damaged, from that of all graphs."""
        yield from self.quads(graph, (subject, predicate, None, graph))
        if self.failure is not None:
            yield from self.quads(graph, (subject, predicate, None, None))

    def graphs(self) -> list[ox.NamedNode]:
        """Return the graphs of the database, from their list or, if damaged, from all quads."""
        self.failure = None
        names = set(self._readable(self._database.named_graphs()))
        if self.failure is not None:
            quads = self._readable(self._database)
            names |= {q.graph_name for q in quads if isinstance(q.graph_name, ox.NamedNode)}
        return sorted(names, key=lambda graph: graph.value)

    def _readable(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the readable ``items``; an error of one does not end the iteration."""
        source, in_a_row = iter(items), 0
        while in_a_row < _SAME:
            try:
                item = next(source)
            except StopIteration:
                return
            except _FAILURES as error:
                self.failure = short_message(error)
                in_a_row += 1
                continue
            in_a_row = 0
            yield item


def main() -> None:
    """Read the database in the child process."""
    folder, file, memory = sys.argv[1:]
    lockdown.die_with_parent(os.getppid())
    lockdown.limit_memory(int(memory))
    with Path(file).open("wb") if file else nullcontext() as out:
        result = read(Path(folder), out)
    print(json.dumps(asdict(result)))  # noqa: T201 - the result for the parent


if __name__ == "__main__":
    main()
