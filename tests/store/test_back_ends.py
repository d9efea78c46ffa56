# SPDX-License-Identifier: Apache-2.0
"""Properties of a store that hold on every back end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.errors import LayoutError, QueryError, StoreError, StoreInUse
from kgbench.store import Block, Iris, open_reader, open_store, registry
from kgbench.store.templates import fill
from kgbench.vocab import KGB, XSD
from tests.store.servers import environment

IRIS = Iris()
GRAPH = IRIS.mint("runGraph", run="test")
OTHER = IRIS.mint("passGraph", **{"pass": "test"})
COUNT = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s <urn:p> ?o } }"
VALUES = [
    ("0.3333333333333333", XSD.double),
    ("0.0005555555555555556", XSD.double),
    ("0.30000000000000004", XSD.double),
    ("1.0", XSD.double),
    ("17", XSD.integer),
    ("1790000000000000001", XSD.integer),
    ("true", XSD.boolean),
    ("2026-01-02T03:04:05.123456Z", XSD.dateTime),
]
DOUBLE = f'"0.3333333333333333"^^<{XSD.double}>'
TEXTS = ["", "a\tb\nc\r\n\"'\\", "\u00e9 \U0001f600 \u0001", "x" * 300_000, "{}", "}} ; DROP ALL #"]


def triples(count, start=0):
    """Return some triples."""
    return [f'<urn:s{k}> <urn:p> "{k}" .' for k in range(start, start + count)]


def count(store):
    """Return the number of such triples in a store."""
    return int(next(iter(store.query(COUNT)))["n"].value)


def registered(graph=GRAPH):
    """Return the registry entry of a graph."""
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    return Block(IRIS.catalogue, [f"<{graph}> <{kind}> <{KGB.ResultGraph}> ."])


def child(code):
    """Run a Python process with ``code`` and return its result."""
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False
    )


def test_what_is_written_is_read(any_store):
    """A write is visible to its writer at once, and to readers when the store is closed."""
    with open_store(any_store) as store:
        store.write([Block(GRAPH, triples(5)), Block(OTHER, triples(2, 5))])
        assert count(store) == 7
    with open_reader(any_store) as reader:
        assert count(reader) == 7


def test_statements_are_looked_up_by_node(any_store):
    """Statements about nodes and those that refer to them have their graph; no IRI has none."""
    with open_store(any_store) as store:
        store.write([Block(GRAPH, [f"<urn:s> <urn:p> {DOUBLE} ."])])
        store.write([Block(OTHER, ["<urn:t> <urn:p> <urn:s> .", "<urn:t> <urn:q> <urn:s> ."])])
        (about,) = store.about(["urn:s", "no IRI", "urn:unknown"])
        (referring,) = store.referring("urn:p", ["urn:s", "no IRI"])

    assert str(about) == f"<urn:s> <urn:p> {DOUBLE} <{GRAPH}>"
    assert str(referring) == f"<urn:t> <urn:p> <urn:s> <{OTHER}>"


def test_terms_come_back_as_they_were(any_store):
    """Doubles, timestamps, booleans and any text are read as the terms that were written."""
    literals = [ox.Literal(text, datatype=ox.NamedNode(kind)) for text, kind in VALUES]
    literals += [*(ox.Literal(text) for text in TEXTS), ox.Literal("l", language="en")]
    with open_store(any_store) as store:
        lines = [f"<urn:{k}> <urn:p> {one} ." for k, one in enumerate(literals)]
        store.write([Block(GRAPH, lines)])
        rows = store.query("SELECT ?s ?o WHERE { GRAPH ?g { ?s <urn:p> ?o } }")
        found = {int(row["s"].value[4:]): row["o"] for row in rows}
        listed = {t.subject.value: t.object for t in store.triples(GRAPH)}

    for k, literal in enumerate(literals):
        assert type(found[k]) is ox.Literal
        for one in (found[k], listed[f"urn:{k}"]):
            assert (one.datatype, one.language) == (literal.datatype, literal.language)
            if literal.datatype.value == XSD.double:
                assert float(one.value) == float(literal.value)
            else:
                assert one.value == literal.value


def test_answers_are_of_the_same_classes(any_store):
    """SELECT, ASK and CONSTRUCT return the same as pyoxigraph, unbound variables included."""
    with open_store(any_store) as store:
        store.write([Block(GRAPH, triples(2))])
        select = store.query(
            "SELECT ?s ?o ?no WHERE { GRAPH ?g { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?no } } } "
            "ORDER BY DESC(?o)"
        )
        assert [variable.value for variable in select.variables] == ["s", "o", "no"]
        rows = [(row["s"], row[1], row["no"]) for row in select]
        assert rows[0] == (ox.NamedNode("urn:s1"), ox.Literal("1"), None)
        assert len(rows) == 2
        for text, wanted in (("<urn:s0>", True), ("<urn:s9>", False)):
            answer = store.query(f"ASK {{ GRAPH ?g {{ {text} ?p ?o }} }}")
            assert isinstance(answer, ox.QueryBoolean)
            assert bool(answer) is wanted
        made = store.query("CONSTRUCT { ?s <urn:q> ?o } WHERE { GRAPH ?g { ?s <urn:p> ?o } }")
        assert isinstance(made, ox.QueryTriples)
        assert {triple.object.value for triple in made} == {"0", "1"}
        table = store.query("SELECT ?s WHERE { GRAPH ?g { ?s <urn:p> ?o } }")
        assert json.loads(table.serialize(format=ox.QueryResultsFormat.JSON))["head"]["vars"]


def test_a_bad_query_is_a_query_error(any_store):
    """An invalid query raises a QueryError with the engine's message."""
    with open_store(any_store) as store:
        for text in ("SELECT nothing", "INSERT DATA { <urn:a> <urn:b> 1 }", ""):
            with pytest.raises(QueryError, match="cannot be run"):
                store.query(text)


