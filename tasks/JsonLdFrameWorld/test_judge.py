# SPDX-License-Identifier: Apache-2.0
"""JSON-LD frames for trees of generated worlds: judged by the resulting trees."""

from __future__ import annotations

import json

import pytest

from kgbench.api import Outcome, PlainExecutor
from kgbench.families.JsonLdFrameWorld import cases as trees
from kgbench.families.JsonLdFrameWorld import judge
from tests.execution.judging import harm
from tests.execution.judging.hostile import Hostile
from tests.support.families import cases, generated

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, trees.LEVELS + 1)
LABELS = generated()[NAME]


def fenced(*frames):
    """Return JSON objects as answers."""
    return tuple(f"```json\n{json.dumps(one)}\n```" for one in frames)


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a JSON object."""
    return family.judge(case, fenced(*answers), PlainExecutor())


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_the_frame(label):
    """A prompt has neither the frame nor its keywords."""
    for case in cases(label, 6):
        said = family.prompt(case)
        assert case.data["frame"] not in said
        assert not [word for word in ("@explicit", "@embed", "@requireAll") if word in said]


@pytest.mark.parametrize("label", LABELS)
def test_every_part_of_a_frame_matters(label):
    """Every part of a reference is needed."""
    for case in cases(label, 3):
        frame = json.loads(case.data["frame"])
        for part in frame:
            less = {name: value for name, value in frame.items() if name != part}
            assert judged(case, less).scores["exact"] == 0.0, (part, case.data)


@pytest.mark.parametrize("level", LEVELS)
def test_what_frames_gain_over_the_empty_one(level):
    """The empty frame gains nothing; one without a part gains less than the reference."""
    for case in cases(f"{NAME}-natural-{level}", 3):
        frame = json.loads(case.data["frame"])
        base = judged(case, {}).scores
        assert (base["gain"], base["exact"]) == (0.0, 0.0)
        for part in frame:
            scores = judged(case, {key: one for key, one in frame.items() if key != part}).scores
            expected = max(0.0, (scores["f1"] - base["f1"]) / (1 - base["f1"]))
            assert scores["gain"] == pytest.approx(expected)


@pytest.mark.parametrize(("level", "mean"), list(enumerate((0.52, 0.38, 0.5, 0.11, 0.13), 1)))
def test_how_much_the_empty_frame_reaches(level, mean):
    """The empty frame never makes the tree, but has the F1 that the guide says."""
    found = [case for seed in (7, 8, 9) for case in cases(f"{NAME}-natural-{level}", 15, seed)]
    scores = [judged(case, {}).scores for case in found]

    assert not any(one["exact"] for one in scores)
    assert sum(one["f1"] for one in scores) / len(scores) == pytest.approx(mean, abs=0.005)


def test_forms_of_each_level_come():
    """Each level has its declared forms, and trees use terms of the context only."""
    for level in LEVELS:
        found = cases(f"{NAME}-natural-{level}", 40)
        assert {case.data["features"][0] for case in found} == set(trees.FORMS[level])
        for case in found:
            assert "http" not in case.data["tree"]
            assert "null" not in case.data["tree"]


def test_a_frame_may_be_put_otherwise():
    """A class by its IRI, or another context, changes nothing, because only the tree counts."""
    (case,) = cases(f"{NAME}-natural-3", 1)
    frame, context = (json.loads(case.data[name]) for name in ("frame", "context"))
    told_ = {**frame, "type": context[frame["type"]], "@context": "http://127.0.0.1:9/"}

    assert judged(case, told_).scores["exact"] == 1.0


def test_another_tree_is_shown():
    """A frame with another tree has some points, and the next prompt shows its tree."""
    (case,) = cases(f"{NAME}-natural-3", 1)
    frame = json.loads(case.data["frame"])
    less = {name: value for name, value in frame.items() if name != "@explicit"}
    verdict = judged(case, less)

    assert 0 < verdict.scores["f1"] < 1
    assert verdict.feedback == "content"
    assert '"name": ' in verdict.next_prompt
    assert verdict.infos["surplus"]
    assert judged(case, less, less, less).next_prompt is None


@pytest.mark.parametrize(
    ("answer", "error", "kind"),
    [
        ({"@type": 5}, "", "syntax"),
        ({"@embed": "@sometimes"}, "embed", "syntax"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again(answer, error, kind):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert error in verdict.infos["parseError"]
    assert (verdict.scores["answerParse"], verdict.scores["f1"]) == (0.0, 0.0)
    assert verdict.feedback == kind
    assert verdict.next_prompt


def frames():
    """Yield frames that are large, deep, or request everything."""
    yield from ({}, {"@embed": "@always"}, {"@embed": "@always", "@explicit": False, "@id": {}})
    yield {f"key{n}": {} for n in range(20_000)}
    yield {"type": [f"urn:c:{n}" for n in range(20_000)]}
    yield {"name": {"@default": "x" * 500_000}}
    yield {"maker": {"@default": [{"@id": f"urn:d:{n}"} for n in range(5_000)]}}
    deep = at = {}
    for _ in range(400):
        at["maker"] = {"@embed": "@always", "makerOf": {}}
        at = at["maker"]["makerOf"]
    yield deep
    yield {"@graph": {"@graph": {"@graph": {}}}}
    yield {"@reverse": {"https://w3id.org/kgbench/world/maker": {"@embed": "@always"}}}
    yield {"@included": {}, "@nest": {}, "@omitDefault": "maybe", "@requireAll": [True]}


@pytest.mark.parametrize("level", [1, 5])
def test_hostile_answers_do_no_harm(level):
    """Frames that are large, deep, or request everything are judged or refused."""
    harm.assert_outcomes(f"{NAME}-natural-{level}", [Hostile(fenced(*frames()), harm.JUDGED)])
