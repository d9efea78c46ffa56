# SPDX-License-Identifier: Apache-2.0
"""Statistics from histograms agree with numpy and scipy on the raw values."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import (
    Bounds,
    difference_interval,
    mean_interval,
    method_note,
    score_interval,
)
from kgbench.statistics.significance import (
    bootstrap_means,
    bootstrap_p,
    cohens_d,
    cohens_dz,
    holm,
    paired_test,
    percentile_interval,
    t_test,
)

# Scores that occur: shares of small sets, their means, a few extremes, and any float between.
scores = st.one_of(
    st.integers(0, 60).map(lambda k: k / 60),
    st.sampled_from([0.0, 1.0, 0.3333333333333333, 0.0005555555555555556, -1.0, 1.44]),
    st.floats(0, 1),
)
samples = st.lists(scores, max_size=40)
grid = st.lists(st.integers(0, 60).map(lambda k: k / 60), max_size=40)


def close(found, expected):
    """Return whether both values are equal to 1e-9, relatively or absolutely."""
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


@given(samples.filter(len))
def test_location_agrees_with_numpy(values):
    """Mean, median, extremes and every quantile equal those of the raw values."""
    found = Histogram.of(values)
    assert found.n == len(values)
    assert close(found.mean, np.mean(values))
    assert close(found.median, np.median(values))
    assert (found.minimum, found.maximum) == (min(values), max(values))
    for share in (0.0, 0.025, 0.25, 0.5, 0.75, 0.975, 1.0):
        assert close(found.quantile(share), np.quantile(values, share))


@given(samples.filter(lambda v: len(v) > 1))
def test_spread_agrees_with_numpy(values):
    """Deviations and the standard error equal those of the raw values."""
    found = Histogram.of(values)
    assert close(found.sd, np.std(values, ddof=1))
    assert close(found.population_sd, np.std(values))
    assert close(found.standard_error, stats.sem(values))


@given(scores, st.integers(1, 50))
def test_constant_values_have_no_spread(value, n):
    """A constant has exactly itself as mean, and a deviation of exactly zero."""
    found = Histogram.of([value] * n)
    assert found.mean == found.median == found.quantile(0.25) == value
    assert found.population_sd == 0.0
    assert found.sd == (None if n == 1 else 0.0)


@given(st.lists(samples, max_size=4))
def test_pooling_is_concatenation(parts):
    """Pooled histograms equal the histogram of all values together."""
    together = [value for part in parts for value in part]
    pooled = Histogram.pooled(map(Histogram.of, parts))
    assert list(pooled.values()) == sorted(together)


def test_nothing_has_no_statistics():
    """Without values a statistic is absent, not zero."""
    empty = Histogram({})
    assert empty.n == 0
    assert (empty.mean, empty.sd, empty.population_sd, empty.median) == (None,) * 4
    assert (empty.quantile(0.5), empty.minimum, empty.maximum, empty.standard_error) == (None,) * 4
    assert mean_interval(empty) is None


def test_many_awkward_values_lose_no_digit():
    """Values whose decimal sums are inexact are averaged exactly."""
    found = Histogram({0.3333333333333333: 30_000, 0.0005555555555555556: 10_000})
    assert found.mean == math.fsum([0.3333333333333333] * 3 + [0.0005555555555555556]) / 4


@given(grid.filter(lambda v: len(v) > 1 and len(set(v)) > 1))
def test_interval_agrees_with_scipy(values):
    """The interval of the mean is that of Student's t."""
    expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    found = mean_interval(Histogram.of(values))
    assert close(found.low, expected[0])
    assert close(found.high, expected[1])


def test_interval_of_one_or_equal_values():
    """One value has no interval; equal values have an interval of width zero."""
    assert mean_interval(Histogram.of([0.5])) is None
    assert mean_interval(Histogram.of([0.1, 0.1, 0.1])) == (0.1, 0.1)


shares = st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.999, 1.0]), min_size=2, max_size=30)


