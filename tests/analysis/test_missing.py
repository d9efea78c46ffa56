# SPDX-License-Identifier: Apache-2.0
"""Analyses of incomplete stores report or omit missing data, and never invent it."""

from __future__ import annotations

import pytest

from kgbench.analysis.compare import compare
from kgbench.analysis.dialogues import view
from kgbench.analysis.difficulty import sizes
from kgbench.analysis.feedback import feedback
from kgbench.analysis.format_preference import FormatComparison, Pair, format_preference_table
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.rdf import digest, queries
from kgbench.scores.declared import ScoreSet
from kgbench.scores.inference import find_estimand
from kgbench.scores.reading import Score, histograms
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from tests.support.analysis_store import altered, graph, iri, results, small

NO_SCORES = """INSERT DATA { GRAPH <graph/catalogue> { <model/c> a kgb:Model ;
    <http://www.w3.org/2004/02/skos/core#notation> "model-c" ;
    <http://www.w3.org/2000/01/rdf-schema#label> "Model C" } }"""
STRAY = """INSERT DATA { GRAPH <graph/pass/p1> { <pass/p1/stray> a kgb:Evaluation ;
    <http://www.w3.org/ns/prov#wasGeneratedBy> <pass/p1> ; kgb:dialogue <run/r1/stray> ;
    kgb:model <model/model-a> ; kgb:task <task/unknown> ; kgb:suite <suite/small> ;
    kgb:case <case/c1> ; kgb:iteration 0 ; kgb:round 0 ; kgb:outcome <outcome/scored> ;
    <metric/Pick/1.0/f1> 0.125e0 ; <metric/Mend/2.0/combined> 0.125e0 ;
    <metric/Mend/2.0/max_combined> 0.125e0 } }"""
SIZED = """DELETE { GRAPH ?g { ?task ?notation ?label } }
    INSERT { GRAPH ?g { ?task ?notation ?new } }
    WHERE { GRAPH ?g { ?task a kgb:Task ; kgb:problemSize ?size ; ?notation ?label }
    FILTER (STRSTARTS(STR(?label), "Pick-")) BIND (CONCAT("Pick-", STR(?size)) AS ?new) }"""


def without(what, graph_="?g"):
    """Return an update that deletes the matches of a pattern."""
    return f"DELETE WHERE {{ GRAPH {graph_} {{ {what} }} }}"


def test_scores_of_tasks_that_the_catalogue_lacks_count_nowhere():
    """An evaluation of an unknown task changes no analysis of the known ones."""
    store, chosen = altered(STRAY), select(small())
    for analysis in (leaderboard, feedback, task_scores, leaders):
        assert analysis(store, chosen) == analysis(small(), chosen)


def test_tasks_without_a_main_metric_have_no_gain():
    """A class without a main metric has no part in gains."""
    store = altered(without("<task-class/Mend/2.0> kgb:mainMetric ?m"))
    with pytest.raises(QueryError, match="no tasks with several rounds"):
        feedback(store, select(store))


def test_sides_may_have_more_than_the_other():
    """Answers of B alone are left out of pairs and counted in a note."""
    a, b = sides(small(), "model-b", "model-a")
    found = matches(small(), select(small()), a, b)
    assert [row.value for row in found["Pick-jsonld"].match(find_estimand()).rest_b] == [0.5]
    assert any("without a partner" in note for note in compare(found, a, b, samples=10).notes)


def test_sides_without_a_common_task_are_refused():
    """Two models without a common task are not compared."""
    apart = "?e a kgb:Evaluation ; kgb:model <model/model-b> ; kgb:task ?t ; ?p ?o"
    store = altered(without(apart), NO_SCORES)
    a, b = sides(store, "model-a", "model-b")
    with pytest.raises(QueryError, match="'Model A' and 'Model B' have no task in common"):
        matches(store, select(store), a, b)


