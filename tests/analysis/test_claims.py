# SPDX-License-Identifier: Apache-2.0
"""Claims of comparisons and leaderboards about cases of a kind, the same cases, and tasks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kgbench.analysis import ranking
from kgbench.analysis.clusters import Clusters
from kgbench.analysis.compare import ALL_TASKS, compare
from kgbench.analysis.declarations import ScoreSet
from kgbench.analysis.estimands import find_estimand
from kgbench.analysis.intervals import Bounds
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import Match, matches
from kgbench.analysis.matching import Pair as MatchedPair
from kgbench.analysis.pairs import Verdict, pairs
from kgbench.analysis.ranking import Rivals, groups, rank_ranges, significantly_worse
from kgbench.analysis.score_selectors import Score, Selector
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import select
from kgbench.analysis.sides import sides
from kgbench.errors import QueryError
from kgbench.pages.board import board
from tests.support.analysis_store import small


def rows_of(cases, differences):
    """Return pairs of one task with these differences, by case."""
    row = ScoreRow("m", "t", "f1", None, "c", 0, 0.5, "d", "e")
    return tuple(
        MatchedPair(
            row._replace(
                case=f"{task}{case}", task=task, value=0.5 + d, dialogue=f"{task}{case}{k}"
            ),
            row._replace(case=f"{task}{case}", task=task),
        )
        for task, of in cases.items()
        for case in range(of)
        for k, d in enumerate(differences[case % len(differences)])
    )


def test_claims_are_about_cases_of_this_kind():
    """Cases are the clusters; a task with one case supports no claim, and is counted."""
    a, b = sides(small(), "model-a", "model-b")
    spread = [[0.1, 0.2], [0.3, 0.3], [0.0, -0.2]]
    match = {
        "many": Match(rows_of({"many": 12}, spread), (), (), Bounds(0.0, 1.0)),
        "one": Match(rows_of({"one": 1}, [[0.4] * 20]), (), (), Bounds(0.0, 1.0)),
    }
    table = compare(match, a, b, margin=0.5)
    many, one, whole, informative = table.records()
    means = [sum(group) / 2 for group in spread] * 4
    assert many["p"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert many["clusters"] == 12
    assert (one["p"], one["ci_low"], one["clusters"]) == (None, None, None)
    assert (whole["task"], whole["n_a"], whole["p"]) == (ALL_TASKS, 44, None)
    assert (informative["task"], informative["n_a"]) == ("Tasks with several cases", 24)
    assert informative["p"] == pytest.approx(many["p"])
    assert informative["p_equivalent"] < 0.001
    assert "about cases of this kind" in table.notes[1]
    assert table.notes[2] == (
        "Number of tasks with one case: 1. They support no claim about cases of this kind. "
        "The row 'Tasks with several cases' is about the others."
    )
    assert table.context["estimand"] == "cases"
    naive = compare(match, a, b, estimand="dialogues", samples=10).records()
    assert naive[1]["p"] == 0.0
    again = compare(match, a, b, estimand="repetitions").records()
    assert again[1]["p"] is not None
    assert again[1]["clusters"] == 20
    tasks = compare(match, a, b, estimand="tasks").records()
    assert [row["p"] is None for row in tasks[:2]] == [True, True]
    assert tasks[2]["clusters"] == 2
    with pytest.raises(
        QueryError, match="'case' is not an estimand to choose; there are: cases, rep"
    ):
        compare(match, a, b, estimand="case")


def test_notes_name_only_rows_that_are_shown():
    """If no task supports a claim, no note names a row about those that do."""
    a, b = sides(small(), "model-a", "model-b")
    single = {"one": Match(rows_of({"one": 1}, [[0.4] * 20]), (), (), Bounds(0.0, 1.0))}
    both = {**single, "two": Match(rows_of({"two": 1}, [[0.1] * 3]), (), (), Bounds(0.0, 1.0))}
    for match in (single, both):
        table = compare(match, a, b)

        assert table.notes[2] == (
            f"Number of tasks with one case: {len(match)}. "
            "They support no claim about cases of this kind."
        )
        assert "Tasks with several cases" not in table.column("task")


def test_cases_asked_once_leave_repetitions_without_claim():
    """A claim about the same cases rests on the cases with several repetitions."""
    a, b = sides(small(), "model-a", "model-b")
    pairs = rows_of({"t": 3}, [[0.1], [0.2, 0.4], [0.0, 0.1]])
    table = compare({"t": Match(pairs, (), ())}, a, b, estimand="repetitions")
    whole, informative = table.records()
    assert whole["p"] is None
    assert (informative["task"], informative["n_a"]) == ("Cases with several repetitions", 4)


def unpaired(task, ours, theirs):
    """Return the values of a task without pairs; each value is of its own case."""
    row = ScoreRow("m", task, "f1", None, "c", 0, 0.5, "d", "e")
    return Match(
        (),
        *(
            tuple(
                row._replace(case=f"{name}{k}", value=v, dialogue=f"{name}{k}")
                for k, v in enumerate(values)
            )
            for name, values in (("a", ours), ("b", theirs))
        ),
        Bounds(0.0, 1.0),
    )


def test_unpaired_sides_weigh_tasks_alike():
    """Sides that differ only in how often they have the easy task do not differ."""
    a, b = sides(small(), "model-a", "model-b")
    easy, hard = [0.9, 1.0, 0.8, 0.9] * 10, [0.1, 0.2, 0.0, 0.1] * 10
    match = {"easy": unpaired("easy", easy, easy[:4]), "hard": unpaired("hard", hard[:4], hard)}
    *_, whole = compare(match, a, b, estimand="dialogues", samples=10).records()
    assert (whole["task"], whole["difference"]) == (ALL_TASKS, pytest.approx(0.0))
    assert (whole["mean_a"], whole["p"]) == (pytest.approx(0.5), None)
    match = {
        "easy": unpaired("easy", easy, easy[:12]),
        "hard": unpaired("hard", hard[:12], [value + 0.1 for value in hard]),
    }
    *_, whole = compare(match, a, b).records()
    assert whole["difference"] == pytest.approx(-0.05)
    assert whole["ci_low"] < whole["difference"] < whole["ci_high"]
    assert whole["p"] < 0.05


def test_tasks_without_pairs_left_stay_away():
    """A task whose pairs support no claim is not compared on dialogues without a partner."""
    a, b = sides(small(), "model-a", "model-b")
    once = rows_of({"t": 3}, [[0.1]])
    rest = [pair.a._replace(case="rest", iteration=k) for pair in once[:1] for k in (0, 1)]
    several = rows_of({"u": 3}, [[0.1, 0.2]])
    match = {"t": Match(once, tuple(rest), tuple(rest)), "u": Match(several, (), ())}
    *_, informative = compare(match, a, b, estimand="repetitions").records()
    assert (informative["pairing"], informative["n_a"]) == ("paired", 6)


def rivals(values, weights=None, estimand="cases"):
    """Return models with values by task, case and model."""
    units = {
        Score(task, "f1", None): {
            (case, k): {model: [v[k]] for model, v in by_model.items() if k < len(v)}
            for case, by_model in cases.items()
            for k in range(max(map(len, by_model.values())))
        }
        for task, cases in values.items()
    }
    models = sorted({m for cases in values.values() for v in cases.values() for m in v})
    shares = weights or dict.fromkeys(units, Fraction(1, len(units)))
    return Rivals(units, shares, models, find_estimand(estimand))


def test_a_set_of_tasks_weighs_tasks_not_dialogues():
    """The mean and error of a model are those of the mean of task means, with tasks fixed."""
    rng = np.random.default_rng(2)
    few, many = rng.random((6, 1)), rng.random((9, 3))
    found = rivals(
        {
            "few": {f"c{k}": {"a": list(v)} for k, v in enumerate(few)},
            "many": {f"c{k}": {"a": list(v)} for k, v in enumerate(many)},
            "one": {"c0": {"a": [0.0] * 30}},
        }
    )
    clusters = found.of("a")
    assert (found.left_out, found.tasks, clusters.number) == (1, 2, 15)
    assert clusters.mean == pytest.approx((few.mean() + many.mean()) / 2)
    variance = (stats.sem(few[:, 0]) ** 2 + stats.sem(many.mean(1)) ** 2) / 4
    assert clusters.error == pytest.approx(variance**0.5)
    assert found.between("a", "a").mean == 0.0


def test_models_are_compared_on_the_dialogues_that_both_have():
    """A difference uses only shared cases; models without shared cases have no difference."""
    values = {
        "t": {
            "c0": {"a": [1.0, 1.0], "b": [0.0]},
            "c1": {"a": [0.5], "b": [0.5], "c": [1.0]},
            "c2": {"a": [0.9], "b": [0.4]},
        },
        "u": {"d0": {"d": [1.0]}, "d1": {"d": [1.0]}},
    }
    found = rivals(values)
    assert found.between("a", "b").mean == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.between("a", "c").mean is None
    assert found.between("a", "d").mean is None


def test_ranks_and_groups_follow_from_the_pairs():
    """A model's ranks exclude models that differ; a group holds models that do not differ."""
    order = ["a", "b", "c", "d"]
    worse = {"a": {"c", "d"}, "b": {"d"}, "c": set(), "d": set()}
    assert rank_ranges(worse) == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}
    assert groups(order, worse) == {"a": "a", "b": "a b", "c": "b c", "d": "c"}
    assert groups([], {}) == {}
    many = [f"m{k}" for k in range(28)]
    alone = groups(many, {m: set(many[k + 1 :]) for k, m in enumerate(many)})
    assert (alone["m0"], alone["m25"], alone["m26"], alone["m27"]) == ("a", "z", "aa", "ab")


