# SPDX-License-Identifier: Apache-2.0
"""The store behind the Python API: read beside its owner, owned while something is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kgbench.store import open_reader, open_store
from kgbench.store.protocol import Store

MEMORY = "memory:"


class Connection:
    """A store that is opened when it is first read, and again after something was written.

    A store in memory stays open, for it lives nowhere else.
    """

    def __init__(self, location: str | None) -> None:
        self.location = location
        self._store: Store | None = None
        if location == MEMORY:
            self._store = open_store(location)

    @property
    def store(self) -> Store:
        """The store, for reading; :class:`~kgbench.errors.StoreError` where there is none."""
        if self._store is None:
            self._store = open_reader(self.location)
        return self._store

    @contextmanager
    def reader(self) -> Iterator[Store]:
        """The store as it is now, for reading; closed at the end unless it is in memory."""
        if self.location == MEMORY:
            yield self.store
            return
        with open_reader(self.location) as opened:
            yield opened

    @contextmanager
    def owned(self) -> Iterator[Store]:
        """The store, for writing; :class:`~kgbench.errors.StoreInUse` where another owns it."""
        if self.location == MEMORY:
            yield self.store
            return
        self.close()
        with open_store(self.location) as opened:
            yield opened

    def close(self) -> None:
        """Let the store go; reading opens it again, unless it was in memory."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __del__(self) -> None:
        # Notebooks leave results open, and Python would warn of the lock that a reader holds.
        self.close()
