# SPDX-License-Identifier: Apache-2.0
"""Claims of comparisons and leaderboards about cases of a kind, the same cases, and tasks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kgbench.analysis import ranking
from kgbench.analysis.compare import ALL_TASKS, compare
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import TaskValues, matches, sides
from kgbench.analysis.pairs import Verdict, pairs
from kgbench.analysis.ranking import (
    Rivals,
    all_tested,
    groups,
    rank_ranges,
    significantly_worse,
)
from kgbench.errors import QueryError
from kgbench.scores.declared import ScoreSet
from kgbench.scores.inference import find_estimand
from kgbench.scores.reading import Score, ScoreRow
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from kgbench.statistics.intervals import Bounds
from tests.support.analysis_store import small


def values_of(cases, differences):
    """Return values of two models on one task with these differences, by case."""
    row = ScoreRow("m", "t", "f1", None, "c", 0, 0.5, "d", "e")
    answers = [
        row._replace(
            case=f"{task}{case}", task=task, iteration=k, value=0.5 + d, dialogue=f"{task}{case}{k}"
        )
        for task, of in cases.items()
        for case in range(of)
        for k, d in enumerate(differences[case % len(differences)])
    ]
    return TaskValues(answers, [row._replace(value=0.5) for row in answers], Bounds(0.0, 1.0))


def compared(values, **options):
    """Return the rows of the comparison of these values of tasks, by the names of tasks."""
    table = compare(values, *sides(small(), "model-a", "model-b"), **options)
    return {row["task"]: row for row in table.records()}


SPREAD = [[0.1, 0.2], [0.3, 0.3], [0.0, -0.2]]
MIXED = {
    "many": values_of({"many": 12}, SPREAD),
    "one": values_of({"one": 1}, [[0.4, 0.2] * 10]),
}


def test_claims_are_about_cases_of_this_kind():
    """Cases are the clusters; with a task of one case, no claim covers all tasks."""
    rows = compared(MIXED, estimand="cases", margin=0.5)
    many, one, whole = rows["many"], rows["one"], rows[ALL_TASKS]
    means = [sum(group) / 2 for group in SPREAD] * 4
    assert many["p"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert many["clusters"] == 12
    assert many["p_equivalent"] < 0.001
    assert (one["p"], one["ci_low"], one["clusters"], one["no_claim"]) == (*[None] * 3, "one case")
    assert (whole["n_a"], whole["p"], whole["no_claim"]) == (44, None, "1 task with one case")
    assert compared(MIXED, estimand="repetitions")["one"]["clusters"] == 20
    tasks = compared(MIXED, estimand="tasks")
    assert [row["p"] is None for row in tasks.values()] == [True, True, False]
    assert tasks[ALL_TASKS]["clusters"] == 2
    with pytest.raises(
        QueryError, match="'case' is not an estimand to choose; there are: cases, rep"
    ):
        compared(MIXED, estimand="case")


def test_all_tasks_have_an_interval_of_all_tasks():
    """A task with one case contributes the variance of its answers, and the estimand says so."""
    table = compare(MIXED, *sides(small(), "model-a", "model-b"))
    assert table.context["estimand"] == "available"
    assert "new cases, or new answers where a task has one case" in table.notes[1]
    _, one, whole = table.records()
    means = np.array([sum(group) / 2 for group in SPREAD] * 4)
    assert whole["difference"] == pytest.approx((means.mean() + 0.3) / 2)
    assert whole["ci_low"] < whole["difference"] < whole["ci_high"]
    of_many, of_one = means.var(ddof=1) / 12, np.var([0.4, 0.2] * 10, ddof=1) / 20
    error, freedom = of_many + of_one, (of_many + of_one) ** 2 / (of_many**2 / 11 + of_one**2 / 19)
    statistic = (means.mean() + 0.3) / error**0.5
    assert whole["p"] == pytest.approx(2 * stats.t.sf(statistic, freedom))
    answers = [0.9, 0.7] * 10
    assert one["p"] == pytest.approx(stats.ttest_1samp(answers, 0.5).pvalue)  # B does not vary
    several = compare({"many": MIXED["many"]}, *sides(small(), "model-a", "model-b"))
    assert several.context["estimand"] == "cases"
    once = compared({**MIXED, "once": values_of({"once": 1}, [[0.1]])})
    for name in ("once", ALL_TASKS):
        assert once[name]["ci_low"] is once[name]["p"] is None
        assert once[name]["no_claim"] == "a task with one case that was asked once"


def test_few_answers_to_one_case_are_exchanged():
    """Below ten clusters the test of one case is a permutation test of its answers."""
    a, b = [1.0, 0.9, 0.8, 1.0], [0.2, 0.1, 0.4, 0.9]
    row = ScoreRow("m", "t", "f1", None, "c", 0, 0.5, "d", "e")
    first, second = (
        [row._replace(value=v, iteration=k, dialogue=f"{name}{k}") for k, v in enumerate(values)]
        for name, values in (("a", a), ("b", b))
    )
    found = compared({"t": TaskValues(first, second, Bounds(0.0, 1.0))})["t"]
    exact = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y)).pvalue
    assert found["p"] == pytest.approx(exact, abs=0.01)
    assert found["clusters"] == 8
    three = compared({"t": TaskValues(first[:3], second[:3], Bounds(0.0, 1.0))})["t"]
    assert three["no_claim"] == "6 cases: p is never below 0.1"


def test_pairs_are_those_of_cases_and_not_of_running_numbers():
    """All answers to a case count, also those of a run with one answer to each case."""
    row = ScoreRow("m", "t", "f1", None, "c", 0, 1.0, "d", "e")
    once = [row._replace(case=f"c{k}", iteration=k, dialogue=f"a{k}") for k in range(8)]
    often = [
        row._replace(case=f"c{k}", iteration=100 + n, value=float(k < 4), dialogue=f"b{k}-{n}")
        for k in range(8)
        for n in range(k + 1)
    ]
    found = compared({"t": TaskValues(once, often, Bounds(0.0, 1.0))})["t"]
    assert (found["pairing"], found["n_a"], found["n_b"]) == ("paired", 8, 36)
    assert (found["mean_b"], found["difference"], found["only_a"]) == (0.5, 0.5, 4)
    by_number = compared({"t": TaskValues(once, often)}, estimand="repetitions")["t"]
    assert by_number["pairing"] == "unpaired"


def test_means_are_those_of_the_leaderboard_where_they_can_be():
    """If both sides have as many answers to each case, a case weighs as many as it has."""
    row = ScoreRow("m", "t", "f1", None, "c", 0, 1.0, "d", "e")
    answers = [("c0", 0.0), ("c0", 0.4), ("c1", 1.0)]
    first = [
        row._replace(case=case, iteration=k, value=value, dialogue=f"a{k}")
        for k, (case, value) in enumerate(answers)
    ]
    for times, mean in ((2, 1.4 / 3), (1, 1.2 / 2)):
        second = [*first * 2, *first[:2]] if times == 1 else first * 2
        found = compared({"t": TaskValues(first, second, Bounds(0.0, 1.0))})["t"]
        assert found["mean_a"] == pytest.approx(mean)
        assert found["difference"] == pytest.approx(0.0)


def test_all_tasks_weigh_the_same():
    """The row of all tasks has the weights of the leaderboard, whatever the numbers of answers."""
    of = {"few": values_of({"few": 6}, [[0.2]]), "many": values_of({"many": 9}, [[0.0] * 10])}
    for estimand in ("cases", "repetitions", "tasks", "dialogues"):
        whole = compared(of, estimand=estimand, samples=10)[ALL_TASKS]
        assert whole["difference"] == pytest.approx(0.1)
        assert whole["mean_a"] == pytest.approx(0.6)
    assert whole["p"] is None
    assert whole["no_claim"] == "the tasks have different numbers of dialogues"


def test_cases_asked_once_leave_repetitions_without_claim():
    """A claim about the same cases needs several repetitions of each of them."""
    values = values_of({"t": 3}, [[0.1], [0.2, 0.4], [0.0, 0.1]])
    (row,) = compared({"t": values}, estimand="repetitions").values()
    assert (row["p"], row["ci_low"], row["no_claim"]) == (None, None, "1 case with one repetition")


def unpaired(task, ours, theirs):
    """Return the values of a task without pairs; each value is of its own case."""
    row = ScoreRow("m", task, "f1", None, "c", 0, 0.5, "d", "e")
    return TaskValues(
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
    whole = compare(match, a, b, estimand="dialogues", samples=10).records()[-1]
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
    assert (clusters.lone, clusters.number) == (1, 15)
    assert clusters.interval(Bounds(0.0, 1.0)) is None
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
    assert rank_ranges(worse, 4) == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}
    assert rank_ranges(worse, 5)["a"] == (1, 3)
    alike = {("a", "b"), ("b", "c"), ("c", "d")}
    assert groups(order, alike) == {"a": "a", "b": "a b", "c": "b c", "d": "c"}
    assert groups([], alike) == {}
    many = [f"m{k}" for k in range(28)]
    alone = groups(many, set())
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
    tested = all_tested(rivals(values), ["a", "b", "z"], 0.05)
    assert set(tested) == {("a", "b"), ("a", "z"), ("b", "z")}
    assert significantly_worse(tested, 0.05) == {
        "a": {"z"},
        "b": {"z"},
        "z": set(),
    }


@pytest.mark.parametrize("estimand", ["available", "cases", "dialogues", "repetitions", "tasks"])
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
        for pair, clusters in zip(found.against(model, others), singly, strict=True):
            assert (pair.mean, pair.clusters) == (clusters.mean, clusters.number)
            assert pair.p in (None, clusters.p)
    assert list(found.against("m0", [])) == []
    assert found.between("m0", "m8").mean is None


def test_a_pair_is_tested_on_all_scores_or_not_at_all():
    """Two models that share no case of a task, or one answer, have no test."""
    shared = {f"c{k}": {"a": [0.9], "b": [0.1 + k / 100]} for k in range(12)}
    apart = {"c0": {"a": [1.0]}, "c1": {"b": [0.0]}}
    once = {"c0": {"a": [1.0], "b": [0.0]}}
    twice = {"c0": {"a": [1.0, 0.9], "b": [0.0, 0.1]}}
    for other, number in ((apart, 0), (once, 0), (twice, 1)):
        found = rivals({"t": shared, "u": other}, estimand="available")
        assert len(all_tested(found, ["a", "b"], 0.05)) == number
    assert found.single
    assert found.between("a", "b").mean == pytest.approx((0.9 - 0.155 + 0.9) / 2)


BOTH = ("difference", "clusters", "ci_low", "ci_high", "p")


def test_pairs_have_both_verdicts():
    """Each pair of models has a row, with p by dialogues and p by cases."""
    table = pairs(small(), select(small()))
    (row,) = table.records()
    a, b = sides(small(), "model-a", "model-b")
    whole = compare(matches(small(), select(small()), a, b), a, b).records()[-1]
    assert (row["a"], row["b"], row["n"]) == ("Model A", "Model B", whole["n_a"])
    assert [row[name] for name in BOTH] == [whole[name] for name in BOTH]
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
    assert any("to cases of this kind" in note for note in table.notes)
    only = ScoreSet("p", "P", "", (Selector("Pick-turtle"),))
    _, second = leaders(small(), select(small()), only).records()
    assert (second["p_best"], second["leads"]) == (None, None)  # p of 3 cases is at least 0.25
    tasks = leaders(small(), select(small()), estimand="tasks")
    assert tasks.context["estimand"] == "tasks"
    with pytest.raises(QueryError, match="'all' is not an estimand"):
        leaders(small(), select(small()), estimand="all")


def test_a_leaderboard_without_scores_claims_nothing():
    """If nothing of a score set was scored, there are no models, tests or intervals."""
    none = ScoreSet("n", "N", "", (Selector("No-*"),))
    table = leaders(small(), select(small(), tasks="Pick-*"), none)
    assert all(row["score"] is None for row in table.records())
    assert all(row["leads"] is row["ci_low"] is None for row in table.records())