def test_clear_differences_are_told_apart():
    """A model that is worse in each of many cases differs significantly, an equal one does not."""
    rng = np.random.default_rng(4)
    base = rng.random(30) / 4 + 0.5
    values = {
        "t": {
            f"c{k}": {"a": [v], "b": [v + rng.normal(0, 0.05)], "z": [v - 0.4 + rng.normal(0, 0.1)]}
            for k, v in enumerate(base)
        }
    }
    assert significantly_worse(rivals(values), ["a", "b", "z"], 0.05) == {
        "a": {"z"},
        "b": {"z"},
        "z": set(),
    }


@pytest.mark.parametrize("estimand", ["cases", "dialogues", "repetitions", "tasks"])
@pytest.mark.parametrize("at_once", [1, 100, 100_000])
def test_many_differences_at_once_are_those_of_single_pairs(monkeypatch, estimand, at_once):
    """P and mean of many pairs are those of each pair to the last bit, or missing like these."""
    monkeypatch.setattr(ranking, "_AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    models = [f"m{k}" for k in range(9)]
    values = {
        f"t{t}": {
            f"c{c}": {
                model: list(rng.random(rng.integers(1, 3)) + number / 20)
                for number, model in enumerate(models[:7])
                if rng.random() < 0.8
            }
            | {"m7": [1.0]}
            for c in range(number_of_cases)
        }
        for t, number_of_cases in enumerate((1, 2, 3, 9))
    }
    values["alone"] = {f"d{k}": {"m8": [0.5, 0.5]} for k in range(12)}
    found = rivals(values, estimand=estimand)
    for number, model in enumerate(models):
        others = models[number:]
        singly = [found.between(model, other) for other in others]
        assert list(found.against(model, others)) == [(p.p, p.mean, False) for p in singly]
    assert list(found.against("m0", [])) == []
    assert [pair.mean for pair in (found.between("m0", "m8"), found.of("m8"))] == (
        [None, None] if estimand == "tasks" else [None, 0.5]
    )


@pytest.mark.parametrize("cases", [(2, 2), (3, 4), (2, 7), (9, 3)])
def test_tests_that_cannot_matter_are_not_made(monkeypatch, cases):
    """Bounds of p give the verdicts of the tests, which are only made where these can differ."""
    made = []
    flips = Clusters._sign_flip_p
    monkeypatch.setattr(Clusters, "_sign_flip_p", lambda c: made.append(c) or flips(c))
    tested = ranking._tested
    for models in (3, 8, 14):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            names = [f"m{k}" for k in range(models)]
            values = {
                f"t{t}": {
                    f"c{c}": {
                        name: [number / models + rng.normal(0, 0.03)]
                        for number, name in enumerate(names)
                        if t == 0 or number < models - 2
                    }
                    for c in range(number_of_cases)
                }
                for t, number_of_cases in enumerate(cases)
            }
            found = rivals(values)
            monkeypatch.setattr(
                ranking, "_tested", lambda given, names, **_: tested(given, names, bounded=False)
            )
            all_made = significantly_worse(found, names, 0.05)
            monkeypatch.setattr(ranking, "_tested", tested)
            made.clear()
            assert significantly_worse(found, names, 0.05) == all_made
            if models == 14:  # 91 pairs of 9 clusters at most
                assert made == []
    assert any(worse for worse in all_made.values()) == (sum(cases) > 9)


def test_pairs_have_both_verdicts():
    """Each pair of models has a row, with p by dialogues and p by cases."""
    table = pairs(small(), select(small()))
    (row,) = table.records()
    a, b = sides(small(), "model-a", "model-b")
    beside = compare(matches(small(), select(small()), a, b), a, b).records()
    assert (row["a"], row["b"], row["n"]) == ("Model A", "Model B", beside[-1]["n_a"])
    assert row["difference"] == pytest.approx(beside[-1]["difference"])
    assert row["p"] == pytest.approx(beside[-1]["p"])
    assert (table.context["pairs"], table.context["tasks"]) == (1, 3)
    assert row["verdict"] in {"still differ", "no longer differ", "newly differ", "not told apart"}
    (strict,) = pairs(small(), select(small()), alpha=1e-9).records()
    assert (strict["verdict"], strict["tasks_independent"]) == ("not told apart", 0)
    with pytest.raises(QueryError, match="name another"):
        pairs(small(), select(small()), estimand="dialogues")
    with pytest.raises(QueryError, match="no two models share"):
        pairs(small(), select(small(), models="model-a"))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (0.01, 0.01, "still differ"),
        (0.01, 0.05, "no longer differ"),
        (0.01, None, "no longer differ"),
        (0.5, 0.01, "newly differ"),
        (None, 0.01, "newly differ"),
        (0.5, None, "not told apart"),
    ],
)
def test_verdicts_follow_from_both_p(before, after, verdict):
    """A missing p counts as no difference."""
    assert Verdict.of(before, after, 0.05) == verdict


