# SPDX-License-Identifier: Apache-2.0
"""Reliability, item analysis and planning on published results, compared with a recomputation."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from kgbench.analysis.items import items
from kgbench.analysis.planning import Claim, measured, plan_from
from kgbench.analysis.reliability import reliability
from kgbench.scores.selection import select
from tests.support.published import aggregates, archives, prompts, records, rounds

MAIN = ("max_combined", "combinedF1", "listTrimF1", "f1")
FIVE = 5  # cases of a task that has a list of them; other tasks have one case


@pytest.fixture(scope="module")
def scores(external_data):
    """Return the main scores as published, by task label and case, then by model.

    A case is identified by its first prompt if its task has five cases. Otherwise the task has one
    case, of which each dialogue shows another variant.
    """
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for archive in archives(external_data):
        for record in records(archive):
            values = {**rounds(record)[0][0], **aggregates(record)}
            value = next(values[name] for name in MAIN if name in values)
            by_prompt = found[record["taskInfo"]["taskLabel"]]
            by_prompt[prompts(record)[0]][record["modelId"]].append(value)
    cases = {}
    for label, by_prompt in found.items():
        for prompt, by_model in by_prompt.items():
            key = (label, prompt if len(by_prompt) == FIVE else "")
            for model, values in by_model.items():
                cases.setdefault(key, {}).setdefault(model, []).extend(values)
    assert Counter(Counter(label for label, _ in cases).values()) == {FIVE: 14, 1: 12}
    return cases


def expected_shares(scores, model):
    """Return share solved, any of 4 and all of 4, over the 70 cases of tasks with five cases.

    Computed by enumerating all draws of four answers.
    """
    draws = [
        list(combinations([value > 0.999999 for value in by_model[model]], 4))
        for (_, prompt), by_model in scores.items()
        if prompt
    ]
    return tuple(
        sum(sum(map(how, each)) / len(each) for each in draws) / 70
        for how in (lambda draw: sum(draw) / 4, any, all)
    )


def test_reliability_is_that_of_the_records(third, scores):
    """On the tasks with five cases asked four times, reliability equals that of the records."""
    rows = [row for row in reliability(third, select(third), k=4) if row["cases"] == FIVE]
    found = [
        tuple(
            sum(row[name] for row in rows if row["model"] == model) / 14
            for name in ("pass_1", "pass_at_k", "pass_all_k")
        )
        for model in {row["model"] for row in rows}
    ]
    spelled = {model for by_model in scores.values() for model in by_model}
    expected = sorted(expected_shares(scores, model) for model in spelled)
    assert len(expected) == 4
    assert np.array(sorted(found)) == pytest.approx(np.array(expected), abs=1e-12)


def test_item_rest_correlations_are_those_of_the_records(third, scores):
    """Each case's correlation with the mean of the others equals numpy's from the records."""
    table = np.array([[np.mean(by[model]) for model in sorted(by)] for by in scores.values()])
    expected = []
    for number, row in enumerate(table):
        if np.ptp(row) > 1e-9:
            rest = np.delete(table, number, axis=0).mean(axis=0)
            expected.append(np.corrcoef(row, rest)[0, 1])
    found = items(third, select(third))
    assert len(found) == len(table) == 82
    assert found.column("models") == [4] * 82
    given = [r for r in found.column("item_rest") if r is not None]
    assert sorted(given) == pytest.approx(sorted(expected), abs=1e-9)


def test_variances_are_those_of_the_records(third, scores):
    """Variances equal numpy's: 14 tasks, four models, five cases asked four times."""
    tasks = defaultdict(list)
    for (label, prompt), by_model in scores.items():
        if prompt:
            tasks[label].append([by_model[model] for model in sorted(by_model)])
    values = np.array(list(tasks.values()))  # tasks x cases x models x repetitions
    assert values.shape == (14, 5, 4, 4)
    within = values.var(axis=3, ddof=1).mean()
    covariances = np.mean([np.cov(each.T) for each in values.mean(axis=3)], axis=0)
    between = np.diag(covariances).mean() - within / 4
    shared = (covariances.sum() - np.trace(covariances)) / 12
    found = measured(third, select(third))
    assert found.components.within == pytest.approx(within)
    assert found.components.cases == pytest.approx(between)
    assert found.correlation == pytest.approx(shared / between)
    assert (found.tasks, found.cases, found.models, found.left_out) == (14, 70, 4, 12)
    (row,) = plan_from(third, select(third), Claim(0.05), repetitions=[4])
    assert row["cases"] == 162
    assert row["cases"] == pytest.approx(
        (1.959964 + 0.841621) ** 2 * 2 * (between - shared + within / 4) / 0.05**2, abs=3
    )
