# SPDX-License-Identifier: Apache-2.0
"""Comparisons, leaders, formats, compasses, sizes and feedback, by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from scipy import stats

from kgbench.analysis.compare import ALL_TASKS, compare, flips
from kgbench.analysis.compass import Axis, Compass, compass_table, find_compass
from kgbench.analysis.feedback import feedback
from kgbench.analysis.format_preference import (
    FormatComparison,
    Pair,
    format_preference_details,
    format_preference_table,
)
from kgbench.analysis.leaderboard import standings_table
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.analysis.outcomes import outcomes
from kgbench.analysis.passes import compare_passes
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import explain
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.scores.declared import ScoreGroup, ScoreSet, score_set
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from kgbench.tables import Column, Kind, Table
from kgbench.tables.rendering import as_latex
from tests.support.analysis_store import altered, iri, parts, small

FORMATS = FormatComparison(
    "pick",
    "Pick",
    ("TTL", "JSON"),
    (Pair("Pick", Selector("Pick-turtle"), Selector("Pick-jsonld")),),
)


def compared(first, second, **options):
    """Return the comparison of two resources in the small store, by task."""
    a, b = sides(small(), first, second)
    found = matches(small(), select(small()), a, b, **options)
    rows = compare(found, a, b, estimand="dialogues", samples=500).records()
    return {row["task"]: row for row in rows}


def test_models_are_paired_by_case_and_iteration():
    """Cases answered by both models are compared pair by pair; all others are left out."""
    rows = compared("model-a", "Model B")
    turtle = rows["Pick-turtle"]
    expected = stats.ttest_rel([1.0, 0.5, 1 / 3], [0.0, 0.0, 1.0])
    assert (turtle["pairing"], turtle["n_a"], turtle["n_b"]) == ("paired", 3, 3)
    assert turtle["p"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert turtle["difference"] == pytest.approx(11 / 18 - 1 / 3)
    assert (turtle["only_a"], turtle["only_b"]) == (2, 1)
    assert rows["Pick-jsonld"]["n_a"] == 2
    assert rows[ALL_TASKS]["n_a"] == 7


def test_sides_without_common_cases_are_compared_unpaired():
    """Without shared cases the test is Student's unpaired test, which the table names."""
    a, b = sides(small(), "model-a", "model-b")
    found = matches(small(), select(small()), a, b, tasks="Pick-turtle")
    values = found["Pick-turtle"]
    other = [row._replace(case=f"other {row.case}") for row in values.rows_b]
    apart = replace(values, rows_b=other)
    table = compare({"Pick-turtle": apart}, a, b, estimand="dialogues", samples=100)
    (row,) = table.records()
    expected = stats.ttest_ind([1.0, 0.5, 1 / 3], [0.0, 0.0, 1.0])
    assert (row["pairing"], row["only_a"]) == ("unpaired", None)
    assert row["p"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert any("share no case" in note for note in table.notes)


def test_passes_are_paired_by_dialogue():
    """Two passes over the same dialogues differ where a score was revised."""
    rows = compared("p1", "p2")
    assert rows["Pick-turtle"]["n_a"] == 2
    assert rows["Pick-turtle"]["difference"] == pytest.approx((1 / 3 - 0.75) / 2)
    report = compare_passes(small(), select(small()), iri("pass/p1"), iri("pass/p2")).report()
    assert report["dialogues_compared"] == 2
    (changed,) = report["dialogues_differing"]
    assert changed["dialogue"] == iri("run/r1/model-a/Pick-turtle/2-d2")
    (difference,) = changed["differences"]
    assert (difference["metric"], difference["after"]) == ("f1", 0.75)


def test_flips_name_both_dialogues():
    """Dialogues solved on one side only are listed with those of the other side."""
    a, b = sides(small(), "model-a", "model-b")
    found = matches(small(), select(small()), a, b, tasks="Pick-turtle")
    rows = flips(found, a, b).records()
    assert [(row["a"], row["b"]) for row in rows] == [(1.0, 0.0), (0.5, 0.0), (1 / 3, 1.0)]
    assert rows[0]["dialogue_b"] == iri("run/r1/model-b/Pick-turtle/0-d0")


def test_less_is_better_where_the_metric_says_so():
    """A metric's direction decides which side solved a case."""
    store = altered(
        "DELETE { GRAPH ?g { ?m kgb:higherIsBetter true } } INSERT { GRAPH ?g { ?m "
        "kgb:higherIsBetter false } } WHERE { GRAPH ?g { ?m kgb:higherIsBetter true } }"
    )
    for searched, expected in ((small(), (2, 1)), (store, (1, 2))):
        a, b = sides(searched, "model-a", "model-b")
        found = matches(searched, select(searched), a, b, tasks="Pick-turtle")
        (row,) = compare(found, a, b, solved=0.4).records()
        assert (row["only_a"], row["only_b"]) == expected


def test_leaders_are_those_not_told_apart():
    """Leaders are the best model and all that do not differ from it by the named test."""
    table = leaders(small(), select(small()), test="paired")
    first, second = table.records()
    assert (first["leads"], first["p_best"]) == (True, None)
    assert second["leads"]
    assert 0 < second["p_best"] <= 1
    assert table.context["test"] == "paired"
    assert "not corrected for all pairs" in table.notes[-1]
    assert (first["rank_low"], first["rank_high"], first["group"]) == (1, 2, "a")


def test_paired_test_pairs_what_both_have():
    """The published test is paired by score, case and iteration, unweighted over all values."""
    only = ScoreSet("p", "P", "", (Selector("Pick-turtle"),), test="paired")
    _, second = leaders(small(), select(small()), only).records()
    expected = stats.ttest_rel([1.0, 0.5, 1 / 3], [0.0, 0.0, 1.0])
    assert second["p_best"] == pytest.approx(expected.pvalue, abs=1e-9)
    with pytest.raises(QueryError, match="no test 'welch'; there are: clustered, paired"):
        leaders(small(), select(small()), only, test="welch")


def test_groups_weigh_scores_and_pool_deviations():
    """A score is the weighted mean of group means; the deviation is that of the mixture."""
    groups = (
        ScoreGroup("a", (Selector("Pick-turtle"),), Fraction(3)),
        ScoreGroup("b", (Selector("Mend-*", "combined", "0"), Selector("Pick-jsonld"))),
        ScoreGroup("none", (Selector("No-*"),), Fraction(5)),
    )
    table = standings_table(small(), select(small()), ScoreSet("g", "G", "", groups=groups))
    (row,) = (r for r in table.records() if r["model"] == "Model A")
    first = task_scores(small(), select(small(), models="model-a"), round="first").records()
    tasks = {r["task"]: r for r in first}
    order = ("Pick-turtle", "Mend-turtle", "Pick-jsonld")
    means = [tasks[t]["mean"] for t in order]
    weights = [3 / 4, 1 / 8, 1 / 8]
    centre = sum(w * m for w, m in zip(weights, means, strict=True))
    assert row["score"] == pytest.approx(centre)
    assert table.notes[-1] == "The scores leave out none, for which no model has results."
    n = [tasks[t]["n"] for t in order]
    spreads = [tasks[t]["sd"] ** 2 * (1 - 1 / k) for t, k in zip(order, n, strict=True)]
    second = sum(w * (s + m * m) for w, s, m in zip(weights, spreads, means, strict=True))
    assert row["sd"] == pytest.approx((second - centre**2) ** 0.5)


def test_weights_are_those_of_scores_with_results():
    """A task of a group that has no results here leaves the weight of its group as it is."""
    groups = (ScoreGroup("pick", (Selector("Pick-*"),)), ScoreGroup("mend", (Selector("Mend-*"),)))
    chosen = select(small(), tasks="*-turtle")
    table = leaders(small(), chosen, ScoreSet("g", "G", "", groups=groups))
    means = {(r["model"], r["task"]): r["mean"] for r in task_scores(small(), chosen).records()}
    for row in table.records():
        pick, mend = (means[row["model"], task] for task in ("Pick-turtle", "Mend-turtle"))
        assert row["score"] == pytest.approx((pick + mend) / 2)


def test_models_without_a_score_of_the_set_are_not_ranked():
    """A model that lacks one of two metrics of a task has no rank, though it has the task."""
    of_a = "?e <metric/Pick/1.0/brevity> ?v"
    model = "?e kgb:model <model/model-a>"
    store = altered(
        f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} . {model} }} }}"
    )
    both = (Selector("Pick-turtle", "f1"), Selector("Pick-turtle", "brevity"))
    table = standings_table(store, select(store), ScoreSet("p", "P", "", both))
    assert list(zip(table.column("model"), table.column("rank"), strict=True)) == [
        ("Model B", 1),
        ("Model A", None),
    ]