@given(shares, st.sampled_from([Bounds(0.0, 1.0), Bounds(-1.0, 1.0), Bounds(0.0, None), Bounds()]))
def test_intervals_of_scores_stay_in_their_range(values, bounds):
    """An interval contains its mean and stays in the declared range, or else that of the data."""
    found = score_interval(Histogram.of(values), bounds)
    low = 0.0 if bounds.low is None else bounds.low
    assert low <= found.low <= Histogram.of(values).mean + 1e-12
    assert Histogram.of(values).mean - 1e-12 <= found.high <= 1.0


@pytest.mark.parametrize("values", [(1.0, 1 - 2**-53), (0.3, 0.1 + 0.2), (0.0, 1.0, 1 - 2**-53)])
def test_rounding_is_no_deviation(values):
    """Values that differ by rounding have the interval of equal ones, and no test."""
    rounded = [round(value, 12) for value in values]
    found = score_interval(Histogram.of(values), Bounds(0.0, 1.0))
    assert found == pytest.approx(score_interval(Histogram.of(rounded), Bounds(0.0, 1.0)))
    assert paired_test(a - b for a, b in zip(values, rounded, strict=True)) is None


@given(shares, shares)
def test_intervals_of_differences_stay_in_their_range(ours, theirs):
    """The interval of a difference of shares contains it and stays between -1 and 1."""
    first, second = Histogram.of(ours), Histogram.of(theirs)
    found = difference_interval(first, second, Bounds(0.0, 1.0))
    assert -1 - 1e-12 <= found.low <= first.mean - second.mean + 1e-12
    assert first.mean - second.mean - 1e-12 <= found.high <= 1 + 1e-12


@pytest.mark.parametrize(("right", "n"), [(0, 20), (1, 3), (9, 10), (20, 20), (260, 520)])
def test_intervals_of_shares_are_those_of_wilson(right, n):
    """Scores of 0 and 1 have scipy's (Wilson) interval of a share."""
    found = score_interval(Histogram({1.0: right, 0.0: n - right} if 0 < right < n else {
        float(right > 0): n
    }), Bounds(0.0, 1.0))  # fmt: skip
    expected = stats.binomtest(right, n).proportion_ci(0.95, "wilson")
    assert close(found.low, expected.low)
    assert close(found.high, expected.high)


@pytest.mark.parametrize("n", [10, 20, 50])
def test_intervals_of_scores_cover_their_mean(n):
    """Of 1,000 samples of graded scores, about 95 % of intervals contain the true mean."""
    draw = np.random.default_rng(n)
    values = draw.choice([0.2, 0.73, 1.0], size=(1_000, n), p=[0.2, 0.3, 0.5])
    intervals = [score_interval(Histogram.of(map(float, row)), Bounds(0.0, 1.0)) for row in values]
    covered = sum(low <= 0.759 <= high for low, high in intervals)
    assert 915 <= covered <= 985


def test_a_range_has_two_ends_or_the_values_speak():
    """The bootstrap is used if a range lacks an end, or published values exceed it."""
    values = Histogram.of([0.0, 0.5, 1.5])
    assert Bounds(0.0, 1.0).method(values) == "bootstrap"
    assert Bounds(0.0, None).method(Histogram.of([0.5])) == "bootstrap"
    assert Bounds.around([Bounds(0.0, 1.0), Bounds(-1.0, 1.0)]) == (-1.0, 1.0)
    assert Bounds.around([Bounds(0.0, 1.0), Bounds(0.0, None)]) == (0.0, None)
    assert Bounds(0.0, 1.0).differences == (-1.0, 1.0)
    assert "Wilson" in method_note(["wilson"])
    assert method_note([]) == ""


def varied(*sides):
    """Return whether a test of these sides is defined: at least one side varies."""
    return any(len(set(side)) > 1 for side in sides)


