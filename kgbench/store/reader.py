# SPDX-License-Identifier: Apache-2.0
"""Reading an embedded store without owning it: the newest snapshot, held while it is read."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Self

import pyoxigraph as ox

from kgbench.errors import StoreError, StoreInUse
from kgbench.store import layouts, snapshots
from kgbench.store.databases import Database
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.iris import Iris
from kgbench.store.read_only import ReadOnly


class SnapshotReader(Database, ReadOnly):
    """A read-only :class:`~kgbench.store.protocol.Store` over the newest snapshot at ``path``."""

    def __init__(self, path: Path) -> None:
        self.iris = Iris()
        self.location = str(path)
        self._held: IO[bytes] | None = None
        self._db: ox.Store | None = None
        if not (path / "lock").exists():
            raise StoreError(f"there is no store at {path}: `kgbench run` makes one")
        folder = path / "snapshots"
        if not snapshots.is_complete(folder):
            _recover(path)
        for _ in range(10):  # a snapshot may be pruned between finding and holding it
            snapshot = snapshots.newest(folder)
            if snapshot is None:
                break
            self._held = snapshots.hold(snapshot)
            if self._held is not None:
                self._open(snapshot)
                self._checked()
                return
        raise StoreError(f"the store {path} has no snapshot to read yet: try again in a moment")

    def _open(self, snapshot: Path) -> None:
        try:
            self._db = ox.Store.read_only(str(snapshot))
        except (OSError, RuntimeError) as error:
            self.close()
            raise StoreError(f"the snapshot {snapshot} cannot be opened: {error}") from error

    def _checked(self) -> None:
        try:
            layouts.check(self)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the snapshot go."""
        self._db = None
        if self._held is not None:
            self._held.close()
            self._held = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _recover(path: Path) -> None:
    """Publish what a writer left behind; if one is at work, its own snapshots will do."""
    try:
        EmbeddedStore(path).close()
    except StoreInUse:
        return
