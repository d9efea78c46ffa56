# SPDX-License-Identifier: Apache-2.0
"""Prediction-powered means are unbiased, have their stated coverage, and need enough labels."""

from __future__ import annotations

import numpy as np
import pytest

from kgbench.errors import QueryError
from kgbench.statistics.intervals import Bounds
from kgbench.statistics.prediction_powered import (
    CLUSTERS,
    LabelledItem,
    UnlabelledItem,
    labels_needed,
    powered_mean,
)


def drawn(rng, *, labelled, unlabelled, share, right, wrong, size=1):
    """Return labelled and unlabelled items with verdicts, in clusters of ``size`` equal items."""
    clusters = labelled + unlabelled
    truth = (rng.random(clusters) < share).repeat(size)
    said = rng.random(clusters * size) < np.where(truth, right, wrong)
    cluster = np.arange(clusters).repeat(size)
    known = cluster < labelled
    return (
        [
            LabelledItem(float(y), float(f), int(c))
            for y, f, c in zip(truth[known], said[known], cluster[known], strict=True)
        ],
        [
            UnlabelledItem(float(f), int(c))
            for f, c in zip(said[~known], cluster[~known], strict=True)
        ],
    )


@pytest.mark.parametrize(
    "setting",
    [
        {"labelled": 60, "unlabelled": 1_000, "share": 0.5, "right": 0.9, "wrong": 0.3},
        {"labelled": 100, "unlabelled": 400, "share": 0.3, "right": 0.9, "wrong": 0.25},
        {"labelled": 100, "unlabelled": 300, "share": 0.5, "right": 0.8, "wrong": 0.4, "size": 4},
    ],
)
def test_intervals_cover_what_they_claim(setting):
    """Of 1,500 intervals, 93 to 97 % contain the true share, clustered or not."""
    rng = np.random.default_rng(22)
    held = given = 0
    for _ in range(1_500):
        found = powered_mean(*drawn(rng, **setting))
        if found.interval is None:
            continue
        given += 1
        held += found.interval.low <= setting["share"] <= found.interval.high

    assert given > 1_000
    assert 0.93 <= held / given <= 0.97


def test_a_lenient_judge_is_corrected():
    """The mean of all verdicts is wrong; the corrected interval has the truth and is narrower."""
    setting = {"labelled": 400, "unlabelled": 20_000, "share": 0.5, "right": 0.98, "wrong": 0.2}
    found = powered_mean(*drawn(np.random.default_rng(5), **setting))

    assert found.judge > 0.57
    assert found.interval.low <= 0.5 <= found.interval.high
    assert found.interval.half_width < 0.8 * found.labelled_interval.half_width
    assert (found.n, found.unlabelled, found.clusters) == (400, 20_000, 400)
    assert 0.5 < found.trust <= 1


def test_a_judge_that_knows_nothing_does_no_harm():
    """Random verdicts get a weight near zero, so that the interval is that of the labels."""
    setting = {"labelled": 400, "unlabelled": 4_000, "share": 0.5, "right": 0.5, "wrong": 0.5}
    found = powered_mean(*drawn(np.random.default_rng(6), **setting))

    assert found.trust < 0.15
    assert found.interval.half_width == pytest.approx(found.labelled_interval.half_width, rel=0.05)


def test_the_formula_by_hand():
    """Weight, mean and variance of four-valued data are those of the definition."""
    rng = np.random.default_rng(8)
    y, f = rng.normal(size=50), rng.normal(size=50)
    f = f + y
    g = rng.normal(size=500) * 1.4
    labelled = [LabelledItem(a, b, k) for k, (a, b) in enumerate(zip(y, f, strict=True))]
    found = powered_mean(labelled, [UnlabelledItem(v, 50 + k) for k, v in enumerate(g)])

    trust = np.cov(y, f)[0, 1] / 50 / (f.var(ddof=1) / 50 + g.var(ddof=1) / 500)
    variance = trust**2 * g.var(ddof=1) / 500 + (y - trust * f).var(ddof=1) / 50
    assert found.trust == pytest.approx(trust)
    assert found.mean == pytest.approx(trust * g.mean() + (y - trust * f).mean())
    assert found.interval.half_width == pytest.approx(2.0095752 * np.sqrt(variance))


def test_intervals_stay_inside_the_range():
    """No interval of a share exceeds 1."""
    labelled = [LabelledItem(min(k / 2, 1.0), float(k % 3 != 0), k) for k in range(40)]
    unlabelled = [UnlabelledItem(1.0, 1_000 + k) for k in range(200)]

    assert powered_mean(labelled, unlabelled).interval.high > 1
    assert powered_mean(labelled, unlabelled, Bounds(0, 1)).interval.high == 1


def test_a_mean_stays_inside_its_interval_and_the_range():
    """A judge with a narrow scale is corrected beyond the range where the parts differ."""
    labelled = [LabelledItem(float(k % 4 > 0), 0.3 + 0.2 * (k % 4 > 0), k) for k in range(60)]
    unlabelled = [UnlabelledItem(0.95, 1_000 + k) for k in range(200)]

    assert powered_mean(labelled, unlabelled).mean > 1
    found = powered_mean(labelled, unlabelled, Bounds(0, 1))
    assert found.interval.low <= found.mean <= found.interval.high
    assert found.mean == 1


@pytest.mark.parametrize(
    ("labelled", "needed"),
    [
        ([], CLUSTERS),
        ([LabelledItem(float(k % 2), float(k % 3 == 0), k) for k in range(20)], CLUSTERS),
        ([LabelledItem(float(k % 2), float(k % 3 == 0), k // 2) for k in range(40)], 2 * CLUSTERS),
        ([LabelledItem(float(k % 2), float(k % 2), k) for k in range(100)], 1_020),
        ([LabelledItem(1.0, float(k % 2), k) for k in range(100)], 1_020),
        ([LabelledItem(float(k > 3), float(k % 2), k) for k in range(100)], 204),
    ],
)
def test_too_few_labels_have_no_mean_but_the_number_needed(labelled, needed):
    """Too few clusters, no error of the judge, one label only, or a rare label are too few."""
    assert labels_needed(labelled) == needed
    found = powered_mean(labelled, [UnlabelledItem(1.0, -1)])
    assert (found.needed, found.mean, found.interval) == (needed, None, None)


def test_parts_that_are_not_apart_are_refused():
    """A case in both parts is refused, as is a labelled part that is the whole."""
    labelled = [LabelledItem(float(k % 2), float(k % 3 == 0), k) for k in range(60)]

    with pytest.raises(QueryError, match="1 clusters have both labelled and unlabelled items"):
        powered_mean(labelled, [UnlabelledItem(1.0, 3)])
    with pytest.raises(QueryError, match="use the labelled mean"):
        powered_mean(labelled, [])
