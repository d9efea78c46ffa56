# SPDX-License-Identifier: Apache-2.0
"""Integrity checks of embedded stores: the owner's files, and every snapshot.

Files are compared with their checksums, and each part is read completely in a child process
(:mod:`kgbench.store.examination`), because damage can make the engine loop forever.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kgbench.store import checksums, snapshots
from kgbench.store.databases import is_store, no_store
from kgbench.store.examination import Examination, examine
from kgbench.store.iris import Iris
from kgbench.store.maintenance import CheckResult

OWNER = "owner's files"


def check(path: Path) -> CheckResult:
    """Examine the store at ``path``, and lock it against writers meanwhile.

    If a process owns the store, its files are not examined, and ``writer`` names the process.
    Raises :class:`~kgbench.errors.StoreError` if there is no store.
    """
    with unowned(path) as owner, ExitStack() as stack:
        result = CheckResult(str(path), None, writer=owner)
        first: Examination | None = None
        for name, folder in _parts(path, stack, with_owner=owner is None):
            faults = list(checksums.faults(folder, owned=name == OWNER))
            examined = examine(folder)
            wrong = [*faults, *examined.damage]
            if first is None and not wrong:
                # A snapshot may be from the middle of a bulk load, so its registry may lack graphs.
                first = examined
                wrong += examined.problems
            result.parts[name] = wrong
            result.problems += [f"{name}: {problem}" for problem in wrong]
        if not result.parts:
            result.problems.append("there is nothing to read: no snapshot, and no owner's files")
        if first is not None:
            catalogue = Iris().catalogue
            registered = [graph for graph in first.registered if graph != catalogue]
            content = {graph: first.graphs[graph] for graph in (*registered, catalogue)}
            result.layout, result.graphs = first.layout, len(registered)
            result.triples = sum(triples for triples, _ in content.values())
            result.digests = {graph: digest for graph, (_, digest) in content.items()}
        return result


@contextmanager
def unowned(path: Path) -> Iterator[str | None]:
    """Lock the store at ``path`` against writers, or yield the name of the process that owns it."""
    if not is_store(path):
        raise no_store(path)
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


def _parts(path: Path, stack: ExitStack, *, with_owner: bool) -> Iterator[tuple[str, Path]]:
    """Yield the owner's files, then the snapshots, the newest first, each locked by ``stack``."""
    if with_owner:
        yield OWNER, path / "data"
    for snapshot in snapshots.all_of(path / "snapshots"):
        held = snapshots.hold(snapshot)
        if held is not None:  # else pruned in the meantime
            stack.enter_context(held)
            yield f"snapshot {int(snapshot.name)}", snapshot