def test_models_with_less_coverage_are_not_ranked():
    """A model that lacks a task stands below the ranked ones, whatever its mean."""
    of_a = "?e kgb:model <model/model-a> ; kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; ?p ?o"
    store = altered(f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} }} }}")
    table = leaders(store, select(store), test="paired")
    rows = [(r["model"], r["rank"], r["tasks"], r["leads"]) for r in table.records()]
    assert rows == [("Model B", 1, 3, None), ("Model A", None, 2, None)]
    assert [row["clusters"] for row in table.records()] == [7, 6]
    assert table.notes[0].startswith("Models without all 3 scores are not ranked")


def test_significance_level_decides_who_leads():
    """A model differs from the best if the significance level is above its p."""
    table = leaders(small(), select(small()), test="paired", alpha=1.0)
    assert table.column("leads") == [True, False]


def test_format_preference_by_hand():
    """Marks follow the test; totals pool rows and columns; constants have no preference."""
    rows = {
        r["model"]: r for r in format_preference_table(small(), select(small()), FORMATS).records()
    }
    assert rows["Model A"]["Pick"] == "-"
    details = format_preference_details(small(), select(small()), FORMATS).records()
    error = ((2 * (1 / 3) + 1 * 0.0) / 3 * (1 / 3 + 1 / 2)) ** 0.5  # pooled variance of both sides
    expected = 2 * stats.t.sf((2 / 3) / error, 3)
    (model_b,) = (r for r in details if (r["model"], r["tasks"]) == ("Model B", "Pick"))
    assert model_b["p"] == pytest.approx(expected, abs=1e-9)
    assert (model_b["n_first"], model_b["n_second"]) == (3, 2)
    pooled = [r for r in details if r["model"] == "All models"]
    assert {r["p_holm"] for r in pooled} == {None}
    marked = format_preference_table(small(), select(small()), FORMATS, alpha=0.999, strong=0.999)
    for table in (marked, format_preference_details(small(), select(small()), FORMATS)):
        assert (table.context["method"], table.context["estimand"]) == ("formats", "dialogues")
        assert "independent t-tests of the LLM-KG-Bench 3 format preference" in table.notes[0]
    assert {r["model"]: r["Pick"] for r in marked.records()}["Model B"] == "**JSON**"


