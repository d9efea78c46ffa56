# SPDX-License-Identifier: Apache-2.0
"""Variance components, compared with the analysis of variance by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kgbench.statistics.histogram import Histogram
from kgbench.statistics.power import Components


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
    of_tasks = of_cases.mean(1)[:, None]
    within = ((values - of_cases[:, :, None]) ** 2).sum() / (6 * 5 * 3)
    cases = 4 * ((of_cases - of_tasks) ** 2).sum() / (6 * 4)
    found = Components.moments(nested(values))
    assert found.within == pytest.approx(within)
    assert found.cases == pytest.approx((cases - within) / 4)


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
        found.append(Components.moments(nested(values)))
    assert np.mean([one.within for one in found]) == pytest.approx(0.09, rel=0.05)
    assert np.mean([one.cases for one in found]) == pytest.approx(0.25, rel=0.08)


def test_what_cannot_be_told_is_absent():
    """One case or one answer each leave their component unknown; equal answers do not vary."""
    assert Components.moments(nested([[[0.0, 1.0]]])) == Components(None, 0.5)
    assert Components.moments(nested([[[0.0], [1.0]]])).within is None
    assert Components.moments({}) == Components(None, None)
    same = Components.mean([Components.moments(nested([[[0.1, 0.1, 0.1], [0.1, 0.1]]]))])
    assert same == Components(0.0, 0.0)
