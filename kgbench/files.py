# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

_SPECIAL = ("/dev/", "/proc/")  # what stands there may be a file that somebody else has open


def write(path: Path, content: bytes | str) -> None:
    """Put ``content`` (text as UTF-8) at ``path``, making its folder where there is none.

    A file is replaced only when all of the new one is there, and where ``path`` is a link, what it
    leads to. Devices and pipes (``/dev/stdout``) are written to as they are.

    Raises :class:`OSError`, with ``path`` as its file name, where that cannot be done.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if str(path.absolute()).startswith(_SPECIAL) or (path.exists() and not path.is_file()):
            path.write_bytes(data)
        else:
            target = Path(os.path.realpath(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _replace(target: Path, data: bytes) -> None:
    # One name per process, so that what a killed one has left is replaced by a later one at most.
    unfinished = target.with_name(f".{target.name[:200]}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(data)
        if target.exists():
            unfinished.chmod(target.stat().st_mode)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
