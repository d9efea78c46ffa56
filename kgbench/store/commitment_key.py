# SPDX-License-Identifier: Apache-2.0
"""The key of a store, under which its publications commit to what they leave out.

A store in a folder has it in its folder; for a store on a server it is on this machine, in the
user's state folder, because a server may be public. It must never be published.
"""

from __future__ import annotations

from pathlib import Path

from kgbench.errors import WriteFailed
from kgbench.secrets.commitments import FILE, Commitments
from kgbench.store import back_ends


def commitments(location: str) -> Commitments:
    """Return commitments to what publications of a store leave out, with the store's key.

    A new key is stored, except for a store in memory. Raises :class:`~kgbench.errors.StoreError`
    if the key is damaged or cannot be written.
    """
    folder = _folder(location)
    return Commitments.unkept() if folder is None else Commitments.read(folder)


def carry(source: str, target: str) -> None:
    """Copy the key of a store to its copy, which has none.

    Raises :class:`~kgbench.errors.StoreError` if the key is damaged or cannot be written.
    """
    old, new = _folder(source), _folder(target)
    if old is None or new is None or not (old / FILE).is_file():
        return
    try:
        Commitments.read(old).keep(new)
    except OSError as error:
        raise WriteFailed(f"{new / FILE} cannot be written: {error.strerror}") from error


def _folder(location: str) -> Path | None:
    if location == "memory:":
        return None
    if back_ends.is_remote(location):
        return back_ends.state_folder("keys", location)
    folder = Path(location)
    return folder if folder.is_dir() else None
