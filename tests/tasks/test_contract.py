# SPDX-License-Identifier: Apache-2.0
"""Every registered task class fulfils the contract (kgbench.testing.contract)."""

from __future__ import annotations

import pytest

from kgbench.model import Case, Executor, TaskClass, TaskModule
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.executor import PlainExecutor
from kgbench.testing.hostile import NO_ANSWERS

LARGE = 100_000  # characters
FEW_TASKS = 8  # a generated family has more, and its own tests with a thousand cases of each
MOST, TOGETHER = 20, 60  # most cases of a task; cases in all of a class with many tasks
NAMES = sorted({task.task_class for task in catalogue.labelled_tasks().values()})


@pytest.fixture(scope="module")
def executor() -> Executor:
    """Return an executor that parses in this process."""
    return PlainExecutor()


def cases(task_class: TaskClass, module: TaskModule) -> list[Case]:
    """Return cases of all tasks of a class."""
    tasks = len(task_class.tasks)
    return checks.all_cases(
        task_class, module, MOST if tasks <= FEW_TASKS else max(2, TOGETHER // tasks)
    )


@pytest.mark.parametrize("name", NAMES)
def test_module_is_called_like_its_class(name: str) -> None:
    """The module of an entry point has the name of its task class."""
    assert catalogue.module(name).NAME == name


@pytest.mark.parametrize("name", NAMES)
def test_cases(name: str) -> None:
    """Cases are the same for the same seed, JSON-compatible, and different from each other."""
    faults = checks.faults_of_cases(catalogue.task_class(name), catalogue.module(name))
    assert list(faults) == []


@pytest.mark.parametrize("name", NAMES)
def test_prompts(name: str) -> None:
    """Every case has a prompt that does not contain its reference answer."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    for case in cases(task_class, module):
        assert list(checks.faults_of_prompt(module, case)) == []


@pytest.mark.parametrize("name", NAMES)
def test_reference_answers(name: str, executor: Executor) -> None:
    """The reference answer of every case reaches the best main score and ends the dialogue."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    judge = checks.judge_here(module, executor)
    for case in cases(task_class, module):
        assert list(checks.faults_of_reference(task_class, module, case, judge)) == []


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
@pytest.mark.parametrize("name", NAMES)
def test_hostile_answers(name: str, answer: str, executor: Executor) -> None:
    """No answer makes a judge raise, vary, or leave the declared ranges."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    judge = checks.judge_here(module, executor)
    large = len(answer) > LARGE  # the duration of this does not depend on the case
    tasks = task_class.tasks[:1] if large else task_class.tasks
    first_of_each_task = [case for task in tasks for case in module.cases(task, checks.SUITE, 7, 1)]
    assert first_of_each_task
    for case in first_of_each_task:
        assert list(checks.faults_of_answer(task_class, case, answer, judge)) == []
