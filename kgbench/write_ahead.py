# SPDX-License-Identifier: Apache-2.0
"""A write-ahead log: records that must survive the process before the store has them.

A record is one line, appended by one ``write()``: a mark, the length and the BLAKE2 digest of the
content, and the content, which holds no line feed. A line that was cut off, or damaged, is
recognised by length and digest and never taken for a record.

Lines go into segments of about a megabyte. A segment is removed when the store has all of its
records, so that the log stays as small as what is not stored yet.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from kgbench.errors import StoreError, StoreInUse, WriteFailed

SEGMENT = 1_000_000  # bytes after which another segment is begun
_MARK = b"kgbench-1"
_SUFFIX = ".log"


class Record(NamedTuple):
    """A record that a log already had when it was opened; ``segment`` is where it stands."""

    segment: Path
    content: bytes


def records(folder: Path) -> Iterator[bytes]:
    """The records in the log in ``folder``, in order, whoever writes it meanwhile.

    Raises :class:`~kgbench.errors.StoreError` where the log cannot be read.
    """
    for path in _segments(folder):
        try:
            yield from filter(None, map(content_of, path.read_bytes().splitlines(keepends=True)))
        except FileNotFoundError:  # the store has got all of it since
            continue
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def framed(content: bytes) -> bytes:
    """``content``, which holds no line feed, as the line of a log."""
    return b"%b %d %b %b\n" % (_MARK, len(content), _digest(content), content)


def content_of(line: bytes) -> bytes | None:
    """The content of a line as :func:`framed` made it, or ``None`` where it is not whole.

    >>> content_of(framed(b"{}")), content_of(framed(b"{}")[:-1])
    (b'{}', None)
    """
    parts = line.split(b" ", 3)
    if len(parts) != 4 or parts[0] != _MARK or not line.endswith(b"\n"):  # noqa: PLR2004
        return None
    content = parts[3][:-1]
    whole = parts[1] == b"%d" % len(content) and parts[2] == _digest(content)
    return content if whole else None


class WriteAhead:
    """The log in ``folder``, which is made with its first record; one process has it at a time.

    ``settle`` has the store bring what it was given to the disk. Where it is given, records are
    brought to the disk, too (``fsync``, as many at once as came during the last), and a segment is
    removed only after ``settle``; otherwise both are left to the system, so that they survive the
    process but perhaps not a power failure.

    ``damaged`` are the segments in which :meth:`recovered` has met lines that were no records.
    """

    def __init__(self, folder: Path, *, settle: Callable[[], None] | None = None) -> None:
        self.folder = folder
        self.damaged: set[Path] = set()
        self._settle = settle
        self._guard = threading.Lock()
        self._where: dict[str, Path] = {}  # of records that the store does not have, by key
        self._open: dict[Path, int] = {}  # how many of them each segment has
        self._lock: IO[bytes] | None = None
        self._segment: Path | None = None
        self._file = -1
        self._size = 0
        self._failure: OSError | None = None
        self._new = threading.Event()
        self._closed = False
        self._syncing: threading.Thread | None = None
        if folder.is_dir():
            self._own()

    def __len__(self) -> int:
        """How many records there are that the store does not have."""
        return len(self._where)

    # --- what earlier processes left --------------------------------------------------------

    def recovered(self) -> Iterator[Record]:
        """The records in the log, in the order in which they were appended.

        Raises :class:`~kgbench.errors.StoreError` where a segment cannot be read.
        """
        for path in _segments(self.folder):
            try:
                with path.open("rb") as lines:
                    for line in lines:
                        content = content_of(line)
                        if content is not None:
                            yield Record(path, content)
                        elif line.endswith(b"\n"):  # without, the process ended while writing it
                            self.damaged.add(path)
            except OSError as error:
                raise StoreError(f"{path} cannot be read: {error.strerror}") from error

    def keep(self, needed: dict[str, Record]) -> None:
        """Keep the recovered records in ``needed``, by their keys, and remove the others.

        A damaged segment stays beside them under the suffix ``.damaged``.
        """
        kept: dict[Path, list[bytes]] = {}
        for key, record in needed.items():
            kept.setdefault(record.segment, []).append(record.content)
            self._where[key] = record.segment
        for path in _segments(self.folder):
            if path in self.damaged:
                with suppress(OSError):
                    path.with_suffix(".damaged").hardlink_to(path)
            if contents := kept.get(path):
                self._open[path] = len(contents)
                _rewrite(path, contents)
            else:
                self._remove([path])

    # --- what comes ---------------------------------------------------------------------------

    def append(self, key: str, content: bytes) -> None:
        """Append a record, which is safe from the end of this process when this returns.

        Raises :class:`~kgbench.errors.WriteFailed`; the log is then as it was before.
        """
        line = framed(content)
        with self._guard:
            try:
                if self._failure is not None:
                    raise self._failure
                if self._segment is None or self._size >= SEGMENT:
                    self._begin()
                assert self._segment is not None
                self._write(line)
            except OSError as error:
                raise WriteFailed(
                    f"the write-ahead log in {self.folder} cannot be written: {error.strerror}"
                ) from error
            self._forget(key)
            self._where[key] = self._segment
            self._open[self._segment] = self._open.get(self._segment, 0) + 1
        if self._settle is not None:
            self._new.set()

    def done(self, keys: Collection[str]) -> None:
        """The store has the records with these keys; those that are not in the log are ignored."""
        with self._guard:
            if not self._where:
                return
            for key in keys:
                self._forget(key)
            finished = self._finished()
        self._remove(finished)

    def close(self) -> None:
        """Give the log up; where no record is left that the store does not have, remove it."""
        if self._syncing is not None:
            self._closed = True
            self._new.set()
            self._syncing.join()
        with self._guard:
            if self._file >= 0:
                os.close(self._file)
            self._file, self._segment = -1, None
            finished = self._finished()
        self._remove(finished)
        if self._lock is not None:
            if not any(_segments(self.folder)):
                with suppress(OSError):
                    (self.folder / "lock").unlink()
                    self.folder.rmdir()
            self._lock.close()
            self._lock = None

    # --- within -------------------------------------------------------------------------------

    def _own(self) -> None:
        """Take the lock of the folder; never waits."""
        try:
            handle = (self.folder / "lock").open("ab")
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise StoreInUse(
                f"the write-ahead log in {self.folder} is in use by another kgbench: wait for it "
                f"to end"
            ) from None
        self._lock = handle
        with suppress(OSError):  # for people, and for who waits until this process ends
            os.ftruncate(handle.fileno(), 0)
            os.write(handle.fileno(), b"%d" % os.getpid())

    def _begin(self) -> None:
        """Begin the next segment."""
        if self._lock is None:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._own()
        last = _segments(self.folder)
        number = int(last[-1].stem) + 1 if last else 1
        path = self.folder / f"{number:08d}{_SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        file = os.open(path, flags, 0o600)
        if self._file >= 0:
            if self._settle is not None:
                os.fsync(self._file)
            os.close(self._file)
        self._segment, self._file, self._size = path, file, 0
        self._open.setdefault(path, 0)
        if self._settle is not None:
            _sync_folder(self.folder)
            if self._syncing is None:
                self._syncing = threading.Thread(
                    target=self._sync, name="kgbench-write-ahead", daemon=True
                )
                self._syncing.start()

    def _write(self, line: bytes) -> None:
        """Append ``line``, or leave the segment as it was and raise :class:`OSError`."""
        try:
            rest = line[os.write(self._file, line) :]
            while rest:  # the disk is full, which the next attempt says
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            try:
                os.ftruncate(self._file, self._size)
            except OSError:  # nothing may stand behind half a line
                os.close(self._file)
                self._file, self._segment = -1, None
            raise
        self._size += len(line)

    def _forget(self, key: str) -> None:
        path = self._where.pop(key, None)
        if path is not None:
            self._open[path] -= 1

    def _finished(self) -> list[Path]:
        """The segments that are not written any more, and of which the store has all records."""
        found = [path for path, left in self._open.items() if not left and path != self._segment]
        for path in found:
            del self._open[path]
        return found

    def _remove(self, segments: Collection[Path]) -> None:
        if segments and self._settle is not None:
            self._settle()
        for path in segments:
            with suppress(OSError):  # it is found, and removed, by the next process
                path.unlink()

    def _sync(self) -> None:
        """Bring records to the disk; those that come meanwhile go together the next time."""
        while not self._closed:
            self._new.wait()
            self._new.clear()
            with self._guard:
                file = os.dup(self._file) if self._file >= 0 else -1
            if file < 0:
                continue
            try:
                os.fsync(file)
            except OSError as error:
                self._failure = error
            finally:
                os.close(file)


def _segments(place: Path) -> list[Path]:
    return sorted(place.glob(f"*{_SUFFIX}"))


def _rewrite(path: Path, contents: list[bytes]) -> None:
    """Have a segment hold these records alone; where that fails it stays as it is."""
    unfinished = path.with_suffix(".unfinished")
    try:
        with unfinished.open("wb") as file:
            file.writelines(framed(content) for content in contents)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:  # the disk is full
        with suppress(OSError):
            unfinished.unlink()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
