# SPDX-License-Identifier: Apache-2.0
"""A write-ahead log for records that must survive the process until the store has them.

A record is one line, appended by one ``write()``: a mark, the length and the BLAKE2 digest of the
content, and the content, which contains no line feed. A truncated or damaged line is recognised by
its length and digest and never taken for a record.

Lines are appended to segments of about a megabyte. A segment is removed when the store has all of
its records, so that the log only grows with the records that are not stored yet.
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
    """A record that a log had when it was opened, and the segment that contains it."""

    segment: Path
    content: bytes


def records(folder: Path) -> Iterator[bytes]:
    """Yield the records of the log in ``folder``, in order; another process may be writing it.

    Raises :class:`~kgbench.errors.StoreError` if the log cannot be read.
    """
    for path in _segments(folder):
        try:
            yield from filter(None, map(content_of, path.read_bytes().splitlines(keepends=True)))
        except FileNotFoundError:  # removed since, because the store has all of its records
            continue
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def framed(content: bytes) -> bytes:
    """Return the log line of ``content``, which must not contain a line feed."""
    return b"%b %d %b %b\n" % (_MARK, len(content), _digest(content), content)


def content_of(line: bytes) -> bytes | None:
    """Return the content of a line made by :func:`framed`, or ``None`` if it is damaged.

    >>> content_of(framed(b"{}")), content_of(framed(b"{}")[:-1])
    (b'{}', None)
    """
    parts = line.split(b" ", 3)
    if len(parts) != 4 or parts[0] != _MARK or not line.endswith(b"\n"):  # noqa: PLR2004
        return None
    content = parts[3][:-1]
    intact = parts[1] == b"%d" % len(content) and parts[2] == _digest(content)
    return content if intact else None


class WriteAheadLog:
    """The log in ``folder``, which is created with the first record; one process at a time owns it.

    ``settle`` makes the store sync its data to disk. With it, records are synced, too (one
    ``fsync`` covers all records that came during the previous one), and a segment is removed only
    after ``settle``. Without it, both are left to the operating system, so that records survive the
    process but perhaps not a power failure.

    ``damaged`` are the segments in which :meth:`recovered` found lines that are not records.
    """

    def __init__(self, folder: Path, *, settle: Callable[[], None] | None = None) -> None:
        self.folder = folder
        self.damaged: set[Path] = set()
        self._settle = settle
        self._guard = threading.Lock()
        self._where: dict[str, Path] = {}  # the segments of unstored records, by key
        self._open: dict[Path, int] = {}  # the number of unstored records in each segment
        self._lock: IO[bytes] | None = None
        self._segment: Path | None = None
        self._file = -1
        self._size = 0
        self._failure: OSError | None = None
        self._new = threading.Event()
        self._closed = False
        self._syncing: threading.Thread | None = None
        if folder.is_dir():
            self._lock_folder()

    def __len__(self) -> int:
        """Return the number of records that the store does not have."""
        return len(self._where)

    # --- records of earlier processes --------------------------------------------------------

    def recovered(self) -> Iterator[Record]:
        """Yield the records in the log, in the order in which they were appended.

        Raises :class:`~kgbench.errors.StoreError` if a segment cannot be read.
        """
        for path in _segments(self.folder):
            try:
                with path.open("rb") as lines:
                    for line in lines:
                        content = content_of(line)
                        if content is not None:
                            yield Record(path, content)
                        elif line.endswith(b"\n"):  # else the process ended while writing the line
                            self.damaged.add(path)
            except OSError as error:
                raise StoreError(f"{path} cannot be read: {error.strerror}") from error

    def keep(self, needed: dict[str, Record]) -> None:
        """Keep the recovered records in ``needed`` (by key) and remove the others.

        A damaged segment is also kept under the suffix ``.damaged``.
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

    # --- new records ---------------------------------------------------------------------------

    def append(self, key: str, content: bytes) -> None:
        """Append a record, which survives the end of this process once the method returns.

        Raises :class:`~kgbench.errors.WriteFailed`; the log is then unchanged.
        """
        line = framed(content)
        with self._guard:
            try:
                if self._failure is not None:
                    raise self._failure
                if self._segment is None or self._size >= SEGMENT:
                    self._begin_segment()
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
        """Release the records with these keys, which the store has; unknown keys are ignored."""
        with self._guard:
            if not self._where:
                return
            for key in keys:
                self._forget(key)
            finished = self._finished()
        self._remove(finished)

    def close(self) -> None:
        """Close the log, and remove it if the store has all of its records."""
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

    # --- internals -------------------------------------------------------------------------------

    def _lock_folder(self) -> None:
        """Take the lock of the folder, without waiting."""
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
        with suppress(OSError):  # for people, and for processes that wait until this one ends
            os.ftruncate(handle.fileno(), 0)
            os.write(handle.fileno(), b"%d" % os.getpid())

    def _begin_segment(self) -> None:
        """Begin the next segment."""
        if self._lock is None:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock_folder()
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
            while rest:  # a short write: the disk is full, and the next write raises the error
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            try:
                os.ftruncate(self._file, self._size)
            except OSError:  # no record may follow half a line: begin another segment
                os.close(self._file)
                self._file, self._segment = -1, None
            raise
        self._size += len(line)

    def _forget(self, key: str) -> None:
        path = self._where.pop(key, None)
        if path is not None:
            self._open[path] -= 1

    def _finished(self) -> list[Path]:
        """Return the segments that are no longer written and whose records the store has."""
        segments = [path for path, left in self._open.items() if not left and path != self._segment]
        for path in segments:
            del self._open[path]
        return segments

    def _remove(self, segments: Collection[Path]) -> None:
        if segments and self._settle is not None:
            self._settle()
        for path in segments:
            with suppress(OSError):  # the next process removes it
                path.unlink()

    def _sync(self) -> None:
        """Sync records to disk; those that arrive during an ``fsync`` share the next one."""
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


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_SUFFIX}"))


def _rewrite(path: Path, contents: list[bytes]) -> None:
    """Reduce a segment to these records; it stays unchanged if that fails."""
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
