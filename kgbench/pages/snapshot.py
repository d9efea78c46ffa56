# SPDX-License-Identifier: Apache-2.0
"""Views of snapshots, from which pages are read by queries and index look-ups."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import Iris, SnapshotReader
from kgbench.store.reader import undamaged, warn_damaged


class View(SnapshotReader):
    """A snapshot that is open for reading; ``name`` identifies it among those of its store.

    ``identity`` also distinguishes it from snapshots of other stores, even of one that was at the
    same location before. ``lock_file`` is its lock, which keeps it on disk until the view is
    garbage-collected; ``None`` if another process holds the lock. ``labels`` caches labels of
    resources; ``None`` if they can change. ``tables`` caches tables of all models and tasks,
    for readers who make many pages; ``None`` if a page computes its rows alone.
    """

    def __init__(self, path: Path, lock_file: IO[bytes] | None, base: str) -> None:
        # Does not call the superclass, which would look for a snapshot itself.
        self.iris = Iris(base)
        self.location = str(path.parent.parent)
        self.path = str(path)
        self.name = path.name
        self.database = ox.Store.read_only(str(path))
        current = (path / "CURRENT").stat()  # each snapshot has its own; its data files are shared
        self.identity = f"{current.st_dev}-{current.st_ino}-{current.st_mtime_ns}"
        self._db = self.database
        self._lock_file = lock_file
        self.labels: dict[str, str] | None = {}
        self.tables: dict[tuple[str, ...], Any] | None = None
        if lock_file is not None:
            weakref.finalize(self, lock_file.close)


class MemoryView(View):
    """A view of a database in memory instead of a snapshot."""

    is_snapshot = False  # the database can still change

    def __init__(self, database: ox.Store, base: str) -> None:
        self.iris = Iris(base)
        self.location = self.path = self.name = self.identity = "memory:"
        self.database = database
        self._db = database
        self._lock_file = None
        self.labels = None
        self.tables = None


def open_view(path: Path, lock_file: IO[bytes] | None, base: str) -> View:
    """Open the snapshot at ``path``; raises :class:`~kgbench.errors.StoreError`."""
    try:
        return View(path, lock_file, base)
    except (OSError, RuntimeError, ValueError) as error:  # pyoxigraph's errors for damage
        if lock_file is not None:
            lock_file.close()
        raise StoreError(f"the snapshot {path} cannot be opened: {error}") from error


def open_newest(folder: Path, base: str) -> View:
    """Open the newest snapshot in ``folder`` that is not damaged.

    Raises :class:`~kgbench.errors.StoreError` if there is none.
    """
    for path, lock_file in undamaged(folder):
        try:
            return open_view(path, lock_file, base)
        except StoreError as error:
            warn_damaged(path, str(error))
    raise StoreError(f"{folder} has no snapshot to read")
