# SPDX-License-Identifier: Apache-2.0
"""Atomic writing of files: a file is replaced completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

_SPECIAL = ("/dev/", "/proc/")  # such paths may lead to a file that another process has open
_MOST_LINKS = 40
# Errors of a rename where the file itself may still be writable: its folder is not writable, or
# the file is a mount point (EBUSY).
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)

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
