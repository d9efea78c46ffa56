# SPDX-License-Identifier: Apache-2.0
"""What pages read from: one snapshot of a store, its queries and its indexes."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import Iris, SnapshotReader
from kgbench.store.reader import pass_over, sound


class View(SnapshotReader):
    """One snapshot, open for reading; ``name`` tells it from all others.

    ``held``, its lock, keeps it on disk until the last reference to the view is gone; ``None``
    where another process holds it for this one. ``labels`` are those of things that were called by
    them before; ``None`` where they can change.
    """

    def __init__(self, path: Path, held: IO[bytes] | None, base: str) -> None:
        # A reader finds its snapshot itself; this one is given what was found.
        self.iris = Iris(base)
        self.location = str(path.parent.parent)
        self.path = str(path)
        self.name = path.name
        self.database = ox.Store.read_only(str(path))
        self._db = self.database
        self._held = held
        self.labels: dict[str, str] | None = {}
        if held is not None:
            weakref.finalize(self, held.close)


class Memory(View):
    """A database in memory to read pages from, in place of a snapshot."""

    is_snapshot = False  # it can be filled further

    def __init__(self, database: ox.Store, base: str) -> None:
        self.iris = Iris(base)
        self.location = self.path = self.name = "memory:"
        self.database = database
        self._db = database
        self._held = None
        self.labels = None


def opened(path: Path, held: IO[bytes] | None, base: str) -> View:
    """The snapshot at ``path`` with its lock; StoreError where it cannot be opened."""
    try:
        return View(path, held, base)
    except (OSError, RuntimeError, ValueError) as error:  # as the engine tells of damage
        if held is not None:
            held.close()
        raise StoreError(f"the snapshot {path} cannot be opened: {error}") from error


def newest(folder: Path, base: str) -> View:
    """The newest of the snapshots in ``folder`` that is not damaged, opened.

    Raises :class:`~kgbench.errors.StoreError` where there is none.
    """
    for found, held in sound(folder):
        try:
            return opened(found, held, base)
        except StoreError as error:
            pass_over(found, str(error))
    raise StoreError(f"{folder} has no snapshot to read")
