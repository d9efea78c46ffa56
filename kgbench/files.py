# SPDX-License-Identifier: Apache-2.0
"""Files: replaced completely or not at all, read from Zstandard frames, and known as damaged."""

from __future__ import annotations

import errno
import io
import lzma
import os
import secrets
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

_SPECIAL = ("/dev/", "/proc/")  # such paths may lead to a file that another process has open
_MOST_LINKS = 40
# Errors of a rename where the file itself may still be writable: its folder is not writable, or
# the file is a mount point (EBUSY).
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)

_PACKED = 4 << 10  # bytes unpacked at once: a byte may give 32 kB
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG))
"""Errors of writes that fail for lack of space, by a quota, or on a read-only file system."""


def write(path: Path, content: bytes | str) -> None:
    """Write ``content`` (text as UTF-8) to ``path``, creating its folder if it is missing.

    The file is replaced by a rename once the new content is complete; if ``path`` is a symbolic
    link, its target is replaced. Devices and pipes (``/dev/stdout``) are written to directly, and
    so is a file in a folder where no other file can be created.

    Raises :class:`OSError`, with ``path`` as its file name, if the write fails.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        target = _resolved(path)
        if target is None:
            with path.open("ab") as stream:  # appends, so that a redirected file keeps its content
                stream.write(data)
        else:
            if not target.parent.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _resolved(path: Path) -> Path | None:
    """Resolve links of ``path``; ``None`` for devices and others that cannot be replaced."""
    current = str(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(current)
        folder = os.path.realpath(folder)
        current = os.path.join(folder, name)  # noqa: PTH118 - as text, which Path would tidy up
        if current.startswith(_SPECIAL):
            return None
        if not os.path.islink(current):  # noqa: PTH114
            break
        current = os.path.join(folder, os.readlink(current))  # noqa: PTH115, PTH118
    target = Path(current)
    return None if target.exists() and not target.is_file() else target


def _replace(target: Path, data: bytes) -> None:
    unfinished = target.with_name(f".kgbench-{secrets.token_hex(8)}.unfinished")
    exists = target.exists()
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        unfinished.write_bytes(data)
        if exists:
            unfinished.chmod(target.stat().st_mode)
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        if not exists or error.errno not in _IN_PLACE:
            raise
        target.write_bytes(data)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


class ZstandardFrames(io.RawIOBase):
    """The content of successive Zstandard frames; an incomplete frame is an error."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        # A frame declares its window, which the decompressor keeps in memory: limit it.
        self._new = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._frame = self._new()
        self._begun = False
        self._input = b""
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some content into ``buffer``; raise :class:`EOFError` if a frame is incomplete."""
        while not self._waiting:
            if not self._input:
                self._input = self._file.read(_PACKED)
            if not self._input:
                if self._begun:
                    raise EOFError("it is truncated")
                return 0
            self._waiting = memoryview(self._frame.decompress(self._input))
            self._begun, self._input = True, b""
            if self._frame.eof:
                self._input = self._frame.unused_data
                self._begun, self._frame = False, self._new()
        number = min(len(buffer), len(self._waiting))
        buffer[:number] = self._waiting[:number]
        self._waiting = self._waiting[number:]
        return number


def errors_of_damage() -> tuple[type[Exception], ...]:
    """Return all exceptions that libraries raise while they read damaged content.

    :class:`RuntimeError` is not one of them: it means that the content is encrypted, perhaps with
    another password. Catch these exceptions only around reading, because programming errors raise
    some of them, too.
    """
    import pyzipper

    known = (zipfile.BadZipFile, pyzipper.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
    # Libraries raise the last ones for malformed headers that they do not check, for example a
    # size that exceeds the available memory.
    unchecked = (struct.error, LookupError, AttributeError, MemoryError)
    return (*known, OSError, NotImplementedError, ValueError, *unchecked)
