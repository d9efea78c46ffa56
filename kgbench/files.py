# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

_SPECIAL = ("/dev/", "/proc/")  # what stands there may be a file that somebody else has open
_MOST_LINKS = 40
# Where a file may be changed, but no other put in its place: its folder is not ours, or it is
# mounted by itself.
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)

NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG))
"""What the system says of a write that fails for want of room or of the right to write at all."""


def write(path: Path, content: bytes | str) -> None:
    """Put ``content`` (text as UTF-8) at ``path``, making its folder where there is none.

    A file is replaced only when all of the new one is there, and where ``path`` is a link, what it
    leads to. Devices and pipes (``/dev/stdout``) are written to as they are, and so is a file in a
    folder where nothing can be made.

    Raises :class:`OSError`, with ``path`` as its file name, where that cannot be done.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        target = _file(path)
        if target is None:
            with path.open("ab") as there:  # what was written to it before stays
                there.write(data)
        else:
            if not target.parent.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _file(path: Path) -> Path | None:
    """The file that ``path`` leads to, there or not; ``None`` for what is no file to replace."""
    place = str(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(place)
        folder = os.path.realpath(folder)
        place = os.path.join(folder, name)  # noqa: PTH118 - as text, which Path would tidy up
        if place.startswith(_SPECIAL):
            return None
        if not os.path.islink(place):  # noqa: PTH114
            break
        place = os.path.join(folder, os.readlink(place))  # noqa: PTH115, PTH118
    found = Path(place)
    return None if found.exists() and not found.is_file() else found


def _replace(target: Path, data: bytes) -> None:
    unfinished = target.with_name(f".kgbench-{secrets.token_hex(8)}.unfinished")
    there = target.exists()
    if there and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        unfinished.write_bytes(data)
        if there:
            unfinished.chmod(target.stat().st_mode)
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        if not there or error.errno not in _IN_PLACE:
            raise
        target.write_bytes(data)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