def test_runs_are_compared_by_their_own_passes():
    """A compared run has the values of its own evaluation pass."""
    a, b = sides(small(), "r1", iri("run/r1"))
    found = matches(small(), select(small()), a, b)
    rows = compare(found, a, b, samples=10).records()
    assert (a.kind, a.name) == ("run", "r1")
    assert {row["difference"] for row in rows} == {0.0}
    n = {row["task"]: row["n_a"] for row in rows}
    assert n == {"Pick-turtle": 6, "Pick-jsonld": 5, "Mend-turtle": 5, "All tasks": 16}


def test_the_unscored_come_last_and_lead_nothing():
    """A model without scores takes no part in tests, even if scores are below -1."""
    lowered = """DELETE { GRAPH ?g { ?e <metric/Pick/1.0/f1> ?v } }
        INSERT { GRAPH ?g { ?e <metric/Pick/1.0/f1> -3.0e0 } }
        WHERE { GRAPH ?g { ?e kgb:model <model/model-a> ; <metric/Pick/1.0/f1> ?v } }"""
    unscored = without("?e a kgb:Evaluation ; kgb:model <model/model-b> ; ?p ?o")
    store = altered(lowered, unscored)
    only = ScoreSet("p", "P", "", (Selector("Pick-*"),))
    first, last = leaders(store, select(store), only).records()
    assert (first["model"], first["score"], first["leads"]) == ("Model A", -3.0, None)
    assert (last["model"], last["score"], last["leads"], last["rank_low"]) == (
        *("Model B", None),
        *(None, None),
    )


def test_leaders_by_the_answers_of_one_round():
    """First answers are tested without scores of other rounds."""
    first = ScoreSet("r", "R", "", (Selector("Mend-*", "combined", 0),))
    (best, _) = leaders(small(), select(small()), first).records()
    assert best["score"] == pytest.approx(0.6)
    assert best["clusters"] == 2


def test_formats_without_values_have_no_mark():
    """If a model has values of one format only, its cell is empty."""
    declared = FormatComparison(
        *("pick", "Pick", ("TTL", "JSON")),
        (Pair("Pick", Selector("Pick-turtle"), Selector("Pick-jsonld")),),
    )
    chosen = select(small(), pass_=iri("pass/p2"))
    (row, _) = format_preference_table(small(), chosen, declared).records()
    assert (row["model"], row["Pick"]) == ("Model A", None)


def test_sizes_of_the_chosen_tasks():
    """A series has its sizes in order; one value has no interval; other tasks are left out."""
    few = "?e kgb:model <model/model-b> ; kgb:iteration %s ; kgb:task ?t ; ?p ?o"
    other = """INSERT { GRAPH ?g { <task/other> a kgb:Task ; ?n "Other" ; kgb:taskClass ?c }
        GRAPH <graph/pass/p1> { <pass/p1/other> a kgb:Evaluation ; kgb:task <task/other> ;
          <http://www.w3.org/ns/prov#wasGeneratedBy> <pass/p1> ; kgb:model <model/model-a> ;
          kgb:round 0 ; <metric/Pick/1.0/f1> 0.0e0 } }
        WHERE { GRAPH ?g { ?t a kgb:Task ; kgb:taskClass ?c ; ?n "Pick-10" } }"""
    store = altered(SIZED, other, without(few % 1), without(few % 2))
    rows = sizes(store, select(store, tasks="Pick-*"), estimand="dialogues").records()
    assert [(r["series"], r["model"], r["size"], r["n"]) for r in rows] == [
        *(("Pick", "Model A", size, 3) for size in (10, 20)),
        *(("Pick", "Model B", size, 1) for size in (10, 20)),
    ]
    assert rows[0]["ci_low"] < rows[0]["mean"] < rows[0]["ci_high"]
    assert (rows[2]["mean"], rows[2]["half_width"], rows[2]["sd"]) == (0.0, None, None)
    drawn = sizes(store, select(store, tasks="Pick-*"), interval="student")
    assert (drawn.context["method"], drawn.context["estimand"]) == ("student", "dialogues")
    assert "Student's t intervals of DL4KG 2023" in drawn.notes[0]
    few = sizes(store, select(store, tasks="Pick-*"))
    assert few.column("clusters") == [3, 3, 0, 0]
    assert few.column("ci_low") == [None] * 4
    assert few.notes[-1] == "No interval: fewer than 6 cases (2 rows), one case (2 rows)."


