# SPDX-License-Identifier: Apache-2.0
"""Scores by relevance, differences from the expected answer, neighbours of dialogues."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.analysis import dialogues
from kgbench.analysis.dialogues import VerdictView
from kgbench.errors import StoreError
from kgbench.pages import neighbours
from kgbench.pages.conversation import Expected, differences
from kgbench.pages.verdicts import NONE, Measure, Measures, grouped
from kgbench.rdf.quads import ByIndex, IndexedQuads
from kgbench.record.dialogues import StoredDialogues
from kgbench.vocab import DCTERMS, KGB, OUTCOME, RDF


def measure(name, *, worst=0.0, best=1.0, aggregation=None, base=None):
    """Return a metric with a range."""
    return Measure(f"http://a/{name}", name, worst, best, aggregation, base)


KNOWN = Measures(
    {
        one.name: one
        for one in (
            *(measure("combined", best=1.0000000000000002), measure("f1"), measure("recall")),
            *(measure("errors", worst=None, best=0.0), measure("size", worst=None, best=None)),
            *(measure(f"{a}_combined", aggregation=a, base="combined") for a in ("max", "mean")),
            *(measure(f"{a}_f1", aggregation=a, base="f1") for a in ("max", "mean")),
        )
    },
    "max_combined",
    "combined",
)


def verdict(scores, round_=0):
    """Return a verdict with these scores."""
    return VerdictView("verdict", "http://a/e", round_, "scored", tuple(scores.items()), ())


def test_the_main_score_and_what_falls_short_stand_first():
    """An answer's main metric comes first, then metrics below their best value."""
    found = grouped(
        verdict({"combined": 0.5, "f1": 0.25, "recall": 1.0, "errors": 0.0, "size": 7.0}), KNOWN
    )

    assert ("combined", "0.5") == (found.main.name, found.main.text)
    assert ["f1", "size"] == [one.name for one in found.short]
    assert ["recall", "errors"] == [one.name for one in found.perfect]
    assert 'value="0.25"' in found.short[0].bar
    assert not found.short[1].bar


def test_rounding_at_the_end_of_the_range_is_no_fault():
    """A score of 1 is perfect even if rounding lifts the formula's maximum just above 1."""
    assert grouped(verdict({"combined": 1.0}), KNOWN).main.perfect


def test_aggregates_form_a_table():
    """The whole dialogue has a row per imperfect metric and a column per aggregation."""
    scores = {"max_combined": 1.0, "mean_combined": 0.5, "max_f1": 1.0, "mean_f1": 1.0}
    found = grouped(verdict(scores, None), KNOWN)

    assert "max_combined" == found.main.name
    assert ["max", "mean"] == found.columns
    assert ["combined"] == [row.name for row in found.short_rows]
    assert "<td>1</td><td>0.5</td>" == found.short_rows[0].cells
    assert [("max, mean", "f1 1")] == found.best
    assert found.perfects == 1


def test_unknown_metrics_are_shown_plainly():
    """Scores of unknown metrics have no best value, and none of them is the main one."""
    found = grouped(verdict({"f1": 1.0}), NONE)

    assert found.main is None
    assert ["f1"] == [one.name for one in found.short]


@pytest.mark.parametrize(
    ("infos", "shown"),
    [
        ('{"b": 1, "a": "x"}', (("a", "x"), ("b", "1"))),
        ("[1]", ()),
        ("{", ()),
        ("[" * 100_000, ()),
    ],
)
def test_verdicts_from_any_source(infos, shown):
    """Infos that are no JSON object are not shown."""
    (verdict,) = recorded(infos, "1")
    assert (verdict.round, verdict.infos) == (1, shown)
    assert verdict.title == "verdict on answer 1 (now)"


def test_a_verdict_that_is_damaged_is_named():
    """A round that is not a number, or an evaluation without infos, is an error in words."""
    with pytest.raises(StoreError, match="round 'first': the store is damaged"):
        recorded("{}", "first")
    with pytest.raises(StoreError, match="infos: the store is damaged"):
        recorded(None, "1")


def recorded(infos, number):
    """Return the verdicts as shown of a dialogue with one evaluation with these infos and round."""
    dialogue, evaluation = ox.NamedNode("urn:d"), ox.NamedNode("urn:e")
    said = [
        (dialogue, RDF.type, ox.NamedNode(KGB.Dialogue)),
        (evaluation, RDF.type, ox.NamedNode(KGB.Evaluation)),
        (evaluation, KGB.dialogue, dialogue),
        (evaluation, KGB.round, ox.Literal(number)),
        (evaluation, KGB.outcome, ox.NamedNode(OUTCOME["scored"])),
    ]
    if infos is not None:
        said.append((evaluation, KGB.infos, ox.Literal(infos)))
    quads = (ox.Quad(subject, ox.NamedNode(name), value) for subject, name, value in said)
    found = StoredDialogues(ByIndex(IndexedQuads(quads)), ["urn:d"])
    found.find_evaluations()
    return [dialogues.verdict(found, iri, {}, "now") for iri in found.evaluations["urn:d"]]


