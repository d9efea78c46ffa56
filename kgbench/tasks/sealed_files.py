# SPDX-License-Identifier: Apache-2.0
"""Encrypting and decrypting task files where they lie.

The new file is on disk before the old one goes, so that nothing is lost on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgbench.errors import ResourceError
from kgbench.tasks import sealing


def sealed(paths: Iterable[Path]) -> list[Path]:
    """The files to decrypt: those named, and those in named folders that end with ``.enc``.

    Raises :class:`~kgbench.errors.ResourceError` where there are none.
    """
    chosen = [
        file
        for path in paths
        for file in (sorted(path.rglob(f"*{sealing.SUFFIX}")) if path.is_dir() else [path])
    ]
    if not chosen:
        raise ResourceError("nothing to decrypt: no such files")
    return chosen


def encrypt(paths: Sequence[Path], key: str) -> list[Path]:
    """Replace files by encrypted ones, all or none, and give the paths of these.

    A plain file goes only when every encrypted one is on the disk and was decrypted again to the
    same content. Raises :class:`~kgbench.errors.ResourceError` where one cannot be read or written.
    """
    targets: list[Path] = []
    try:
        for path in paths:
            target = path.with_name(path.name + sealing.SUFFIX)
            content = _read(path)
            _write(target, sealing.seal(path.name, content, key).encode("utf-8"))
            targets.append(target)
            _verify(target, path.name, content, key)
    except BaseException:
        for target in targets:
            target.unlink(missing_ok=True)
        raise
    for path in paths:
        path.unlink()
    return targets


def decrypt(path: Path, keys: Sequence[str]) -> Path:
    """Replace the encrypted file at ``path`` by its plain content, and give the path of that.

    Raises :class:`~kgbench.errors.ResourceError` where none of ``keys`` opens it.
    """
    if path.suffix != sealing.SUFFIX:
        raise ResourceError(f"{path} is not encrypted: its name does not end with {sealing.SUFFIX}")
    target = path.with_suffix("")
    text = _read(path).decode("utf-8", "replace")
    _write(target, sealing.unseal(str(path), target.name, text, keys))
    path.unlink()
    return target


def _verify(target: Path, name: str, content: bytes, key: str) -> None:
    """Raise :class:`ResourceError` unless the file on the disk decrypts to ``content``."""
    written = _read(target).decode("utf-8")
    if sealing.unseal(str(target), name, written, [key]) != content:
        raise ResourceError(f"{target} does not decrypt to {name}: nothing was encrypted")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResourceError(f"{path} cannot be read: {error}") from error


def _write(target: Path, content: bytes) -> None:
    """Write a file that is not there yet: whole and to the disk, or not at all."""
    try:
        with target.open("xb") as stream:
            try:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            except BaseException:
                target.unlink()
                raise
    except FileExistsError as error:
        raise ResourceError(f"{target} exists: remove it first") from error
    except OSError as error:
        raise ResourceError(f"{target} cannot be written: {error}") from error
