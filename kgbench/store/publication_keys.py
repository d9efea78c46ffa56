# SPDX-License-Identifier: Apache-2.0
"""Where the key of a store is, under which its publications replace digests.

A store in a folder has it in its folder; for a store on a server it is on this machine, in the
user's state folder, because a server may be public. It must never be published.
"""

from __future__ import annotations

from pathlib import Path

from kgbench.errors import WriteFailed
from kgbench.secrets.publication_key import FILE, PublicationKey
from kgbench.store import back_ends


def publication_key(location: str) -> PublicationKey:
    """Return the key of a store (:mod:`kgbench.secrets.publication_key`).

    A new key is stored, except for a store in memory. Raises :class:`~kgbench.errors.StoreError`
    if the key is damaged or cannot be written.
    """
    folder = _folder(location)
    return PublicationKey.unkept() if folder is None else PublicationKey.read(folder)


def carry(source: str, target: str) -> None:
    """Copy the key of a store to its copy, which has none.

    Raises :class:`~kgbench.errors.StoreError` if the key is damaged or cannot be written.
    """
    old, new = _folder(source), _folder(target)
    if old is None or new is None or not (old / FILE).is_file():
        return
    try:
        PublicationKey.read(old).keep(new)
    except OSError as error:
        raise WriteFailed(f"{new / FILE} cannot be written: {error.strerror}") from error


def _folder(location: str) -> Path | None:
    if location == "memory:":
        return None
    if back_ends.is_remote(location):
        return back_ends.state_folder("keys", location)
    folder = Path(location)
    return folder if folder.is_dir() else None