@given(first=grid.filter(bool), second=grid.filter(bool))
def test_two_sample_test_agrees_with_scipy(first, second):
    """Statistic, freedom, p and interval are scipy's; one of the sides may be a single value."""
    found = t_test(Histogram.of(first), Histogram.of(second))
    if not varied(first, second):
        undefined = first[0] == second[0] or len(first) + len(second) == 2
        assert found is None if undefined else (found.p == 0.0)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's warning for constant sides
        expected = stats.ttest_ind(first, second)
    assert close(found.statistic, expected.statistic)
    assert close(found.p, expected.pvalue)
    assert close(found.freedom, expected.df)
    interval = expected.confidence_interval(0.95)
    assert close(found.interval.low, interval.low)
    assert close(found.interval.high, interval.high)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30))
def test_paired_test_agrees_with_scipy(pairs):
    """The paired test is scipy's; if all pairs are equal there is none."""
    first, second = ([float(side) for side in column] for column in zip(*pairs, strict=True))
    differences = [a - b for a, b in zip(first, second, strict=True)]
    found = paired_test(differences)
    if len(set(differences)) == 1:
        assert found is None if differences[0] == 0 else found.p == 0.0
        return
    expected = stats.ttest_rel(first, second)
    assert close(found.statistic, expected.statistic)
    assert close(found.p, expected.pvalue)


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([], [1.0, 0.0]), ([1.0], [0.0]), ([0.5, 0.5], [0.5, 0.5])]
)
def test_undefined_tests_are_absent(first, second):
    """Empty cells, single values and equal constants have no p, not nan."""
    assert t_test(Histogram.of(first), Histogram.of(second)) is None
    assert cohens_d(Histogram.of(first), Histogram.of(second)) is None


def test_effect_sizes_by_hand():
    """A distance of one pooled deviation is 1; paired differences use their own deviation."""
    assert cohens_d(Histogram.of([1.0, 2.0, 3.0]), Histogram.of([0.0, 1.0, 2.0])) == 1.0
    assert cohens_dz(Histogram.of([1.0, 2.0, 3.0])) == pytest.approx(2.0)
    assert cohens_dz(Histogram.of([1.0, 1.0])) is None


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_by_its_definition(ps):
    """Corrected values are never smaller, keep the order, and the smallest is multiplied by all."""
    corrected = holm(ps)
    assert all(c >= p for c, p in zip(corrected, ps, strict=True))
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    assert [corrected[i] for i in order] == sorted(corrected)
    if ps:
        assert min(corrected) == min(1.0, min(ps) * len(ps))


def test_bootstrap_keeps_cases_together():
    """Resampling cases of equal values gives only means of whole cases."""
    means = bootstrap_means([[0.0, 0.0], [1.0, 1.0]], samples=200, seed=1)
    assert set(means) == {0.0, 0.5, 1.0}
    assert bootstrap_means([[0.0, 0.0], [1.0, 1.0]], samples=200, seed=1) == means
    assert bootstrap_means([], samples=5) == []
    assert percentile_interval([], None) is None
    assert bootstrap_p([]) is None


def test_bootstrap_interval_covers_the_middle():
    """The interval is the middle share, and p measures the distance of zero from the middle."""
    ascending = [k / 100 for k in range(101)]
    interval = percentile_interval(ascending, 0.5)
    assert close(interval.low, 0.025)
    assert close(interval.high, 0.975)
    assert percentile_interval(ascending, 1.0).high == 1.0
    assert bootstrap_p([-1.0] * 50 + [1.0] * 50) == 1.0
    assert bootstrap_p([1.0] * 99) == 2 / 100
    assert bootstrap_p([1e-17] * 99) == bootstrap_p([-1e-17] * 99) == 1.0


@pytest.mark.parametrize("value", [0.0, 0.5, 0.99, 1.0])
def test_few_equal_scores_are_no_certainty(value):
    """The interval of equal scores has a width, which shrinks with their number."""
    two, many = (score_interval(Histogram.of([value] * n), Bounds(0.0, 1.0)) for n in (2, 200))
    assert 0.0 <= two.low <= many.low <= value <= many.high <= two.high <= 1.0
    assert two.half_width > many.half_width > 0.0
