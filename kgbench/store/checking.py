# SPDX-License-Identifier: Apache-2.0
"""Whether an embedded store is sound: the owner's files, and every snapshot.

Each is read to its end in a child process (:mod:`kgbench.store.examination`), because damage can
make the engine run without end. Files of snapshots are compared with their checksums first. Graphs
that have the same change stamp in two places must have the same count and digest.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kgbench.store import checksums, snapshots
from kgbench.store.databases import no_store
from kgbench.store.examination import Examined, examine
from kgbench.store.iris import Iris
from kgbench.store.maintenance import Checked

OWNER = "owner's files"


@dataclass(slots=True)
class Part:
    """The owner's files or one snapshot: where they are, and what was found in them."""

    name: str
    folder: Path
    found: Examined = field(default_factory=Examined)

    @property
    def readable(self) -> bool:
        """Whether everything in it can be read."""
        return not self.found.damage


def check(path: Path) -> Checked:
    """Examine the store at ``path``, which nobody can write meanwhile.

    While a process owns the store, its own files are not looked at, and ``writer`` names it.
    Raises :class:`~kgbench.errors.StoreError` where there is no store.
    """
    with unowned(path) as owner:
        parts = examined_parts(path, with_owner=owner is None)
        clean = owner is None and not snapshots.is_dirty(path)
        return _summary(path, parts, owner, clean=clean)


@contextmanager
def unowned(path: Path) -> Iterator[str | None]:
    """Keep the store at ``path`` from being opened for writing; or name the process that has it."""
    if not (path / "lock").is_file():
        raise no_store(path)
    with (path / "lock").open(encoding="ascii", errors="replace") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield f"process {lock.read().strip() or '?'}"
        else:
            yield None


def examined_parts(path: Path, *, with_owner: bool) -> list[Part]:
    """The parts of a store, examined: the owner's files first, then the snapshots from the newest.

    The indexes of a part are gone through where no checksum proves its files.
    """
    with ExitStack() as stack:
        parts: list[Part] = []
        proven: dict[str, checksums.Sum] = {}
        for snapshot in snapshots.all_of(path / "snapshots"):
            held = snapshots.hold(snapshot)
            if held is None:  # pruned in the meantime
                continue
            stack.enter_context(held)
            part = Part(f"snapshot {int(snapshot.name)}", snapshot)
            faults = list(checksums.faults(snapshot))
            sums = checksums.read(snapshot) or {}
            sure = checksums.is_proof(snapshot) and not faults
            part.found = examine(snapshot, indexes=not sure)
            part.found.damage[:0] = faults
            if not faults:
                proven |= {name: one for name, one in sums.items() if one.fresh}
            parts.append(part)
        if with_owner:
            folder = path / "data"
            proven |= {n: one for n, one in (checksums.read(folder) or {}).items() if one.fresh}
            sure = all(_is_proven(file, proven) for file in folder.glob(f"*{checksums.TABLE}"))
            parts.insert(0, Part(OWNER, folder, examine(folder, indexes=not sure)))
        return parts


def _is_proven(file: Path, sums: dict[str, checksums.Sum]) -> bool:
    expected = sums.get(file.name)
    return (
        expected is not None
        and file.stat().st_size == expected.size
        and checksums.crc(file) == expected.crc
    )


def _summary(path: Path, parts: list[Part], owner: str | None, *, clean: bool) -> Checked:
    first = next((part.found for part in parts if part.readable), Examined())
    found = Checked(str(path), first.layout, writer=owner, digests={}, parts={})
    found.graphs = len(first.stamps.keys() - {Iris().catalogue})
    found.triples = sum(first.graphs[graph][0] for graph in _content(first))
    found.digests = {graph: first.graphs[graph][1] for graph in _content(first)}
    for part in parts:
        # A snapshot may be of a moment in a bulk load: its registry need not know what is there.
        wrong = [*part.found.damage, *(first.problems if part.found is first else ())]
        found.parts[part.name] = wrong
        found.problems += [f"{part.name}: {words}" for words in wrong]
    found.problems += _disagreements(parts, clean=clean)
    if not parts:
        found.problems.append("there is nothing to read: no snapshot, and no owner's files")
    return found


def _content(found: Examined) -> list[str]:
    """The registered graphs, in order, and the catalogue last."""
    catalogue = Iris().catalogue
    wanted = [*sorted(found.stamps.keys() - {catalogue}), catalogue]
    return [graph for graph in wanted if graph in found.graphs]


def _disagreements(parts: list[Part], *, clean: bool) -> Iterator[str]:
    """Where two parts say different things of the same state of a graph."""
    readable = [part for part in parts if part.readable]
    for one, other in pairwise(readable):
        for graph in sorted(one.found.stamps.keys() & other.found.stamps.keys()):
            same_state = one.found.stamps[graph] == other.found.stamps[graph]
            before, after = one.found.graphs.get(graph), other.found.graphs.get(graph)
            if same_state and before != after and graph != Iris().catalogue:
                yield f"{graph} has other triples in the {one.name} than in {other.name}"
    if clean and len(readable) > 1 and readable[0].name == OWNER and readable[1] is parts[1]:
        owned, newest = readable[:2]
        if owned.found.graphs != newest.found.graphs:
            yield f"the {OWNER} hold another state than {newest.name}, though all was published"
