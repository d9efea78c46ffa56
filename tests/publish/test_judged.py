# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges and people, and tool calls, are published completely."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.plugins.judging.planning import JudgingRequest
from kgbench.plugins.judging.queue import ReviewQueue
from kgbench.publish.checks import check
from kgbench.publish.documents import Documents
from kgbench.publish.redaction import RedactionLevel
from kgbench.record import reading
from kgbench.record.judgements import rubric
from kgbench.store import open_reader, open_store
from kgbench.vocab import BASE as STORE
from kgbench.vocab import KGB, RDF
from tests.publish.conftest import BASE, command, publish
from tests.publish.reading import dump
from tests.publish.test_round_trip import below, results, taken
from tests.support.judge_runs import ask, judged_run

CLEAR = frozenset({"judgements"})
SPECS = ("baseline:oracle", "baseline:noisy?rate=0.7&seed=3")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return a store with judges, their calibration, disagreeing people, and models with tools."""
    place = tmp_path_factory.mktemp("judged") / "store"
    tools = ("-t", "Text2SparqlToolsOrganizational-tools", "-n", 1, "-m", "baseline:oracle")
    command("run", "--store", place, *tools)
    with open_store(str(place)) as store:
        of = judged_run(store, *SPECS, labels=["RdfFriendCount-turtle-1"], iterations=2)
    asked = ("--rubric", "correctness", "-m", "baseline:oracle", of.iri)
    command("judge", "--store", place, *asked)
    with open_store(str(place)) as store:
        of = reading.find_run(store, of.iri)
        ask(store, of, "preference", "baseline:noisy?rate=0.5&seed=1")
        queue = ReviewQueue(store, of, JudgingRequest(rubric("correctness")), "random")
        first, second = queue.entries[:2]
        queue.decide(first, "owl", "right", "It is.", 4.5)
        queue.decide(first, "fox", "wrong", "It is not.", None)
        queue.decide(second, "owl", "wrong", "", 2.0)
        queue.decide(second, "owl", "right", "Looked again.", 1.0)
        queue.decide(first, "elk", "right", "Overlooked.", 9.0, adjudicating=True)
    return place


@pytest.fixture(scope="module")
def site(judged, tmp_path_factory):
    """Publish the store with the questions to judges in the clear; return the folder."""
    out = tmp_path_factory.mktemp("site") / "bench"
    publish(judged, out, unprotected=CLEAR, level=RedactionLevel.NONE)
    return out


KINDS = ("Verdict", "CalibrationVerdict", "JudgedItem", "ToolCall", "ToolResult", "Reviewer")


def of_kind(found, kind):
    """Return the IRIs of the instances of a class."""
    return {q.subject.value for q in found if q.predicate.value == RDF.type and q.object == kind}


@pytest.mark.parametrize("name", KINDS)
def test_each_has_a_place_in_a_document(name, judged, site):
    """Each IRI leads to a document, and to a fragment of it."""
    (kind,) = {ox.NamedNode(KGB[name])}
    found = of_kind(dump(site, "all.nq"), kind)
    with open_reader(str(judged)) as store:
        recorded = {t for graph in store.graphs() for t in store.triples(graph)}
    assert len(found) == len(of_kind(recorded, kind)) > 0
    for iri in found:
        path, fragment = Documents(STORE, BASE).place(iri)
        assert iri.startswith(BASE)
        assert fragment
        said = {q.subject.value for q in ox.parse(path=str(site / f"{path}.ttl"))}
        assert iri in said


def test_nothing_is_found_wrong_with_it(site):
    """The check of the publication finds no faults."""
    faults = check(site, unprotected=CLEAR).faults
    assert [str(one) for one in faults] == []


def test_documents_of_judged_dialogues_do_not_change(judged, site):
    """Verdicts about a dialogue are published in the judges' runs, not in its documents."""
    of = {
        q.object.value
        for q in dump(site, "all.nq")
        if q.predicate.value == KGB.dialogue and "#judged-" in q.subject.value.replace("#0-", "#")
    }
    assert of
    for iri in of:
        path = site / iri.removeprefix(BASE).partition("#")[0]
        assert "judged-" not in path.with_name(f"{path.name}.ttl").read_text("utf-8")
        assert "verdict on the whole dialogue" not in (path / "index.html").read_text("utf-8")


def test_it_comes_back(judged, site, tmp_path):
    """After an import, the statements are those of the store, with paths as IRIs of parts."""
    taken(site, tmp_path / "store")
    assert results(tmp_path / "store") == below(results(judged), STORE, BASE)
