# SPDX-License-Identifier: Apache-2.0
"""``kgbench doctor`` says where a store is, who owns it, and whether its parts are consistent."""

from __future__ import annotations

import re

import pytest

from kgbench.doctor import State, environment
from kgbench.store import open_store, snapshots
from kgbench.store.protocol import Block
from tests.store.in_process import InProcess


def of_store(place, *, network=False):
    """Return the conditions of a store by their names."""
    return {found.name: found for found in environment.store(str(place), network=network)}


@pytest.fixture
def location(tmp_path):
    """Return the location of a sound, empty store."""
    place = tmp_path / "results"
    open_store(str(place)).close()
    return place


def test_a_sound_store(location):
    """Path, size, snapshots, layout and content of a sound store are reported."""
    found = of_store(location)

    assert {condition.state for condition in found.values()} <= {State.OK, State.NOTE}
    assert found["location"].facts["bytes"] > 0
    assert found["content"].facts["triples"] > 0
    assert found["owner"].state is State.OK


def test_a_store_that_another_process_owns(location):
    """The owner is named, and the store is read; the check does not take the lock."""
    with open_store(str(location)):
        found, again = of_store(location), of_store(location)

    assert found["owner"].state is State.NOTE
    assert re.fullmatch(r"process \d+", found["location"].facts["owner"])
    assert found["content"].state is State.OK
    assert again["owner"] == found["owner"]


def test_a_store_whose_parts_disagree(location):
    """A graph that fails the check is reported as broken, by name."""
    graph = "https://w3id.org/kgbench/graph/run/x"
    with open_store(str(location)) as owned:
        owned.write([Block(graph, ["<http://e.org/a> <http://e.org/b> <http://e.org/c> ."])])
    found = of_store(location)["content"]

    assert found.state is State.BROKEN
    assert graph in found.words
    assert "kgbench store check" in found.advice


def test_a_store_that_cannot_be_read_or_is_none(location, tmp_path):
    """A damaged store, a foreign folder, a missing one and memory have different states."""
    for manifest in location.glob("snapshots/*/CURRENT"):
        manifest.write_text("nonsense")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").touch()

    def states(place):
        return {name: condition.state for name, condition in of_store(place).items()}

    assert states(location)["content"] is State.BROKEN
    assert states(other) == {"location": State.BROKEN}
    assert states(tmp_path / "nowhere") == {"location": State.ABSENT}
    assert states("memory:") == {"location": State.NOTE}


def test_a_damaged_newest_snapshot_is_broken(location):
    """A damaged newest snapshot is reported by name, with advice."""
    (snapshots.newest(location / "snapshots") / "CURRENT").write_text("nonsense")
    found = of_store(location)["content"]

    assert found.state is State.BROKEN
    assert " problems: snapshot " in found.words
    assert "kgbench store recover" in found.advice


def test_a_store_that_was_left_open_and_has_little_room(location, monkeypatch):
    """Files that the last writer left open are a note, and so is a disk that is nearly full."""
    snapshots.mark_dirty(location, dirty=True)
    monkeypatch.setattr(environment, "_LOW_SPACE", 1 << 70)
    found = of_store(location)

    assert {found["owner"].state, found["space"].state} == {State.NOTE}
    assert "no acknowledged write is lost" in found["owner"].words
    assert re.match(r"only [\d,]+\.\d MiB are free", found["space"].words)
    assert found["content"].state is State.OK


def test_files_that_go_while_they_are_counted_do_not_count(location):
    """Files that another process removes during the count are ignored."""
    before = environment._bytes(location)
    (location / "vanished").symlink_to(location / "nothing")

    assert environment._bytes(location) == before


def test_a_store_on_a_server_is_asked_only_with_leave(monkeypatch):
    """Without --network no socket is opened; with it, a silent server is broken."""

    def refuse(*_):
        raise AssertionError("a server was asked")

    place = "http://127.0.0.1:9/sparql?engine=oxigraph"
    with monkeypatch.context() as patched:
        patched.setattr("kgbench.doctor.environment.open_reader", refuse)
        quiet = of_store(place)
    asked = of_store(place, network=True)

    assert quiet["content"].state is State.NOTE
    assert "--network" in quiet["content"].advice
    assert asked["content"].state is State.BROKEN


def test_an_address_that_describes_no_server_is_broken():
    """An address that cannot be a store is reported before any request."""
    (found,) = of_store("http://127.0.0.1:9/sparql?engine=abacus", network=True).values()

    assert (found.name, found.state) == ("location", State.BROKEN)
    assert "abacus" in found.words


def test_a_server_that_is_written_to_is_sound():
    """The current writer of a store on a server is reported with its content."""
    with InProcess() as server, open_store(server.url):
        found = of_store(server.url, network=True)["content"]

    assert found.state is State.OK
    assert f"; being written by {found.facts['writer']}" in found.words
