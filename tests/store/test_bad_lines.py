# SPDX-License-Identifier: Apache-2.0
"""A server behind an unreliable connection: writes arrive once, and results are complete."""

from __future__ import annotations

import random
import time

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError, StoreInUse, StoreUnreachable
from kgbench.store import Block, Iris, leases, open_reader, open_store, registry
from kgbench.store.templates import fill
from kgbench.vocab import KGB
from tests.store.proxies import AFTER, BEFORE, BUSY, HALF, KINDS, LATE, OK, Proxy

IRIS = Iris()
GRAPH = IRIS.mint("runGraph", run="test")
WRITES = 60


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Retry quickly, for at most 30 seconds."""
    monkeypatch.setenv("KGBENCH_STORE_PATIENCE", "30")
    monkeypatch.setattr("kgbench.store.connections._FIRST_PAUSE", 0.001)


def turn(k):
    """Return blocks like those of a turn: a few triples, one of them shared by all turns."""
    lines = [f'<urn:turn{k}> <urn:p{j}> "text {k} {j}" .' for j in range(5)]
    return [Block(GRAPH, [*lines, '<urn:shared> <urn:p> "the same in all" .'])]


def content(url):
    """Return the triples of a store and the recorded stamps of its graphs."""
    with open_reader(url) as reader:
        rows = reader.query(fill("stamps.rq", catalogue=IRIS.catalogue))
        stamps = [(row["graph"].value, int(row["stamp"].value)) for row in rows]
        return sorted(map(str, reader.triples(GRAPH))), stamps


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_writes_over_a_bad_line_are_once_and_all(remote, kind):
    """Half of the requests fail, in every way; the store is as if none had failed."""
    chance = random.Random(7)
    with Proxy(remote, lambda _: OK) as proxy, open_store(proxy.url) as store:
        proxy._script = lambda _: (
            OK if chance.random() < 0.5 else chance.choice(KINDS) if kind == "all" else kind
        )
        for k in range(WRITES):
            store.write(turn(k))
        proxy._script = lambda _: OK
        store.query("ASK {}")  # lets late requests arrive
        store.query("ASK {}")
        failed = sum(one.done != OK for one in proxy.seen)

    triples, stamps = content(remote)
    expected = {f"{line[:-2]}" for k in range(WRITES) for b in turn(k) for line in b.triples}
    assert triples == sorted(expected)
    assert [graph for graph, _ in stamps].count(GRAPH) == 1
    assert failed > WRITES / 4


def test_a_late_write_does_not_lower_a_stamp(remote):
    """An update that is executed after its successors leaves the latest stamp unchanged."""
    seen = []
    with Proxy(remote) as proxy, open_store(proxy.url) as store:
        for k in range(6):
            late = len(proxy.seen) if k % 2 else -1
            proxy._script = lambda number, late=late: LATE if number == late else OK
            store.write(turn(k))
            seen.append(store._stamps[GRAPH])

    assert seen == sorted(set(seen))
    assert content(remote)[1] == [(GRAPH, seen[-1])]


def test_loading_over_a_bad_line(remote):
    """A bulk load is complete and not repeated, however its requests fail."""
    chance = random.Random(5)
    blocks = [Block(GRAPH, [f'<urn:s{k}> <urn:p> "{k}" .' for k in range(2_000)])]
    with Proxy(remote) as proxy, open_store(proxy.url) as store:
        proxy._script = lambda _: chance.choice([OK, BEFORE, AFTER, HALF, BUSY])
        store._limit = 4_000
        store.bulk_load(blocks)
        store.write([Block(GRAPH, [])])
        assert len(list(store.triples(GRAPH))) == 2_000


def test_half_an_answer_is_never_read(remote):
    """A response that breaks off is requested again, and not used as a shorter result."""
    with open_store(remote) as store:
        store.write([Block(GRAPH, [f'<urn:s{k}> <urn:p> "{k}" .' for k in range(500)])])
    with Proxy(remote) as proxy, open_reader(proxy.url) as reader:
        for asking in (
            lambda: len(list(reader.query("SELECT * WHERE { GRAPH ?g { ?s <urn:p> ?o } }"))),
            lambda: len(list(reader.triples(GRAPH))),
        ):
            first = len(proxy.seen)
            proxy._script = lambda number, first=first: HALF if number < first + 3 else OK
            assert asking() == 500
            assert len(proxy.seen) == first + 4


def test_who_never_answers_is_given_up(remote, monkeypatch):
    """A server that stops answering is retried within the patience; one never reached is not."""
    with Proxy(remote) as proxy:
        monkeypatch.setenv("KGBENCH_STORE_PATIENCE", "0.3")
        store = open_store(proxy.url)
        proxy._script = lambda _: BEFORE
        with pytest.raises(StoreUnreachable, match="same command continues"):
            store.write(turn(0))
        with pytest.raises(StoreUnreachable):
            store.close()
        monkeypatch.setenv("KGBENCH_STORE_PATIENCE", "60")
        began = len(proxy.seen)
        with pytest.raises(StoreUnreachable, match="does not answer"):
            open_store(proxy.url)
        assert len(proxy.seen) == began + 1


def _age(store, until):
    """Make the lease of a store end at ``until``."""
    lease, graph = IRIS.mint("lease"), IRIS.mint("leaseGraph")
    old = f"<{lease}> <{KGB.leaseUntil}> ?u"
    store._client.update(
        f"DELETE {{ GRAPH <{graph}> {{ {old} }} }} INSERT {{ GRAPH <{graph}> {{ <{lease}> "
        f'<{KGB.leaseUntil}> "{until}"^^<http://www.w3.org/2001/XMLSchema#dateTime> }} }} '
        f"WHERE {{ GRAPH <{graph}> {{ {old} }} }}"
    )


def test_a_lease_that_ran_out_can_be_taken(remote, monkeypatch):
    """An owner whose lease expired loses the store, and cannot write after another takes it."""
    with open_store(remote) as first:
        first.write(turn(0))
        _age(first, "2026-01-01T00:00:00Z")
        with open_store(remote) as second:
            second.write(turn(1))
            monkeypatch.setattr(leases, "SECONDS", 0.0)  # the first owner was suspended for long
            with pytest.raises(StoreInUse, match="taken over by"):
                first.write(turn(2))
            monkeypatch.undo()
            second.write(turn(3))
    triples, _ = content(remote)

    assert not any("turn2" in line for line in triples)
    assert any("turn3" in line for line in triples)


def test_a_lease_is_renewed_while_it_is_held(remote, monkeypatch):
    """A held lease is renewed in the background, and ends with its owner."""
    monkeypatch.setattr(leases, "_EVERY", 0.02)
    names = {"graph": IRIS.mint("leaseGraph"), "lease": IRIS.mint("lease")}
    with open_store(remote) as store:
        before = leases.holder(store._client, names).until
        end = time.monotonic() + 60
        while leases.holder(store._client, names).until <= before and time.monotonic() < end:
            time.sleep(0.01)
        assert leases.holder(store._client, names).until > before
    with open_reader(remote) as reader:
        assert leases.holder(reader._client, names) is None
        assert names["graph"] not in reader.graphs()


def test_a_write_above_the_limit_goes_in_pieces(remote):
    """A write above the limit is split; only its last request changes the catalogue."""
    with Proxy(remote) as proxy, open_store(proxy.url) as store:
        store._limit = 5_000
        first = len(proxy.seen)
        lines = [f'<urn:s{k}> <urn:p> "{"x" * 100}" .' for k in range(300)]
        store.write([Block(IRIS.catalogue, ["<urn:entry> <urn:p> <urn:o> ."]), Block(GRAPH, lines)])
        requests = [one for one in proxy.seen[first:] if "/query" not in one.path]

        assert len(list(store.triples(GRAPH))) == 300
        assert max(len(one.body) for one in requests) < 6_000
        changed = [f"GRAPH <{IRIS.catalogue}>".encode() in one.body for one in requests]
        assert changed == [False] * (len(requests) - 1) + [True]
        assert store.query(f"ASK {{ GRAPH <{IRIS.catalogue}> {{ <urn:entry> ?p ?o }} }}")
        assert GRAPH in registry.stamps(store)


def test_a_large_registry_goes_in_pieces(remote):
    """A large catalogue is split, too, and changed by the last request."""
    entries = [f'<urn:e{k}> <urn:p> "{"x" * 100}" .' for k in range(100)]
    with Proxy(remote) as proxy, open_store(proxy.url) as store:
        store._limit = 5_000
        first = len(proxy.seen)
        store.write([Block(GRAPH, ["<urn:s> <urn:p> <urn:o> ."]), Block(IRIS.catalogue, entries)])
        bodies = [one.body for one in proxy.seen[first:] if "/query" not in one.path]
        held = {str(one.subject) for one in store.triples(IRIS.catalogue)}
        sent = len(proxy.seen)
        store.write([])
        assert len(proxy.seen) == sent

    assert {f"<urn:e{k}>" for k in range(100)} <= held
    assert max(map(len, bodies)) < 6_000
    assert [b"changeStamp" in body for body in bodies] == [False] * (len(bodies) - 1) + [True]
    assert any(b"<urn:s>" in body for body in bodies)


def test_other_statuses_and_answers_do(remote):
    """Responses without a content type, and any success status of an update, are accepted."""
    with (
        Proxy(
            remote, change=lambda said: {k: v for k, v in said.items() if k != "Content-Type"}
        ) as proxy,
        open_store(proxy.url) as store,
    ):
        store.write(turn(1))
        assert len(list(store.triples(GRAPH))) == 6
        assert bool(store.query("ASK { GRAPH ?g { <urn:turn1> ?p ?o } }"))
        made = store.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } } LIMIT 3")
        assert isinstance(made, ox.QueryTriples)


def test_a_refused_write_leaves_no_trace(any_store):
    """A graph whose first write was refused is registered by the next one, once."""
    with open_store(any_store) as store:
        with pytest.raises((StoreError, SyntaxError)):
            store.write([Block(GRAPH, ["<urn:s> <urn:p> 1 .", "this is no triple"])])
        assert GRAPH not in registry.stamps(store)
        assert list(store.triples(GRAPH)) == []
        store.write(turn(0))
        store.write(turn(1))
        query = f"SELECT ?n {{ GRAPH ?g {{ <{GRAPH}> <{KGB.registrationNumber}> ?n }} }}"
        assert len(list(store.query(query))) == 1