def test_stamps_grow_and_stay_single(any_store):
    """A graph has one change stamp, which grows with every write and after reopening."""
    seen = []
    for part in range(3):
        with open_store(any_store) as store:
            for k in range(2):
                store.write([Block(GRAPH, triples(1, 10 * part + k))])
                rows = list(store.query(fill("stamps.rq", catalogue=IRIS.catalogue)))
                assert {row["stamp"].datatype.value for row in rows} == {XSD.integer}
                seen += [int(row["stamp"].value) for row in rows if row["graph"].value == GRAPH]

    assert len(seen) == 6
    assert seen == sorted(set(seen))


def test_a_second_owner_is_refused(any_store):
    """Opening a store in use fails immediately and names the process that owns it."""
    with open_store(any_store) as store:
        with pytest.raises(StoreInUse, match=r"in use .*process \d+"):
            open_store(any_store)
        store.write([Block(GRAPH, triples(1))])
    open_store(any_store).close()


def test_the_owner_of_another_process_is_seen(any_store):
    """Ownership is visible to other processes, and ends when the owning process is killed."""
    code = (
        "import sys, time\nfrom kgbench.store import open_store\n"
        f"s = open_store({any_store!r})\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout.readline() == "open\n"
        with pytest.raises(StoreInUse):
            open_store(any_store)
        owner.kill()
    open_store(any_store).close()


def test_what_was_loaded_and_never_registered_is_swept(any_store):
    """Opening removes the remains of a killed bulk load, and keeps registered graphs."""
    code = (
        "import os\nfrom kgbench.store import Block, open_store\n"
        f"s = open_store({any_store!r})\n"
        f"s.bulk_load([Block({GRAPH!r}, {triples(2)!r})])\n"
        f"s.write([Block({GRAPH!r}, [])])\n"
        f"s.bulk_load([Block({OTHER!r}, {triples(9, 2)!r})])\nos.kill(os.getpid(), 9)\n"
    )
    child(code)
    with open_store(any_store) as store:
        assert count(store) == 2
        assert OTHER not in store.graphs()


def test_bulk_loads_are_divided_and_dropped(any_store, monkeypatch):
    """A bulk load in several requests is complete, and can be removed with its entry."""
    monkeypatch.setattr("kgbench.store.embedded._CHUNK", 2_000)
    with open_store(any_store) as store:
        if hasattr(store, "_limit"):
            store._limit = 3_000
        blocks = [
            Block(GRAPH, triples(500)),
            Block(OTHER, triples(300, 500)),
            Block(GRAPH, [f'<urn:s> <urn:p> "{"x" * 9_000}" .']),
        ]
        store.bulk_load(iter(blocks))
        assert count(store) == 801
        store.write([registered(), registered(OTHER), Block(GRAPH, []), Block(OTHER, [])])
        store.drop([GRAPH, "https://w3id.org/kgbench/graph/run/none"])
        assert count(store) == 300
        assert registry.graphs(store) == [OTHER]


def test_reader_refuses_to_write(any_store):
    """A reader refuses to write, to load, to drop and to publish."""
    open_store(any_store).close()
    with open_reader(any_store) as reader:
        for attempt in (reader.write, reader.bulk_load, reader.drop, reader.publish_soon):
            with pytest.raises(StoreError, match="for reading"):
                attempt([])


@pytest.mark.declared
def test_declared_things_are_loaded_once(any_store):
    """Reopening leaves the declared resources unchanged; none of them is a blank node."""
    found = []
    for _ in range(2):
        with open_store(any_store) as store:
            found.append(sorted(map(str, store.triples(IRIS.catalogue))))

    assert found[0] == found[1]
    assert len(found[0]) > 1_000
    assert not any("_:" in triple for triple in found[0])


def test_another_layout_is_refused(any_store):
    """A store of another layout is refused, with what to do about it, and remains unchanged."""
    with open_store(any_store) as store:
        before = sorted(map(str, store.triples(IRIS.catalogue)))
    words = f"{re.escape(any_store)} has layout 1, this .* layout 99: finish .* or export"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "current_layout", lambda: 99)
        for opening in (open_store, open_reader):
            with pytest.raises(LayoutError, match=words):
                opening(any_store)
    with open_reader(any_store) as reader:
        assert sorted(map(str, reader.triples(IRIS.catalogue))) == before


def test_a_closed_store_says_so(any_store):
    """A closed store refuses to read and write; closing it again has no effect."""
    store = open_store(any_store)
    store.close()
    store.close()
    for attempt in (lambda: store.write([Block(GRAPH, triples(1))]), lambda: store.query("ASK {}")):
        with pytest.raises(StoreError, match="is closed"):
            attempt()


def test_there_is_no_store_to_read(any_store):
    """Reading a store that does not exist names ``kgbench run``, and makes nothing."""
    for _ in range(2):
        with pytest.raises(StoreError, match="kgbench run"):
            open_reader(any_store)
    assert not Path(any_store).exists()
