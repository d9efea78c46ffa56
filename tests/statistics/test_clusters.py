# SPDX-License-Identifier: Apache-2.0
"""Clustered means, their errors, tests and intervals, compared with explicit computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgbench.statistics.clusters import Clusters, Sums, Value
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import Bounds, score_interval
from kgbench.statistics.significance import benjamini_hochberg, paired_test
from kgbench.statistics.unpaired_difference import UnpairedDifference

SHARES, DIFFERENCES = Bounds(0.0, 1.0), Bounds(-1.0, 1.0)


def clusters(*groups, stratum=None):
    """Return the clusters of one stratum."""
    return Clusters.of(Value(stratum, k, v) for k, group in enumerate(groups) for v in group)


def regression_error(values, names):
    """Return the cluster-robust error of an intercept: the sandwich (X'X)^-1 X'uu'X (X'X)^-1.

    G / (G - 1) corrects for the number of clusters, as in Stata and statsmodels, apart from the
    factor (N - 1) / (N - K), which is 1 for an intercept alone.
    """
    y, names = np.asarray(values), np.asarray(names)
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    residuals = y - (x @ bread @ x.T @ y)
    meat = np.zeros((1, 1))
    for name in np.unique(names):
        score = x[names == name].T @ residuals[names == name]
        meat += np.outer(score, score)
    g = len(np.unique(names))
    return float(np.sqrt((g / (g - 1) * bread @ meat @ bread)[0, 0]))


@given(
    st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=5), min_size=2, max_size=25),
)
def test_errors_are_those_of_a_clustered_regression(groups):
    """Mean and error equal those of a regression on a constant, with clusters of any sizes."""
    found = clusters(*([v / 8 for v in group] for group in groups))
    values = [v / 8 for group in groups for v in group]
    names = [k for k, group in enumerate(groups) for _ in group]
    assert found.mean == pytest.approx(np.mean(values))
    assert found.error == pytest.approx(regression_error(values, names), abs=1e-9)
    assert found.number == len(groups)
    assert not found.error or found.freedom == pytest.approx(len(groups) - 1)


def test_clusters_of_one_value_give_the_paired_test():
    """If every case is asked once, error and p are those of the paired t-test."""
    rng = np.random.default_rng(3)
    values = [float(v) for v in rng.normal(0.1, 1, 24)]
    found = clusters(*([v] for v in values))
    expected = paired_test(values)
    assert found.p == pytest.approx(expected.p)
    assert found.error == pytest.approx(stats.sem(values))


def test_strata_stay_as_they_are():
    """Differences between tasks add no error; tasks with one case leave no interval and no test."""
    values = [
        *(Value("a", k, v) for k, v in enumerate([1.0, 0.0, 1.0, 1.0])),
        *(Value("b", k, v) for k, v in enumerate([0.0, 0.0, 1.0])),
        *(Value("c", 0, v) for v in [1.0, 1.0, 1.0]),
    ]
    found = Clusters.of(values)
    assert (found.lone, found.p, found.interval(Bounds(0.0, 1.0))) == (1, None, None)
    assert found.mean == pytest.approx(4 / 7)
    of_a, of_b = 16 * stats.sem([1, 0, 1, 1]) ** 2, 9 * stats.sem([0, 0, 1]) ** 2
    assert found.error == pytest.approx(((of_a + of_b) / 49) ** 0.5)
    assert found.number == 7
    assert found.freedom == pytest.approx((of_a + of_b) ** 2 / (of_a**2 / 3 + of_b**2 / 2))
    nothing = Clusters.of(values[-3:])
    assert (nothing.mean, nothing.error, nothing.p, nothing.interval(SHARES)) == (None,) * 4


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9))
def test_few_clusters_flip_their_signs(differences):
    """Below ten clusters p is the share of all sign flips with a sum at least as far from zero."""
    flips = itertools.product([-1, 1], repeat=len(differences))
    sums = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in flips]
    expected = np.mean([abs(found) >= abs(sum(differences)) for found in sums])
    assert clusters(*([d / 4] * 3 for d in differences)).p == pytest.approx(expected)


def test_clusters_that_do_not_vary():
    """Equal clusters have p by sign flips, and the interval of constant scores."""
    same = clusters(*([1.0] for _ in range(12)))
    assert same.p == pytest.approx(2 / 2**12)
    low, high = score_interval(Histogram.of([1.0] * 12), SHARES)
    assert same.interval(SHARES) == (pytest.approx(low), pytest.approx(high))
    thirds = clusters(*([0.1, 0.3] for _ in range(30)))
    assert thirds.error == 0.0
    assert thirds.interval(SHARES).low < 0.2 < thirds.interval(SHARES).high
    assert thirds.interval(Bounds()) is None
    for number in (12, 30):
        assert clusters(*([0.0] for _ in range(number))).p == 1.0


def test_intervals_are_refused_below_six_clusters():
    """Five clusters have no interval, nine have none without a range of the scores."""
    assert clusters([1.0], [0.0], [0.5], [1.0], [0.2]).interval(SHARES) is None
    assert clusters([1.0], [0.0], [0.5], [1.0], [0.2], [0.2]).interval(SHARES) is not None
    nine = clusters(*([k / 8] for k in range(9)))
    assert nine.interval(SHARES) is not None
    assert nine.interval(Bounds()) is None
    ten = clusters(*([k / 9] for k in range(10)))
    half = stats.t.ppf(0.975, 9) * stats.sem([k / 9 for k in range(10)])
    assert ten.interval(Bounds()) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=6, max_size=15))
def test_intervals_stay_inside_their_range(groups):
    """A bounded interval stays in its range and contains the mean."""
    found = clusters(*([v / 4 for v in group] for group in groups))
    low, high = found.interval(SHARES)
    assert 0.0 <= low <= found.mean <= high <= 1.0


def test_equivalence_is_two_one_sided_tests():
    """The p of equivalence is the larger of scipy's one-sided p at both margins."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.01, 0.1, 40)
    found = clusters(*([float(v)] for v in values)).p_equivalent(0.05)
    above = stats.ttest_1samp(values, -0.05, alternative="greater").pvalue
    below = stats.ttest_1samp(values, 0.05, alternative="less").pvalue
    assert found == pytest.approx(max(above, below))
    assert clusters([0.1], [0.0], [0.2]).p_equivalent(0.5) is None


