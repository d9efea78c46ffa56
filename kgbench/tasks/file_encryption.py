# SPDX-License-Identifier: Apache-2.0
"""Encryption and decryption of task files in place.

The new file is on disk before the old one is deleted, so that no failure can lose data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgbench.errors import ResourceError
from kgbench.tasks import encryption


def files_to_decrypt(paths: Iterable[Path]) -> list[Path]:
    """Return the files to decrypt: files among ``paths``, and ``.enc`` files in folders among them.

    Raises :class:`~kgbench.errors.ResourceError` if there are none.
    """
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob(f"*{encryption.SUFFIX}")) if path.is_dir() else [path])
    ]
    if not files:
        raise ResourceError("nothing to decrypt: no such files")
    return files


def encrypt(paths: Sequence[Path], key: str) -> list[Path]:
    """Replace files by encrypted ones, all or none; return the paths of the encrypted files.

    Plain files are deleted only after all encrypted ones are on disk and decrypt to the same
    content. Raises :class:`~kgbench.errors.ResourceError` if a file cannot be read or written.
    """
    targets: list[Path] = []
    try:
        for path in paths:
            target = path.with_name(path.name + encryption.SUFFIX)
            content = _read(path)
            _write(target, encryption.seal(path.name, content, key).encode("utf-8"))
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
    """Replace the encrypted file at ``path`` by its plain content; return the new path.

    Raises :class:`~kgbench.errors.ResourceError` if none of ``keys`` decrypts it.
    """
    if path.suffix != encryption.SUFFIX:
        raise ResourceError(
            f"{path} is not encrypted: its name does not end with {encryption.SUFFIX}"
        )
    target = path.with_suffix("")
    text = _read(path).decode("utf-8", "replace")
    _write(target, encryption.unseal(str(path), target.name, text, keys))
    path.unlink()
    return target


def _verify(target: Path, name: str, content: bytes, key: str) -> None:
    """Raise :class:`ResourceError` unless the file on disk decrypts to ``content``."""
    written = _read(target).decode("utf-8")
    if encryption.unseal(str(target), name, written, [key]) != content:
        raise ResourceError(f"{target} does not decrypt to {name}: nothing was encrypted")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResourceError(f"{path} cannot be read: {error.strerror or error}") from error


def _write(target: Path, content: bytes) -> None:
    """Write a new file completely and sync it to disk, or leave no file."""
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
