# SPDX-License-Identifier: Apache-2.0
"""Embedded stores, from the first moment of a new one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.doctor import environment
from kgbench.errors import StoreError
from kgbench.record import recovery
from kgbench.store import (
    Block,
    copying,
    examination,
    maintenance,
    open_reader,
    open_store,
    publication_keys,
    registry,
)
from kgbench.store.snapshots import INTERVAL, KEPT
from tests.store.test_back_ends import count, triples
from tests.store.test_copying import GRAPHS, filled

GRAPH = "https://w3id.org/kgbench/graph/run/test"


def test_reader_follows_a_live_writer(tmp_path):
    """While a process owns the store, readers see its writes within seconds."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(7))])
        deadline = time.monotonic() + 60 * INTERVAL
        seen = 0
        while seen != 7 and time.monotonic() < deadline:
            with open_reader(str(tmp_path / "s")) as reader:
                seen = count(reader)
            time.sleep(0.1)

        assert seen == 7


def test_reader_sees_what_a_killed_writer_wrote(tmp_path):
    """Data written before a kill can be read afterwards, although no snapshot was made."""
    place = str(tmp_path / "s")
    code = (
        "import os\nfrom kgbench.store import Block, open_store\n"
        f"s = open_store({place!r})\n"
        f"s.write([Block({GRAPH!r}, {triples(9)!r})])\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    with open_reader(place) as reader:
        assert count(reader) == 9


def test_old_snapshots_are_removed_unless_they_are_read(tmp_path):
    """At most KEPT snapshots are kept, plus those that are being read."""
    place = tmp_path / "s"
    with open_store(str(place)) as store:
        store.write([Block(GRAPH, triples(1))])
    with open_reader(str(place)) as reader:
        for k in range(KEPT + 2):
            with open_store(str(place)) as store:
                store.write([Block(GRAPH, triples(1, k + 1))])
        kept = [p for p in (place / "snapshots").iterdir() if p.is_dir()]

        assert count(reader) == 1
        assert len(kept) == KEPT + 1


def test_file_is_refused(tmp_path):
    """A file is refused as a store."""
    (tmp_path / "f").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        open_store(str(tmp_path / "f"))


def test_snapshot_is_published_when_asked_for(tmp_path):
    """After publishing a snapshot, readers see all writes at once."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(3))])
        store.publish_snapshot()
        with open_reader(str(tmp_path / "s")) as reader:
            assert 3 == count(reader)
    with open_store("memory:") as store:
        store.publish_snapshot()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Return a store with two registered graphs."""
    return filled(str(tmp_path_factory.mktemp("original") / "store"))


@pytest.fixture
def place(original, tmp_path):
    """Return a copy of the store that a test may change."""
    return shutil.copytree(original, tmp_path / "store")


def call(*words):
    """Return the result of a command."""
    return CliRunner().invoke(app, [str(word) for word in words])


def stop(*_, **__):
    """Raise what a signal raises, so that nothing tidies up."""
    raise KeyboardInterrupt


#: The first and the last step of a copy and of a recovery, at which they are interrupted.
STEPS = [
    ("copy", copying, "_blocks"),
    ("copy", publication_keys, "carry"),
    ("recover", recovery, "_read"),
    ("recover", publication_keys, "carry"),
]


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_copy_leaves_no_store(place, tmp_path, monkeypatch, step):
    """Whenever it is interrupted, there is no new store, and the same command repeats it."""
    command, module, function = step
    new = tmp_path / "new"
    words = ["copy", place, new] if command == "copy" else ["recover", new, "--store", place]
    with monkeypatch.context() as patch:
        patch.setattr(module, function, stop)
        assert call("store", *words).exit_code == 130
    assert not new.exists()

    assert call("store", *words).exit_code == 0
    assert not list(tmp_path.glob(".new*"))
    assert examination.check(new).problems == []
    with open_reader(str(new)) as store:
        assert registry.graphs(store) == sorted(GRAPHS)


@pytest.mark.parametrize("step", ["_catalogue", "fill"])
def test_an_interrupted_copy_to_a_server_shows_nothing(place, remote, monkeypatch, step):
    """A server has no results before the last step, and the same command repeats the copy."""
    words = ["store", "copy", place, remote]
    with monkeypatch.context() as patch:
        patch.setattr(copying, step, stop)
        assert call(*words).exit_code == 130
    with open_reader(remote) as store:
        assert registry.graphs(store) == []

    assert call(*words).exit_code == 0
    with open_reader(remote) as store:
        assert registry.graphs(store) == sorted(GRAPHS)
        assert maintenance.check(store).problems == []
    told = call(*words)
    assert "has results already" in str(told.exception)


def test_an_existing_folder_is_no_new_store(place, original):
    """A folder with content is refused, and keeps it."""
    told = call("store", "copy", original, place)
    assert f"{place} exists: name a new folder" in str(told.exception)
    assert call("store", "recover", place, "--store", original).exit_code == 1
    assert examination.check(place).problems == []


def test_a_missing_lock_hides_no_store(place, tmp_path):
    """A store without its lock file is read, checked, copied, recovered and written."""
    for use in (
        lambda: open_reader(str(place)).close(),
        lambda: open_store(str(place)).close(),
        lambda: examination.check(place),
    ):
        (place / "lock").unlink(missing_ok=True)
        use()
    (place / "lock").unlink()
    assert examination.check(place).problems == []
    (place / "lock").unlink()
    assert all(one.state != environment.State.BROKEN for one in environment._embedded(place))
    (place / "lock").unlink(missing_ok=True)
    assert call("store", "copy", place, tmp_path / "copy").exit_code == 0
    (place / "lock").unlink(missing_ok=True)
    shutil.rmtree(place / "snapshots")
    with open_reader(str(place)) as store:
        assert registry.graphs(store) == sorted(GRAPHS)


def test_another_folder_is_no_store(tmp_path):
    """A folder with other content is not taken for a store that lost its lock."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("x")
    (tmp_path / "snapshots").mkdir()
    with pytest.raises(StoreError, match="other content"):
        open_store(str(tmp_path))
    with pytest.raises(StoreError, match="no store"):
        open_reader(str(tmp_path))
