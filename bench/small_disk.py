# SPDX-License-Identifier: Apache-2.0
"""A disk that can be filled: a small file system of its own, which takes the right to mount one.

Without that right files are limited in size (``RLIMIT_FSIZE``), which fails the same writes.
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
"""Bytes that are left on a disk that is full, or that a file may have."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the store is; ``filled`` takes all room but so many bytes, for a while."""

    store: Path
    filled: Callable[[int], contextlib.AbstractContextManager[int | None]]


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Disk]:
    """A disk mounted on the new folder ``place``."""
    place.mkdir()
    mounted = (
        subprocess.run(  # noqa: S603 - ours
            ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(place)],  # noqa: S607
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
        ballast = place / "ballast"
        found = os.statvfs(place)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, found.f_bavail * found.f_frsize - room))
        try:
            yield None
        finally:
            ballast.unlink()

    try:
        yield Disk(place / "store", filled)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S603, S607
