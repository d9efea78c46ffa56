# SPDX-License-Identifier: Apache-2.0
"""Snapshots: when they are made, and what the last one contains."""

from __future__ import annotations

import itertools
import os
import queue
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from kgbench.cli import main
from kgbench.errors import WriteFailed
from kgbench.store import Block, open_reader, open_store, snapshots

GRAPH = "https://w3id.org/kgbench/graph/run/test"
TRIPLES = ['<urn:s> <urn:p> "1" .']
ASK = "ASK { GRAPH ?g { <urn:s> <urn:p> ?o } }"


class Patient(snapshots.Publisher):
    """A publisher that makes a snapshot once an hour."""

    interval = 3600


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the location of a store that makes no scheduled snapshot during a test."""
    monkeypatch.setattr(snapshots, "Publisher", Patient)
    return tmp_path / "s"


def seen(place):
    """Return whether a new reader sees the triple."""
    with open_reader(str(place)) as reader:
        return bool(reader.query(ASK))


def until(condition):
    """Wait up to a minute for a condition, and return whether it holds."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not condition():
        time.sleep(0.01)
    return condition()


def test_readers_see_what_is_hurried(place):
    """``publish_soon`` soon makes writes visible to readers, before the scheduled snapshot."""
    with open_store(str(place)) as store:
        store.write([Block(GRAPH, TRIPLES)])
        assert not seen(place)
        store.publish_soon()
        assert until(lambda: seen(place))
        newest = snapshots.newest(place / "snapshots")
    assert snapshots.newest(place / "snapshots") == newest
    with open_store("memory:") as store:
        store.publish_soon()


def test_unfinished_snapshots_are_swept_away(place, monkeypatch):
    """Unfinished snapshots are removed on opening, even without space for a snapshot."""
    open_store(str(place)).close()
    folder = place / "snapshots"
    before = {path.name for path in folder.iterdir()} - {"sequence"}
    for number in (77, 78):
        left = folder / f"{number:020d}.unfinished"
        left.mkdir()
        (left / "000001.sst").write_bytes(bytes(1_000))
        (folder / f"{number:020d}.lock").touch()
        (folder / f"{number:020d}.sums").write_text("{}")
    (place / ".kgbench-0123.unfinished").write_bytes(bytes(1_000))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "publish", full)
        with pytest.raises(WriteFailed, match="No space left"):
            open_store(str(place))

    assert {path.name for path in folder.iterdir()} - {"sequence"} == before
    assert not list(place.glob("*.unfinished"))
    with open_store(str(place)):
        assert snapshots.newest(folder) is not None


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("room", [0, 100, 3_000, 60_000])
def test_no_room_to_open_a_store(tmp_path, existing, room):
    """A full disk on opening gives exit code 4 and one line; with space nothing is lost."""
    place = tmp_path / "s"
    if existing:
        open_store(str(place)).close()
    command = ["store", "compact"] if existing else ["run"]  # which makes a store
    words = ["kgbench", *command, "--store", str(place)]
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))
sys.argv = {words!r}
from kgbench.cli import main
main()
"""
    # Bytecode would be cut off, and every later import would fail.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith(f"kgbench: the store {place} cannot be written: ")
    assert done.stderr.count("\n") == 1
    with open_store(str(place)) as store:
        assert store.graphs()


def test_a_folder_that_cannot_be_made_is_exit_code_4(monkeypatch, capsys):
    """A store whose folder cannot be made also gives exit code 4 and one line."""
    monkeypatch.setattr(sys, "argv", ["kgbench", "run", "--store", "/proc/s/t"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 4
    assert "cannot be written" in capsys.readouterr().err


def test_what_came_after_a_snapshot_is_in_the_next(place):
    """Closing makes a snapshot if the newest one lacks a change, even an optimisation."""
    with open_store(str(place)) as store:
        opened = snapshots.newest(place / "snapshots")
    assert snapshots.newest(place / "snapshots") == opened
    with open_store(str(place)) as store:
        store.write([Block(GRAPH, TRIPLES)])
        store.publish_soon()
        assert until(lambda: seen(place))
        store.drop([GRAPH])
    assert not seen(place)
    with open_store(str(place)) as store:
        opened = snapshots.newest(place / "snapshots")
        store.optimize()
    assert snapshots.newest(place / "snapshots") > opened


def test_a_snapshot_that_fails_is_missing(caplog):
    """If publishing fails, a warning is logged and the owner knows that a snapshot is missing."""
    tried = threading.Event()

    def take():
        tried.set()
        raise OSError("No space left on device")

    publisher = snapshots.Publisher(take)
    publisher.report_write()
    publisher.hurry()
    assert tried.wait(60)
    assert publisher.stop()
    assert "No space left on device" in caplog.text


def test_snapshots_that_take_long_are_rare(monkeypatch):
    """A snapshot that took a minute is followed by nine minutes without one, unless hurried."""
    clock = itertools.count(0, 60)
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    pauses: queue.SimpleQueue[float] = queue.SimpleQueue()

    class Watched(snapshots.Publisher):
        def _pause(self, took):
            pauses.put(super()._pause(took))
            return 3600

    publisher = Watched(lambda: None)
    assert pauses.get(timeout=60) == snapshots.INTERVAL
    publisher.report_write()
    publisher.hurry()
    assert pauses.get(timeout=60) == 540
    assert not publisher.stop()
