# SPDX-License-Identifier: Apache-2.0
"""Stores with statements that kgbench never writes: each is published or left out."""

from __future__ import annotations

import re

import pytest

from kgbench.errors import PublicationRefused
from kgbench.publish import front, pages, quad_redaction
from kgbench.publish.documents import Documents
from kgbench.publish.folder import STATE
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import open_store
from kgbench.vocab import BASE as STORE
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, RDFS, SKOS, XSD
from tests.publish.conftest import BASE, addresses, hasten, publish
from tests.publish.reading import everything
from tests.serve import stores

GOLD = "PLANTED-GOLD spell it a-n-n-e"
DIALOGUE = "run/1/oracle/Spell-10/0-d1d1d1d1"
ODD = f"""
BASE <{STORE}> PREFIX xsd: <{XSD}> PREFIX kgb: <{KGB}> PREFIX dcterms: <{DCTERMS}>
PREFIX rdfs: <{RDFS}> PREFIX rdf: <{RDF}> PREFIX skos: <{SKOS}> PREFIX prov: <{PROV}>
DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{
  VALUES (?s ?p) {{
    (<model/oracle> rdfs:label) (<model/oracle> skos:notation)
    (<{DIALOGUE}> kgb:case) (<pass/1/oracle/Spell-10/0-d1d1d1d1/0> kgb:case)
    (<pass/1/oracle/Spell-10/0-d1d1d1d1/0> kgb:infos)
    (<case/kgbench-1/Spell/case/a1> kgb:caseData)
  }}
  GRAPH ?g {{ ?s ?p ?o }}
}} ;
INSERT DATA {{
  GRAPH <graph/catalogue> {{
    <case/kgbench-1/Spell/case/a1> kgb:caseData '["{GOLD}"]'^^rdf:JSON .
    <model/oracle> rdfs:seeAlso <http://gpu-7:8000/planted> , <pass/1/stray> ,
      <<( <urn:a> <urn:b> "PLANTED-QUOTED" )>> .
    <lease> a kgb:WriterLease ; rdfs:label "PLANTED-LEASE" .
    <https://elsewhere.example/thing> rdfs:label "PLANTED-THING" .
    <graph/run/9> a kgb:ResultGraph ; kgb:describes <run/9> .
    <suite/unjudged> a kgb:Suite ; kgb:protected false .
    <task/Plain> a kgb:Task ; skos:notation "Plain" ; kgb:taskClass <task-class/Plain> .
    <task-class/Plain> a kgb:TaskClass ; skos:notation "Plain" .
  }}
  GRAPH <graph/run/9> {{
    <run/9> a kgb:Run ; rdfs:label "unjudged" ; kgb:suite <suite/unjudged> ;
      prov:startedAtTime "2026-11-20T12:00:00Z"^^xsd:dateTime .
  }}
  GRAPH <graph/run/1> {{
    <run/1/oracle/Spell-10/note> rdfs:label "a note" ; dcterms:isPartOf <run/1/oracle/Spell-10> .
    <run/1/batch/b1> a kgb:Session .
    <run/1/oracle/Plain> a kgb:TaskExecution ; dcterms:isPartOf <run/1> ;
      kgb:model <model/oracle> ; kgb:task <task/Plain> .
  }}
  GRAPH <graph/pass/1> {{
    <pass/1/stray> a kgb:Evaluation .
    <pass/1/oracle/Spell-10/0-d1d1d1d1/0> kgb:infos '{{"sparql":"{GOLD}"}}'^^rdf:JSON .
  }}
  GRAPH <graph/analysis/1> {{ <analysis/1> kgb:readGraph <graph/run/2> }}
}}
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Return a store with all oddities."""
    place = stores.make(tmp_path_factory.mktemp("odd") / "store")
    with open_store(str(place)) as store:
        store.update(ODD)
    return place


def shown(odd):
    """Return the document and fragment of its dialogue, whose prompt is left out."""
    whole = addresses(odd, RedactionLevel.PROMPTS).published(STORE + DIALOGUE)
    return whole.removeprefix(BASE).split("#")


@pytest.fixture(scope="module")
def odd_site(odd, tmp_path_factory):
    """Publish the store, with a landing page for one model only; return the folder."""
    out = tmp_path_factory.mktemp("odd-site") / "bench"
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        patch.setattr(front, "_FEW_MODELS", 1)
        publish(odd, out, level=RedactionLevel.PROMPTS)
    return out


def _holding(folder, text):
    return sorted(str(path) for path, data in everything(folder) if text.encode() in data)


