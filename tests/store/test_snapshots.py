# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are removed, left behind or damaged, and concurrent readers."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.store import Block, embedded, open_reader, open_store, snapshots


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


GRAPH = "https://w3id.org/kgbench/graph/run/test"


def write(store, count):
    """Write ``count`` updates of one triple each."""
    for k in range(count):
        store.write([Block(GRAPH, [f"<urn:s{k}> <urn:p> {k} ."])])


def tables(folder):
    """Return the inodes of the tables of a database or snapshot."""
    return {file.stat().st_ino for file in folder.glob("*.sst")}


def log_bytes(place):
    """Return the size of the log files of the owner's database."""
    return sum(file.stat().st_size for file in (place / "data").glob("*.log"))


def test_a_closed_store_shares_all_files_with_its_snapshot(tmp_path):
    """All tables of a closed store are those of its newest snapshot, and take no space twice."""
    with open_store(str(tmp_path)) as store:
        write(store, 50)

    newest = snapshots.newest(tmp_path / "snapshots")
    assert tables(newest) == tables(tmp_path / "data") != set()


def test_a_large_spare_is_removed_unless_it_has_a_reader(folder, database, monkeypatch):
    """An older snapshot with large tables of its own is removed, but not while it is read."""
    newest, older = snapshots.all_of(folder)
    (older / "1.sst").write_bytes(b"x" * 100)
    monkeypatch.setattr(snapshots, "SPARE", 100)
    snapshots.remove_large_spares(folder)
    assert snapshots.all_of(folder) == [newest, older]

    monkeypatch.setattr(snapshots, "SPARE", 99)
    with snapshots.hold(older):
        snapshots.remove_large_spares(folder)
        assert snapshots.all_of(folder) == [newest, older]
    snapshots.remove_large_spares(folder)
    assert snapshots.all_of(folder) == [newest]


def test_a_large_spare_is_removed_before_the_next_snapshot(folder, monkeypatch):
    """While a snapshot is made, there is one other, unless the spare is small."""
    newest, older = snapshots.all_of(folder)
    (older / "1.sst").write_bytes(b"x" * 100)
    seen = []

    def copy(path):
        Path(path).mkdir()
        seen.append(snapshots.all_of(folder))

    small = snapshots.publish(copy, folder)
    assert seen == [[newest, older]]
    assert snapshots.all_of(folder) == [small, newest]

    (newest / "2.sst").write_bytes(b"x" * 100)
    monkeypatch.setattr(snapshots, "SPARE", 99)
    snapshots.publish(copy, folder)
    assert seen[1] == [small]


def test_a_shared_table_does_not_count_as_the_spares_own(folder, monkeypatch):
    """Tables that a snapshot shares with the database take no space of their own."""
    newest, older = snapshots.all_of(folder)
    (older / "1.sst").write_bytes(b"x" * 100)
    os.link(older / "1.sst", folder.parent / "data" / "1.sst")
    monkeypatch.setattr(snapshots, "SPARE", 0)
    snapshots.remove_large_spares(folder)
    assert snapshots.all_of(folder) == [newest, older]


class CountedFlushes:
    """A database that counts its flushes."""

    def __init__(self, database):
        self.database = database
        self.flushes = 0

    def __getattr__(self, name):
        return getattr(self.database, name)

    def flush(self):
        """Flush the database."""
        self.flushes += 1
        self.database.flush()


def test_buffers_are_flushed_while_a_store_is_written(tmp_path, monkeypatch):
    """The engine's buffers are flushed after each so many characters of updates."""
    monkeypatch.setattr(embedded, "_BUFFERED", 100)
    with open_store(str(tmp_path)) as store:
        counted = CountedFlushes(store._db)
        monkeypatch.setattr(store, "_db", counted)
        write(store, 1)
        assert counted.flushes == 0
        write(store, 1)
        assert counted.flushes == 1
        write(store, 4)
        assert counted.flushes == 3
        monkeypatch.undo()


def test_log_files_of_a_closed_store_are_freed(tmp_path, monkeypatch):
    """A closed store keeps no used log files beyond a limit, and nothing is lost with them."""
    with open_store(str(tmp_path)) as store:
        write(store, 50)
    assert log_bytes(tmp_path) > 0

    monkeypatch.setattr(embedded, "_LOGS", 0)
    with open_store(str(tmp_path)) as store:
        write(store, 100)
    assert log_bytes(tmp_path) == 0
    with open_reader(str(tmp_path)) as reader:
        (row,) = reader.query("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:p> ?o } }")
    assert int(row["n"].value) == 100


def test_a_result_that_is_still_read_keeps_the_log_files(tmp_path, monkeypatch):
    """Closing works while a caller holds a query's result, which keeps the database open."""
    monkeypatch.setattr(embedded, "_LOGS", 0)
    store = open_store(str(tmp_path))
    write(store, 3)
    rows = store.query("SELECT ?s { GRAPH ?g { ?s <urn:p> ?o } }")
    store.close()

    assert len(list(rows)) == 3
    with open_reader(str(tmp_path)) as reader:
        assert reader.query(f"ASK {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")
