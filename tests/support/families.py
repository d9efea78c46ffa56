# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of generated task families: their tasks and cases."""

from __future__ import annotations

from kgbench.model import Case, Executor, Verdict
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor


def generated() -> dict[str, list[str]]:
    """Return the labels of all generated tasks, sorted, by the name of their class."""
    found: dict[str, list[str]] = {}
    for label, task in sorted(catalogue.labelled_tasks().items()):
        if task.task_class.endswith(("World", "Twin")):
            found.setdefault(task.task_class, []).append(label)
    return found


def cases(label: str, count: int, seed: int = 7) -> list[Case]:
    """Return the first cases of a labelled task."""
    task = catalogue.labelled_tasks()[label]
    return list(catalogue.module(task.task_class).cases(task, "own", seed, count))


def only_case(name: str, **parameters: object) -> Case:
    """Return the only case of a task class with some parameters."""
    task = catalogue.make_task(name, "test", parameters)
    (case,) = catalogue.module(name).cases(task, "test", 0, 5)
    return case


def fenced(text: str, info: str = "turtle") -> str:
    """Return a document as an answer."""
    return f"```{info}\n{text}\n```"


def judged(case: Case, *answers: str, executor: Executor | None = None) -> Verdict:
    """Return the verdict on the last of some answers."""
    return catalogue.module(case.task_class).judge(case, answers, executor or PlainExecutor())
