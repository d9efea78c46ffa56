# SPDX-License-Identifier: Apache-2.0
"""The tools of kgbench for tests of other packages: scores, examples, contract, ``python.md``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgbench import testing
from kgbench.errors import EvaluationError, ModelSpecError, TaskError
from kgbench.execution.judging import JudgeLimits, end_child
from kgbench.model import Outcome, Verdict
from kgbench.testing import judging

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text("utf-8")
LABEL = "RdfSyntaxFixList-turtle"


@pytest.fixture(autouse=True, scope="module")
def child():
    """End the child process after the tests."""
    yield
    end_child()


def test_the_page_is_true(pytester, monkeypatch):
    """The tests on the page pass in a folder with an installed kgbench."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:cacheprovider")
    ((name, text),) = re.findall(r"```python file=(test_\S+)\n(.*?)```", PAGE, re.DOTALL)
    pytester.makepyfile(**{Path(name).stem: text})
    shown = pytester.runpytest_subprocess("--fixtures", "-q")
    done = pytester.runpytest_subprocess("-q")

    done.assert_outcomes(passed=2)
    for fixture in re.findall(r"^\| `(kgbench_\w+)\(", PAGE, re.MULTILINE):
        assert f"{fixture} [session scope]" in shown.stdout.str()


def test_the_functions_of_the_page_work(capsys):
    """The example without pytest prints the best score."""
    (text,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(text, {})

    assert "'f1': 1.0" in capsys.readouterr().out


def test_a_suite_that_asks_for_nothing_imports_nothing(pytester, monkeypatch):
    """The plug-in imports no module of kgbench in a test suite that does not use it."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:cacheprovider")
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            loaded = [name for name in sys.modules if name.startswith("kgbench")]
            assert sorted(loaded) == ["kgbench", "kgbench.pytest_plugin"]
        """
    )
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)


def test_a_dialogue_is_scored_as_a_whole():
    """Aggregates over the rounds are returned with the scores of the last answer."""
    best = testing.example(LABEL).reference
    first, whole = testing.score(LABEL, "none"), testing.score(LABEL, "none", best)

    assert first.feedback is not None
    assert (whole.feedback, whole.outcome, whole.main) == (None, Outcome.SCORED, 1.0)
    assert whole.scores["mean_combined"] < whole.scores["max_combined"] == 1.0


def test_an_extraction_separates_reasoning_from_answers():
    """Reasoning before an answer is not judged if a step that separates it is named."""
    label = "RdfFriendCount-turtle-1"
    best = testing.example(label).reference
    said, expected = f"<think>It is easy.</think>{best}", testing.score(label, best).scores
    assert testing.score(label, said, extraction="think-block/1").scores == expected
    assert testing.score(label, said).scores["brevity"] < expected["brevity"]
    with pytest.raises(ModelSpecError, match="there is no answer extraction"):
        testing.score(LABEL, said, extraction="think")


def test_an_answer_that_is_ended_has_no_main_score():
    """An answer whose time has run out has an outcome and no score, not 0."""
    scored = testing.score(LABEL, "none", limits=JudgeLimits(seconds=0.0))

    assert (scored.outcome, scored.main, scored.scores) == (Outcome.TIMEOUT, None, {})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: testing.score("RdfFriendCount-turtl-1", "x"), "RdfFriendCount-turtle-1"),
        (lambda: testing.score(LABEL), "takes 1 to 3 answers, not 0"),
        (lambda: testing.score(LABEL, *"abcd"), "takes 1 to 3 answers, not 4"),
        (lambda: testing.example(LABEL, 99), "no case number 99"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_words(asked, message):
    """An unknown label names the nearest one; wrong numbers of answers or cases are refused."""
    with pytest.raises(TaskError, match=message):
        asked()


def test_a_judge_that_fails_is_an_error(monkeypatch):
    """A defect of a judge is an error, not a score of 0."""
    failed = Verdict({}, {"message": "it fell"}, Outcome.EVALUATOR_ERROR)
    monkeypatch.setattr(judging, "judge_batch", lambda *_: [failed])
    with pytest.raises(EvaluationError, match="it fell"):
        testing.score(LABEL, "none")


def test_a_broken_contract_is_seen(monkeypatch):
    """A judge that gives its reference answer less than 1 breaks the contract."""
    module = testing.contract.catalogue.module("RdfFriendCount")
    monkeypatch.setattr(module, "reference", lambda _: "nobody")
    with pytest.raises(AssertionError):
        testing.check_task_class("RdfFriendCount")