TEXT = Expected(("optimal", ":a :b :c .\n:d :e :f ."), None, "rdfString", ())
VALUES = Expected(None, ("refResultSet", ["a", "b"]), None, ("answerSet", "answerSetWhole"))


def test_texts_are_compared_line_by_line():
    """The judged text, or else the first fenced block, is compared with the reference."""
    answer = "Here:\n```turtle\n:a :b :c .\n:d :e :g .\n```"
    for infos in ([("rdfString", ":a :b :c .\n:d :e :g .")], []):
        (found,) = differences(TEXT, answer, infos)
        assert [
            ("same", 1, 1, ":a :b :c ."),
            ("removed", 2, None, ":d :e :f ."),
            ("added", None, 2, ":d :e :g ."),
        ] == list(found.lines)
    (same,) = differences(TEXT, answer, [("rdfString", ":a :b :c .\n:d :e :f .\n")])
    assert same.is_equal


def test_values_are_compared_as_sets():
    """Missing, surplus and right values are told apart; for a truncated list, none is missing."""
    (found,) = differences(VALUES, "a\nc", [("answerSet", json.dumps(["a", "c"]))])
    assert (["b"], ["c"], ["a"]) == (found.missing, found.surplus, found.right)
    cut = [("answerSet", json.dumps(["a", "..."]))]
    (found,) = differences(VALUES, "x", cut)
    assert (found.is_equal, found.missing) == (False, [])
    (found,) = differences(VALUES, "x", [*cut, ("answerSetWhole", json.dumps(["b", "a", "c"]))])
    assert (["c"], ["a", "b"]) == (found.surplus, found.right)


@pytest.mark.parametrize(
    "infos", [[], [("answerSet", "no JSON")], [("answerSet", '{"sha256": "0"}')]]
)
def test_values_that_were_not_recorded_are_not_compared(infos):
    """Values that are unknown or left out are not compared."""
    assert [] == differences(VALUES, "a", infos)


def test_hostile_texts_are_not_compared_for_long():
    """Texts that are too long, or have too many lines, are reported as such."""
    for text in ("a" * 1_000_000, "a\n" * 5_000):
        (found,) = differences(TEXT, text, [("rdfString", text)])
        assert "too long" in found.note


A = "http://a/run/1/"


def quads():
    """Yield a run of two models on two tasks; in each iteration, the models share a case."""
    node, literal = ox.NamedNode, ox.Literal
    for model in ("m", "n"):
        for task in ("S", "T"):
            execution = node(f"{A}{model}/{task}")
            yield execution, node(RDF.type), node(KGB.TaskExecution)
            yield execution, node(DCTERMS.isPartOf), node("http://a/run/1")
            for iteration in (2, 10):
                dialogue = node(f"{execution.value}/{iteration}-0")
                yield dialogue, node(RDF.type), node(KGB.Dialogue)
                yield dialogue, node(DCTERMS.isPartOf), execution
                yield dialogue, node(KGB.model), node(f"http://a/model/{model}")
                yield dialogue, node(KGB.case), node(f"http://a/case/{task}{iteration}")
                yield dialogue, node(KGB.iteration), literal(iteration)
                evaluation = node(f"http://a/pass/1/{model}/{task}/{iteration}")
                yield evaluation, node(KGB.case), node(f"http://a/case/{task}{iteration}")


@pytest.fixture(scope="module")
def database():
    """Return the run in one graph."""
    made = ox.Store()
    made.extend(ox.Quad(*triple, ox.NamedNode("http://a/graph")) for triple in quads())
    return made


def test_a_run_is_read_in_its_order(database):
    """The order of dialogues is by model, task and numeric iteration."""
    place, seen = f"{A}m/S/2-0", []
    while place is not None:
        seen.append(place.removeprefix(A))
        place = neighbours.beside(database, place).after
    assert [f"{m}/{t}/{i}-0" for m in "mn" for t in "ST" for i in (2, 10)] == seen
    assert f"{A}m/T/10-0" == neighbours.beside(database, f"{A}n/S/2-0").before
    assert neighbours.beside(database, f"{A}m/S/2-0").before is None


def test_the_same_case_by_other_models(database):
    """Other models' dialogues about the case are found, but not evaluations with the case."""
    ((model, found),) = neighbours.others(database, f"{A}m/T/2-0")

    assert "http://a/model/n" == model
    assert [f"{A}n/T/2-0"] == [one.iri for one in found]
