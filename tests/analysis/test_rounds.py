# SPDX-License-Identifier: Apache-2.0
"""The choice of counted answers, and the default compass."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kgbench import resources
from kgbench.analysis.compass import Axis, Compass, compass_of
from kgbench.analysis.feedback import feedback
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import explain
from kgbench.errors import QueryError
from kgbench.plots.box_plots import distributions
from kgbench.scores.declared import ScoreSet, score_set
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from kgbench.vocab import BASE
from tests.support.analysis_store import altered, iri, owned, parts, small
from tests.support.commands import printed, reported

# --- rounds of dialogues ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "round", "shown", "mean"),
    [
        (None, "first", "0_combined", 0.4),
        ("combined", "first", "0_combined", 0.4),
        ("combined", "0", "0_combined", 0.4),
        ("0_combined", None, "0_combined", 0.4),
        (None, "best", "max_combined", 2 / 3),
        (None, None, "max_combined", 2 / 3),
    ],
)
def test_answers_of_a_round_are_scored_alone(metric, round, shown, mean):
    """First answers, best answers and those of a round are chosen by word, number or short name."""
    chosen = select(small(), tasks="Mend-*", models="model-a")
    table = task_scores(small(), chosen, metric=metric, round=round)
    (row,) = table.records()
    assert (row["metric"], row["mean"]) == (shown, pytest.approx(mean))


def test_later_rounds_hold_only_dialogues_that_reached_them():
    """The second round has fewer values than the first; a single answer has no second round."""
    rows = task_scores(small(), select(small(), models="model-a"), round="1").records()
    assert {row["task"] for row in rows} == {"Mend-turtle"}
    assert {row["metric"] for row in rows} == {"1_combined"}
    assert rows[0]["n"] < 3


def test_first_answers_of_single_answers_are_the_answers():
    """With one answer, the first, the best and the last are the same."""
    given = [
        task_scores(small(), select(small(), tasks="Pick-*"), round=a)
        for a in ("first", "best", "last", "0", None)
    ]
    assert len({table.rows for table in given}) == 1


def test_rounds_that_contradict_a_metric_are_refused():
    """A round is refused for an aggregate, or for a metric that names its own round."""
    for metric in ("max_combined", "0_combined"):
        with pytest.raises(QueryError, match="already says which answers count"):
            task_scores(small(), select(small()), metric=metric, round="first")
    with pytest.raises(QueryError, match="'middle' is not a round: choose first, last, best"):
        task_scores(small(), select(small()), round="middle")
    with pytest.raises(QueryError, match="already says which answers count"):
        ScoreSet("r", "R", "", (Selector("Mend-*", "combined", "0"),)).at("best")


def test_rounds_that_no_answers_summarise_are_said():
    """A task class without a metric of last answers has no score for them."""
    with pytest.raises(QueryError, match="has a metric 'main' for last answers"):
        task_scores(small(), select(small(), tasks="Mend-*"), round="last")


def test_leaderboards_and_comparisons_by_first_answers():
    """Leaderboards, comparisons, box plots and explanations use the chosen round."""
    store, chosen = small(), select(small())
    table = leaders(store, chosen, score_set("main").at("first"))
    assert table.title.startswith("Leaderboard: All tasks, first answers")
    narrowed = replace(chosen, tasks="Mend-*", models="model-a")
    (row,) = task_scores(store, narrowed, round="first").records()
    firsts = matches(store, chosen, *sides(store, "model-a", "model-b"), round="first")
    assert {row.round for row in firsts["Mend-turtle"].rows_a} == {0}
    mending = select(store, tasks="Mend-*")
    boxes = distributions(store, mending, round="first")["Mend-turtle"].records()
    of_a = [(r["value"], r["count"]) for r in boxes if r["model"] == "Model A"]
    assert sum(v * n for v, n in of_a) / sum(n for _, n in of_a) == pytest.approx(row["mean"])
    of_tasks = parts("tasks", store, chosen, round="first")
    values = explain(store, chosen, of_tasks, "model-a::Mend-turtle").values
    assert set(values.column("round")) == {0}


def test_feedback_is_shown_for_chosen_tasks_and_models():
    """Globs choose tasks and models; a task without feedback is refused."""
    rows = feedback(small(), select(small(), tasks="Mend-*", models="model-b")).records()
    assert {row["model"] for row in rows} == {"Model B"}
    with pytest.raises(QueryError, match=r"no task that matches 'Pick-\*' has several rounds"):
        feedback(small(), select(small(), tasks="Pick-*"))


@pytest.mark.parametrize("estimand", ["cases", "dialogues"])
def test_a_best_answer_alone_shows_no_effect_of_feedback(estimand):
    """Answers that vary at random gain by the choice of the best; last and first do not differ."""
    model, task = "<model/model-c>", "<task/Mend/2.0/Mend-turtle/cc33>"
    values = [(0.5, 1.0, 0.4 if case % 2 else 0.6) for case in range(12)]
    store = altered(
        "INSERT DATA { GRAPH <graph/pass/p1> {"
        + " ".join(
            f"<e/{case}/{round_}> a kgb:Evaluation ; kgb:model {model} ; kgb:task {task} ; "
            f"kgb:dialogue <d/{case}> ; kgb:suite <suite/small> ; kgb:case <case/new{case}> ; "
            f"kgb:iteration 0 ; kgb:round {round_} ; kgb:outcome <outcome/scored> ; "
            f"<metric/Mend/2.0/combined> {value}e0 ."
            for case, scores in enumerate(values)
            for round_, value in enumerate(scores)
        )
        + "} }"
    )
    table = feedback(store, select(store), estimand=estimand)
    (row,) = (row for row in table.records() if row["model"].endswith("model-c"))
    assert (row["n"], row["first"], row["best"], row["gain"]) == (12, 0.5, 1.0, 0.5)
    assert row["last"] == pytest.approx(0.5)
    assert row["p"] == pytest.approx(1.0)


# --- the default compass ------------------------------------------------------------------------


def test_published_suites_are_shown_by_the_published_compass(tmp_path):
    """The suite of published results declares its compass; others have the general one."""
    assert compass_of(f"{BASE}suite/llm-kg-bench-3").name == "eswc-published"
    assert compass_of(f"{BASE}suite/llm-kg-bench-3", "eswc").name == "eswc"
    assert compass_of(f"{BASE}suite/kgbench-1").name == "eswc"
    own = tmp_path / "own.ttl"
    declared = resources.text("queries", "compass.ttl")
    text = declared.partition("# --- the same capabilities as in")[0]
    own.write_text(text.replace('skos:notation "eswc"', 'skos:notation "mine"'), encoding="utf-8")
    assert compass_of(f"{BASE}suite/llm-kg-bench-3", None, own).name == "mine"


# --- on the command line ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return the path of a store with the small suite."""
    location = str(tmp_path_factory.mktemp("rounds") / "store")
    owned("analysis_scores", location).close()
    return location