@pytest.mark.parametrize("text", ["PLANTED-LEASE", "PLANTED-QUOTED", "gpu-7", GOLD])
def test_what_nobody_may_see_is_nowhere(odd_site, text):
    """Leases, quoted triples, private addresses and reference answers are not published."""
    assert _holding(odd_site, text) == []


def test_things_of_others_have_no_page(odd, odd_site):
    """Foreign resources, and resources outside of dialogues, are only in the data."""
    place = Documents(STORE, BASE).place("https://elsewhere.example/thing").path
    assert not (odd_site / place).exists()
    assert _holding(odd_site, "PLANTED-THING")
    assert all(path.startswith("data/") for path in _holding(odd_site, "PLANTED-THING"))
    assert [p.name for p in (odd_site / "run/1/oracle/Spell-10").iterdir()] == ["index.html"]
    assert _holding(odd_site, "a note")


def test_dialogue_without_a_case_is_shown(odd, odd_site):
    """A dialogue without a case is on the page of its execution, without a link to a case."""
    document, place = shown(odd)
    text = (odd_site / document / "index.html").read_text(encoding="utf-8")
    assert f'<a href="#{place}">' in text
    whole = text.partition(f'<section class="dialogue" id="{place}">')[2]
    assert "a-n-n-e" in whole
    assert "/case/" not in whole
    assert '<th scope="col" class="number">f1</th>' in text


def test_executions_of_tasks_without_a_metric(odd_site):
    """An execution of a task without a main metric has a page without scores."""
    text = (odd_site / "run/1/oracle/Plain/index.html").read_text(encoding="utf-8")
    assert "none yet" in text
    assert '<th scope="col">Outcome</th></tr>' in text


def test_parts_of_no_dialogue_are_no_links(odd_site):
    """An evaluation without a dialogue has no page, so it is not linked."""
    text = (odd_site / "model/oracle/index.html").read_text(encoding="utf-8")
    assert "pass/1/stray" in text
    assert not re.search(r'href="[^"]*pass/1/stray', text)


def test_models_without_a_name_are_called_by_their_iri(odd_site):
    """A model without a label is shown by its published IRI."""
    text = (odd_site / "leaderboard/index.html").read_text(encoding="utf-8")
    assert re.search(r">\s*model/oracle\s*<", text)
    assert f"{STORE}model/oracle" not in text
    drawn = (odd_site / "leaderboard" / "kgbench-1" / "index.html").read_text(encoding="utf-8")
    assert f"{STORE}model/oracle" not in drawn


def test_long_leaderboards_are_cut_on_the_landing_page(odd_site):
    """The landing page has the first models and states their total number."""
    text = (odd_site / "index.html").read_text(encoding="utf-8")
    assert "of 2 models" in text
    assert text.count('<td class="number score"') == 1


def test_suites_without_scores_have_no_leaderboard(odd_site):
    """A run without scores is published, but its suite has no leaderboard."""
    assert (odd_site / "run/9/index.html").is_file()
    assert not (odd_site / "leaderboard/unjudged").exists()
    assert (odd_site / "leaderboard/kgbench-1").is_dir()


@pytest.mark.usefixtures("quick")
def test_however_little_is_remembered(odd, odd_site, tmp_path, monkeypatch):
    """With caches of one IRI and one label, every file is the same."""
    monkeypatch.setattr(quad_redaction, "_MOST_KEPT", 1)
    monkeypatch.setattr(pages, "_MOST_LINKS", 1)
    monkeypatch.setattr(front, "_FEW_MODELS", 1)
    out = tmp_path / "site"
    publish(odd, out, level=RedactionLevel.PROMPTS)

    def files(folder):
        found = (path for path in folder.rglob("*") if path.is_file())
        return {p.relative_to(folder): p.read_bytes() for p in found if STATE not in p.parts}

    assert files(out) == files(odd_site)


@pytest.mark.usefixtures("quick")
def test_analyses_of_other_runs_stay_behind(odd, odd_site, tmp_path):
    """If only one run is published, an analysis that read other runs is left out."""
    assert list((odd_site / "data").glob("other.*"))
    out = tmp_path / "site"
    publish(odd, out, runs=("unjudged",))
    assert not list((out / "data").glob("other.*"))
    text = (out / "leaderboard/index.html").read_text(encoding="utf-8")
    assert "no scores yet" in text


def test_stores_without_runs_are_refused(tmp_path):
    """A store without runs is refused before any page is written."""
    with open_store(str(tmp_path / "store")):
        pass
    with pytest.raises(PublicationRefused, match="holds no run to publish"):
        publish(tmp_path / "store", tmp_path / "site")
    assert not (tmp_path / "site" / "index.html").exists()
