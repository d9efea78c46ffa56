# SPDX-License-Identifier: Apache-2.0
"""JSON-LD frames for trees of generated worlds: judged by the resulting trees."""

from __future__ import annotations

import json

import pytest

from kgbench.model import Outcome
from kgbench.scoring import json_ld
from kgbench.tasks import world_frames
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import trees
from tests.support.families import cases

NAME = world_frames.NAME
LEVELS = range(1, trees.LEVELS + 1)
LABELS = [f"{NAME}-{names}-{level}" for names in ("natural", "opaque") for level in LEVELS]


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a text or a JSON value."""
    texts = [one if isinstance(one, str) else f"```json\n{json.dumps(one)}\n```" for one in answers]
    return world_frames.judge(case, texts, PlainExecutor())


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_the_frame(label):
    """A prompt has neither the frame nor its keywords."""
    for case in cases(label, 6):
        said = world_frames.prompt(case)
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
        ("no block", "no fenced block", "format"),
        ("```json\n[]\n```", "no JSON object", "syntax"),
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


def test_trees_are_compared_up_to_the_order_of_arrays():
    """Arrays are unordered, but a value in another node or under another key differs."""
    one = {"@graph": [{"id": "a", "k": [1, 2]}, {"id": "b", "k": {"id": "c"}}, {"id": "d"}]}
    other = {"@graph": [{"id": "d"}, {"id": "b", "k": {"id": "c"}}, {"id": "a", "k": [2, 1]}]}
    moved = {"@graph": [{"id": "a", "k": [1]}, {"id": "b", "k": {"id": "c"}}, {"id": "d", "k": 2}]}

    assert json_ld.sort_arrays(one) == json_ld.sort_arrays(other) != json_ld.sort_arrays(moved)
    assert set(json_ld.leaves(one)) == set(json_ld.leaves(other))
    assert set(json_ld.leaves(one)) - set(json_ld.leaves(moved)) == {"a /@graph/k 2"}
    assert list(json_ld.leaves({"k": {}})) == [" /k {}"]
