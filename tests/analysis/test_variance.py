# SPDX-License-Identifier: Apache-2.0
"""Variance components, compared with the analysis of variance by hand, and their table."""

from __future__ import annotations

import numpy as np
import pytest

from kgbench.analysis.clusters import Clusters, Value
from kgbench.analysis.components import Components
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.selection import select
from kgbench.analysis.variance import variance
from kgbench.errors import QueryError
from tests.support.analysis_store import small


def nested(values):
    """Return values by task and case from tasks, cases and answers, as histograms."""
    return {
        str(t): {str(c): Histogram.of(map(float, case)) for c, case in enumerate(task)}
        for t, task in enumerate(values)
    }


def drawn(tasks, cases, answers, spread, seed=0):
    """Return normal values with these deviations between tasks, between and within cases."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(0, spread[0], (tasks, 1, 1))
        + rng.normal(0, spread[1], (tasks, cases, 1))
        + rng.normal(0, spread[2], (tasks, cases, answers))
    )


def test_balanced_components_are_those_of_the_analysis_of_variance():
    """With equal numbers of cases and answers, components are differences of mean squares."""
    values = drawn(6, 5, 4, (1.0, 0.7, 0.4))
    of_cases = values.mean(2)
    of_tasks = of_cases.mean(1)
    within = ((values - of_cases[:, :, None]) ** 2).sum() / (6 * 5 * 3)
    cases = 4 * ((of_cases - of_tasks[:, None]) ** 2).sum() / (6 * 4)
    tasks = 20 * ((of_tasks - of_tasks.mean()) ** 2).sum() / 5
    found = Components.of(nested(values))
    assert found.within == pytest.approx(within)
    assert found.cases == pytest.approx((cases - within) / 4)
    assert found.tasks == pytest.approx((tasks - cases) / 20)


def test_unbalanced_components_have_no_bias():
    """Over many draws with unequal sizes the mean of each component is the true one."""
    rng = np.random.default_rng(1)
    sizes = [[3, 1, 2], [1], [4, 4], [2, 5, 1, 1], [20], [2, 2]]
    found = []
    for _ in range(3000):
        values = [
            [task + rng.normal(0, 0.5) + rng.normal(0, 0.3, m) for m in of_task]
            for of_task in sizes
            for task in [rng.normal(0, 2)]
        ]
        found.append(Components.of(nested(values)))
    assert np.mean([one.within for one in found]) == pytest.approx(0.09, rel=0.05)
    assert np.mean([one.cases for one in found]) == pytest.approx(0.25, rel=0.08)
    assert np.mean([one.tasks for one in found]) == pytest.approx(4, rel=0.08)


def test_the_error_of_components_is_the_clustered_error():
    """With balanced values the error from components is the cluster-robust one within tasks."""
    values = nested(drawn(7, 5, 4, (1.0, 0.7, 0.4)))
    found = Components.of(values)
    clusters = Clusters.of(
        Value(task, case, value)
        for task, cases in values.items()
        for case, answers in cases.items()
        for value in answers.values()
    )
    assert found.error(values) == pytest.approx(clusters.error)
    more = found.error(values, repetitions=1_000_000)
    assert more == pytest.approx((found.cases / 35) ** 0.5, rel=1e-3)
    assert found.error(values, cases=4) == pytest.approx(clusters.error / 2)


def test_what_cannot_be_told_is_absent():
    """One task, one case or one answer each leave their component unknown."""
    one_case = Components.of(nested([[[0.0, 1.0]]]))
    assert one_case == Components(None, None, 0.5)
    assert one_case.error(nested([[[0.0, 1.0]]])) is None
    asked_once = Components.of(nested([[[0.0], [1.0]]]))
    assert (asked_once.within, asked_once.case_share) == (None, None)
    assert Components.of({}) == Components(None, None, None)
    same = Components.of(nested([[[0.1, 0.1, 0.1], [0.1, 0.1]]]))
    assert (same.cases, same.within, same.case_share) == (0.0, 0.0, None)


def test_the_table_has_models_or_tasks():
    """There is a row per model, or one per task and model, with counts of scored dialogues."""
    table = variance(small(), select(small()))
    rows = {row["model"]: row for row in table.records()}
    assert (rows["Model A"]["tasks"], rows["Model A"]["n"]) == (3, 9)
    assert "task" not in table.names
    cells = variance(small(), select(small()), by_task=True)
    assert "between_tasks" not in cells.names
    assert sum(row["n"] for row in cells.records() if row["model"] == "Model A") == 9
    with pytest.raises(QueryError):
        variance(small(), select(small()), metric="none")
