# SPDX-License-Identifier: Apache-2.0
"""The embedded store: one owner, atomic writes, change stamps, snapshots for readers."""

from __future__ import annotations

import subprocess
import sys
import time

import pyoxigraph as ox
import pytest

from kgbench.errors import LayoutError, QueryError, StoreError, StoreInUse
from kgbench.store import Block, open_reader, open_store
from kgbench.store.snapshots import INTERVAL, KEPT
from kgbench.vocab import KGB

GRAPH = "https://w3id.org/kgbench/graph/run/test"
COUNT = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s <urn:p> ?o } }"


def triples(count, start=0):
    """Return some triples."""
    return [f'<urn:s{k}> <urn:p> "{k}" .' for k in range(start, start + count)]


def count(store):
    """Return the number of these triples in a store."""
    return int(next(iter(store.query(COUNT)))["n"].value)


def stamp(store, graph):
    """Return the change stamps of a graph in the registry."""
    pattern = f"<{graph}> <{KGB.changeStamp}> ?v"
    found = store.query(f"SELECT ?v WHERE {{ GRAPH <{store.iris.catalogue}> {{ {pattern} }} }}")
    return [int(row["v"].value) for row in found]


def test_second_owner_is_refused_at_once(tmp_path):
    """A store in use is refused at once, with the name of the process that owns it."""
    with open_store(str(tmp_path / "s")), pytest.raises(StoreInUse, match=r"in use .*process \d+"):
        open_store(str(tmp_path / "s"))


def test_owner_in_another_process_is_seen(tmp_path):
    """Ownership holds between processes, and ends with the owning process in any case."""
    code = (
        "import sys, time\nfrom kgbench.store import open_store\n"
        f"s = open_store({str(tmp_path / 's')!r})\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "open\n"
        with pytest.raises(StoreInUse):
            open_store(str(tmp_path / "s"))
        owner.kill()
    open_store(str(tmp_path / "s")).close()


def test_write_replaces_the_change_stamp():
    """A graph has exactly one change stamp, which grows with every write."""
    with open_store("memory:") as store:
        store.write([Block(GRAPH, triples(1))])
        first = stamp(store, GRAPH)
        store.write([Block(GRAPH, triples(1, 1))])
        second = stamp(store, GRAPH)

    assert len(first) == len(second) == 1
    assert second > first


def test_stamps_go_on_growing_after_reopening(tmp_path):
    """Reopening a store neither loses nor doubles a change stamp."""
    place = str(tmp_path / "s")
    with open_store(place) as store:
        store.write([Block(GRAPH, triples(1))])
        first = stamp(store, GRAPH)
    with open_store(place) as store:
        store.write([Block(GRAPH, triples(1, 1))])
        second = stamp(store, GRAPH)

    assert len(second) == 1
    assert second > first


def test_a_failing_write_writes_nothing():
    """If one triple is invalid, neither content nor stamp of the write is stored."""
    with open_store("memory:") as store:
        with pytest.raises(SyntaxError):
            store.write([Block(GRAPH, [*triples(3), "<urn:s> <urn:p> no term ."])])

        assert count(store) == 0


def test_reader_sees_what_a_closed_store_holds(tmp_path):
    """A reader sees everything written before closing."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(5))])
    with open_reader(str(tmp_path / "s")) as reader:
        assert count(reader) == 5


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


def test_bulk_load_and_drop():
    """A dropped graph, bulk-loaded or not, also loses its entry in the registry."""
    with open_store("memory:") as store:
        store.bulk_load([Block(GRAPH, triples(4)), Block(GRAPH, triples(4, 4))])
        assert count(store) == 8
        store.write([Block(GRAPH, triples(1, 8))])
        store.drop([GRAPH, "https://w3id.org/kgbench/graph/run/none"])

        assert count(store) == 0
        assert stamp(store, GRAPH) == []


def test_what_a_killed_bulk_load_left_is_swept_away(tmp_path):
    """A graph that was loaded but never registered is removed when the store is next opened."""
    place = str(tmp_path / "s")
    code = (
        "import os\nfrom kgbench.store import Block, open_store\n"
        f"s = open_store({place!r})\n"
        f"s.write([Block({GRAPH!r}, {triples(2)!r})])\n"
        f"s.bulk_load([Block({GRAPH + '-lost'!r}, {triples(9, 2)!r})])\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    with open_reader(place) as reader:
        assert count(reader) == 2


def test_foreign_folder_is_refused(tmp_path):
    """A folder with other content is not turned into a store."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match="has other content"):
        open_store(str(tmp_path))


def test_file_is_refused(tmp_path):
    """A file is refused as a store."""
    (tmp_path / "f").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        open_store(str(tmp_path / "f"))


def test_missing_store_cannot_be_read(tmp_path):
    """Reading a missing store says how to make one, and makes nothing."""
    with pytest.raises(StoreError, match="kgbench run"):
        open_reader(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_other_layout_is_refused(tmp_path):
    """A store with another layout version is refused."""
    place = tmp_path / "s"
    with open_store(str(place)) as store:
        catalogue = store.iris.catalogue
    raw = ox.Store(str(place / "data"))
    node, prop = ox.NamedNode("https://w3id.org/kgbench/layout"), ox.NamedNode(KGB.layoutVersion)
    graph = ox.NamedNode(catalogue)
    raw.remove(next(raw.quads_for_pattern(node, prop, None, graph)))
    raw.add(ox.Quad(node, prop, ox.Literal(99), graph))
    del raw
    with pytest.raises(LayoutError, match="layout 99"):
        open_store(str(place))


def test_reader_refuses_to_write(tmp_path):
    """A reader cannot change anything."""
    open_store(str(tmp_path / "s")).close()
    with open_reader(str(tmp_path / "s")) as reader:
        for attempt in (reader.write, reader.bulk_load, reader.drop):
            with pytest.raises(StoreError, match="for reading"):
                attempt([])


def test_bad_query_is_a_query_error():
    """The engine's message about a query is raised as a QueryError."""
    with open_store("memory:") as store, pytest.raises(QueryError, match="cannot be run"):
        store.query("SELECT nothing")


def test_declared_things_are_loaded_once(tmp_path):
    """Reopening neither doubles nor changes the declarations in the catalogue."""
    place = str(tmp_path / "s")
    with open_store(place) as store:
        first = sorted(
            map(str, store.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"))
        )
    with open_store(place) as store:
        second = sorted(
            map(str, store.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"))
        )

    assert first == second
    assert not any("_:" in triple for triple in first)


def test_snapshot_is_published_when_asked_for(tmp_path):
    """After publishing a snapshot, readers see all writes at once."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(3))])
        store.publish_snapshot()
        with open_reader(str(tmp_path / "s")) as reader:
            assert 3 == count(reader)
    with open_store("memory:") as store:
        store.publish_snapshot()
