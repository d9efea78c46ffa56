# SPDX-License-Identifier: Apache-2.0
"""Contents of pages of runs, models, tasks, dialogues and any resource, from the store alone."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.pages import contents, rendering, runs, score_tables, things
from kgbench.pages.things import MemoryView
from kgbench.tables import Column, Kind, Ref, Table
from kgbench.vocab import BASE, DCTERMS, KGB, PROV, RDF, RDFS, SKOS
from tests.support.analysis_store import GraphStore

SPELL, MEND = f"{BASE}task/Spell/1.0/Spell-10/11aa22bb", f"{BASE}task/Mend/2.0/Mend-turtle/33cc44dd"
RUN, ORACLE, PARROT = (f"{BASE}{path}" for path in ("run/1", "model/oracle", "model/parrot-2"))
ONE_SHOT, LONG, FAILED = (
    f"{RUN}/{path}"
    for path in (
        "oracle/Spell-10/0-d1d1d1d1",
        "parrot-2/Mend-turtle/0-d2d2d2d2",
        "parrot-2/Mend-turtle/1-d3d3d3d3",
    )
)
OWN = f"{BASE}suite/kgbench-1"
PREFIXES = (
    f"BASE <{BASE}> PREFIX kgb: <{KGB}> PREFIX prov: <{PROV}> PREFIX rdf: <{RDF}> "
    f"PREFIX rdfs: <{RDFS}> PREFIX skos: <{SKOS}> PREFIX dcterms: <{DCTERMS}> "
)


def view(*updates):
    """Return the hand-written results as a view for pages, after SPARQL updates."""
    store = GraphStore("result")
    for update in updates:
        store.database.update(PREFIXES + update)
    return MemoryView(store.database, BASE)


def without(subject, predicate):
    """Return the update that removes a property of a resource."""
    said = f"{{ GRAPH ?g {{ <{subject}> {predicate} ?o }} }}"
    return f"DELETE {said} WHERE {said}"


def case_data(value):
    """Return the update that gives the case of the single-answer dialogue other data."""
    case = f"{BASE}case/kgbench-1/Spell/case/a1"
    literal = ox.Literal(value if isinstance(value, str) else json.dumps(value))
    return (
        f"{without(case, 'kgb:caseData')} ; INSERT DATA "
        f"{{ GRAPH <graph/catalogue> {{ <{case}> kgb:caseData {literal} }} }}"
    )


def shown(of, iri, *, reveal=False):
    """Return the contents of the page of a resource, beyond its statements."""
    _, build = contents.template(things.kinds(of, iri))
    return build(of, iri, reveal=reveal)


def test_runs():
    """A run shows the progress of each model on each task, its passes, and links to both."""
    found = shown(view(), RUN)
    assert {(model, task): cell for model, task, cell, _ in found["cells"]} == {
        (ORACLE, SPELL): {"complete": 1},
        (PARROT, MEND): {"complete": 2, "open": 1},
    }
    assert [leads for *_, leads in found["cells"]] == [
        f"{RUN}/oracle/Spell-10",
        f"{RUN}/parrot-2/Mend-turtle",
    ]
    assert {(iri, kind) for iri, kind, _ in found["passes"]} == {
        (f"{BASE}pass/1", "live"),
        (f"{BASE}pass/2", "reevaluation"),
    }
    assert found["graphs"] == [f"{BASE}graph/run/1"]


def test_runs_end_with_their_last_session():
    """A run without an end ended with its last session, unless that session is open."""
    ended = "2026-11-20T12:10:00Z"
    open_run = without(RUN, "prov:endedAtTime")
    last = view(open_run, without(f"{RUN}/session/0", "prov:endedAtTime"))
    assert shown(view(), RUN)["facts"]["ended"] == ended
    assert shown(view(open_run), RUN)["facts"]["ended"] == ended
    assert shown(last, RUN)["facts"]["ended"] is None


def test_models():
    """A model shows its scores by suite; a model without scores shows none."""
    found = shown(view(), ORACLE)["suites"]
    assert [one["suite"] for one in found] == [OWN]
    assert found[0]["table"].column("task") == ["Spell-10"]
    assert len(found[0]["boxes"]) == 1
    unknown = view(
        "INSERT DATA { GRAPH <graph/catalogue> { <model/new> a kgb:Model ; skos:notation 'new' } }"
    )
    assert shown(unknown, f"{BASE}model/new")["suites"] == []


def test_tasks():
    """A task shows its metrics, its cases of all suites, and the scores of each suite."""
    found = shown(view(), SPELL)
    assert {metric.name for metric, _ in found["metrics"]} == {"f1", "lengthDifference"}
    assert found["definition"] == "Spell a local name."
    assert found["parameters"] == '{"size":10}'
    assert found["cases"] == [
        f"{BASE}case/kgbench-1/Spell/case/a1",
        f"{BASE}case/llm-kg-bench-3/Spell/case/c3",
    ]
    models = {one["suite"]: one["table"].column("model") for one in found["suites"]}
    assert models[OWN] == ["Oracle"]
    assert [one["suite"] for one in shown(view(), MEND)["suites"]] == [OWN]


def test_what_has_no_scores():
    """A task without a main metric and a suite without a pass have no scores on their pages."""
    of = view(without(f"{BASE}task-class/Spell/1.0", "kgb:mainMetric"))
    found = shown(of, SPELL)
    assert (found["suites"], found["info"].main_metric) == ([], None)
    assert shown(of, ORACLE)["suites"] == []
    of = view(f"DROP GRAPH <{BASE}graph/pass/3>", without(f"{BASE}graph/pass/3", "?any"))
    assert [suite for suite, *_ in score_tables.selections(of)] == [OWN]


def test_dialogues():
    """A dialogue shows its answers with their verdicts, and those on the whole."""
    found = shown(view(), LONG)
    assert found["title"] == "Mend-turtle by Parrot"
    assert found["facts"]["run"] == RUN
    assert [one["turn"].round for one in found["rounds"]] == [0, 1]
    assert [[v.verdict.outcome for v in one["verdicts"]] for one in found["rounds"]] == [
        ["unparsable"],
        ["scored"],
    ]
    assert [dict(one.verdict.scores) for one in found["whole"]] == [{"mean_combined": 0.375}]
    assert (found["expected"], found["reasons"]) == ([], [])
    nodes = {node.iri for node in found["drawing"].nodes}
    judged = {f"{BASE}pass/1/parrot-2/Mend-turtle/0-d2d2d2d2/{number}" for number in (0, 1)}
    assert {f"{LONG}/0/call/1", f"{LONG}/1/answer", *judged} <= nodes


def test_dialogues_that_failed():
    """A call without an answer is drawn; an answer with an unusual IRI is shown and drawn."""
    nodes = {node.iri for node in shown(view(), FAILED)["drawing"].nodes}
    assert f"{FAILED}/0/call/0" in nodes
    assert f"{FAILED}/0/answer" not in nodes
    of = view(
        f"DROP GRAPH <{BASE}graph/pass/1>",
        f"DROP GRAPH <{BASE}graph/pass/2>",
        f"DELETE {{ GRAPH ?g {{ <{ONE_SHOT}/0/answer> ?p ?o }} }} "
        f"INSERT {{ GRAPH ?g {{ <{ONE_SHOT}/0/reply> ?p ?o }} }} "
        f"WHERE {{ GRAPH ?g {{ <{ONE_SHOT}/0/answer> ?p ?o }} }}",
    )
    found = shown(of, ONE_SHOT)
    assert [one["turn"].answer for one in found["rounds"]] == ["a-n-n-e"]
    nodes = {node.iri for node in found["drawing"].nodes}
    assert {f"{ONE_SHOT}/0/call/0", f"{ONE_SHOT}/0/reply"} <= nodes
    assert not [iri for iri in nodes if "/pass/" in iri]


def test_dialogues_that_do_not_count():
    """An invalidated dialogue shows the reason, or that none was recorded."""
    dialogue = f"{BASE}run/2/parrot-2-2026-01-01/Spell-10/0-e1e1e1e1"
    reasons = shown(view(), dialogue)["reasons"]
    assert reasons == [(f"{BASE}invalidation/1", "another model answered")]
    silent = view(without(f"{BASE}invalidation/1", "kgb:reason"))
    assert shown(silent, dialogue)["reasons"][0][1] == "no reason was recorded"


def test_expected_answers_are_shown_on_demand():
    """Reference answers and the difference from the first one are shown only on demand."""
    of = view(case_data({"word": "a-n-n-a", "words": ["b"], "solution": "not declared"}))
    assert shown(of, ONE_SHOT)["expected"] == []
    assert shown(of, ONE_SHOT)["rounds"][0]["differences"] == []
    found = shown(of, ONE_SHOT, reveal=True)
    assert found["expected"] == [
        ("Reference text: word", "a-n-n-a"),
        ("Reference values: words", "b"),
    ]
    ((difference,),) = (one["differences"] for one in found["rounds"])
    assert [(line.kind, line.text) for line in difference.lines] == [
        ("removed", "a-n-n-a"),
        ("added", "a-n-n-e"),
    ]


@pytest.mark.parametrize("data", ["{", "[" * 100_000, ["solution"]])
def test_cases_without_an_expected_answer(data):
    """Case data that are unreadable or have no reference answer show none."""
    assert shown(view(case_data(data)), ONE_SHOT, reveal=True)["expected"] == []


def test_long_texts_are_not_compared():
    """Long texts are not compared, but the reference answer is shown."""
    found = shown(view(case_data({"word": "x" * 20_001})), ONE_SHOT, reveal=True)
    assert [name for name, _ in found["expected"]] == ["Reference text: word"]
    ((difference,),) = (one["differences"] for one in found["rounds"])
    assert "too long" in difference.note
    assert not difference.lines


def test_any_thing():
    """A resource shows statements through blank nodes, and each referring resource once."""
    of = view(
        """INSERT DATA {
          GRAPH <graph/catalogue> { <thing> rdfs:seeAlso _:a ; rdfs:label "a thing" .
            _:a rdfs:seeAlso _:b ; rdfs:label "one" . _:b rdfs:label "two" ; rdfs:seeAlso _:a .
            <other> rdfs:seeAlso <thing> }
          GRAPH <graph/run/1> { <other> rdfs:seeAlso <thing> } }"""
    )
    found = contents.statements(of, f"{BASE}thing", reveal=False)
    nested = {str(v.value) for _, said in found["nested"] for v in said.get(RDFS.label, [])}
    assert nested == {"one", "two"}
    assert found["incoming"] == {RDFS.seeAlso: [f"{BASE}other"]}
    assert things.label(of, "no IRI") == "no IRI"
    assert [things.exists(of, iri) for iri in (f"{BASE}thing", "urn:x", "no IRI")] == [
        True,
        False,
        False,
    ]


def test_overview():
    """The front page lists runs, models, tasks and dialogues, with the newest run first."""
    found = runs.overview(view())
    assert [run["iri"] for run in found["runs"]] == [RUN, f"{BASE}run/2"]
    assert [run["began"] for run in found["runs"]] == [
        "20 Nov 2026, 12:00 UTC",
        "19 Dec 2024, 06:29",
    ]
    assert [name for _, name, _ in found["models"]] == ["Oracle", "Parrot", "Parrot 2026-01-01"]
    assert [one.iri for one in found["tasks"]] == [MEND, SPELL]
    assert found["dialogues"] == 4


def test_formats_of_what_is_said():
    """Quads keep their graphs if the format has graphs; an unknown format is refused."""
    quads = [
        ox.Quad(*map(ox.NamedNode, ("urn:s", "urn:p", "urn:o", g))) for g in ("urn:g", "urn:h")
    ]
    assert set(ox.parse(rendering.serialised(quads, "nq"), ox.RdfFormat.N_QUADS)) == set(quads)
    assert rendering.serialised(quads, "nt").count(b"\n") == 1
    with pytest.raises(ValueError, match="no RDF format has the suffix 'pdf'"):
        rendering.serialised(quads, "pdf")


def test_folders_without_a_snapshot_are_refused(tmp_path):
    """A folder without a snapshot is refused with a message."""
    with pytest.raises(StoreError, match="has no snapshot to read"):
        things.open_newest(tmp_path, BASE)


def test_things_without_labels_have_names():
    """Dialogues, verdicts and executions are named by task and model, passes by kind and time."""
    store = view()
    verdict = f"{BASE}pass/1/oracle/Spell-10/0-d1d1d1d1"
    found = [
        things.label(store, one)
        for one in (f"{RUN}/oracle/Spell-10", ONE_SHOT, f"{verdict}/0", f"{BASE}pass/1")
    ]
    assert found == [
        "Spell-10 by Oracle",
        "Spell-10 by Oracle #0",
        "verdict on Spell-10 by Oracle #0, answer 0",
        "live pass of 20 Nov 2026, 12:00 UTC",
    ]


def test_analyses():
    """The page of an analysis shows its table, with linked names, unless it is unreadable."""
    assert shown(view(), f"{BASE}analysis/1")["table"] is None
    table = Table(
        "Scores",
        (Column("model", "Model"), Column("mean", "Mean", Kind.SCORE)),
        ((Ref("Oracle", ORACLE), 0.5),),
        queries=("score-histograms",),
        context={"suite": OWN},
    )
    recorded = ox.Literal(json.dumps(table.as_json()), datatype=ox.NamedNode(RDF.JSON))
    analysis = f"{BASE}analysis/1"
    said = f"GRAPH <graph/analysis/1> {{ <{analysis}> kgb:tableJson {recorded} }}"
    found = shown(view(without(analysis, "kgb:tableJson"), f"INSERT DATA {{ {said} }}"), analysis)
    assert found["table"] == table
    assert score_tables.asked(found["table"]) == [("score-histograms", {"suite": OWN})]
    assert score_tables.resource(found["table"].rows[0][0]) == ORACLE
    assert found["pass_"] == "first"


def test_a_model_has_its_place_and_its_published_facts():
    """The page of a model says what leaderboards and the declared facts say about it."""
    _, build = contents.template({KGB.Model})
    page = build(view(), PARROT, reveal=False)
    facts = [dict(suite["facts"]) for suite in page["suites"]]

    assert facts
    assert all({"Rank", "Score", "Tasks", "Dialogues"} <= set(of_suite) for of_suite in facts)
    assert page["published"] == []
    known = dict(contents._published("openai:gpt-4o-mini-2024-07-18"))
    assert {"Family", "Context", "Released"} <= set(known)
