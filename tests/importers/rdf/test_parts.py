# SPDX-License-Identifier: Apache-2.0
"""Data sets in parts, at third hand, and with foreign terms are imported completely."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.errors import ImportRefused
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import loading, sorting
from kgbench.importers.rdf.sources import Origin
from kgbench.record import invalidation
from kgbench.store import open_store
from kgbench.vocab import BASE, KGB, PROV, RDF, RDFS, XSD
from tests.importers.rdf.test_hostile import in_run, replaced
from tests.importers.rdf.test_import import node
from tests.support.archives import as_json, dialogue_v3, record_v3
from tests.support.stores import typed
from tests.support.validation import assert_conforms

LIKES = node("https://example.org/likes")


@pytest.fixture(scope="module")
def whole():
    """Return the quads of an import with undeclared scores and an undeclared task."""
    records = [record_v3("Unknown", label="Unknown"), dialogue_v3()]
    records.append(record_v3(scores={"f1": 1.0, "extra": 0.5}))
    with open_store("memory:") as own:
        declared = set(every(own))
        for run in read_runs(ResultFile("f.json", as_json(records)), own.iris):
            load(own, run)
        return [quad for quad in every(own) if quad not in declared]


@pytest.fixture
def store():
    """Yield an empty store."""
    with open_store("memory:") as opened:
        yield opened


def every(store):
    """Return all quads of an open store."""
    return [
        ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode(graph))
        for graph in store.graphs()
        for t in store.triples(graph)
    ]


def take(found, store, folder, progress=None):
    """Import quads, as they are after parsing."""
    folder.mkdir(exist_ok=True)
    staged = ox.Store()
    staged.extend(found)
    digest = f"{abs(hash(frozenset(map(str, found)))):064x}"
    origins = [Origin("a file", digest)]
    scratch = folder / f"{len(list(folder.iterdir()))}"
    scratch.mkdir()
    return loading.load(store, data_sets.read(staged), origins, scratch, progress)


def results(found):
    """Return the quads of runs, passes and invalidations."""
    kinds = ("/graph/run/", "/graph/pass/", "/graph/invalidation/")
    return {q for q in found if any(kind in q.graph_name.value for kind in kinds)}


def test_what_nobody_declares_comes_along(whole, store, tmp_path):
    """Undeclared task classes and metrics are described in the importing store as well."""
    take(whole, store, tmp_path)
    described = {q.subject.value for q in every(store) if q.predicate.value == RDF.type}

    assert f"{BASE}metric/RdfFriendCount/4.4/extra" in described
    assert f"{BASE}task-class/Unknown/4.4" in described
    assert results(every(store)) == results(whole)


def test_results_at_third_hand(whole, store, tmp_path):
    """Runs, passes and invalidations of an importing store are imported; its imports are noted."""
    with open_store("memory:") as second:
        take(whole, second, tmp_path)
        dialogue = min(q.subject.value for q in results(whole) if q.object == node(KGB.Dialogue))
        invalidation.invalidate(second, dialogue, "a wrong key", "me")
        found = every(second)
    said = take(found, store, tmp_path)

    assert [len(said.runs), len(said.passes), len(said.invalidations)] == [1, 1, 1]
    assert results(every(store)) == results(found)
    found = (q.subject.value for q in every(store) if q.object == node(KGB.Import))
    imports = {iri for iri in found if iri.startswith(f"{BASE}import/")}
    assert len(imports) == 2
    assert_conforms(store)


def test_a_part_refers_to_what_is_there(whole, store, tmp_path):
    """A run and its pass can be imported one after the other, each with the registry."""
    of_pass = {q for q in whole if "/graph/pass/" in q.graph_name.value}
    first = take([q for q in whole if q not in of_pass], store, tmp_path)
    second = take(
        [*of_pass, *(q for q in whole if q.predicate.value == KGB.describes)], store, tmp_path
    )

    assert [len(first.runs), len(first.passes)] == [1, 0]
    assert [len(second.runs), len(second.passes)] == [0, 1]
    assert results(every(store)) == results(whole)


def test_a_run_that_was_lost_comes_back(whole, store, tmp_path):
    """The same file restores removed graphs; the import is recorded once and keeps its times."""

    def kept():
        """Return the store's quads without stamps."""
        return {q for q in every(store) if q.predicate.value not in of_writes}

    take(whole, store, tmp_path)
    of_writes = (KGB.changeStamp, KGB.registrationNumber, KGB.stampAtUse)
    before = kept()
    lost = {q.graph_name.value for q in results(whole)}
    store.drop(sorted(lost))
    said = take(whole, store, tmp_path)

    assert [len(said.runs), len(said.passes)] == [1, 1]
    assert kept() == before