def test_many_metrics_are_asked_for_at_once():
    """A query for any number of metrics returns no values of other metrics."""
    task = iri("task/Pick/1.0/Pick-turtle/aa11")
    names = [iri("metric/Pick/1.0/f1"), *(f"urn:metric:{k}" for k in range(60))]
    wanted = [Score(task, name) for name in names]
    found = histograms(small(), select(small()), wanted)
    assert found == histograms(small(), select(small()), wanted[:1])
    assert {score for by_score in found.values() for score in by_score} == {wanted[0]}


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ("CLEAR ALL", "holds no results yet: `kgbench run` makes some"),
        (
            """DELETE { GRAPH ?g { ?p kgb:passKind "live" } }
            INSERT { GRAPH ?g { ?p kgb:passKind "reevaluation" } }
            WHERE { GRAPH ?g { ?p kgb:passKind "live" } }""",
            "no evaluation pass of suite 'small' counts as 'first'",
        ),
    ],
)
def test_stores_without_countable_scores_are_refused(update, message):
    """A store without results, or without an original pass, is refused."""
    with pytest.raises(QueryError, match=message):
        select(altered(update))


def test_the_latest_of_one_pass_is_that_pass():
    """A run with one pass has this pass as the latest, and no revisions."""
    chosen = select(graph("result"), iri("suite/llm-kg-bench-3"), "latest")
    assert (chosen.pass_graphs, chosen.latest) == ((iri("graph/pass/3"),), None)


def test_a_dialogue_is_shown_with_what_its_calls_said():
    """A dialogue is shown with tokens, the end of an answer, failures and removed texts."""
    store = graph("result")
    failed = view(store, iri("run/1/parrot-2/Mend-turtle/2-d4d4d4d4"))
    (call,) = failed.rounds[0].calls
    assert call.endswith("context-too-long; longer than the model can read")
    assert "tokens" not in call
    assert [verdict.scores for verdict in failed.verdicts] == [()]
    mended = view(store, iri("run/1/parrot-2/Mend-turtle/0-d2d2d2d2"))
    calls = [each for one in mended.rounds for each in one.calls]
    assert any("tokens in " in each and "finished: " in each for each in calls)
    sha256 = digest("Mend this:\n:a :b .")
    text = f"<run/1/text/{sha256}>"
    redacted = type(store)("result")
    redacted.database.update(
        f"BASE <{iri('')}> DELETE WHERE {{ GRAPH ?g {{ {text} "
        "<http://www.w3.org/ns/prov#value> ?v } }"
    )
    shown = view(redacted, iri("run/1/parrot-2/Mend-turtle/2-d4d4d4d4"))
    assert shown.rounds[0].prompt == "[the text was left out]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("format_preference", "no tasks that 'turtle-jsonld' compares"),
        ("compass", "no model has scores on any axis of the compass 'eswc'"),
        ("scaling", "no model record matches any of: Model A, Model B"),
    ],
)
def test_analyses_from_python_refuse_in_words(name, message):
    """An analysis without scores is refused in Python as on the command line."""
    with pytest.raises(QueryError, match=message):
        getattr(results(small()), name)()


def test_queries_from_python_take_the_scores_that_count():
    """Graphs are filled in if a query has the parameter; absent values stay absent."""
    latest = results(small(), pass_="latest")
    metric = iri("metric/Pick/1.0/f1")
    table = latest.query("score-rows", metric=metric, model=iri("model/model-a"))
    assert sorted(table.column("value")) == [0.25, 0.5, 0.5, 0.5, 0.75, 1.0]
    given = results(small()).query("score-rows", metric=metric, passGraph=iri("graph/pass/p2"))
    assert sorted(given.column("value")) == [0.5, 0.75]
    assert set(results(small()).query("list-models").column("id")) >= {"model-a"}
    metrics = results(small()).query("list-metrics")
    assert None in metrics.column("aggregation")
    assert queries.load("list-metrics").label == metrics.title
