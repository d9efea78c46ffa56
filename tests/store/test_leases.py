# SPDX-License-Identifier: Apache-2.0
"""Leases of a store on a server: held, lost, released or left behind."""

from __future__ import annotations

import os

import pytest

from kgbench.errors import StoreError, StoreInUse
from kgbench.rdf import moment, string
from kgbench.record.recorder import registry_entry
from kgbench.store import Block, Iris, leases, maintenance, open_reader, open_store, registry
from kgbench.store.back_ends import find
from kgbench.store.client import Client
from kgbench.store.templates import fill
from tests.store.in_process import InProcess

IRIS = Iris()
NAMES = {"graph": IRIS.mint("leaseGraph"), "lease": IRIS.mint("lease")}


def left(location, token):
    """Write a lease with ``token`` into a store, valid for another minute."""
    now = leases.datetime.now(leases.UTC)
    until = now + leases.timedelta(seconds=leases.SECONDS)
    client = Client(find(location))
    client.update(
        fill(
            "lease-take.ru",
            token=string(token),
            who=string("another"),
            now=moment(now),
            until=moment(until),
            gone=string("nobody"),
            **NAMES,
        )
    )
    client.close()


@pytest.mark.parametrize(
    "token",
    [
        f"{'0' * 16}.{os.getpid()}.{'0' * 32}",
        f"{leases._machine()}.{'9' * 40}.{'0' * 32}",
        "no token of ours",
    ],
    ids=["another machine", "no process", "nonsense"],
)
def test_a_lease_of_whom_nothing_is_known_is_respected(in_process, token):
    """A lease with an unknown holder is respected until it expires; the error names the time."""
    left(in_process, token)
    with pytest.raises(StoreInUse, match=r"in use .*another.*from \d\d:\d\d:\d\d UTC on"):
        open_store(in_process)


def test_a_lease_is_given_back_once(in_process):
    """Ending a lease twice neither fails nor ends the lease of a successor."""
    store = open_store(in_process)
    lease = store._lease
    store.close()
    with open_store(in_process) as successor:
        lease.end()
        assert leases.holder(successor._client, NAMES).token == successor._lease.token


def test_addresses_that_do_not_belong_together(in_process):
    """Endpoints on different servers are detected before anything is written."""
    with InProcess() as other, pytest.raises(StoreError, match="belong to the same server"):
        open_store(f"{in_process}?update={other.url}/update")


def test_a_check_names_who_writes(in_process):
    """A check names the current writer, and does not report it as a problem."""
    with open_store(in_process), open_reader(in_process) as reader:
        found = maintenance.check(reader)
    with open_reader(in_process) as reader:
        after = maintenance.check(reader)

    assert f"process {os.getpid()}, until 2" in found.writer
    assert found.problems == []
    assert after.writer is None


@pytest.fixture
def killed(monkeypatch):
    """Return a function that leaves an open store as a killed process does."""

    def kill(store):
        store._lease._ended.set()
        store._lease._thread.join()
        store._client.close()
        monkeypatch.setattr(leases, "_is_gone", lambda token: token == store._lease.token)

    return kill


def test_only_what_a_killed_writer_loaded_is_removed(in_process, killed):
    """Who takes a lease over removes what its holder loaded; graphs of others stay."""
    lost, another = (IRIS.mint("runGraph", run=name) for name in ("lost", "another"))
    store = open_store(in_process)
    store.bulk_load([Block(lost, ["<urn:a> <urn:b> <urn:c> ."])])
    store._client.load(another, ["<urn:a> <urn:b> <urn:c> ."])
    killed(store)
    with open_store(in_process) as successor:
        assert successor.graphs() == [IRIS.catalogue, another]


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_killed_write_in_pieces_shows_nothing(in_process, killed, monkeypatch, pieces):
    """A registry above the limit of requests is visible when its last piece is there."""
    graphs = [IRIS.mint("runGraph", run=f"r{k}") for k in range(50)]
    entries = [line for graph in graphs for line in registry_entry(graph, f"{graph}/{'x' * 50}")]
    load = Client.load
    left = iter(range(len(graphs) + pieces))

    def until_killed(client, graph, lines):
        next(left)  # raises StopIteration
        load(client, graph, lines)

    store = open_store(in_process)
    store._limit = 5_000
    content = [Block(graph, ["<urn:a> <urn:b> <urn:c> ."]) for graph in graphs]
    with monkeypatch.context() as patch:
        patch.setattr(Client, "load", until_killed)
        with pytest.raises(StopIteration):
            store.write([*content, Block(IRIS.catalogue, entries)])
    killed(store)
    with open_reader(in_process) as reader:
        assert registry.graphs(reader) == []
    with open_store(in_process) as successor:
        successor._limit = 5_000
        successor.write([*content, Block(IRIS.catalogue, entries)])
        assert maintenance.check(successor).graphs == len(graphs)
        assert len(successor.graphs()) == len(graphs) + 1
