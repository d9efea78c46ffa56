# SPDX-License-Identifier: Apache-2.0
"""Every registered task class fulfils the contract (kgbench.testing.contract)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from kgbench.model import Case, Executor, Outcome
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.hostile import NO_ANSWERS
from kgbench.testing.judging import PlainExecutor

LARGE = 100_000  # characters
SHORT = 30_000  # characters of the many lines that every class judges: 2,000 lines
#: A class for each reader of answers, which judges the whole megabyte of lines.
READERS = (
    "AlignmentWorld",  # correspondences
    "FactExtractStatic",  # JSON
    "JsonLdContextWorld",  # JSON-LD
    "OwlWritingWorld",  # axioms
    "RdfFriendCount",  # a name
    "RmlMappingWorld",  # a mapping
    "ShaclVerdictWorld",  # a report
    "Text2AnswerListOrganizational",  # a list
    "Text2KG",  # triples as text
    "Text2SparqlWorld",  # a query
    "Text2UpdateWorld",  # an update
    "TurtleErrorsStatic",  # Turtle
)
LINES = "a megabyte of lines"
FEW_TASKS = 8  # most generated families have more; tests/worlds/test_families.py has many cases
MOST, TOGETHER = 20, 60  # most cases of a task; cases in all of a class with many tasks
NAMES = sorted({task.task_class for task in catalogue.labelled_tasks().values()})


@pytest.fixture(scope="module")
def executor() -> Executor:
    """Return an executor that parses in this process."""
    return PlainExecutor()


@cache
def cases(name: str) -> list[Case]:
    """Return cases of all tasks of a class."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    tasks = len(task_class.tasks)
    return checks.all_cases(
        task_class, module, MOST if tasks <= FEW_TASKS else max(2, TOGETHER // tasks)
    )


@pytest.mark.parametrize("name", NAMES)
def test_cases(name: str) -> None:
    """Cases are the same for the same seed, JSON-compatible, and different from each other."""
    faults = checks.faults_of_cases(catalogue.task_class(name), catalogue.module(name))
    assert list(faults) == []


@pytest.mark.parametrize("name", NAMES)
def test_prompts(name: str) -> None:
    """Every case has a prompt that does not contain its reference answer."""
    module = catalogue.module(name)
    for case in cases(name):
        assert list(checks.faults_of_prompt(module, case)) == []


@pytest.mark.parametrize("name", NAMES)
def test_reference_answers(name: str, executor: Executor) -> None:
    """References are best and end the dialogue; silence is worst and goes on if rounds are left."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    judge = checks.judge_here(module, executor)
    worst = task_class.metrics[task_class.main_metric].minimum
    for case in cases(name):
        assert list(checks.faults_of_reference(task_class, module, case, judge)) == []
        silent = module.judge(case, [""], executor)
        assert silent.outcome is Outcome.EMPTY
        assert checks.main_score(task_class, silent) == worst
        assert silent.scores.get("precision", 0) == 0 or not name.endswith("World")
        assert bool(silent.next_prompt) == (task_class.max_rounds > 1)


@pytest.mark.parametrize("kind", NO_ANSWERS)
@pytest.mark.parametrize("name", NAMES)
def test_hostile_answers(name: str, kind: str, executor: Executor) -> None:
    """No answer makes a judge raise, vary, or leave the declared ranges."""
    answer = NO_ANSWERS[kind][: SHORT if kind == LINES else None]
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    large = len(answer) > LARGE  # the duration of this does not depend on the case
    tasks = task_class.tasks[:1] if large else task_class.tasks
    for task in tasks:
        assert_holds(name, module.cases(task, checks.SUITE, 7, 1), answer, executor)


@pytest.mark.parametrize("name", READERS)
def test_a_megabyte_of_lines(name: str, executor: Executor) -> None:
    """Each reader of answers copes with 70,000 fenced blocks."""
    task = catalogue.task_class(name).tasks[0]
    found = catalogue.module(name).cases(task, checks.SUITE, 7, 1)
    assert_holds(name, found, NO_ANSWERS[LINES], executor)


def assert_holds(name: str, found: Sequence[Case], answer: str, executor: Executor) -> None:
    """Assert that a judge stays within its contract for an answer to each case."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    judge = checks.judge_here(module, executor)
    assert found
    for case in found:
        assert list(checks.faults_of_answer(task_class, case, answer, judge)) == []
