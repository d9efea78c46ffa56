# SPDX-License-Identifier: Apache-2.0
"""The secrets of a store: fingerprints of API keys that it has seen, and its commitment key.

A store in a folder has them in its folder. For a store on a server they are on this machine, in the
user's state folder: a server may be public, and fingerprints allow anybody to test a guess of a
key. The key of commitments (:mod:`kgbench.secrets.commitments`) is in the same folder, and must
never be published.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kgbench.errors import WriteFailed
from kgbench.secrets import commitments as committing
from kgbench.secrets import secret_names
from kgbench.secrets.commitments import Commitments
from kgbench.secrets.detection import SecretDetector
from kgbench.secrets.fingerprints import FILE, Fingerprints
from kgbench.store import back_ends


def note(location: str, keys: Iterable[str]) -> None:
    """Store the fingerprints of ``keys``, which may get into the store at ``location``.

    Raises :class:`~kgbench.errors.StoreError` if the existing file is damaged, or if it cannot be
    written.
    """
    folder = _folder(location)
    if folder is not None:
        try:
            Fingerprints.read(folder).note(folder, keys)
        except OSError as error:
            raise _unwritten(folder, error) from error


def echoes(location: str) -> SecretDetector:
    """Return a finder of the keys in the environment and those that the store has seen."""
    folder = _folder(location)
    known = None if folder is None else Fingerprints.read(folder)
    return SecretDetector(secret_names.secrets_in_environment(), known or None)


def commitments(location: str) -> Commitments:
    """Return commitments to what publications of a store leave out, with the store's key.

    A new key is stored, except for a store in memory. Raises :class:`~kgbench.errors.StoreError`
    if the key is damaged or cannot be written.
    """
    folder = _folder(location)
    return Commitments.unkept() if folder is None else Commitments.read(folder)


def carry(source: str, target: str) -> None:
    """Copy the fingerprints and the commitment key of a store to its copy, which has none.

    Raises the errors of :func:`note`.
    """
    old, new = _folder(source), _folder(target)
    if old is None or new is None:
        return
    try:
        if (old / FILE).is_file():
            Fingerprints.read(old).keep(new)
        if (old / committing.FILE).is_file():
            Commitments.read(old).keep(new)
    except OSError as error:
        raise _unwritten(new, error) from error


def _unwritten(folder: Path, error: OSError) -> WriteFailed:
    return WriteFailed(f"{folder / FILE} cannot be written: {error.strerror}")


def _folder(location: str) -> Path | None:
    if location == "memory:":
        return None
    if back_ends.is_remote(location):
        return back_ends.state_folder("keys", location)
    folder = Path(location)
    return folder if folder.is_dir() else None
