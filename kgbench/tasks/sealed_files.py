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
from kgbench.tasks.catalogue import DECLARATION

_NEVER = frozenset((DECLARATION, "published.key"))  # what is needed before there is a key


def plain(paths: Iterable[Path]) -> list[Path]:
    """The files to encrypt: those named, and those in named folders but for declarations.

    Raises :class:`~kgbench.errors.ResourceError` where there are none.
    """
    chosen = [
        file
        for path in paths
        for file in ([path] if not path.is_dir() else sorted(path.rglob("*")))
        if not path.is_dir() or (file.is_file() and _can_be_sealed(file))
    ]
    return _some(chosen, "nothing to encrypt")


def sealed(paths: Iterable[Path]) -> list[Path]:
    """The files to decrypt: those named, and those in named folders that end with ``.enc``.

    Raises :class:`~kgbench.errors.ResourceError` where there are none.
    """
    chosen = [
        file
        for path in paths
        for file in (sorted(path.rglob(f"*{sealing.SUFFIX}")) if path.is_dir() else [path])
    ]
    return _some(chosen, "nothing to decrypt")


def encrypt(path: Path, key: str) -> Path:
    """Replace the file at ``path`` by an encrypted one, and give the path of that.

    Raises :class:`~kgbench.errors.ResourceError` where it cannot be read or must stay readable.
    """
    if not _can_be_sealed(path):
        raise ResourceError(f"{path} cannot be encrypted: it is encrypted, or needed without a key")
    target = path.with_name(path.name + sealing.SUFFIX)
    content = _read(path)
    _write(target, sealing.seal(path.name, content, key).encode("utf-8"))
    path.unlink()
    return target


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


def _can_be_sealed(path: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.parts[-2:])
    return path.name not in _NEVER and path.suffix not in {sealing.SUFFIX, ".py"} and not hidden


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


def _some(paths: list[Path], otherwise: str) -> list[Path]:
    if not paths:
        raise ResourceError(f"{otherwise}: no such files")
    return paths