def rows(place, *words):
    """Return the rows of a command."""
    return reported(*words, "--store", place)["rows"]


def test_round_reaches_every_command(place, tmp_path):
    """Tables, comparisons and figures have the same option with the same short names."""
    tasks = rows(place, "analyze", "tasks", "--task", "Mend-*", "--round", "first")
    assert {row["metric"] for row in tasks} == {"0_combined"}
    assert tasks == rows(place, "analyze", "tasks", "--task", "Mend-*", "--metric", "0_combined")
    best = rows(place, "analyze", "leaderboard", "--round", "best")
    assert best == rows(place, "analyze", "leaderboard")
    assert best != rows(place, "analyze", "leaderboard", "--round", "first")
    sides = ("compare", "model-a", "model-b", "--task", "Mend-*")
    (first,) = rows(place, *sides, "--round", "first")
    (whole,) = rows(place, *sides)
    assert first["mean_a"] != whole["mean_a"]
    out = tmp_path / "figures"
    drawn = ("plot", "boxplot", "--task", "Mend-*", "--round", "0", "--out", str(out))
    printed(*drawn, "--store", place)
    (numbers,) = out.glob("*.json")
    (table,) = json.loads(numbers.read_text(encoding="utf-8"))["tables"]
    assert {row["metric"] for row in table["rows"]} == {"0_combined"}


def test_default_compass_is_that_of_the_suite(place, tmp_path, monkeypatch):
    """Tables and figures use the compass that the suite declares, unless another is named."""
    asked = []

    def noted(suite, name=None, file=None):
        asked.append((suite, name))
        return Compass(
            "pick", "Pick", (Axis("P", "P", (Selector("Pick-*"),)),), 1.0, population=True
        )

    monkeypatch.setattr("kgbench.analysis.compass.compass_of", noted)
    assert {row["axis"] for row in rows(place, "analyze", "compass")} == {"P"}
    drawn = ("plot", "compass", "--out", str(tmp_path), "--store", place)
    printed(*drawn)
    assert (tmp_path / "compass-pick.png").is_file()
    assert set(asked) == {(iri("suite/small"), None)}
