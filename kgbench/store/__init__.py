# SPDX-License-Identifier: Apache-2.0
"""Stores: opening one by its location, for writing or for reading.

A location is a folder (an embedded store), ``memory:``, the URL of a SPARQL 1.1 server, or a Turtle
file that describes one (:mod:`kgbench.store.back_ends`).
"""

from __future__ import annotations

from pathlib import Path

from kgbench import resources
from kgbench.errors import StoreError
from kgbench.store import back_ends
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
    "open_reader",
    "open_store",
    "slug",
]


def default_location() -> str:
    """``store/results`` of the checkout this code runs from, else ``kgbench-results`` here."""
    root = resources.checkout()
    return str(root / "store" / "results") if root is not None else "kgbench-results"


def open_store(location: str | None = None) -> OwnedStore:
    """Open a store as its one owner, making it where there is none.

    Raises :class:`~kgbench.errors.StoreInUse` at once when another process owns it.
    """
    found = default_location() if location is None else location
    if back_ends.is_remote(found):
        from kgbench.store.remote import RemoteStore

        return RemoteStore(back_ends.find(found))
    return EmbeddedStore(None if found == "memory:" else Path(found))


def open_existing(location: str | None = None) -> OwnedStore:
    """Open a store as its one owner, for what needs results: a mistyped folder makes no store.

    Raises what :func:`open_store` raises, and :class:`~kgbench.errors.StoreError` where a folder is
    not there or empty.
    """
    found = default_location() if location is None else location
    if found != "memory:" and not back_ends.is_remote(found):
        path = Path(found)
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            raise no_store(path)
    return open_store(found)


def open_reader(location: str | None = None) -> Store:
    """Open a store for reading, beside whoever owns it."""
    found = default_location() if location is None else location
    if found == "memory:":
        raise StoreError("a store in memory ends with the command that made it: name a folder")
    if back_ends.is_remote(found):
        from kgbench.store.remote import RemoteReader

        return RemoteReader(back_ends.find(found))
    return SnapshotReader(Path(found))


def embedded_only(location: str, purpose: str) -> Path:
    """The folder that ``location`` names, for what only an embedded store can do.

    Raises :class:`~kgbench.errors.StoreError` with words where it is a server, or memory.
    """
    if back_ends.is_remote(location):
        raise StoreError(
            f"the store {back_ends.shown(location)} is on a server: {purpose} needs an embedded "
            f"store (`kgbench store copy` makes one of it)"
        )
    if location == "memory:":
        raise StoreError(f"a store in memory ends with the command that made it: {purpose} cannot")
    return Path(location)
