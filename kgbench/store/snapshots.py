# SPDX-License-Identifier: Apache-2.0
"""Snapshots of an embedded store, which readers open while another process owns the store.

Oxigraph allows one process per database folder. The owner therefore publishes hard-link copies
below ``snapshots/``, and readers open the newest one. A snapshot that a reader holds (by a shared
lock on its lock file) is not removed. Snapshots are numbered in the order of publication. The
numbers are counted, not taken from the clock: a clock that was ahead once would hide all later
results.

Beside a snapshot are the checksums of its files, and those of the owner's files are written when
the store is closed. The files never change, so a difference means damage. CRC-32 runs at memory
speed (3.8 GB/s, SHA-256 only 1.3) and detects accidents; it does not protect against forgery. A
file that an earlier snapshot shares, as a hard link, keeps its checksum and is not read again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from kgbench import files
from kgbench.errors import KgbenchError

KEPT = 2
SPARE = 64 << 20  # bytes that an older snapshot may take on a closed store, and beside two others
INTERVAL = 2.0  # minimal seconds between two snapshots
SHARE = 0.1  # maximal share of time spent on snapshots, which take seconds for large stores
_log = logging.getLogger("kgbench.store")
VERIFIED = 16 << 20  # bytes whose checksums are compared on opening, which takes 4 ms
TABLE = ".sst"  # suffix of RocksDB's table files, which contain the indexes and never change
_CHUNK = 1 << 20
_NOT_CONTENT = ("LOCK", "LOG")  # created whenever the database is opened, without content


def all_of(folder: Path) -> list[Path]:
    """Return the complete snapshots below ``folder``, the newest first."""
    folders = (p for p in folder.glob("*") if p.name.isdecimal() and p.is_dir())
    return sorted(folders, key=lambda p: int(p.name), reverse=True)


def newest(folder: Path) -> Path | None:
    """Return the newest complete snapshot below ``folder``, or ``None``."""
    return next(iter(all_of(folder)), None)


def publish(copy: Callable[[str], None], folder: Path) -> Path:
    """Make a new snapshot below ``folder``, and remove old ones that have no readers.

    ``copy`` copies the database to a path. A large spare is removed before, because three snapshots
    of a store that grows can take three times its space.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    remove_large_spares(folder)
    before = [folder.parent / "data", *all_of(folder)[:1]]
    name = f"{_next_number(folder):020d}"
    unfinished = folder / f"{name}.unfinished"
    snapshot = folder / name
    try:
        copy(str(unfinished))
        (folder / f"{name}.lock").touch()
        take_checksums(unfinished, snapshot, before)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)  # frees disk space, which is probably scarce
        raise
    unfinished.rename(snapshot)
    for old in all_of(folder)[KEPT:]:
        _remove(old)
    return snapshot


def remove_large_spares(folder: Path) -> None:
    """Remove all but the newest snapshot if they take more than :data:`SPARE` bytes.

    The older snapshot is a spare, if the newest one is damaged. Its files that the database has
    merged since are not shared any more, and in large stores take as much space as the store.
    """
    for old in all_of(folder)[1:]:
        tables = (file.stat() for file in old.glob(f"*{TABLE}"))
        if sum(table.st_size for table in tables if table.st_nlink == 1) > SPARE:
            _remove(old)


def damage(snapshot: Path) -> str | None:
    """Return the known damage of a snapshot, after a quick check of its checksums."""
    try:
        return _note(snapshot).read_text(encoding="utf-8")
    except OSError:
        return next(faults(snapshot, VERIFIED), None)


def note_damage(snapshot: Path, words: str) -> None:
    """Record that a snapshot is damaged, so that later readers skip it."""
    with suppress(OSError):  # the reader may lack permission to write
        files.write(_note(snapshot), words)


def _note(snapshot: Path) -> Path:
    return snapshot.with_name(snapshot.name + ".damaged")


def _next_number(folder: Path) -> int:
    """Return a number above those of all earlier snapshots, after recording it."""
    record = folder / "sequence"
    try:
        last = int(record.read_text(encoding="ascii"))
    except (OSError, ValueError):  # missing or damaged: continue from the existing snapshots
        last = 0
    names = (p.name.partition(".")[0] for p in folder.glob("[0-9]*"))
    number = max([last, *(int(name) for name in names if name.isdecimal())]) + 1
    files.write(record, str(number))
    return number


def hold(snapshot: Path) -> IO[bytes] | None:
    """Take a shared lock, which protects ``snapshot`` from pruning; ``None`` if it is gone."""
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