def test_a_leaderboard_says_what_its_tests_are_about():
    """With few cases no models differ; notes and context name the estimand."""
    table = leaders(small(), select(small()))
    first, second = table.records()
    assert (first["leads"], second["leads"]) == (True, True)
    assert (second["rank_low"], second["rank_high"], second["group"]) == (1, 2, "a")
    assert table.context["estimand_label"] == "cases of this kind"
    assert any("about cases of this kind" in note for note in table.notes)
    only = ScoreSet("p", "P", "", (Selector("Pick-turtle"),))
    _, second = leaders(small(), select(small()), only).records()
    differences = np.array([1.0, 0.5, 1 / 3]) - [0.0, 0.0, 1.0]
    assert (
        second["p_best"]
        == stats.permutation_test((differences,), np.sum, permutation_type="samples").pvalue
    )
    tasks = leaders(small(), select(small()), estimand="tasks")
    assert tasks.context["estimand"] == "tasks"
    with pytest.raises(QueryError, match="'all' is not an estimand"):
        leaders(small(), select(small()), estimand="all")


def test_a_leaderboard_without_scores_claims_nothing():
    """If nothing of a score set was scored, there are no models, tests or intervals."""
    none = ScoreSet("n", "N", "", (Selector("No-*"),))
    table = leaders(small(), select(small(), tasks="Pick-*"), none)
    assert all(row["score"] is None for row in table.records())
    assert table.context["claimed_tasks"] == 0


def test_a_bar_has_no_interval_of_other_tasks():
    """A page draws an interval only around a score of the same tasks, and gives their number."""
    table = leaders(small(), select(small()))
    place = table.rows[0]
    score, about = table.names.index("score"), table.names.index("ci_score")
    low, high = table.names.index("ci_low"), table.names.index("ci_high")

    def shown(around, tasks):
        row = list(place)
        row[about], row[low], row[high] = around, 0.2, 0.9
        context = {**table.context, "claimed_tasks": tasks}
        return board(replace(table, rows=(tuple(row),), context=context), {}, None)

    whole = shown(place[score], 3)
    assert (whole.claimed, whole.places[0].bar.low) == (None, 20.0)
    part = shown(place[score] + 0.1, 2)
    assert (part.claimed, part.places[0].bar.low, part.places[0].low) == (2, None, 0.2)
