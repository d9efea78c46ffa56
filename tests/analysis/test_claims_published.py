# SPDX-License-Identifier: Apache-2.0
"""Claims about the published results of LLM-KG-Bench 3, compared with a separate computation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from kgbench.analysis.compare import ALL_TASKS, compare
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.analysis.pairs import pairs
from kgbench.scores.selection import select
from kgbench.statistics.clusters import Clusters, Value
from tests.analysis.test_published import FLASH, GPT35, HAIKU, MINI

# Scores by the main metric, queried without kgbench's analyses.
SCORES = """PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
SELECT ?model ?task ?case ?iteration ?value WHERE {
  GRAPH ?catalogue {
    ?task a kgb:Task ; kgb:taskClass/kgb:mainMetric ?metric . ?m a kgb:Model ; skos:notation ?model
  }
  GRAPH ?pass {
    ?evaluation kgb:model ?m ; kgb:task ?task ; kgb:case ?case ; kgb:iteration ?iteration ;
      ?metric ?value
  }
}"""


@pytest.fixture(scope="module")
def values(third):
    """Return every score by model, and by task, case and iteration."""
    found = {}
    for row in third.query(SCORES):
        key = (row["task"].value, row["case"].value, int(row["iteration"].value))
        found.setdefault(row["model"].value, {})[key] = float(row["value"].value)
    return found


def sandwich(keys, x, cluster):
    """Return mean and cluster-robust error in one stratum, by loops (arXiv 2411.00640)."""
    mean = np.mean(x)
    sums = {}
    for key, one in zip(keys, x, strict=True):
        sums[cluster(key)] = sums.get(cluster(key), 0.0) + one - mean
    g = len(sums)
    return mean, (g / (g - 1) * sum(s * s for s in sums.values())) ** 0.5 / len(x), g


def tasks_of(of_model):
    """Group the values of a model by task and case."""
    tasks = {}
    for (task, case, _), value in of_model.items():
        tasks.setdefault(task, {}).setdefault(case, []).append(value)
    return tasks


def by_hand(a, b):
    """Return mean, error and p of the difference of the means of two models over all tasks.

    A task counts with the differences of its cases; a task with one case with the variances of the
    answers of both models. The degrees of freedom are Satterthwaite's.
    """
    means, squares = [], []
    for task, cases in tasks_of(a).items():
        others = tasks_of(b)[task]
        means.append(np.mean([np.mean(cases[c]) - np.mean(others[c]) for c in cases]))
        if len(cases) > 1:
            parts = [[np.mean(cases[c]) - np.mean(others[c]) for c in cases]]
        else:
            parts = [*cases.values(), *others.values()]
        squares += [(np.var(x, ddof=1) / len(x), len(x) - 1) for x in parts]
    mean, variance = np.mean(means), sum(square for square, _ in squares)
    freedom = variance**2 / sum(square**2 / degrees for square, degrees in squares)
    error = variance**0.5 / len(means)
    return mean, error, 2 * stats.t.sf(abs(mean / error), freedom)


def test_the_design_is_one_case_or_five(values):
    """Twelve tasks have one case asked twenty times, fourteen have five asked four times."""
    assert {len(found) for found in values.values()} == {520}
    cases = {}
    for task, case, _ in values[HAIKU]:
        cases.setdefault(task, {}).setdefault(case, []).append(1)
    designs = [tuple(sorted(map(len, of.values()))) for of in cases.values()]
    assert designs.count((20,)) == 12
    assert designs.count((4,) * 5) == 14


def test_clustered_errors_are_twice_the_naive_ones(values):
    """Clustered errors are 1.8 times the naive ones within tasks (median), 3.1 to 3.6 over all."""
    within, over_all = [], []
    for found in values.values():
        keys, x = list(found), list(found.values())
        naive = stats.sem(x)
        _, clustered, _ = sandwich(keys, x, lambda key: key[:2])
        ours = Clusters.of(Value(None, key[:2], value) for key, value in found.items())
        assert ours.error == pytest.approx(clustered)
        over_all.append(clustered / naive)
        for task in {key[0] for key in keys}:
            part = {key: value for key, value in found.items() if key[0] == task}
            if len({key[1] for key in part}) > 1 and len(set(part.values())) > 1:
                _, error, _ = sandwich(list(part), list(part.values()), lambda key: key[1])
                within.append(error / stats.sem(list(part.values())))
    assert [round(min(over_all), 1), round(max(over_all), 1)] == [3.1, 3.6]
    assert np.median(within) == pytest.approx(1.83, abs=0.01)
    assert max(within) == pytest.approx((1.25 * 4 * 0.95) ** 0.5, abs=1e-3)  # all answers agree


@pytest.mark.parametrize(("a", "b"), list(combinations([HAIKU, FLASH, GPT35, MINI], 2)))
def test_pairs_of_models_naive_and_clustered(third, values, a, b):
    """Each row of a comparison equals loops over the same scores, for both estimands."""
    ours = matches(third, select(third), *sides(third, a, b))
    both = sides(third, a, b)
    rows = {row["task"]: row for row in compare(ours, *both, margin=0.1).records()}
    naive = compare(ours, *both, estimand="dialogues", samples=10).records()
    differences = {key: values[a][key] - values[b][key] for key in values[a]}
    expected = stats.ttest_1samp(list(differences.values()), 0)
    assert naive[-1]["task"] == ALL_TASKS
    assert naive[-1]["p"] == pytest.approx(expected.pvalue)
    mean, _, p = by_hand(values[a], values[b])
    whole = rows[ALL_TASKS]
    assert (whole["n_a"], whole["clusters"]) == (520, 14 * 5 + 12 * 40)
    assert whole["difference"] == pytest.approx(np.mean(list(differences.values())))
    assert whole["difference"] == pytest.approx(mean)
    assert whole["p"] == pytest.approx(p)
    assert whole["ci_low"] <= mean <= whole["ci_high"]
    board = {row["model"]: row["score"] for row in leaders(third, select(third)).records()}
    assert [whole["mean_a"], whole["mean_b"]] == pytest.approx([board[side.name] for side in both])
    cases = compare(ours, *both, estimand="cases").records()
    assert len([row for row in cases if row["clusters"] is None]) == 12 + 1


def test_haiku_and_mini_side_by_side(third):
    """The published difference is significant for these dialogues, and less so for their kind."""
    both = sides(third, HAIKU, MINI)
    found = matches(third, select(third), *both)
    naive = compare(found, *both, estimand="dialogues", samples=10).records()[-1]
    whole = compare(found, *both).records()[-1]
    tasks = compare(found, *both, estimand="tasks").records()[-1]
    assert naive["p"] == pytest.approx(1.18e-26, rel=0.01)
    assert whole["p"] == pytest.approx(1.75e-16, rel=0.01)
    assert [round(whole[end], 3) for end in ("ci_low", "ci_high")] == [0.159, 0.218]
    assert tasks["p"] == pytest.approx(0.0045, rel=0.02)
    assert naive["difference"] == pytest.approx(whole["difference"])


def without_claim(cases):
    """Return the naive p of the differences of a task, and p by t and by sign flips over cases."""
    x = np.concatenate([np.array(of_case) for of_case in cases])
    naive = float(x[0] == 0) if np.ptp(x) == 0 else stats.ttest_1samp(x, 0).pvalue
    if len(cases) == 1:
        return naive, None, None
    means = np.array([np.mean(of_case) for of_case in cases])
    flips = stats.permutation_test((means,), np.mean, permutation_type="samples").pvalue
    return naive, None if np.ptp(means) < 1e-12 else stats.ttest_1samp(means, 0).pvalue, flips


def test_counts_of_changed_verdicts_are_those_of_scipy(third, values):
    """The numbers of pairs and verdicts that clustering changes equal loops over the scores."""
    table = pairs(third, select(third), estimand="cases")
    counts = {"tasks": 0, "tasks_no_longer": 0, "by_t": 0}
    for a, b in combinations([HAIKU, FLASH, GPT35, MINI], 2):
        differences = {key: values[a][key] - values[b][key] for key in values[a]}
        tasks = {}
        for (task, case, _), value in differences.items():
            tasks.setdefault(task, {}).setdefault(case, []).append(value)
        for cases in tasks.values():
            naive, of_t, flips = without_claim(list(cases.values()))
            counts["tasks"] += naive < 0.05
            counts["tasks_no_longer"] += naive < 0.05 and (flips is None or flips >= 0.05)
            counts["by_t"] += naive < 0.05 and of_t is not None and of_t >= 0.05
    found = table.context
    assert counts["tasks"] == found["tasks_still"] + found["tasks_no_longer"] == 80
    assert counts["tasks_no_longer"] == found["tasks_no_longer"] == 80
    assert counts["by_t"] == found["tasks_lost_by_t"] == 25
    no_longer = {
        estimand: pairs(third, select(third), estimand=estimand).context
        for estimand in ("available", "cases", "tasks")
    }
    assert [found["pairs_no_longer"] for found in no_longer.values()] == [0, 5, 1]
    assert [found["tasks_no_longer"] for found in no_longer.values()] == [31, 80, 80]


def test_verdicts_at_task_level(third):
    """No task has enough cases for two models to differ, even if single dialogues suggest it."""
    naive, of_five, cases = 0, 0, 0
    for a, b in combinations([HAIKU, FLASH, GPT35, MINI], 2):
        both = sides(third, a, b)
        found = matches(third, select(third), *both)
        of = compare(found, *both, estimand="dialogues", samples=10).records()
        naive += sum(row["p"] is not None and row["p"] < 0.05 for row in of[:26])
        clustered = compare(found, *both, estimand="cases").records()
        cases += sum(row["p"] is not None and row["p"] < 0.05 for row in clustered[:26])
        of_five += sum(
            row["p"] is not None and row["p"] < 0.05 and one["clusters"] == 5
            for row, one in zip(of[:26], clustered[:26], strict=True)
        )
    assert (naive, of_five, cases) == (80, 30, 0)
