# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are removed, left behind or damaged, and concurrent readers."""

from __future__ import annotations

import fcntl
import os
import time

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.store import open_reader, open_store, snapshots


@pytest.fixture
def database(tmp_path):
    """Return a database to take snapshots of."""
    return ox.Store(str(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path, database):
    """Return a folder with the maximal number of snapshots."""
    for _ in range(snapshots.KEPT):
        snapshots.publish(database.backup, tmp_path / "snapshots")
    return tmp_path / "snapshots"


def names(folder):
    """Return the names of all files in a folder of snapshots."""
    return sorted(path.name for path in folder.iterdir())


def test_a_snapshot_that_is_gone_cannot_be_held(folder):
    """A snapshot that is removed between finding and holding it cannot be held."""
    newest = snapshots.newest(folder)
    newest.rename(folder / "elsewhere")
    assert snapshots.hold(newest) is None
    newest.with_name(newest.name + ".lock").unlink()
    assert snapshots.hold(newest) is None


def test_a_snapshot_without_its_lock_is_removed(folder, database):
    """A snapshot without its lock file is removed, because it cannot have a reader."""
    oldest = min(path for path in folder.iterdir() if path.is_dir())
    oldest.with_name(oldest.name + ".lock").unlink()
    newest = snapshots.publish(database.backup, folder)

    left = names(folder)
    assert oldest.name not in left
    assert newest.name in left
    assert sum(name.isdecimal() for name in left) == snapshots.KEPT


@pytest.mark.parametrize("age", [3_600, 0, -3_600])
def test_what_a_killed_publisher_left_is_removed(folder, database, age):
    """Unfinished snapshots are removed whatever their age, because only the owner creates any."""
    left = folder / "7.unfinished"
    left.mkdir()
    (left / "data").write_text("x")
    then = time.time() - age
    os.utime(left, (then, then))
    snapshots.publish(database.backup, folder)

    assert not [name for name in names(folder) if "unfinished" in name]


def test_a_store_whose_first_snapshot_is_not_there_yet(tmp_path):
    """Before the first snapshot of a store, a reader is asked to try again."""
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="no snapshot to read yet: try again"):
            open_reader(str(tmp_path))


def test_a_snapshot_that_cannot_be_held_is_not_read(tmp_path, monkeypatch):
    """A reader that repeatedly finds no snapshot to hold raises an error."""
    open_store(str(tmp_path)).close()
    monkeypatch.setattr(snapshots, "hold", lambda _: None)
    with pytest.raises(StoreError, match="no snapshot to read yet"):
        open_reader(str(tmp_path))


def test_a_lock_that_somebody_removed_is_made_again(tmp_path):
    """A missing lock file of a snapshot is created again, so that the snapshot can be held."""
    open_store(str(tmp_path)).close()
    for lock in (tmp_path / "snapshots").glob("*.lock"):
        lock.unlink()
    with open_reader(str(tmp_path)) as reader:
        assert reader.graphs()
        assert list((tmp_path / "snapshots").glob("*.lock"))


def test_a_reader_may_be_closed_twice(tmp_path):
    """Closing a reader again has no effect; queries then fail."""
    open_store(str(tmp_path)).close()
    reader = open_reader(str(tmp_path))
    reader.close()
    reader.close()
    with pytest.raises(StoreError, match="is closed"):
        reader.query("ASK {}")
