# SPDX-License-Identifier: Apache-2.0
"""Copies and backups hold the content of the original, or fail."""

from __future__ import annotations

import gzip
import itertools
import json
import random

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import StoreError
from kgbench.store import Block, Iris, open_reader, open_store, registry
from kgbench.store.copying import Dump, copy, digest_of, write
from kgbench.vocab import KGB, RDF, XSD

IRIS = Iris()
GRAPHS = [IRIS.mint("runGraph", run="one"), IRIS.mint("passGraph", **{"pass": "two"})]
TEXTS = ["plain", "", 'a\tb\n"c"\\', "\U0001f600\u0001", "x" * 50_000]


def put(store):
    """Write two registered graphs into a store and return it."""
    for graph in GRAPHS:
        lines = [f"<urn:{k}> <urn:p> {ox.Literal(text)} ." for k, text in enumerate(TEXTS)]
        lines += [f'<urn:n{k}> <urn:p> "{k / 7!r}"^^<{XSD.double}> .' for k in range(50)]
        lines.append(f'<urn:t> <urn:p> "2026-01-02T03:04:05.120Z"^^<{XSD.dateTime}> .')
        entry = [
            f"<{graph}> <{RDF.type}> <{KGB.ResultGraph}> .",
            f"<{graph}> <{KGB.describes}> <urn:0> .",
        ]
        store.write([Block(graph, lines), Block(IRIS.catalogue, entry)])
    return store


def filled(location):
    """Return the location of a store, after writing two registered graphs into it."""
    with open_store(location) as store:
        put(store)
    return location


@pytest.fixture
def source():
    """Yield a store in memory with two registered graphs."""
    with open_store("memory:") as store:
        yield put(store)


@pytest.fixture
def target():
    """Yield an empty store in memory."""
    with open_store("memory:") as store:
        yield store


def content(location):
    """Return the digests of all graphs of a store."""
    with open_reader(location) as store:
        return {graph: digest_of(store.triples(graph)).value for graph in store.graphs()}


@pytest.mark.parametrize(
    ("origin", "target"),
    [
        *itertools.product(["embedded", "in_process"], ["folder", "backup"]),
        ("embedded", "in_process"),
        pytest.param("embedded", "oxigraph", marks=pytest.mark.servers),
        pytest.param("oxigraph", "folder", marks=pytest.mark.servers),
    ],
)
def test_a_copy_is_the_same(request, tmp_path, origin, target):
    """A copy has the same graphs in every direction; graphs without an entry are not copied."""
    places = {"embedded": str(tmp_path / "a"), "folder": str(tmp_path / "b")}
    for name in {origin, target} - {*places, "backup"}:
        places[name] = request.getfixturevalue(name)
    filled(places[origin])
    source = places[origin]
    expected = content(source)
    if target == "backup":
        file = str(tmp_path / "backup.nq.gz")
        done = CliRunner().invoke(app, ["store", "backup", file, "--store", source])
        assert done.exit_code == 0, done.output
        source, target = file, "folder"
    done = CliRunner().invoke(app, ["store", "copy", source, places[target], "--json"])

    assert done.exit_code == 0, (done.output, done.exception)
    assert content(places[target]) == expected
    said = json.loads(done.stdout)
    assert {one["graph"]: one["digest"] for one in said["graphs"]} == expected
    with open_reader(places[target]) as store:
        assert registry.graphs(store) == sorted(GRAPHS)


def test_a_store_with_results_is_no_target(source):
    """A copy into a store with results is refused."""
    with open_store("memory:") as other, pytest.raises(StoreError, match="has results already"):
        copy(source, put(other))


def test_an_empty_store_is_no_source(target):
    """A copy of an empty store is refused, because its name may be mistyped."""
    with open_store("memory:") as empty, pytest.raises(StoreError, match="no results to copy"):
        copy(empty, target)


def test_a_copy_that_came_out_otherwise_is_refused(source, target, monkeypatch):
    """A copy fails if the target loses a triple."""
    load = target.bulk_load
    monkeypatch.setattr(
        target, "bulk_load", lambda blocks: load(Block(b.graph, b.triples[:-1]) for b in blocks)
    )
    with pytest.raises(StoreError, match="do not use this copy"):
        copy(source, target)


def test_a_source_that_changes_is_refused(source, target):
    """A copy fails if the source changes while it is copied."""

    def change(graph, triples):
        source.write([Block(GRAPHS[0], ["<urn:new> <urn:p> 1 ."])])

    with pytest.raises(StoreError, match="changed while it was copied"):
        copy(source, target, change)


def test_blank_nodes_are_refused(source, target):
    """A graph with blank nodes is refused, because it could not be compared."""
    source.write([Block(GRAPHS[0], ["_:b <urn:p> 1 ."])])
    with pytest.raises(StoreError, match="blank nodes"):
        copy(source, target)


