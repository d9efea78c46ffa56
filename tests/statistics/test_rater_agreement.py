# SPDX-License-Identifier: Apache-2.0
"""Agreement of raters, compared with other implementations, by hand, and by resampling."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from kgbench.statistics.rater_agreement import (
    Ratings,
    cohen_kappa,
    estimate,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)

EXACT = 1e-9
COEFFICIENTS = (percent_agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, gwet_ac1)
#: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers.
KRIPPENDORFF = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def estimated(coefficient, ratings, cases=None, **options):
    """Estimate a coefficient of items that are cases of their own, if none are given."""
    return estimate(coefficient, ratings, cases or range(ratings.items), **options)


def random_table(seed, raters=None, missing=0.2):
    """Return ratings 1, 2, 5, 10 ... on which raters agree more often than by chance."""
    rng = np.random.default_rng(seed)
    categories = tuple(k * k + 1 for k in range(int(rng.integers(2, 6))))
    shape = (int(rng.integers(8, 40)), raters or int(rng.integers(2, 6)))
    truth = rng.integers(0, len(categories), size=(shape[0], 1))
    codes = np.where(rng.random(shape) < 0.5, truth, rng.integers(0, len(categories), size=shape))
    gone = rng.random(shape) < missing
    rows = [
        [None if lost else categories[code] for code, lost in zip(*row, strict=True)]
        for row in zip(codes, gone, strict=True)
    ]
    return rows, categories


@pytest.mark.parametrize("seed", range(25))
def test_cohen_is_that_of_statsmodels(seed):
    """Kappa of two raters equals that of statsmodels on the items that both have rated."""
    rows, categories = random_table(seed, raters=2)
    table = np.zeros((len(categories), len(categories)))
    for first, second in rows:
        if first is not None and second is not None:
            table[categories.index(first), categories.index(second)] += 1
    expected = cohens_kappa(table, return_results=False)

    assert cohen_kappa(Ratings.of(rows, categories)) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("seed", range(25))
def test_fleiss_is_that_of_statsmodels(seed):
    """Kappa of items that are all rated equally often equals that of statsmodels."""
    rows, categories = random_table(seed, missing=0.0)
    ratings = Ratings.of(rows, categories)

    assert fleiss_kappa(ratings) == pytest.approx(reference_fleiss(ratings.counts), abs=EXACT)


@pytest.mark.parametrize("seed", range(25))
def test_krippendorff_is_that_of_nltk(seed):
    """Alpha with missing ratings equals that of NLTK."""
    rows, categories = random_table(seed)
    data = [
        (rater, item, value)
        for item, row in enumerate(rows)
        if sum(value is not None for value in row) > 1
        for rater, value in enumerate(row)
        if value is not None
    ]
    expected = AnnotationTask(data, distance=lambda a, b: float(a != b)).alpha()

    found = krippendorff_alpha(Ratings.of(rows, categories))

    assert found == pytest.approx(expected, abs=EXACT)


def test_krippendorff_is_as_published():
    """Alpha of Krippendorff's worked example is the printed value."""
    rows = list(zip(*KRIPPENDORFF, strict=True))

    assert krippendorff_alpha(Ratings.of(rows, range(1, 6))) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize("seed", range(25))
def test_chance_corrections_follow_their_definitions(seed):
    """Percent agreement, Fleiss and AC1 with missing ratings equal exact sums over all pairs."""
    rows, categories = random_table(seed)
    ratings = Ratings.of(rows, categories)
    given = [[value for value in row if value is not None] for row in rows]
    paired = [list(permutations(row, 2)) for row in given if len(row) > 1]
    agree = [Fraction(sum(a == b for a, b in pairs), len(pairs)) for pairs in paired]
    observed = sum(agree) / len(agree)
    rated = [row for row in given if row]
    shares = [
        sum(Fraction(row.count(c), len(row)) for row in rated) / len(rated) for c in categories
    ]
    fleiss = sum(share**2 for share in shares)
    gwet = sum(share * (1 - share) for share in shares) / (len(categories) - 1)

    assert percent_agreement(ratings) == pytest.approx(float(observed), abs=EXACT)
    for coefficient, chance in ((fleiss_kappa, fleiss), (gwet_ac1, gwet)):
        expected = float((observed - chance) / (1 - chance))
        assert coefficient(ratings) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_an_item_of_weight_two_is_two_items(coefficient):
    """Weights stand for repeated items; resampling depends on this."""
    rows, categories = random_table(7, raters=2)
    times = np.random.default_rng(1).integers(0, 4, size=len(rows))
    repeated = [row for row, often in zip(rows, times, strict=True) for _ in range(often)]

    found = coefficient(Ratings.of(rows, categories), times)

    assert found == pytest.approx(coefficient(Ratings.of(repeated, categories), None), abs=EXACT)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_nothing_to_compare_has_no_coefficient(coefficient):
    """Without an item that two raters have rated, there is no coefficient."""
    assert coefficient(Ratings.of([[1, None], [None, 2], [None, None]], (1, 2)), None) is None
    assert estimated(coefficient, Ratings.of([], (1, 2))).value is None


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_full_agreement_is_one(coefficient):
    """Raters that always agree, on more than one category, have the coefficient 1."""
    ratings = Ratings.of([[1, 1], [2, 2], [1, 1]], (1, 2))

    assert coefficient(ratings, None) == pytest.approx(1)


