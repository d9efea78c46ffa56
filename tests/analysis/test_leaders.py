# SPDX-License-Identifier: Apache-2.0
"""Leaderboards of models that share some cases, few or none: leaders, ranks, common tasks."""

from __future__ import annotations

import pytest
from scipy import stats

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import rendering
from kgbench.pages.score_tables import board
from kgbench.scores.declared import ScoreSet
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector, of_common_tasks
from tests.support.analysis_store import altered, owned
from tests.support.commands import printed

ONLY = ScoreSet("pick", "Pick", "F1", (Selector("Pick-turtle", "f1"),))


def scored(values):
    """Return a store with only these scores on one task: by model, a list for each case."""
    return altered(
        "DELETE { GRAPH ?g { ?e ?p ?o } } WHERE { GRAPH ?g { ?e a kgb:Evaluation ; ?p ?o } }",
        "INSERT DATA { GRAPH <graph/pass/p1> {"
        + " ".join(
            f"<e/{model}/{case}/{k}> a kgb:Evaluation ; kgb:model <model/{model}> ; kgb:round 0 ; "
            f"kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; kgb:dialogue <d/{model}/{case}/{k}> ; "
            f"kgb:suite <suite/small> ; kgb:case <case/new{case}> ; kgb:iteration {case * 9 + k} ; "
            f"kgb:outcome <outcome/scored> ; <metric/Pick/1.0/f1> {value}e0 ."
            for model, cases in values.items()
            for case, of_case in enumerate(cases)
            for k, value in enumerate(of_case)
        )
        + "} }",
    )


def ranked(values, **options):
    """Return the table of leaders of these scores, and its rows by the ends of models' IRIs."""
    store = scored(values)
    table = leaders(store, select(store), ONLY, **options)
    return table, {str(row["model"]).rpartition("/")[2]: row for row in table.records()}


MIDDLING = [[0.6, 0.4], [0.5, 0.7]] * 10
ONE_CASE = {"sure": [[1.0]], "middling": MIDDLING, "silent": [[0.0]] * 20}


def test_a_model_without_a_test_neither_leads_nor_stands_in_the_way():
    """A model with one answer has no p and no rank range; the others are tested all the same."""
    table, rows = ranked(ONE_CASE)
    tested = ("p_best", "leads", "rank_low", "rank_high", "group", "ci_low")
    assert [rows["sure"][name] for name in tested] == [None] * len(tested)
    assert (rows["middling"]["leads"], rows["silent"]["leads"]) == (True, False)
    assert rows["silent"]["p_best"] < 0.001
    assert (rows["silent"]["rank_low"], rows["silent"]["rank_high"]) == (2, 3)
    figures = rendering.environment().get_template("figures.html").module
    page = str(figures.board(board(table, {}), lambda _: None, lambda *_: None))
    assert page.count(">leads<") == 1
    assert "1 to 2 (a)" in page


@pytest.mark.parametrize("test", ["clustered", "paired"])
def test_a_model_leads_exactly_if_it_can_rank_first(test):
    """No model leads and can only rank second or lower, by any test."""
    table, _ = ranked(ONE_CASE, test=test)
    for row in table.records():
        assert not row["leads"] or row["rank_low"] == 1
        assert row["p_best"] is None or row["p_best"] >= 0.05 or row["leads"] is False
        assert row["ci_low"] is None or row["ci_low"] <= row["score"] <= row["ci_high"]


@pytest.mark.parametrize("names", [("x", "y", "z"), ("z", "y", "x"), ("y", "z", "x")])
def test_names_do_not_decide_which_of_equal_models_is_the_best(names):
    """Of two equally good models the one that shares more cases is the yardstick."""
    few, many, third = names
    worse = [[0.9 if k % 3 else 1.0] for k in range(12)]
    _, rows = ranked({few: [[1.0]] * 7, many: [[1.0]] * 12, third: worse})
    assert rows[few]["p_best"] is rows[many]["p_best"] is None
    differences = [1.0 - value for (value,) in worse]
    assert rows[third]["p_best"] == pytest.approx(3 * stats.ttest_1samp(differences, 0).pvalue)


def test_pairs_of_the_leaderboard_are_cases():
    """Running numbers of answers do not matter: equal cases make equal models."""
    once = [[float(k % 2)] for k in range(12)]
    often = [[float(k % 2)] * (1 + 2 * (k % 2)) for k in range(12)]
    _, rows = ranked({"once": once, "often": often})
    assert rows["once"]["leads"] is rows["often"]["leads"] is True
    assert (rows["once"]["score"], rows["often"]["score"]) == (0.5, 0.75)
    assert (rows["once"]["p_best"], rows["often"]["p_best"]) == (1.0, None)


def test_common_tasks_rank_models_of_different_coverage():
    """With common tasks all models are ranked on their shared tasks, which the note names."""
    of_a = "?e kgb:model <model/model-a> ; kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; ?p ?o"
    store = altered(f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} }} }}")
    chosen = select(store)
    table = leaders(store, chosen, common=True)
    assert sorted(table.column("rank")) == [1, 2]
    assert table.column("tasks") == [2, 2]
    assert table.notes[0] == (
        "Compared on the 2 tasks that all 2 models were scored on: Mend-turtle, Pick-jsonld."
    )
    narrowed = select(store, tasks="[MP]*-j*")
    alone = {r["model"]: r["score"] for r in leaders(store, narrowed).records()}
    mending = {
        r["model"]: r["score"] for r in leaders(store, select(store, tasks="Mend-*")).records()
    }
    for row in table.records():
        together = (alone[row["model"]] + mending[row["model"]]) / 2
        assert row["score"] == pytest.approx(together)


def test_models_without_a_common_task_are_refused():
    """If models share no task, the message says so and names the models that cover least."""
    of_a = "?e kgb:model <model/model-a> ; kgb:task ?t ; ?p ?o"
    keep = "?e kgb:model <model/model-a> . FILTER(?t != <task/Pick/1.0/Pick-turtle/aa11>)"
    of_b = "?e kgb:model <model/model-b> ; kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; ?p ?o"
    store = altered(
        f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} . {keep} }} }}",
        f"DELETE {{ GRAPH ?g {{ {of_b} }} }} WHERE {{ GRAPH ?g {{ {of_b} }} }}",
    )
    with pytest.raises(QueryError, match=r"no task was scored for all 2 models.*Model A \(1\)"):
        leaderboard(store, select(store), common=True)
    with pytest.raises(QueryError, match="no task was scored for all 2 models"):
        of_common_tasks(task_scores(store, select(store)))


@pytest.mark.parametrize("what", ["leaderboard", "tasks"])
def test_common_is_an_option_of_tables(what, tmp_path):
    """If all models have all tasks, ``--common`` changes no row, and names the tasks."""
    owned("analysis_scores", str(tmp_path / "s")).close()
    asked = ("analyze", what, "--store", tmp_path / "s")
    assert printed(*asked, "--common", "--format", "csv") == printed(*asked, "--format", "csv")
    assert "Compared on the 3 tasks that all 2 models were scored on" in printed(*asked, "--common")
