# SPDX-License-Identifier: Apache-2.0
"""Integrity checks of embedded stores: the owner's files, and every snapshot.

Each part is read completely in a child process (:mod:`kgbench.store.examination`), because damage
can make the engine loop forever. Files of snapshots are compared with their checksums first. Graphs
with the same change stamp in two parts must have the same count and digest.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kgbench.store import checksums, snapshots
from kgbench.store.databases import is_store, no_store, refuse_unfinished
from kgbench.store.examination import Examination, examine
from kgbench.store.iris import Iris
from kgbench.store.maintenance import CheckResult

OWNER = "owner's files"


@dataclass(slots=True)
class Part:
    """A part of a store, the owner's files or a snapshot, and the result of its examination."""

    name: str
    folder: Path
    examination: Examination = field(default_factory=Examination)

    @property
    def readable(self) -> bool:
        """Whether all of it can be read."""
        return not self.examination.damage


def check(path: Path) -> CheckResult:
    """Examine the store at ``path``, and lock it against writers meanwhile.

    If a process owns the store, its files are not examined, and ``writer`` names the process.
    Raises :class:`~kgbench.errors.StoreError` if there is no store.
    """
    with unowned(path) as owner:
        parts = examined_parts(path, with_owner=owner is None)
        clean = owner is None and not snapshots.is_dirty(path)
        return _summary(path, parts, owner, clean=clean)


@contextmanager
def unowned(path: Path) -> Iterator[str | None]:
    """Lock the store at ``path`` against writers, or yield the name of the process that owns it."""
    if not is_store(path):
        raise no_store(path)
    refuse_unfinished(path)
    file = path / "lock"
    if not file.is_file():
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


def examined_parts(path: Path, *, with_owner: bool) -> list[Part]:
    """Examine the parts of a store: the owner's files, then the snapshots, the newest first.

    All indexes of a part are read unless checksums prove its files.
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
            part.examination = examine(snapshot, indexes=not sure)
            part.examination.damage[:0] = faults
            if not faults:
                proven |= {name: checksum for name, checksum in sums.items() if checksum.fresh}
            parts.append(part)
        if with_owner:
            folder = path / "data"
            proven |= {
                n: checksum
                for n, checksum in (checksums.read(folder) or {}).items()
                if checksum.fresh
            }
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


def _summary(path: Path, parts: list[Part], owner: str | None, *, clean: bool) -> CheckResult:
    first = next((part.examination for part in parts if part.readable), Examination())
    result = CheckResult(str(path), first.layout, writer=owner, digests={}, parts={})
    result.graphs = len(first.stamps.keys() - {Iris().catalogue})
    result.triples = sum(first.graphs[graph][0] for graph in _content(first))
    result.digests = {graph: first.graphs[graph][1] for graph in _content(first)}
    for part in parts:
        # A snapshot may be from the middle of a bulk load, so its registry may lack graphs.
        wrong = [*part.examination.damage, *(first.problems if part.examination is first else ())]
        result.parts[part.name] = wrong
        result.problems += [f"{part.name}: {problem}" for problem in wrong]
    result.problems += _disagreements(parts, clean=clean)
    if not parts:
        result.problems.append("there is nothing to read: no snapshot, and no owner's files")
    return result


def _content(examined: Examination) -> list[str]:
    """Return the registered graphs, in order, and the catalogue at the end."""
    catalogue = Iris().catalogue
    ordered = [*sorted(examined.stamps.keys() - {catalogue}), catalogue]
    return [graph for graph in ordered if graph in examined.graphs]


def _disagreements(parts: list[Part], *, clean: bool) -> Iterator[str]:
    """Yield the graphs that differ between two parts although their change stamps are equal."""
    readable = [part for part in parts if part.readable]
    for first, other in pairwise(readable):
        for graph in sorted(first.examination.stamps.keys() & other.examination.stamps.keys()):
            same_state = first.examination.stamps[graph] == other.examination.stamps[graph]
            before, after = first.examination.graphs.get(graph), other.examination.graphs.get(graph)
            if same_state and before != after and graph != Iris().catalogue:
                yield f"{graph} has other triples in the {first.name} than in {other.name}"
    if clean and len(readable) > 1 and readable[0].name == OWNER and readable[1] is parts[1]:
        owned, newest = readable[:2]
        if owned.examination.graphs != newest.examination.graphs:
            yield f"the {OWNER} differ from {newest.name}, although everything was published"
