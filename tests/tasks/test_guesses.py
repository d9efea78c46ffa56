# SPDX-License-Identifier: Apache-2.0
"""The level of chance: the mean score of random answers is the one that was calculated."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from kgbench.connectors import baseline
from kgbench.model import Request
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from tests.connectors import replies, setup_for

#: Labels of the task classes whose answers can be guessed, with their main metrics.
GUESSED = {
    "ClaimCheckWorld-natural-1": "correct",
    "OwlEntailmentWorld-natural-1": "informedness",
    "RdfFriendCount-turtle-1": "f1",
}
CASES, SEEDS = 10, 1000


@pytest.mark.parametrize("label", GUESSED)
def test_guesses_score_what_was_calculated(label):
    """Over a thousand guesses the mean differs from the level of chance by less than 0.01."""
    task = catalogue.labelled_tasks()[label]
    module = catalogue.module(task.task_class)
    executor = PlainExecutor()
    scores, levels = [], []
    for number, case in enumerate(module.cases(task, "kgbench-1", 7, CASES)):
        levels.append(module.chance_level(case))
        for seed in range(SEEDS):
            answer = module.guess(case, Random(f"{number}/{seed}"))
            scores.append(module.judge(case, [answer], executor).scores[GUESSED[label]])

    assert fmean(scores) == pytest.approx(fmean(levels), abs=0.01)


def test_every_other_class_has_open_answers():
    """A class that can be guessed has its level of chance; all others get an empty answer."""
    guessed = {label.partition("-")[0] for label in GUESSED} | {"TurtleFriendCount"}
    for name in catalogue.classes_with_code():
        module = catalogue.module(name)
        assert hasattr(module, "guess") == hasattr(module, "chance_level") == (name in guessed)


def test_the_baseline_guesses():
    """The baseline gives the guesses of the class, the same for the same seed, or nothing."""
    known = catalogue.labelled_tasks()
    for label in ("ClaimCheckWorld-natural-1", "Text2SparqlWorld-natural-1"):
        task = known[label]
        case = catalogue.module(task.task_class).cases(task, "kgbench-1", 7, 1)[0]
        requests = [Request(("?",), case, f"{k}") for k in range(30)]
        first, again = (
            [reply.text for reply in replies(baseline, setup_for("baseline", "guess"), requests)]
            for _ in range(2)
        )
        assert first == again
        assert len(set(first)) == (3 if label in GUESSED else 1)
