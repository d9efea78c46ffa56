# SPDX-License-Identifier: Apache-2.0
"""Writing exported folders: whole, or not at all."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgbench.errors import PublicationRefused


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
