# SPDX-License-Identifier: Apache-2.0
"""Writes exported files and folders atomically."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgbench.errors import PublicationRefused


@contextlib.contextmanager
def atomic_path(out: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``out`` that is renamed to it at the end.

    Raises :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists or cannot be
    written.
    """
    if out.exists():
        raise PublicationRefused(f"{out} already exists: choose another path, or remove it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
            unfinished = Path(scratch) / out.name
            yield unfinished
            unfinished.rename(out)
    except OSError as error:
        raise PublicationRefused(f"{out} cannot be written: {error.strerror or error}") from error
