# SPDX-License-Identifier: Apache-2.0
"""Any record in any published form is imported unchanged or refused."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.errors import ImportRefused
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import loading, parsing, sources
from kgbench.importers.rdf.sources import Origin
from kgbench.model import Call, Evaluation, Outcome, Reply, Turn
from kgbench.store import Block, EmbeddedStore
from kgbench.vocab import KGB, PROV
from tests.record.test_round_trip import BEGAN, METRICS, begin, store, turns
from tests.support.stores import results_only
from tests.support.validation import assert_conforms

__all__ = ["store"]  # a fixture: a store with a task, a case and a model

SYNTAXES = {
    "N-Quads": ox.RdfFormat.N_QUADS,
    "TriG": ox.RdfFormat.TRIG,
    "Turtle": ox.RdfFormat.TURTLE,
    "N-Triples": ox.RdfFormat.N_TRIPLES,
    "JSON-LD": ox.RdfFormat.JSON_LD,
}
GRAPHLESS = ("Turtle", "N-Triples")
BY_LINE = ("N-Quads", "N-Triples")
BETWEEN = ("", "\t ", "# a comment", '# <a:b> <a:c> "d" .')


def everything(of: EmbeddedStore) -> list[Any]:
    """Return the quads of a store that belong to results."""
    return results_only(
        ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode(graph))
        for graph in of.graphs()
        for t in of.triples(graph)
    )


def canonical(quads: list[Any]) -> list[str]:
    """Return quads as sorted N-Quads; they have no blank nodes."""
    return sorted(f"{quad} ." for quad in quads if "/software/" not in quad.subject.value)


def record(into: EmbeddedStore, said: Any, score: float) -> list[Any]:
    """Record a run of one dialogue, with one score per answer, and return its quads."""
    recorder, dialogue = begin(into)
    lines, found = [], []
    for k, turn in enumerate(said):
        dialogue = replace(dialogue, turns=(*said[:k], turn))
        lines += recorder.turn(dialogue, k)
        if turn.answer is not None:
            one = Evaluation(
                iri=recorder.evaluation_iri(dialogue.iri, k),
                dialogue=dialogue.iri,
                round=k,
                outcome=Outcome.SCORED,
                scores=dict.fromkeys(METRICS, score),
                infos={"k": k},
            )
            found += recorder.evaluation_block(one, dialogue).triples
    into.write([Block(recorder.run_graph, lines), Block(recorder.pass_graph, found)])
    return everything(into)


@st.composite
def published(draw: Any, quads: list[Any]) -> list[tuple[str, bytes]]:
    """Draw one or two files of the same statements, in any order and syntax."""
    shuffled = draw(st.permutations(quads))
    cut = draw(st.integers(0, len(shuffled)))
    files = []
    for part in (shuffled[:cut], shuffled[cut:]):
        syntax = draw(st.sampled_from(sorted(SYNTAXES)))
        if not part:
            continue
        content = [quad.triple for quad in part] if syntax in GRAPHLESS else part
        text = ox.serialize(content, format=SYNTAXES[syntax]).decode("utf-8")
        if syntax in BY_LINE:
            between = draw(st.lists(st.sampled_from(BETWEEN), min_size=1, max_size=5))
            lines = text.rstrip("\n").split("\n")
            text = "\n".join(f"{between[k % len(between)]}\n{x}" for k, x in enumerate(lines))
        elif syntax != "JSON-LD":
            text = f"# a comment\n\n{text}\n# the end"
        files.append((syntax, text.encode("utf-8")))
    return files


def imported(files: list[tuple[str, bytes]], into: EmbeddedStore, folder: Path) -> None:
    """Import files, parsed in this process."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        for k, (syntax, content) in enumerate(files):
            path = scratch / str(k)
            path.write_bytes(content)
            wrong = parsing.parse(str(scratch / "database"), syntax, path)
            if wrong:
                raise ImportRefused(wrong)
        contents = data_sets.read(ox.Store(str(scratch / "database")))
        loading.load(into, contents, [Origin("a file", "0" * 64)], scratch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for parsed data."""
    return tmp_path_factory.mktemp("parsed")


@settings(max_examples=4)
@given(turns(), st.floats(0, 1), st.data())
def test_any_record_is_imported_in_any_form(store, folder, said, score, data):
    """A dialogue is the same in another store, for any syntax, order and partition."""
    quads = record(store, said, score)
    with EmbeddedStore(None) as other:
        imported(data.draw(published(quads)), other, folder)

        assert canonical(everything(other)) == canonical(quads)


@pytest.fixture(scope="module")
def whole(store: EmbeddedStore) -> bytes:
    """Return a published run of one answer, as N-Quads."""
    call = Call(BEGAN, BEGAN, Reply("an answer"))
    quads = record(store, (Turn("a prompt", (call,)),), 0.5)
    return "\n".join(canonical(quads)).encode("utf-8")


def texts(quads: list[Any]) -> set[tuple[str, str]]:
    """Return the content of each text and case."""
    return {
        (quad.subject.value, quad.object.value)
        for quad in quads
        if quad.predicate.value in (PROV.value, KGB.caseData)
    }


@settings(max_examples=12)
@given(st.data())
def test_any_damage_is_refused_or_seen_by_no_answer(whole, folder, data):
    """A file with a damaged byte is refused whole, or conforms without changed texts or cases."""
    before = texts(list(ox.parse(whole, ox.RdfFormat.N_QUADS)))
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with EmbeddedStore(None) as other:
        untouched = [set(other.triples(graph)) for graph in other.graphs()]
        try:
            imported([("N-Quads", bytes(damaged))], other, folder)
        except ImportRefused as refused:
            assert str(refused)
            assert [set(other.triples(graph)) for graph in other.graphs()] == untouched
            return
        assert texts(everything(other)) <= before
        assert_conforms(other)


@pytest.mark.parametrize("what", ["data/all.nq", "SHA256SUMS"])
@settings(max_examples=10)
@given(data=st.data())
def test_any_damage_to_a_site_is_refused(whole, folder, what, data):
    """Every byte that an import reads in a published folder is protected by a checksum."""
    sums = f"{hashlib.sha256(whole).hexdigest()}  data/all.nq"
    files = {"data/all.nq": whole, "SHA256SUMS": sums.encode()}
    place = data.draw(st.integers(0, len(files[what]) - 1))
    same = (files[what][place], *b" *")  # both mark a file name
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte not in same))
    damaged = bytearray(files[what])
    damaged[place] = value
    files[what] = bytes(damaged)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        site, scratch = Path(name) / "site", Path(name) / "scratch"
        scratch.mkdir()
        for path, content in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(content)
        with pytest.raises(ImportRefused) as refused:
            sources.fetch_documents(str(site), scratch)
    assert str(refused.value).startswith("site")
