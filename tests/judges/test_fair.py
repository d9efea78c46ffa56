# SPDX-License-Identifier: Apache-2.0
"""Simulated judges: fair ones rarely have a significant bias, planted biases are found."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from kgbench.analysis.judge_biases import measured
from kgbench.analysis.stratified import BOTH, Observation, balanced_mean, difference
from kgbench.analysis.verdicts import Item, JudgeVerdict
from kgbench.judges.rubrics import rubric

FAMILY = {"judge": "F", "own": "F", "other": "G"}
SEEDS = 200
OPPOSITE = {"right": "wrong", "wrong": "right", "first": "second", "second": "first"}


def grades(seed, taken=None):
    """Return grades of a judge that errs both ways; long and own-family answers are better.

    ``taken`` tells whether an item is accepted in four of five cases, right or wrong.
    """
    chance, found = random.Random(seed), []
    for case in range(100):
        for model in ("own", "other"):
            long = chance.random() < 0.5
            right = chance.random() < 0.25 + 0.4 * long + 0.25 * (model == "own")
            executed = "right" if right else "wrong"
            order = chance.sample(["right", "wrong"], 2)
            item = Item(
                f"{model}{case}", model, f"task{case % 3}", f"c{case}", 9 + 999 * long + case
            )
            by_chance = executed if chance.random() < 0.6 else chance.choice(order)
            chosen = "right" if taken is not None and taken(item) and case % 5 else by_chance
            order = (*order, "cannot-tell")
            found.append(
                JudgeVerdict("judge", rubric("correctness"), chosen, executed, order, (item,), "a")
            )
    return found


def pairs(seed, takes_longer=0.0):
    """Return compared pairs of a judge with random errors; longer answers are mostly better."""
    chance, found = random.Random(seed), []
    options = ("first", "second", "tie")
    for case in range(100):
        length = 100 + chance.choice([1, 1, 1, -1]) * chance.randint(1, 50)
        shown = (Item(f"a{case}", "own", "t", f"c{case}", length),)
        shown += (Item(f"b{case}", "other", "t", f"c{case}", 100),)
        longer = "first" if length > 100 else "second"
        better = longer if chance.random() < 0.8 else OPPOSITE[longer]
        executed = "tie" if chance.random() < 0.3 else better
        for items in (shown, shown[::-1]):
            chosen = executed if chance.random() < 0.6 else chance.choice(options)
            if chance.random() < takes_longer:
                chosen = longer
            found.append(
                JudgeVerdict("judge", rubric("preference"), chosen, executed, options, items, "a")
            )
            executed, longer = OPPOSITE.get(executed, executed), OPPOSITE[longer]
    return found


def false_alarms(made):
    """Return the share of simulations whose interval excludes 0, by bias."""
    found = {}
    for seed in range(SEEDS):
        for bias, contrast in measured(made(seed), FAMILY, samples=200, seed=seed).items():
            low, high = contrast.interval
            found.setdefault(bias, []).append(not low <= 0 <= high)
    return {bias: sum(alarms) / SEEDS for bias, alarms in found.items()}


def test_grades_of_fair_judges_are_not_blamed():
    """Fair judges have significant biases of length and family in about 5 % of simulations."""
    found = false_alarms(grades)

    assert set(found) == {"leniency", "position", "length", "own family"}
    assert all(found[bias] <= 0.1 for bias in ("position", "length", "own family")), found


def test_comparisons_of_fair_judges_are_not_blamed():
    """A judge with random errors has no significant preference for what is rarely better."""
    found = false_alarms(pairs)

    assert set(found) == {"position", "length", "own family"}
    assert all(rate <= 0.1 for rate in found.values()), found


@pytest.mark.parametrize(
    ("bias", "taken"),
    [
        ("length", lambda item: item.characters > 500),
        ("own family", lambda item: item.model == "own"),
    ],
)
def test_planted_preferences_are_found_in_every_simulation(bias, taken):
    """A judge that accepts most of a group, and otherwise errs at random, is always detected."""
    for seed in range(20):
        low, _ = measured(grades(seed, taken), FAMILY, samples=200)[bias].interval
        assert low > 0


def test_a_planted_preference_in_pairs_is_quantified():
    """Taking the longer answer in 40 % of pairs means 0.2 wins too many."""
    found = [measured(pairs(seed, 0.4), FAMILY, samples=200)["length"] for seed in range(50)]

    assert sum(one.interval.low <= 0.2 <= one.interval.high for one in found) >= 44
    assert sum(one.value for one in found) / 50 == pytest.approx(0.2, abs=0.01)


# --- the estimator --------------------------------------------------------------------------


def test_differences_by_hand():
    """Differences are weighted by n1*n0/(n1+n0) within strata; one-group strata are ignored."""
    observations = [
        Observation(1.0, "a", "s", 1),
        Observation(0.0, "b", "s", 1),
        Observation(0.25, "a", "s", 0),
        Observation(0.5, "c", "t", 1),
        Observation(0.0, "d", "t", 0),
        Observation(9.0, "d", "alone", 0),
    ]
    found = difference(observations)

    # 2/3 of 0.25 and 1/2 of 0.5, over 7/6
    assert found.value == pytest.approx((2 / 3 * 0.25 + 1 / 2 * 0.5) / (7 / 6))
    assert (found.inside, found.outside, found.clusters) == (3, 2, 4)
    assert found.interval.low <= found.value <= found.interval.high
    assert difference(observations[:1]) is None
    assert difference([]) is None


def test_balanced_means_by_hand():
    """Each group counts half; items of both have their plain mean; one cluster has no interval."""
    sided = [Observation(1.0, "a", None, 1), *[Observation(0.0, "b", None, 0)] * 3]
    shared = [Observation(value, "a", inside=BOTH) for value in (0.0, 1.0, 1.0, 1.0)]

    assert balanced_mean(sided).value == 0.5
    assert balanced_mean(shared).value == 0.75
    assert balanced_mean(shared).interval is None
    assert (balanced_mean(shared).inside, balanced_mean(shared).outside) == (4, 0)


def test_intervals_do_not_depend_on_names_and_order_of_cases():
    """Identifiers say nothing about biases: the same verdicts have the same intervals."""
    found = grades(5)
    renamed = [
        replace(v, items=(v.items[0]._replace(case=f"x{v.items[0].case[::-1]}"),)) for v in found
    ]

    assert measured(renamed[::-1], FAMILY) == measured(found, FAMILY)
