# SPDX-License-Identifier: Apache-2.0
"""Stores of results: opening them by location, for writing or for reading.

A location is a folder (an embedded store), ``memory:``, or the URL of a SPARQL 1.1 server
(:mod:`kgbench.store.back_ends`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgbench import resources
from kgbench.errors import StoreError
from kgbench.store import back_ends, registry
from kgbench.store.databases import no_store
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.iris import Iris, id_from, new_id, slug
from kgbench.store.protocol import Block, OwnedStore, Store
from kgbench.store.reader import SnapshotReader

__all__ = [
    "Block",
    "EmbeddedStore",
    "Iris",
    "OwnedStore",
    "SnapshotReader",
    "Store",
    "default_location",
    "embedded_only",
    "id_from",
    "new_id",
    "open_existing",
    "open_for_import",
    "open_reader",
    "open_store",
    "slug",
]


def default_location() -> str:
    """Return ``store/results`` of the checkout, else ``kgbench-results`` in the current folder."""
    root = resources.checkout()
    return str(root / "store" / "results") if root is not None else "kgbench-results"


def open_store(location: str | None = None) -> OwnedStore:
    """Open a store as its only owner, and create it if it does not exist.

    Raises :class:`~kgbench.errors.StoreInUse` immediately if another process owns it.
    """
    location = default_location() if location is None else location
    if back_ends.is_remote(location):
        from kgbench.store.remote import RemoteStore

        return RemoteStore(back_ends.find(location))
    return EmbeddedStore(None if location == "memory:" else Path(location))


@contextmanager
def open_for_import(location: str | None = None) -> Iterator[OwnedStore]:
    """Open a store like :func:`open_store`, and leave no new one behind after a refused import.

    If the block ends with an exception before it has written anything to a store that did not
    exist, the folders made for the store are removed.
    """
    location = default_location() if location is None else location
    path = None if location == "memory:" or back_ends.is_remote(location) else Path(location)
    made = [] if path is None else [p for p in (path, *path.parents) if not p.exists()]
    is_new = path is not None and (bool(made) or (path.is_dir() and not any(path.iterdir())))
    unused = False
    try:
        with open_store(location) as opened:
            before = registry.stamps(opened)
            try:
                yield opened
            except BaseException:
                unused = registry.stamps(opened) == before
                raise
    finally:
        if unused and is_new and path is not None:
            for entry in path.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            for folder in made:
                folder.rmdir()


def open_existing(location: str | None = None) -> OwnedStore:
    """Open an existing store as its only owner, so that a mistyped folder creates no store.

    Raises the errors of :func:`open_store`, and :class:`~kgbench.errors.StoreError` if the folder
    is missing or empty.
    """
    location = default_location() if location is None else location
    if location != "memory:" and not back_ends.is_remote(location):
        path = Path(location)
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            raise no_store(path)
    return open_store(location)


def open_reader(location: str | None = None) -> Store:
    """Open a store for reading; another process may own it."""
    location = default_location() if location is None else location
    if location == "memory:":
        raise StoreError("a store in memory ends with the command that created it: name a folder")
    if back_ends.is_remote(location):
        from kgbench.store.remote import RemoteReader

        return RemoteReader(back_ends.find(location))
    return SnapshotReader(Path(location))


def embedded_only(location: str, purpose: str) -> Path:
    """Return the folder at ``location``, for a ``purpose`` that needs an embedded store.

    Raises :class:`~kgbench.errors.StoreError` if the location is a server or memory.
    """
    if back_ends.is_remote(location):
        raise StoreError(
            f"the store {back_ends.public_url(location)} is on a server: {purpose} needs an "
            f"embedded store (`kgbench store copy` makes an embedded copy)"
        )
    if location == "memory:":
        raise StoreError(
            f"a store in memory ends with the command that created it: {purpose} needs a folder"
        )
    return Path(location)