def test_format_totals_compare_the_same_tasks():
    """Totals leave out a model's task with values in one format, and a note says so."""
    store = altered(
        "DELETE { GRAPH ?g { ?e ?p ?o } } WHERE { GRAPH ?g { ?e a kgb:Evaluation ; "
        "kgb:model <model/model-a> ; kgb:task <task/Mend/2.0/Mend-turtle/cc33> ; ?p ?o } }"
    )
    pairs = (*FORMATS.pairs, Pair("Mend", Selector("Pick-turtle"), Selector("Mend-turtle")))
    declared = replace(FORMATS, pairs=pairs)
    table = format_preference_details(store, select(store), declared)
    n = {(r["model"], r["tasks"]): (r["n_first"], r["n_second"]) for r in table.records()}
    assert n["Model A", "Mend"] == (n["Model A", "Pick"][0], 0)
    assert n["Model A", ALL_TASKS] == n["Model A", "Pick"]
    assert n["All models", "Mend"] == n["Model B", "Mend"]
    for noted in (table, format_preference_table(store, select(store), declared)):
        assert noted.notes[-1].startswith("Totals leave out 1 of 4 combinations")
    assert (
        "combinations" not in format_preference_table(small(), select(small()), FORMATS).notes[-1]
    )


def test_compass_by_hand():
    """A radius is the mean of task means; the band is cut to 0..1; missing axes have no radius."""
    axes = (
        Axis("Pick", "Picking", (Selector("Pick-*"),)),
        Axis("First", "First answers", (Selector("Mend-*", "combined", "0"),)),
        Axis("None", "Nothing", (Selector("No-*"),)),
    )
    table = compass_table(small(), select(small()), Compass("c", "C", axes, 1.0, population=True))
    rows = {(r["model"], r["axis"]): r for r in table.records()}
    assert rows["Model A", "Pick"]["mean"] == pytest.approx((11 / 18 + 5 / 12) / 2)
    assert rows["Model A", "First"]["mean"] == pytest.approx(0.4)
    assert (rows["Model A", "None"]["mean"], rows["Model A", "None"]["band_from"]) == (None, None)
    assert rows["Model B", "Pick"]["band_to"] == 1.0
    below = altered(
        "DELETE { GRAPH ?g { ?e ?f1 ?v } } INSERT { GRAPH ?g { ?e ?f1 ?w } } WHERE { "
        "GRAPH ?g { ?e ?f1 ?v } FILTER(?f1 = <metric/Pick/1.0/f1>) BIND(?v - 3 AS ?w) }"
    )
    table = compass_table(below, select(below), Compass("c", "C", axes, 0.1, population=True))
    assert all((row["band_from"] or 0) <= (row["band_to"] or 0) for row in table.records())


