# SPDX-License-Identifier: Apache-2.0
"""Snapshots: what readers open while one process owns and writes a store.

The embedded engine allows one process per directory. The owner therefore publishes hard-link
copies below ``snapshots/``, and readers open the newest. A snapshot that a reader holds (a shared
lock on its lock file) is not removed under it. Snapshots are numbered in the order in which they
were published. The numbers come from the store, because a clock that was ahead once would hide all
later results.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench import files
from kgbench.errors import KgbenchError
from kgbench.store import checksums

KEPT = 2
INTERVAL = 2.0  # seconds between two snapshots, at least
SHARE = 0.1  # of the time that may go into snapshots: those of large stores take a second or more
_log = logging.getLogger("kgbench.store")
VERIFIED = 16 << 20  # bytes whose checksums are compared on opening: 4 ms


def all_of(folder: Path) -> list[Path]:
    """The complete snapshots below ``folder``, the newest first."""
    there = (p for p in folder.glob("*") if p.name.isdecimal() and p.is_dir())
    return sorted(there, key=lambda p: int(p.name), reverse=True)


def newest(folder: Path) -> Path | None:
    """The newest complete snapshot below ``folder``, or ``None``."""
    return next(iter(all_of(folder)), None)


def publish(store: ox.Store, folder: Path, *, fresh: bool = True) -> Path:
    """Copy ``store`` into a new snapshot and remove old ones that nobody reads.

    ``fresh``: what the newest snapshot lacks was written since this process opened the store.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    before = [folder.parent / "data", *all_of(folder)[:1]]
    name = f"{_next_number(folder):020d}"
    unfinished = folder / f"{name}.unfinished"
    snapshot = folder / name
    try:
        store.backup(str(unfinished))
        (folder / f"{name}.lock").touch()
        checksums.take(unfinished, snapshot, before, fresh=fresh)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)  # it takes room, which is scarce now
        raise
    unfinished.rename(snapshot)
    _prune(folder)
    return snapshot


def damage(snapshot: Path) -> str | None:
    """What is known to be wrong with a snapshot, without reading more than a moment allows."""
    try:
        return _note(snapshot).read_text(encoding="utf-8")
    except OSError:
        return next(checksums.faults(snapshot, VERIFIED), None)


def note_damage(snapshot: Path, words: str) -> None:
    """Note that a snapshot is damaged, so that later readers do not begin with it."""
    with suppress(OSError):  # a reader may not write here: then the next one finds out by itself
        files.write(_note(snapshot), words)


def _note(snapshot: Path) -> Path:
    return snapshot.with_name(snapshot.name + ".damaged")


def _next_number(folder: Path) -> int:
    """A number above those of all snapshots that ever were, noted before it is used.

    Earlier versions numbered by the clock; their numbers are only continued.
    """
    noted = folder / "sequence"
    try:
        last = int(noted.read_text(encoding="ascii"))
    except (OSError, ValueError):  # none yet, or damaged: what is there counts
        last = 0
    there = [int(p.name.partition(".")[0]) for p in folder.glob("[0-9]*") if _is_numbered(p)]
    number = max([last, *there]) + 1
    files.write(noted, str(number))
    return number


def _is_numbered(path: Path) -> bool:
    return path.name.partition(".")[0].isdecimal()


def hold(snapshot: Path) -> IO[bytes] | None:
    """A shared lock that keeps ``snapshot`` from being pruned; ``None`` if it is gone."""
    lock = snapshot.with_name(snapshot.name + ".lock")
    try:
        if snapshot.is_dir() and not lock.exists():  # pruning removes the lock last
            lock.touch()
        handle = lock.open("rb")
    except OSError:
        return None
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not snapshot.is_dir():
        handle.close()
        return None
    return handle


def _prune(folder: Path) -> None:
    for old in all_of(folder)[KEPT:]:
        lock = old.with_name(old.name + ".lock")
        with lock.open("ab") as handle:  # where somebody removed it, nobody can read the snapshot
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(old, ignore_errors=True)
            checksums.place(old).unlink(missing_ok=True)
            _note(old).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed left unfinished in ``folder``; for the owner alone.

    A snapshot in the making has the size of the store, once its files are no longer shared.
    """
    for left in folder.glob("*.unfinished"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()
    for beside in folder.glob("[0-9]*.*"):  # locks and notes of a snapshot that is not there
        if beside.is_file() and not beside.with_name(beside.name.partition(".")[0]).exists():
            with suppress(OSError):
                beside.unlink()


class Publisher:
    """Publishes snapshots of a store from a thread of its own.

    There is at most one per :data:`INTERVAL`, and they take at most :data:`SHARE` of the time.
    """

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
        failing = False
        took = 0.0
        while True:
            with self._said:
                self._said.wait_for(lambda: self._stopped or self._hurried, self._pause(took))
                self._said.wait_for(lambda: self._stopped or self._new)
                if self._stopped:
                    return
                self._new = self._hurried = False
            begin = time.monotonic()
            try:
                self._take()
            except (OSError, RuntimeError, KgbenchError) as error:
                # Tried again at the next turn, and once more by the owner when it closes.
                self._new = True
                if not failing:
                    _log.warning("readers do not see the latest results yet: %s", error)
                failing = True
            else:
                failing = False
            took = time.monotonic() - begin

    def _pause(self, took: float) -> float:
        """Seconds until the next snapshot, after one that took so many."""
        return max(self.interval, took * (1 / SHARE - 1))


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