def _remove(snapshot: Path) -> None:
    """Remove a snapshot, unless it has readers."""
    lock = snapshot.with_name(snapshot.name + ".lock")
    with lock.open("ab") as handle:  # created again if it was removed; then there is no reader
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(snapshot, ignore_errors=True)
        sums_path(snapshot).unlink(missing_ok=True)
        _note(snapshot).unlink(missing_ok=True)
        lock.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed processes from ``folder``; only for the owner.

    An unfinished snapshot can take as much space as the store, once its files are not shared.
    """
    for left in folder.glob("*.unfinished"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()
    for beside in folder.glob("[0-9]*.*"):  # locks and notes of removed snapshots
        if beside.is_file() and not beside.with_name(beside.name.partition(".")[0]).exists():
            with suppress(OSError):
                beside.unlink()


class Publisher:
    """A thread that publishes snapshots of a store.

    It publishes at most one per :data:`INTERVAL`, and uses at most :data:`SHARE` of the time.
    """

    interval = INTERVAL

    def __init__(self, take: Callable[[], object]) -> None:
        self._take = take
        self._condition = threading.Condition()
        self._new = False  # whether there are unpublished writes
        self._hurried = False
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="kgbench-snapshots", daemon=True)
        self._thread.start()

    def report_write(self) -> None:
        """Report a write that is to be published."""
        with self._condition:
            if not self._new:  # later writes in the same interval need not wake the thread
                self._new = True
                self._condition.notify()

    def hurry(self) -> None:
        """Publish unpublished writes now instead of at the next interval; does not wait for it."""
        with self._condition:
            self._hurried = True
            self._condition.notify()

    def stop(self) -> bool:
        """End the thread after its current snapshot; return whether writes are unpublished."""
        with self._condition:
            self._stopped = True
            self._condition.notify()
        self._thread.join()
        return self._new

    def _work(self) -> None:
        failing = False
        took = 0.0
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._stopped or self._hurried, self._pause(took))
                self._condition.wait_for(lambda: self._stopped or self._new)
                if self._stopped:
                    return
                self._new = self._hurried = False
            begin = time.monotonic()
            try:
                self._take()
            except (OSError, RuntimeError, KgbenchError) as error:
                # Retried at the next interval, and by the owner when it closes.
                self._new = True
                if not failing:
                    _log.warning("readers do not see the latest results yet: %s", error)
                failing = True
            else:
                failing = False
            took = time.monotonic() - begin

    def _pause(self, took: float) -> float:
        """Return the seconds until the next snapshot, after one that took ``took`` seconds."""
        return max(self.interval, took * (1 / SHARE - 1))


def is_complete(folder: Path) -> bool:
    """Return whether the newest snapshot has all writes of ended writers."""
    return newest(folder) is not None and not is_dirty(folder.parent)


def is_dirty(location: Path) -> bool:
    """Return whether the store at ``location`` may have writes that no snapshot has."""
    return (location / "dirty").exists()


def mark_dirty(location: Path, dirty: bool) -> None:
    """Set or remove the marker that the store may have unpublished writes."""
    marker = location / "dirty"
    if dirty:
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY, 0o600))
    else:
        marker.unlink(missing_ok=True)


# --- checksums --------------------------------------------------------------------------------


class Sum(NamedTuple):
    """Size in bytes and CRC-32 of a file."""

    size: int
    crc: int


def sums_path(snapshot: Path) -> Path:
    """Return the path of the checksums of a snapshot."""
    return snapshot.with_name(snapshot.name + ".sums")


def take_checksums(folder: Path, snapshot: Path, previous: Iterable[Path] = ()) -> None:
    """Write the checksums of the files in ``folder``, which will become ``snapshot``.

    ``previous`` are folders with checksums that may share files with it.
    """
    known: dict[int, Sum] = {}
    for earlier in previous:
        for name, value in (read_checksums(earlier) or {}).items():
            with suppress(FileNotFoundError):
                if name.endswith(TABLE):
                    known[(earlier / name).stat().st_ino] = value
    sums = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(_NOT_CONTENT):
            with suppress(FileNotFoundError):  # the engine may remove files in the background
                entry = file.stat()
                earlier_sum = known.get(entry.st_ino)
                # The first checksum is kept, so that damage since then is detected.
                if earlier_sum is not None and earlier_sum.size == entry.st_size:
                    sums[file.name] = earlier_sum
                else:
                    sums[file.name] = Sum(entry.st_size, _crc(file))
    files.write(sums_path(snapshot), json.dumps(sums, indent=0))


def read_checksums(snapshot: Path) -> Mapping[str, Sum] | None:
    """Return the checksums of a snapshot by file name; ``None`` if there are none."""
    try:
        document = json.loads(sums_path(snapshot).read_bytes())
        return {str(name): Sum(int(size), int(crc)) for name, (size, crc) in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def faults(snapshot: Path, budget: int | None = None, *, owned: bool = False) -> Iterator[str]:
    """Yield a message for each file of a snapshot that differs from its checksum.

    With a ``budget`` in bytes, the sizes of all files are compared, but the content only of the
    smallest files that fit into the budget. Of an owner's files (``owned``), only the tables are
    compared that the engine has not merged since. Without checksums there are no messages.
    """
    left = budget
    expected = read_checksums(snapshot) or {}
    for name, (size, expected_crc) in sorted(expected.items(), key=lambda item: item[1].size):
        file = snapshot / name
        if owned and not (name.endswith(TABLE) and file.exists()):
            continue
        try:
            actual = file.stat().st_size
            if actual != size:
                yield f"{name} has {actual} of {size} bytes"
                continue
            if left is not None:
                left -= size
            if (left is None or left >= 0) and _crc(file) != expected_crc:
                yield f"{name} has changed since it was written"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror}"


def _crc(file: Path) -> int:
    value = 0
    with file.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            value = zlib.crc32(chunk, value)
    return value