@pytest.mark.parametrize("name", ["eswc", "eswc-published", "swj", "swj-published"])
def test_shipped_compasses_have_five_axes(name):
    """The papers' compasses are declared, in their order and with sources for every axis."""
    found = find_compass(name)
    assert len(found.axes) == 5
    assert all(axis.selectors for axis in found.axes)


def test_shipped_score_sets_and_unknown_names():
    """Shipped declarations load; an unknown name is refused with the known ones."""
    assert score_set("swj").selectors
    with pytest.raises(QueryError, match="no ScoreSet 'best'; there are: main, swj, swj-published"):
        score_set("best")
    with pytest.raises(QueryError, match="no Compass 'x'"):
        find_compass("x")


def test_scores_of_rounds_are_not_pooled():
    """A score of single answers needs a round: rounds are never pooled."""
    mixed = ScoreSet("m", "M", "", (Selector("Mend-*", "combined"),))
    with pytest.raises(QueryError, match="'combined' of Mend-turtle is a score of each round"):
        leaders(small(), select(small()), mixed)


def test_feedback_gains_by_hand():
    """Gains are paired differences of best and first answers, by kind of the first feedback."""
    rows = {(r["model"], r["feedback"]): r for r in feedback(small(), select(small())).records()}
    whole = rows["Model A", "all dialogues"]
    assert (whole["n"], whole["first"], whole["best"]) == (
        3,
        pytest.approx(0.4),
        pytest.approx(2 / 3),
    )
    assert whole["improved"] == pytest.approx(1 / 3)
    assert rows["Model A", "content"]["gain"] == pytest.approx(0.8)
    assert rows["Model A", "syntax"]["gain"] == 0.0
    assert rows["Model B", "any feedback"]["n"] == 1
    assert rows["Model B", "all dialogues"]["n"] == 2