def test_one_category_leaves_kappa_undefined_and_ac1_whole():
    """If all ratings are equal, kappa and alpha are undefined, and AC1 is 1."""
    ratings = Ratings.of([["yes", "yes"]] * 5, ("yes", "no"))

    assert cohen_kappa(ratings) is None
    assert fleiss_kappa(ratings) is None
    assert krippendorff_alpha(ratings) is None
    assert gwet_ac1(ratings) == 1
    assert gwet_ac1(Ratings.of([["yes", "yes"]], ("yes",))) is None


def test_clusters_widen_the_interval():
    """Items of one case that agree alike widen the interval."""
    rng = np.random.default_rng(3)
    agree = np.repeat(rng.random(20) < 0.7, 10)
    rows = [["yes", "yes" if same else "no"] for same in agree]
    ratings = Ratings.of(rows, ("yes", "no"))
    cases = [k // 10 for k in range(200)]

    naive = estimated(percent_agreement, ratings)
    clustered = estimated(percent_agreement, ratings, cases)

    assert naive.value == clustered.value == pytest.approx(agree.mean())
    assert (naive.items, clustered.items) == (200, 200)
    assert clustered.interval.half_width > 2 * naive.interval.half_width
    assert clustered.interval.low < clustered.value < clustered.interval.high


def test_intervals_are_those_of_resampled_tables():
    """The bootstrap of a share of agreement has the error of the binomial distribution."""
    rows = [["yes", "yes"]] * 300 + [["yes", "no"]] * 100
    found = estimated(percent_agreement, Ratings.of(rows, ("yes", "no")), samples=4_000)

    assert found.interval.half_width == pytest.approx(1.96 * math.sqrt(0.75 * 0.25 / 400), rel=0.1)
    assert found == estimated(percent_agreement, Ratings.of(rows, ("yes", "no")), samples=4_000)


def test_no_interval_where_it_would_mislead():
    """One cluster, or resamples that are often undefined, give a value without an interval."""
    ratings = Ratings.of([["a", "a"], ["a", "a"], ["b", "b"]], ("a", "b"))

    assert estimated(cohen_kappa, ratings, [0, 0, 0]).interval is None
    rare = estimated(cohen_kappa, ratings)
    assert rare.value == 1
    assert rare.interval is None


def test_wrong_tables_are_refused():
    """A value outside the categories, ragged rows, or a wrong number of raters is refused."""
    with pytest.raises(KeyError, match="maybe"):
        Ratings.of([["yes", "maybe"]], ("yes", "no"))
    with pytest.raises(ValueError, match="inhomogeneous"):
        Ratings.of([["yes", "no"], ["yes"]], ("yes", "no"))
    three = Ratings.of([["yes", "no", "no"]], ("yes", "no"))
    with pytest.raises(ValueError, match="needs two raters, not 3"):
        cohen_kappa(three)


@pytest.mark.parametrize("true", [0.9, 0.95, 0.98])
def test_intervals_at_full_agreement_cover_the_truth(true):
    """Twenty items on which all agree do not show full agreement: 93 % of intervals hold it."""
    covered = 0.0
    for agreeing in range(12, 21):
        rows = [("a", "a")] * agreeing + [("a", "b")] * (20 - agreeing)
        low, high = estimated(percent_agreement, Ratings.of(rows, "ab"), samples=300).interval
        chance = math.comb(20, agreeing) * true**agreeing * (1 - true) ** (20 - agreeing)
        covered += chance * (low - EXACT <= true <= high + EXACT)
    assert covered >= 0.93 if true > 0.9 else covered >= 0.85  # the bootstrap of some disagreement


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_full_agreement_has_an_interval_below_one(coefficient):
    """A further item may divide the raters; more items, in more clusters, narrow the interval."""
    ends = []
    for number in (10, 100):
        ratings = Ratings.of([(1, 1), (2, 2), (3, 3)] * number, (1, 2, 3))
        low, high = estimated(coefficient, ratings, samples=50).interval
        assert high == pytest.approx(1.0)
        ends.append(low)
    few, many = ends
    assert -1 <= few < many < 1.0
    clustered = estimated(coefficient, ratings, [k // 30 for k in range(300)], samples=50).interval
    assert clustered.low < many
    assert percent_agreement(ratings) == 1.0
