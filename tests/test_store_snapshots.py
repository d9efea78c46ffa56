# SPDX-License-Identifier: Apache-2.0
"""Snapshots: when they are made, and what is never left out of the last one."""

from __future__ import annotations

import threading
import time

import pytest

from kgbench.errors import StoreError
from kgbench.store import Block, open_reader, open_store, snapshots

GRAPH = "https://w3id.org/kgbench/graph/run/test"
TRIPLES = ['<urn:s> <urn:p> "1" .']
ASK = "ASK { GRAPH ?g { <urn:s> <urn:p> ?o } }"


class Patient(snapshots.Publisher):
    """Snapshots have their turn in an hour."""

    interval = 3600


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where a store may be whose snapshots nobody sees in their turn."""
    monkeypatch.setattr(snapshots, "Publisher", Patient)
    return tmp_path / "s"


def seen(place):
    """Whether a reader that comes now sees the triple."""
    with open_reader(str(place)) as reader:
        return bool(reader.query(ASK))


def until(condition):
    """Wait for something, with patience."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not condition():
        time.sleep(0.01)
    return condition()


def test_readers_see_what_is_hurried(place):
    """What was written is there for readers soon after somebody asked for it; else in its turn."""
    with open_store(str(place)) as store:
        store.write([Block(GRAPH, TRIPLES)])
        assert not seen(place)
        store.publish_soon()
        assert until(lambda: seen(place))
        newest = snapshots.newest(place / "snapshots")
    assert snapshots.newest(place / "snapshots") == newest
    with open_store("memory:") as store:
        store.publish_soon()


def test_what_came_after_a_snapshot_is_in_the_next(place):
    """Closing makes a snapshot where the newest one lacks something, were it but a better order."""
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_snapshot_that_fails_is_missing():
    """Who could not publish says at the end that something is missing."""
    tried = threading.Event()

    def take():
        tried.set()
        raise OSError("No space left on device")

    publisher = snapshots.Publisher(take)
    publisher.changed()
    publisher.hurry()
    assert tried.wait(60)
    assert publisher.stop()


def test_a_reader_cannot_publish(place):
    """Who only reads a store has nothing to show."""
    open_store(str(place)).close()
    with open_reader(str(place)) as reader, pytest.raises(StoreError, match="opened for reading"):
        reader.publish_soon()
