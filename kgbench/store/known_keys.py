# SPDX-License-Identifier: Apache-2.0
"""The secrets beside a store: fingerprints of the keys that it has seen, and its commitment key.

A store in a folder has them in its folder. For a store on a server they lie on this machine, in the
user's state folder: a server may show everybody what it holds, and whoever has the fingerprints can
test whether a guess of a key is right. The key of commitments (:mod:`kgbench.secrets.commitments`)
lies in the same place, and must never be published.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kgbench.errors import WriteFailed
from kgbench.secrets import commitments as committing
from kgbench.secrets import names
from kgbench.secrets.commitments import Commitments
from kgbench.secrets.echoes import Echoes
from kgbench.secrets.fingerprints import FILE, Fingerprints
from kgbench.store import back_ends


def note(location: str, keys: Iterable[str]) -> None:
    """Keep the fingerprints of ``keys``, which the store at ``location`` may come to hold.

    Raises :class:`~kgbench.errors.StoreError` where the file of earlier ones is damaged, or the new
    one cannot be written.
    """
    folder = _folder(location)
    if folder is not None:
        try:
            Fingerprints.read(folder).note(folder, keys)
        except OSError as error:
            raise _unwritten(folder, error) from error


def echoes(location: str) -> Echoes:
    """Finds the keys in the environment, and those that the store at ``location`` has seen."""
    folder = _folder(location)
    known = None if folder is None else Fingerprints.read(folder)
    return Echoes(names.of_environment(), known or None)


def commitments(location: str) -> Commitments:
    """Commits to what publications of the store at ``location`` leave out; a new key is kept.

    A store in memory has nowhere to keep one. Raises :class:`~kgbench.errors.StoreError` where the
    key is damaged or cannot be written.
    """
    folder = _folder(location)
    return Commitments.unkept() if folder is None else Commitments.read(folder)


def carry(source: str, target: str) -> None:
    """Take the fingerprints and the commitment key of a store along to its copy, empty before.

    Raises as :func:`note` does.
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
