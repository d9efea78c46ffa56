# SPDX-License-Identifier: Apache-2.0
"""Snapshots: what readers open while one process owns and writes a store.

The embedded engine allows one process per directory. The owner therefore publishes hard-link
copies below ``snapshots/``, and readers open the newest. A snapshot that a reader holds (a shared
lock on its lock file) is not removed under it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pyoxigraph as ox

KEPT = 2
INTERVAL = 2.0  # seconds between two snapshots, at least


def newest(folder: Path) -> Path | None:
    """The newest complete snapshot below ``folder``, or ``None``."""
    found = sorted(p for p in folder.glob("*") if p.is_dir() and p.name.isdigit())
    return found[-1] if found else None


def publish(store: ox.Store, folder: Path) -> Path:
    """Copy ``store`` into a new snapshot and remove old ones that nobody reads."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{time.time_ns():020d}"
    unfinished = folder / f"{name}.unfinished"
    store.backup(str(unfinished))
    (folder / f"{name}.lock").touch()
    unfinished.rename(folder / name)
    _prune(folder)
    return folder / name


def hold(snapshot: Path) -> IO[bytes] | None:
    """A shared lock that keeps ``snapshot`` from being pruned; ``None`` if it is gone."""
    try:
        handle = snapshot.with_name(snapshot.name + ".lock").open("rb")
    except FileNotFoundError:
        return None
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not snapshot.is_dir():
        handle.close()
        return None
    return handle


def _prune(folder: Path) -> None:
    complete = sorted(p for p in folder.glob("*") if p.is_dir() and p.name.isdigit())
    for old in complete[:-KEPT]:
        lock = old.with_name(old.name + ".lock")
        with lock.open("ab") as handle:  # where somebody removed it, nobody can read the snapshot
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(old, ignore_errors=True)
            lock.unlink(missing_ok=True)
    for left in folder.glob("*.unfinished"):
        if left.stat().st_mtime < time.time() - 60:
            shutil.rmtree(left, ignore_errors=True)


class Publisher:
    """Publishes snapshots of a store from a thread of its own, at most one per :data:`INTERVAL`."""

    interval = INTERVAL

    def __init__(self, take: Callable[[], object]) -> None:
        self._take = take
        self._said = threading.Condition()
        self._new = False  # there is something that no snapshot has
        self._hurried = False
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="kgbench-snapshots", daemon=True)
        self._thread.start()

    def changed(self) -> None:
        """Say that there is something new to publish."""
        with self._said:
            if not self._new:  # the many that follow in the same interval wake nobody
                self._new = True
                self._said.notify()

    def hurry(self) -> None:
        """Have what is new published now, without waiting for its turn or for its end."""
        with self._said:
            self._hurried = True
            self._said.notify()

    def stop(self) -> bool:
        """End the thread, a snapshot under way is finished first; whether one is missing then."""
        with self._said:
            self._stopped = True
            self._said.notify()
        self._thread.join()
        return self._new

    def _work(self) -> None:
        while True:
            with self._said:
                self._said.wait_for(lambda: self._stopped or self._hurried, self.interval)
                self._said.wait_for(lambda: self._stopped or self._new)
                if self._stopped:
                    return
                self._new = self._hurried = False
            try:
                self._take()
            except BaseException:
                self._new = True
                raise


def is_complete(folder: Path) -> bool:
    """Whether the newest snapshot holds everything (no writer left without publishing)."""
    return newest(folder) is not None and not is_dirty(folder.parent)


def is_dirty(location: Path) -> bool:
    """Whether the store at ``location`` may hold more than its newest snapshot."""
    return (location / "dirty").exists()


def mark_dirty(location: Path, dirty: bool) -> None:
    """Note that the store holds more than its newest snapshot, or no longer."""
    marker = location / "dirty"
    if dirty:
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY, 0o600))
    else:
        marker.unlink(missing_ok=True)
