# SPDX-License-Identifier: Apache-2.0
"""Writing exported files and folders: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgbench.errors import PublicationRefused


def write_file(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path``, replacing a file only when all of it is there.

    Raises :class:`~kgbench.errors.PublicationRefused` where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise PublicationRefused(f"{path} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def whole(out: Path) -> Iterator[Path]:
    """A path beside ``out``, for a folder or a file that takes its place when all of it is there.

    Raises :class:`~kgbench.errors.PublicationRefused` where ``out`` exists already, or cannot be
    written.
    """
    if out.exists():
        raise PublicationRefused(f"{out} is there already: name another place, or remove it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
            unfinished = Path(scratch) / out.name
            yield unfinished
            unfinished.rename(out)
    except OSError as error:
        raise PublicationRefused(f"{out} cannot be written: {error.strerror or error}") from error