def test_sides_without_common_cases_are_tested_by_welch():
    """Means over different cases are compared by Welch's test; small sides make no claim."""
    rng = np.random.default_rng(7)
    ours, theirs = rng.random(12), rng.random(30) * 0.5
    found = UnpairedDifference(clusters(*([v] for v in ours)), clusters(*([v] for v in theirs)))
    assert found.p == pytest.approx(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)
    low, high = found.difference_interval(SHARES)
    assert low < np.mean(ours) - np.mean(theirs) < high
    small = UnpairedDifference(clusters([1.0], [0.0]), clusters(*([v] for v in theirs)))
    assert (small.p, small.difference_interval(SHARES), small.p_equivalent(1)) == (None, None, None)


def test_benjamini_hochberg_by_hand():
    """Each p is multiplied by tests over rank, and no larger than any after it."""
    assert benjamini_hochberg([0.01, 0.04, None, 0.03]) == [
        pytest.approx(0.03),
        pytest.approx(0.04),
        None,
        pytest.approx(0.04),
    ]
    assert benjamini_hochberg([None]) == [None]


def test_constant_differences_have_exact_p():
    """Differences in one direction have the least p of sign flips, however many they are."""
    for number in (13, 14, 200):
        assert clusters(*([1.0] for _ in range(number))).p == 2.0 ** (1 - number)
    assert clusters(*([1.0] for _ in range(3)), *([0.0] for _ in range(3))).p == 1 / 4


def test_rounding_is_no_difference():
    """Equal means of repeated values differ in no case, although their sums are not quite 0."""
    found = clusters(*([0.1 - 0.2, 0.2 - 0.2, 0.3 - 0.2] for _ in range(12)))
    assert (found.mean, found.p) == (0.0, 1.0)


def test_values_outside_the_range_get_no_interval_inside_it():
    """The interval is Student's where a case is outside of the declared range, as imported."""
    found = clusters(*([0.5 if case % 2 else 1.5] for case in range(10)))
    interval = found.interval(Bounds(0.0, 1.0))
    assert interval is not None
    half = stats.t.ppf(0.975, 9) * stats.sem([0.5, 1.5] * 5)
    assert interval.half_width == pytest.approx(half)


def test_tasks_that_do_not_vary_lend_no_degrees_of_freedom():
    """A task that both models always solve neither changes p nor makes few cases many."""
    differences = [Value("a", case, v) for case, v in enumerate([0.2, 0.3, 0.25, 0.4, 0.1])]
    saturated = [Value("b", case, 0.0) for case in range(20)]
    found = Clusters.of([*differences, *saturated])
    assert found.p == Clusters.of(differences).p == 1 / 16
    assert found.freedom == pytest.approx(4)
    assert found.p_equivalent(0.9) is None


def test_equal_models_differ_in_few_draws_where_most_tasks_are_saturated():
    """With 2 of 14 tasks that vary, tests of equal models keep the level of 5 %."""
    rng = np.random.default_rng(14)
    strata = np.repeat(np.arange(14), 5).tolist()
    draws = rng.normal(size=(2_000, 70)) * (np.arange(70) < 10)
    sums = [Sums(strata, [1.0] * 70, row) for row in draws.tolist()]
    rejected = np.mean([found.p < 0.05 for found in Clusters.each(sums)])
    assert 0.03 < rejected < 0.05 + 3 * (0.05 * 0.95 / 2_000) ** 0.5


def test_intervals_do_not_depend_on_the_scale_of_weights():
    """The interval of a mean is the same whether its values weigh 1 or a share of their task."""
    scores = [(1.0, 20), (0.0, 10), (0.5, 4), (1.0, 1), (0.25, 9), (1.0, 6)]
    each = [(case, score) for case, (score, number) in enumerate(scores) for _ in range(number)]
    whole, share = (
        Clusters.of(Value("t", case, score, weight) for case, score in each).interval(SHARES)
        for weight in (1.0, 1 / len(each))
    )
    assert whole == pytest.approx(share)