def test_statements_twice_and_in_blocks(whole, store, tmp_path, monkeypatch):
    """A statement in a graph and in the default graph counts once, for any block size."""
    monkeypatch.setattr(loading, "_BLOCK_SIZE", 7)
    monkeypatch.setattr(sorting, "_PROGRESS_STEP", 50)
    told = []
    twice = [ox.Quad(q.subject, q.predicate, q.object) for q in results(whole)]
    take([*whole, *twice], store, tmp_path, told.append)

    assert results(every(store)) == results(whole)
    assert told == list(range(50, told[-1] + 1, 50))
    assert 0 <= 2 * len(results(whole)) - told[-1] < 50


def test_terms_of_others_are_kept_apart_and_ours_left_out(whole, store, tmp_path):
    """Foreign terms about models and nodes are kept; terms that only kgbench declares are not."""
    model = typed(whole, KGB.Model)
    foreign = [
        ox.Quad(model, LIKES, ox.Literal("rain")),
        ox.Quad(ox.BlankNode("b"), node(RDF.type), LIKES),
        ox.Quad(model, node(PROV.wasInvalidatedBy), ox.Literal("nobody")),
    ]
    ours = [
        ox.Quad(node(KGB["newTerm"]), node(RDFS.label), ox.Literal("a term of tomorrow")),
        ox.Quad(node(f"{BASE}metric/Next/1/f1"), node(RDFS.label), ox.Literal("f1")),
        ox.Quad(node("https://example.org/p"), node(RDF.type), node(KGB.Parameter)),
    ]
    plain = take(whole, store, tmp_path)
    with open_store("memory:") as other:
        said = take([*whole, *foreign, *ours[:2]], other, tmp_path)
        kept = {q.predicate.value for q in every(other) if "/graph/import/" in q.graph_name.value}

    assert said.foreign == plain.foreign + 3
    assert said.left_out == plain.left_out + 2
    assert {LIKES.value, PROV.wasInvalidatedBy} <= kept


def test_another_spelling_of_a_model_is_added(whole, store, tmp_path):
    """A later data set may add to a model, but not give other data to a case of the store."""
    take(whole, store, tmp_path)
    model = typed(whole, KGB.Model)
    more = ox.Quad(
        model, node(KGB.sourceModelId), ox.Literal("Parrot 2"), node(f"{BASE}graph/catalogue")
    )
    assert take([*whole, more], store, tmp_path).described == 1
    assert more.triple in set(store.triples(store.iris.catalogue))

    case = typed(whole, KGB.Case)
    redacted = ox.Literal("true", datatype=node(XSD.boolean))
    other = [
        *replaced(whole, KGB.caseData, ox.Literal("{}", datatype=node(RDF.JSON)), of=case),
        ox.Quad(case, node(KGB.redacted), redacted, node(f"{BASE}graph/catalogue")),
    ]
    with pytest.raises(ImportRefused, match="one IRI, two things"):
        take(other, store, tmp_path)


def original(found, content):
    """Return the quads with original bytes of the first text."""
    value = ox.Literal(content, datatype=node(XSD.base64Binary))
    return [*found, in_run(found, KGB.originalBytes, value, kind=KGB.Text)]


def impossible(found):
    """Yield the quads with negative iterations."""
    minus = ox.Literal("-1", datatype=node(XSD.integer))
    for q in found:
        if q.predicate.value == KGB.iteration:
            yield ox.Quad(q.subject, q.predicate, minus, q.graph_name)
        else:
            yield q


LEFTWARD = ox.Literal("x", language="en", direction=ox.BaseDirection.RTL)
A_LIST = ox.Literal("[1]", datatype=node(RDF.JSON))
REFUSED = {
    "case data that are a list": (
        lambda f: replaced(f, KGB.caseData, A_LIST),
        "has no task data as a JSON object",
    ),
    "a case without data": (
        lambda f: [q for q in f if q.predicate.value != KGB.caseData],
        "shapes of results: .*kgb:caseData",
    ),
    "bytes of a text that are none": (lambda f: original(f, "abc"), "shapes of results: .*base64"),
    "bytes of another text": (lambda f: original(f, "7aCA"), "not the text whose checksum"),
    "a text with a direction": (
        lambda f: [*f, ox.Quad(node("https://e.org/a"), LIKES, LEFTWARD)],
        "literals with a direction are not supported",
    ),
    "more that is wrong than is shown": (impossible, r"\(and \d+ more\)$"),
    "an origin without a name": (
        lambda f: [*f, in_run(f, KGB.recordedAs, ox.BlankNode("c"))],
        "shapes of results: .*kgb:recordedAs",
    ),
    "a run invalidated by a run": (
        lambda f: [*f, in_run(f, PROV.wasInvalidatedBy, typed(f, KGB.Run))],
        "prov:wasInvalidatedBy: is not foreseen here",
    ),
    "a run that nobody has invalidated": (
        lambda f: [*f, in_run(f, PROV.wasInvalidatedBy, ox.Literal("nobody"))],
        "prov:wasInvalidatedBy: is not foreseen here",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_named(whole, store, tmp_path, name):
    """Each alteration is refused with a message, and nothing is written."""
    alter, words = REFUSED[name]
    before = every(store)
    with pytest.raises(ImportRefused, match=words):
        take(list(alter(whole)), store, tmp_path)
    assert every(store) == before
