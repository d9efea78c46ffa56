# SPDX-License-Identifier: Apache-2.0
"""A disk that can be filled: a small file system, if the process has the privilege to mount one.

Without it the size of files is limited (``RLIMIT_FSIZE``), so that the same writes fail.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SIZE = 512_000_000  # bytes
ROOM = (20_000, 1_500_000)
"""Least and most bytes that stay free on a full disk, or that a file may have."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A store on a disk; the context manager ``filled`` leaves only so many bytes free."""

    store: Path
    filled: Callable[[int], contextlib.AbstractContextManager[int | None]]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """Yield a disk mounted on the new folder ``folder``."""
    folder.mkdir()
    mounted = (
        subprocess.run(  # noqa: S603 - fixed command
            ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)],  # noqa: S607
            capture_output=True,
            check=False,
        ).returncode
        == 0
        if sys.platform == "linux"
        else False
    )

    @contextlib.contextmanager
    def filled(room: int) -> Iterator[int | None]:
        if not mounted:
            yield room
            return
        ballast = folder / "ballast"
        status = os.statvfs(folder)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, status.f_bavail * status.f_frsize - room))
        try:
            yield None
        finally:
            ballast.unlink()

    try:
        yield Disk(folder / "store", filled)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607