def test_outcomes_by_hand():
    """Each outcome has its rate among the answers; open dialogues are counted."""
    rows = {(r["task"], r["model"]): r for r in outcomes(small(), select(small())).records()}
    for row in rows.values():
        shares = [row[one.value] for one in Outcome]
        assert sum(share for share in shares if share is not None) == pytest.approx(1.0)
    assert rows["Pick-jsonld", "Model B"]["open"] == 1
    assert rows["Mend-turtle", "Model B"]["timeout"] > 0
    with pytest.raises(QueryError, match="no task label matches 'None-\\*'"):
        outcomes(small(), select(small(), tasks="None-*"))


def test_marks_are_bold_in_latex():
    """A bold mark is bold in LaTeX, without asterisks."""
    table = Table("T", (Column("m", "M", Kind.MARK),), (("**TTL**",), ("-",), (None,)))
    assert r"\textbf{TTL} \\" in as_latex(table)
    assert "*" not in as_latex(table)


def test_a_cell_is_traced_to_its_dialogues():
    """An explanation lists the values of a cell's mean, each with its dialogue."""
    store, chosen = small(), select(small())
    found = explain(store, chosen, parts("tasks", store, chosen), "model-a::Pick-turtle")
    text, table = found.query(whole=True), found.values
    assert iri("model/model-a") in text
    asked = [float(row["value"].value) for row in store.query(text)]
    assert sorted(asked) == sorted(table.column("value"))
    values = table.column("value")
    narrowed = replace(chosen, tasks="Pick-turtle", models="model-a")
    (cell,) = task_scores(store, narrowed).records()
    assert sum(values) / len(values) == pytest.approx(cell["mean"])
    assert table.column("dialogue")[0] == "run/r1/model-a/Pick-turtle/0-d0"
    assert found.parts.column("mean") == [pytest.approx(sum(values) / len(values))]
    whole = explain(store, chosen, parts("leaderboard", store, chosen), "Model A")
    assert len(whole.values.rows) == sum(whole.parts.column("n")) == 9
    lowest = sorted(whole.values.column("value"))[:5]
    assert [one.value for one in whole.worst] == lowest
    of_first = parts("leaderboard", store, chosen, round="first")
    rounds = explain(store, chosen, of_first, "Model A::Mend-*").values
    assert rounds.column("round") == [0, 0, 0]


def test_rounds_can_be_traced():
    """A gain is explained by the answers of every round."""
    store, chosen = small(), select(small())
    answers = explain(store, chosen, parts("dialogue", store, chosen), "model-a").values
    of_all = [row for row in feedback(store, chosen).records() if row["model"] == "Model A"]
    n = sum(row["n"] for row in of_all if row["feedback"] == "all dialogues")
    assert answers.column("round").count(0) == n > 0
    assert set(answers.column("part")) == {row["task"] for row in of_all}


def test_parts_of_declarations_can_be_traced(monkeypatch):
    """Axes and pairs are parts of cells, too; unknown models and parts are refused."""
    store, chosen = small(), select(small())
    axes = (Axis("Pick", "Picking", (Selector("Pick-*"),)),)
    declared = Compass("c", "C", axes, 1.0, population=True)
    monkeypatch.setattr("kgbench.analysis.compass.compass_of", lambda *_: declared)
    monkeypatch.setattr("kgbench.analysis.format_preference.find_comparison", lambda *_: FORMATS)
    of_axes, of_pairs = (parts(each, store, chosen) for each in ("compass", "format-preference"))
    assert len(explain(store, chosen, of_axes, "model-a::Pick").values.rows) == 6
    assert len(explain(store, chosen, of_pairs, "model-b::Pick").values.rows) == 5
    with pytest.raises(QueryError, match="no part matches 'X'; there are: Pick"):
        explain(store, chosen, of_axes, "model-a::X")
    with pytest.raises(QueryError, match=r"the store has no model 'zzz'.*Model A"):
        explain(store, chosen, of_axes, "zzz")
