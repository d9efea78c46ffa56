# SPDX-License-Identifier: Apache-2.0
"""Readers of embedded stores, which open the newest undamaged snapshot, and a cache for these."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from copy import copy
from functools import wraps
from pathlib import Path
from typing import IO, Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgbench.errors import StoreError, StoreInUse
from kgbench.store import registry, snapshots
from kgbench.store.databases import (
    Damaged,
    ReadDatabase,
    converted_failures,
    damaged,
    is_damage,
    is_store,
    no_store,
)
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.protocol import Store

_log = logging.getLogger("kgbench.store")
_warned: set[Path] = set()
_Store = TypeVar("_Store", bound=Store)
_About = ParamSpec("_About")
_Result = TypeVar("_Result", bound=dict[Any, Any] | tuple[Any, ...])
_CACHE: WeakKeyDictionary[Store, dict[tuple[object, ...], Any]] = WeakKeyDictionary()


class SnapshotReader(ReadDatabase):
    """A read-only :class:`~kgbench.store.protocol.Store` over a snapshot of the store at ``path``.

    It opens the newest undamaged snapshot, and warns if newer ones are damaged. Raises
    :class:`~kgbench.errors.StoreError` if there is none.
    """

    is_snapshot = True  # the content does not change while it is open

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), None)
        self._lock_file: IO[bytes] | None = None
        if not is_store(path):
            raise no_store(path)
        folder = path / "snapshots"
        _complete(path)
        for snapshot, lock_file in undamaged(folder):
            self._lock_file, self.snapshot = lock_file, snapshot
            try:
                with converted_failures(self.location):
                    self._db = ox.Store.read_only(str(snapshot))
                    registry.check_layout(self)
            except Damaged as error:
                self.close()
                warn_damaged(snapshot, str(error.__cause__))
                continue
            except BaseException:
                self.close()
                raise
            return
        existing = snapshots.all_of(folder)
        if existing and all(map(snapshots.damage, existing)):
            raise Damaged(
                f"every snapshot of the store {path} is damaged: "
                f"`kgbench store recover NEW --store {path}` saves what can be read into a new "
                "folder"
            )
        raise StoreError(f"the store {path} has no snapshot to read yet: try again in a moment")

    def close(self) -> None:
        """Close the snapshot."""
        super().close()
        if self._lock_file is not None:
            self._lock_file.close()
            self._lock_file = None

    def __exit__(self, *exception: object) -> None:
        self.close()
        error = exception[1] if exception else None
        if not isinstance(error, BaseException):
            return
        if isinstance(error, Damaged) or is_damage(error):
            snapshots.note_damage(self.snapshot, str(error.__cause__ or error))
        if is_damage(error):  # found while rows were read lazily
            raise damaged(self.location, error) from error


def undamaged(folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Yield the snapshots in ``folder`` not known to be damaged, locked, the newest first."""
    for _ in range(10):  # a snapshot may be pruned between listing and locking it
        existing = snapshots.all_of(folder)
        for snapshot in existing:
            lock_file = snapshots.hold(snapshot)
            if lock_file is None:
                continue
            fault = snapshots.damage(snapshot)
            if fault is None:
                yield snapshot, lock_file
            else:
                lock_file.close()
                warn_damaged(snapshot, fault)
        if existing == snapshots.all_of(folder):
            return


def warn_damaged(snapshot: Path, fault: str) -> None:
    """Warn, once per process, that a damaged snapshot is skipped."""
    if snapshot in _warned:
        return
    _warned.add(snapshot)
    words = (
        "the snapshot %s is damaged (%s): an older one is read, which may lack the latest results"
    )
    _log.warning(words, snapshot, " ".join(fault.split())[:300])


def _complete(path: Path) -> None:
    """Publish what a dead writer left unpublished; a running writer publishes by itself."""
    if snapshots.is_complete(path / "snapshots"):
        return
    try:
        EmbeddedStore(path).close()
    except StoreInUse:
        return
    except Damaged as error:
        if snapshots.newest(path / "snapshots") is None:
            raise
        _log.warning("what was written last cannot be read (%s)", error)


def cache_per_snapshot(
    read: Callable[Concatenate[_Store, _About], _Result],
) -> Callable[Concatenate[_Store, _About], _Result]:
    """Cache the results of ``read`` for each snapshot, as long as the snapshot is open.

    A store with the attribute ``is_snapshot`` never changes; any other store is read each time.
    Results are kept by all arguments, of which there must not be many. Each caller gets a copy of
    the dictionary or tuple. The values in it are shared and must not be changed.
    """

    @wraps(read)
    def cached(store: _Store, /, *about: _About.args, **named: _About.kwargs) -> _Result:
        if not getattr(store, "is_snapshot", False):
            return read(store, *about, **named)
        results = _CACHE.setdefault(store, {})
        key = (read, *about, *named.items())
        if key not in results:  # threads may race here: both read equal values
            results[key] = read(store, *about, **named)
        result: _Result = results[key]
        return copy(result)

    return cached
