# SPDX-License-Identifier: Apache-2.0
"""Dialogues are in the document of their execution; declarations that no run needs are in none."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.analysis.dialogues import RoundView, VerdictView
from kgbench.pages import verdicts
from kgbench.publish import execution_pages, pages
from kgbench.publish.checks import check
from kgbench.publish.selection import unused_declarations
from kgbench.vocab import KGB, RDF
from tests.publish.conftest import publish
from tests.publish.reading import dump
from tests.support.commands import printed as command

BASE, CATALOGUE, OTHER = "https://example.org/", "https://example.org/catalogue", "urn:analysis"
STATED = """
:asked a kgb:TaskClass ; kgb:metric :f1 , :shared ; kgb:parameter :size .
:unasked a kgb:TaskClass ; kgb:labelledTask :label .
:unasked kgb:metric :hits , :shared , :listed , :plotted .
:label kgb:setting :setting .
:setting kgb:parameterName "level" .
:deeper kgb:aggregationOf :hits .
:hits kgb:sees :deeper .
:task kgb:taskClass :asked .
:set kgb:member :listed .
:listed kgb:sees :behind .
:f1 a kgb:Metric .
:shared a kgb:Metric .
:plotted a kgb:Metric .
:behind a kgb:Metric .
:size a kgb:Parameter .
"""


def places(site):
    """Yield the Turtle documents of executions with dialogues, and the folders of their pages."""
    for path in sorted(site.glob("run/*/*/*.ttl")):
        if dialogues(path):
            yield path, path.with_suffix("")


def dialogues(path):
    """Return the fragments of the dialogues that a Turtle document describes."""
    kind = ox.NamedNode("https://w3id.org/kgbench/ns#Dialogue")
    return [
        quad.subject.value.partition("#")[2]
        for quad in ox.parse(path=str(path))
        if quad.object == kind
    ]


def wrong(site):
    """Return the faults that the check finds."""
    return check(site).faults


def test_files_are_of_executions(site):
    """An execution has one page and one Turtle document for all its dialogues."""
    documents = dict(places(site))
    assert len(documents) == 6
    for turtle, folder in documents.items():
        assert [path.name for path in folder.iterdir()] == ["index.html"]
        assert len(dialogues(turtle)) == 2


def test_long_executions_have_several_pages(recorded, tmp_path, monkeypatch):
    """A long execution has a list of its dialogues and further pages; all links and IRIs work."""
    for module in (execution_pages, pages):
        monkeypatch.setattr(module, "PAGE", 1)
    site = tmp_path / "site"
    publish(recorded, site)
    for turtle, folder in places(site):
        assert sorted(path.name for path in folder.iterdir()) == ["index.html", "page-1", "page-2"]
        listed = (folder / "index.html").read_text(encoding="utf-8")
        for number, name in enumerate(dialogues(turtle), 1):
            assert f'<tr id="{name}">' in listed
            assert f'href="page-{number}/#{name}"' in listed
            page = (folder / f"page-{number}" / "index.html").read_text(encoding="utf-8")
            assert f'<section class="dialogue" id="{name}">' in page
            assert f'id="{name}-0-answer"' in page
    assert wrong(site) == []


def left_out(*others):
    """Return the omitted declarations of a catalogue with one used and one unused class."""
    store = ox.Store()
    head = f"@prefix : <{BASE}> . @prefix kgb: <{KGB}> ."
    store.load(head + STATED, ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(CATALOGUE))
    row = (ox.NamedNode("urn:row"), ox.NamedNode(f"{KGB}metric"), ox.NamedNode(f"{BASE}plotted"))
    store.add(ox.Quad(*row, ox.NamedNode(OTHER)))
    return {one.removeprefix(BASE) for one in unused_declarations(store, CATALOGUE, others)}


def test_what_only_an_unasked_class_has_is_left_out():
    """Metrics, tasks and settings of the unused class are omitted, unless others refer to them."""
    assert left_out() == {"unasked", "hits", "deeper", "label", "setting", "plotted"}


def test_what_an_analysis_names_stays():
    """Metrics in a published analysis stay."""
    assert left_out(OTHER) == {"unasked", "hits", "deeper", "label", "setting"}


def test_a_publication_has_the_classes_of_its_tasks(site):
    """A publication has exactly the task classes of its tasks."""
    store = dump(site, "all.nq")
    kind = ox.NamedNode(RDF.type)
    classes = {q.subject for q in store.quads_for_pattern(None, kind, ox.NamedNode(KGB.TaskClass))}
    asked = {q.object for q in store.quads_for_pattern(None, ox.NamedNode(KGB.taskClass), None)}
    assert classes == asked != set()


def test_lists_of_dialogues_have_the_verdict_that_counts():
    """Outcome and score in a list are those of the first pass, whatever later passes say."""
    first, later = (
        verdicts.grouped(VerdictView("", "", 0, outcome, scores, ()), verdicts.NONE)
        for outcome, scores in (("timeout", ()), ("scored", (("f1", 1.0),)))
    )
    turn = RoundView(0, "prompt", None, (), "answer", None, None)
    row = execution_pages._row(
        {
            **dict.fromkeys(("place", "iteration", "case")),
            "rounds": [{"turn": turn, "verdicts": [first, later]}],
            "whole": [],
            "result": first,
            "main": verdicts.Measure("", "f1", 0.0, 1.0, None, None),
        },
        "",
    )
    assert (row["outcome"], row["score"]) == ("timeout", None)


def test_variants_of_a_pass_resolve(tmp_path):
    """The variants that a pass judged on are described in the document of the pass."""
    store, site = tmp_path / "store", tmp_path / "site"
    chosen = ["-m", "baseline:oracle", "-t", "Text2SparqlWorld-natural-1", "--iterations", "1"]
    command("run", "--store", store, *chosen)
    command("reevaluate", "--store", store, "--variants", "2", "--seed", "1")
    publish(store, site)
    assert wrong(site) == []
