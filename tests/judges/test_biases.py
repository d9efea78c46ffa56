# SPDX-License-Identifier: Apache-2.0
"""Scripted judges over loopback servers: the interval of each planted bias contains its value."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kgbench.analysis.judge_agreement import agreement
from kgbench.analysis.judge_biases import biases
from kgbench.analysis.judge_biases import measured as estimated
from kgbench.analysis.judge_groups import JudgeGrouping
from kgbench.analysis.verdicts import Item, JudgeVerdict
from kgbench.judges import planning
from kgbench.judges.rubrics import rubric
from kgbench.rdf import digest
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, exercises, judged_run, references
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

JUDGE = "gpt-4o-2024-11-20"
OWN, OTHER = "gpt-4o-mini-2024-07-18", "claude-3-5-sonnet-20241022"
LABEL = "RdfFriendCount-turtle-1"
ITERATIONS = 100
PLANTED = 0.3


def ranked(seed, group):
    """Return a key for the order of options that does not depend on identifiers and ports."""
    return digest(f"{seed} {[(one.case, OWN in one.model) for one in group]}")


@pytest.fixture(scope="module")
def judged():
    """Return a run of two model families, each right in half of 100 cases, of various lengths."""
    right = references(LABEL, iterations=ITERATIONS)
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", "sk-loopback")
    patch.setattr(
        planning, "random_key", ranked
    )  # the same orders of options in each run of the tests

    def answering(name):
        def answer(prompt):
            chance = random.Random(f"{name}/{prompt}")
            padding = "\n" * chance.randint(0, 200)
            return (
                right.get(prompt, "?") if chance.random() < 0.5 else "https://no.one/"
            ) + padding

        return answer

    servers = [
        LoopbackServer(OpenAISpeech(), answer=answering(n)).__enter__() for n in (OWN, OTHER)
    ]
    with open_store("memory:") as store:
        specs = [f"openai:{n}@{s.url}" for n, s in zip((OWN, OTHER), servers, strict=True)]
        of = judged_run(store, *specs, iterations=ITERATIONS, labels=[LABEL])
        yield store, of
    for server in servers:
        server.__exit__(None, None, None)
    patch.undo()


def shown(data):
    """Return a description of the shown items that is the same in every test run."""
    return [(item["case"], OWN in item["model"]) for item in data["items"]]


def decided(data, chosen):
    """Return the verdict of a judge on a case."""
    items = tuple(Item(**item) for item in data["items"])
    by = rubric("correctness")
    return JudgeVerdict(JUDGE, by, chosen, data["executed"], tuple(data["order"]), items, "")


def measured(judged, rubric, judging, seed):
    """Return the measured biases of a scripted judge: value, low and high by name of the bias.

    ``judging`` gives the verdict for the data of a case and a source of chance.
    """
    store, of = judged
    asked = {one.prompt: one.case.data for one in exercises(store, of, rubric, seed=seed)}

    def answer(prompt):
        if prompt not in asked:
            return "ready"
        data = asked[prompt]
        return f"A reason.\nVERDICT: {judging(data, random.Random(f'{seed} {shown(data)}'))}"

    with LoopbackServer(OpenAISpeech(), answer=answer) as server:
        name = f"{JUDGE}-{rubric}-{seed}"  # a separate judge for each test
        done = ask(store, of, rubric, f"openai:{name}@{server.url}", seed=seed)
    assert done.finished, done.failures
    table = biases(store, select(store), samples=500)
    return {
        row["bias"]: (row["value"], row["low"], row["high"])
        for row in table.records()
        if name in row["judge"]
    }


def holds(found, planted):
    """Return whether an interval contains the planted value and not 0."""
    value, low, high = found
    return low <= planted <= high and not low <= 0 <= high and low <= value <= high


def wrong_share(judged):
    """Return the share of wrong answers among the judged ones."""
    store, of = judged
    found = [one.case.data["executed"] for one in exercises(store, of, "correctness")]
    return found.count("wrong") / len(found)


def wrong_weight(judged, inside):
    """Return the weight of wrong answers in a contrast of answers ``inside`` with the others."""
    store, of = judged
    found = [one.case.data for one in exercises(store, of, "correctness")]
    weights = {}
    for executed in ("right", "wrong"):
        sides = [inside(data) for data in found if data["executed"] == executed]
        weights[executed] = sum(sides) * (len(sides) - sum(sides)) / len(sides)
    return weights["wrong"] / sum(weights.values())


def model(data, place=0):
    """Return the id of a judged model from its IRI."""
    return data["items"][place]["model"].rpartition("/")[2]


def fair(data, chance):
    """Return a verdict that is wrong in a tenth of all cases, in either direction."""
    return data["executed"] if chance.random() < 0.8 else chance.choice(["right", "wrong"])


def test_a_fair_judge_has_no_bias(judged):
    """Of 100 judges with symmetric errors, few have an interval that excludes 0."""
    store, of = judged
    # in the same order, and so with the same random numbers, in every test run
    found = sorted((one.case.data for one in exercises(store, of, "correctness")), key=shown)
    family = {JUDGE: "gpt", **{d["items"][0]["model"]: model(d)[:3] for d in found}}
    alarms = Counter()
    for seed in range(100):
        chance = random.Random(seed)
        given = [decided(data, fair(data, chance)) for data in found]
        for bias, contrast in estimated(given, family, samples=200, seed=seed).items():
            low, high = contrast.interval
            alarms[bias] += not low <= 0 <= high

    assert len(alarms) <= 4
    assert all(number <= 12 for number in alarms.values()), alarms


def test_a_fair_judge_is_measured_as_by_hand(judged):
    """The measured biases of a judge equal those computed by hand from its verdicts."""
    store, of = judged
    found = measured(judged, "correctness", fair, seed=1)
    asked = [one.case.data for one in exercises(store, of, "correctness", seed=1)]
    said = [fair(d, random.Random(f"1 {shown(d)}")) for d in asked]
    given = [decided(data, chosen) for data, chosen in zip(asked, said, strict=True)]
    family = {JUDGE: "gpt", **{d["items"][0]["model"]: model(d)[:3] for d in asked}}
    by_hand = estimated(given, family, samples=2)

    assert set(found) == {"leniency", "position", "length", "own family"}
    assert {bias: value for bias, (value, *_) in found.items()} == pytest.approx(
        {bias: contrast.value for bias, contrast in by_hand.items()}
    )


def test_leniency(judged):
    """The leniency of a judge that accepts 30 % of wrong answers (half of all) is measured."""
    found = measured(
        judged,
        "correctness",
        lambda data, chance: "right" if chance.random() < PLANTED else data["executed"],
        seed=2,
    )

    assert holds(found["leniency"], PLANTED * wrong_share(judged)), found


def test_position_of_options(judged):
    """A judge that takes the first option in 30 % of items prefers it 0.15 too often."""
    found = measured(
        judged,
        "correctness",
        lambda data, chance: data["order"][0] if chance.random() < PLANTED else data["executed"],
        seed=3,
    )

    assert holds(found["position"], PLANTED / 2), found
    low, high = found["leniency"][1:]
    assert low <= 0 <= high


def test_length(judged):
    """A judge that accepts 60 % of the long wrong answers, and no short one, has a length bias."""
    store, of = judged
    lengths = [
        one.case.data["items"][0]["characters"] for one in exercises(store, of, "correctness")
    ]
    middle = sorted(lengths)[len(lengths) // 2]
    found = measured(
        judged,
        "correctness",
        lambda data, chance: (
            "right"
            if data["items"][0]["characters"] > middle and chance.random() < 2 * PLANTED
            else data["executed"]
        ),
        seed=4,
    )

    wrong = wrong_weight(judged, lambda data: data["items"][0]["characters"] > middle)
    assert holds(found["length"], 2 * PLANTED * wrong), found


def test_own_family(judged):
    """A judge that accepts 60 % of wrong answers of its own family only has a family bias."""
    found = measured(
        judged,
        "correctness",
        lambda data, chance: (
            "right"
            if "gpt-4o-mini" in model(data) and chance.random() < 2 * PLANTED
            else data["executed"]
        ),
        seed=5,
    )

    wrong = wrong_weight(judged, lambda data: "gpt-4o-mini" in model(data))
    assert holds(found["own family"], 2 * PLANTED * wrong), found


def test_position_in_pairs(judged):
    """A judge that takes the first answer in 30 % of pairs prefers it 0.15 too often."""
    found = measured(
        judged,
        "preference",
        lambda data, chance: "first" if chance.random() < PLANTED else data["executed"],
        seed=6,
    )

    assert holds(found["position"], PLANTED / 2), found


def test_own_family_in_pairs(judged):
    """A judge that takes its family's answer in 30 % of pairs prefers it 0.15 too often."""
    found = measured(
        judged,
        "preference",
        lambda data, chance: (
            ("first", "second")["gpt-4o-mini" not in model(data)]
            if chance.random() < PLANTED
            else data["executed"]
        ),
        seed=7,
    )

    assert holds(found["own family"], PLANTED / 2), found


