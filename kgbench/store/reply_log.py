# SPDX-License-Identifier: Apache-2.0
"""The reply log of a store: the file of the replies that the store does not have yet.

A reply is one line, appended by one ``write()`` before the reply is used. It is no longer needed
when its turn is stored. The file is then replaced by one with the other lines, not each time but
when it is mostly superfluous, and it is removed when no line is needed.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from kgbench.errors import StoreError, StoreInUse, WriteFailed
from kgbench.store import back_ends

NAME = "replies.jsonl"
SPARE = 1_000_000  # bytes of superfluous lines up to which the file is not replaced


def path(location: str) -> Path | None:
    """Return the file of the store at ``location``; ``None`` for a store in memory.

    It is in the folder of an embedded store. For a store on a server it is on this machine, in a
    folder of the user's state folder that is named after the server's address. Raises
    :class:`~kgbench.errors.StoreError` if there are replies in the form of an earlier version.
    """
    if location == "memory:":
        return None
    if back_ends.is_remote(location):
        folder = back_ends.state_folder("replies", location)
        earlier = back_ends.state_folder("write-ahead", location)
    else:
        folder = Path(location)
        earlier = folder / "write-ahead"
    if any(earlier.rglob("*.log")):
        raise StoreError(
            f"{earlier} has replies in the form of an earlier version of kgbench: finish the run "
            f"with that version, or delete the folder, and its replies are asked for again"
        )
    return folder / NAME


def read(file: Path) -> tuple[list[bytes], bool]:
    """Return the lines of a log, and whether a last one that was cut off is left out.

    Another process may be writing it. Raises :class:`~kgbench.errors.StoreError`.
    """
    try:
        *lines, rest = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], False
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    return lines, rest != b""


class ReplyLog:
    """The log in ``file``, which is created with the first reply; one process at a time owns it.

    ``settle`` makes the store sync its data to disk. With it, every line is synced to disk when it
    is appended, and the store before lines are removed. Without it, both are left to the operating
    system, so that replies survive the process but perhaps not a power failure.

    Raises :class:`~kgbench.errors.StoreInUse` if another process owns the log.
    """

    def __init__(self, file: Path, *, settle: Callable[[], None] | None = None) -> None:
        self.file = file
        self._settle = settle
        self._guard = threading.Lock()
        self._needed: dict[str, list[bytes]] = {}  # lines by turn
        self._failure: OSError | None = None
        self._open = _owned(file) if file.exists() else -1
        self._size = 0 if self._open < 0 else os.fstat(self._open).st_size
        self._superfluous = 0  # bytes

    def __len__(self) -> int:
        """Return the number of replies that the store does not have."""
        return sum(map(len, self._needed.values()))

    def keep(self, needed: Mapping[str, Collection[bytes]]) -> None:
        """Reduce the file to these lines of it, by turn; to be called before anything is appended.

        Raises :class:`~kgbench.errors.WriteFailed`; the file is then unchanged.
        """
        if self._open < 0:
            return
        self._needed = {turn: [line + b"\n" for line in lines] for turn, lines in needed.items()}
        try:
            self._replace()
        except OSError as error:
            raise self._unwritten(error) from error

    def append(self, turn: str, line: bytes) -> None:
        """Append the line of a reply, which survives the end of this process after the return.

        Raises :class:`~kgbench.errors.WriteFailed`.
        """
        line += b"\n"
        with self._guard:
            try:
                if self._failure is not None:
                    raise self._failure
                if self._open < 0:
                    self._create()
                self._write(line)
                self._needed.setdefault(turn, []).append(line)
                if self._settle is not None:
                    os.fsync(self._open)
            except OSError as error:
                raise self._unwritten(error) from error

    def done(self, turn: str) -> None:
        """Release the replies to a turn that the store has; an unknown turn is ignored."""
        with self._guard:
            self._superfluous += sum(map(len, self._needed.pop(turn, ())))
            if self._superfluous <= max(SPARE, self._size // 2):
                return
        with suppress(OSError):  # the disk is full: the file stays as it is
            self._replace()

    def close(self) -> None:
        """Close the log, and remove it if the store has all of its replies."""
        if self._open < 0:
            return
        with suppress(OSError):  # the next process reads the lines, and finds their turns stored
            if self._superfluous == self._size:
                self._settled()
                self.file.unlink()
            elif self._superfluous:
                self._replace()
        os.close(self._open)
        self._open = -1

    # --- internals ------------------------------------------------------------------------------

    def _create(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._open = _owned(self.file)
        if self._settle is not None:
            _sync_folder(self.file.parent)

    def _write(self, line: bytes) -> None:
        """Append ``line``, or leave the file as it was and raise :class:`OSError`."""
        try:
            _write_all(self._open, line)
        except OSError as error:
            try:
                os.ftruncate(self._open, self._size)
            except OSError:  # nothing may follow half a line
                self._failure = error
            raise
        self._size += len(line)

    def _replace(self) -> None:
        """Replace the file by one with the lines that are needed, or raise :class:`OSError`."""
        self._settled()
        unfinished = self.file.with_suffix(".unfinished")
        with self._guard:
            data = b"".join(line for lines in self._needed.values() for line in lines)
            new = _owned(unfinished, os.O_TRUNC)
            try:
                _write_all(new, data)
                os.fsync(new)
                unfinished.replace(self.file)
            except OSError:
                os.close(new)
                unfinished.unlink(missing_ok=True)
                raise
            os.close(self._open)
            self._open, self._size, self._superfluous = new, len(data), 0

    def _settled(self) -> None:
        if self._settle is not None:
            self._settle()

    def _unwritten(self, error: OSError) -> WriteFailed:
        return WriteFailed(f"the reply log {self.file} cannot be written: {error.strerror}")


def _owned(file: Path, flags: int = 0) -> int:
    """Open and lock a file, without waiting; it is created if it does not exist."""
    while True:
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(opened), file.stat()):
                return opened
        except BlockingIOError:
            os.close(opened)
            raise StoreInUse(
                f"the reply log {file} is in use by another kgbench: wait for it to end"
            ) from None
        except FileNotFoundError:  # its owner has removed it meanwhile
            pass
        os.close(opened)


def _write_all(file: int, data: bytes) -> None:
    while data:  # again after a short write: the disk is full, and the next write raises the error
        data = data[os.write(file, data) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
