# SPDX-License-Identifier: Apache-2.0
"""The store behind the Python API: opened for reading, and for writing only while writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kgbench.store import open_reader, open_store
from kgbench.store.protocol import Store

MEMORY = "memory:"


class Connection:
    """A store that is opened on first use and reopened after a write.

    A store in memory stays open, because closing would lose it.
    """

    def __init__(self, location: str | None) -> None:
        self.location = location
        self._store: Store | None = None
        if location == MEMORY:
            self._store = open_store(location)

    @property
    def store(self) -> Store:
        """The store, open for reading; raises :class:`~kgbench.errors.StoreError`."""
        if self._store is None:
            self._store = open_reader(self.location)
        return self._store

    @contextmanager
    def reader(self) -> Iterator[Store]:
        """Open the current state of the store for reading; close it at the end unless in memory."""
        if self.location == MEMORY:
            yield self.store
            return
        with open_reader(self.location) as opened:
            yield opened

    @contextmanager
    def owned(self) -> Iterator[Store]:
        """Open the store for writing; raises :class:`~kgbench.errors.StoreInUse`."""
        if self.location == MEMORY:
            yield self.store
            return
        self.close()
        with open_store(self.location) as opened:
            yield opened

    def close(self) -> None:
        """Close the store; reading opens it again, unless it was in memory."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __del__(self) -> None:
        # Notebooks leave results open, and Python would warn about the lock file of the reader.
        self.close()