def test_false_alarms_by_task_and_length(judged):
    """A judge that rejects a quarter of the right answers has that rate of false alarms."""
    measured(
        judged,
        "correctness",
        lambda data, chance: "wrong" if chance.random() < 0.25 else data["executed"],
        seed=8,
    )
    store, _ = judged
    rows = {
        by: [
            row
            for row in agreement(store, select(store), by=by, samples=200).records()
            if "correctness-8" in row["judge"] and row["against"] == "execution"
        ]
        for by in (
            JudgeGrouping.NOTHING,
            JudgeGrouping.TASK,
            JudgeGrouping.LENGTH,
            JudgeGrouping.POSITION,
            JudgeGrouping.MODEL,
        )
    }

    (whole,) = rows[JudgeGrouping.NOTHING]
    assert whole["items"] == 2 * ITERATIONS
    assert 0.15 < whole["false_alarms"] < 0.35
    assert whole["misses"] == 0
    assert whole["agreement_low"] < 0.875 < whole["agreement_high"]
    assert whole["kappa_low"] <= 0.75 <= whole["kappa_high"]
    assert [row["group"] for row in rows[JudgeGrouping.TASK]] == [LABEL]
    for by in (JudgeGrouping.LENGTH, JudgeGrouping.POSITION, JudgeGrouping.MODEL):
        assert len(rows[by]) == 2
        assert sum(row["items"] for row in rows[by]) == whole["items"]