def test_a_graph_that_vanishes_is_noticed(source, target):
    """A registered graph that vanishes during the copy is an error, not an empty graph."""
    last = max(GRAPHS)

    def vanish(graph, triples):
        source.update(f"DROP SILENT GRAPH <{last}>")

    with pytest.raises(StoreError, match=f"{last} vanished while it was copied"):
        copy(source, target, vanish)


def test_a_store_of_another_base_is_no_target(source, target):
    """A copy between stores with different base IRIs is refused."""
    target.iris = Iris("https://example.org/")
    with pytest.raises(StoreError, match="have different bases"):
        copy(source, target)


# --- backups --------------------------------------------------------------------------------


def test_a_backup_of_a_store_that_changes_is_none(source, tmp_path, monkeypatch):
    """A backup fails and leaves no file if the store changes or anything else fails."""
    reading = source.triples

    def changing(graph):
        source.write([Block(GRAPHS[0], ["<urn:new> <urn:p> 1 ."])])
        return reading(graph)

    def failing(graph):
        yield next(reading(graph))
        raise KeyboardInterrupt

    monkeypatch.setattr(source, "triples", changing)
    with pytest.raises(StoreError, match="changed while it was read"):
        write(source, tmp_path / "backup.nq.gz")
    monkeypatch.setattr(source, "triples", failing)
    with pytest.raises(KeyboardInterrupt):
        write(source, tmp_path / "backup.nq.gz")

    assert list(tmp_path.iterdir()) == []


def test_a_backup_with_remarks_of_others(source, tmp_path):
    """Other comments in a backup are not read as statements; a missing file is an error."""
    file = tmp_path / "backup.nq.gz"
    write(source, file)
    file.write_bytes(gzip.compress(b"# ours, of Monday\n" + gzip.decompress(file.read_bytes())))
    with Dump(file) as dump:
        assert registry.graphs(dump) == sorted(GRAPHS)
    with pytest.raises(StoreError, match="there is no backup at"):
        Dump(tmp_path / "none.nq.gz")


@pytest.mark.parametrize("damage", ["end", "middle", "triple", "line", "nothing"])
def test_damaged_backups_are_refused(source, tmp_path, damage):
    """A backup that is truncated, or changed in one character, is refused."""
    file = tmp_path / "backup.nq.gz"
    write(source, file)
    packed = file.read_bytes()
    text = gzip.decompress(packed)
    file.write_bytes(
        {
            "end": packed[:-20],
            "middle": packed[:200] + b"\0\0\0\0" + packed[204:],
            "triple": gzip.compress(text.replace(b"plain", b"plaim", 1)),
            "line": gzip.compress(text[: text.rindex(b"# end")]),
            "nothing": b"",
        }[damage]
    )
    with pytest.raises(StoreError, match="backup"):
        Dump(file)


def test_a_backup_replaces_no_file(source, tmp_path):
    """A backup replaces no file, and leaves none behind if it cannot be written."""
    file = tmp_path / "backup.nq.gz"
    write(source, file)
    for path, said in (
        (file, "exists"),
        (tmp_path / "backup.zip", "is named"),
        (tmp_path / "none" / "backup.nq.gz", "cannot be written"),
    ):
        with pytest.raises(StoreError, match=said):
            write(source, path)
    assert [path.name for path in tmp_path.iterdir()] == ["backup.nq.gz"]


# --- digests --------------------------------------------------------------------------------


def literal(text, datatype):
    """Return a triple with one literal."""
    value = ox.Literal(text, datatype=ox.NamedNode(datatype))
    return ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), value)


@pytest.mark.parametrize(
    ("datatype", "forms"),
    [
        (XSD.double, ["1.0", "1", "1e0", "1.0E0", "+1"]),
        (XSD.double, ["NaN", "nan"]),
        (XSD.double, ["INF", "inf", "Infinity"]),
        (XSD.integer, ["7", "07", "+7"]),
        (XSD.decimal, ["3.20", "3.2", "03.2"]),
        (XSD.decimal, ["100", "100.0", "1E2"]),
        (XSD.boolean, ["true", "1"]),
        (XSD.dateTime, ["2026-01-02T03:04:05.120Z", "2026-01-02T03:04:05.12+00:00"]),
        (XSD.dateTime, ["2026-01-02T03:04:05.000", "2026-01-02T03:04:05"]),
    ],
)
def test_forms_of_one_value_count_as_one(datatype, forms):
    """Different lexical forms of one value have the same digest."""
    assert len({digest_of([literal(form, datatype)]).value for form in forms}) == 1


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), unique=True), st.randoms())
def test_order_does_not_matter_and_content_does(texts, chance):
    """The digest does not depend on the order of triples; without one triple it differs."""
    triples = [literal(text, XSD.string) for text in texts]
    shuffled = random.Random(chance.random()).sample(triples, len(triples))
    whole = digest_of(triples)

    assert digest_of(shuffled).value == whole.value
    assert whole.triples == len(texts)
    for k in range(len(triples)):
        assert digest_of(triples[:k] + triples[k + 1 :]).value != whole.value
