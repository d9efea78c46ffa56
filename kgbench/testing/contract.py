# SPDX-License-Identifier: Apache-2.0
"""The contract of a task class, as functions that raise :class:`AssertionError`.

A package with a task class of its own calls :func:`check_task_class` in a test of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from kgbench.model import Case, Executor, Outcome, Task, TaskClass, TaskModule, Verdict
from kgbench.scoring.aggregation import aggregate
from kgbench.tasks import catalogue
from kgbench.testing.executor import PlainExecutor

SUITE = "contract"
FEW = 3  # cases that are looked at of each task

# Answers that models give when they do not give an answer.
HOSTILE = {
    "empty": "",
    "blanks": " \n\t\n",
    "prose": "I am sorry, but I cannot help with that.",
    "a megabyte": "no " * 350_000,
    "a megabyte of lines": "```\n:a :b :c .\n" * 70_000,
    "a megabyte without a break": "x" * 1_000_000,
    "lone surrogates": '```turtle\n<a> <b> "\ud800" .\n```\nperson-\udfff',
    "NUL": "\x00```\n\x00\n```\x00",
    "an open fence": "```turtle\n<http://e.org/a> <http://e.org/b> 1 .",
    "an empty block": "```\n```",
    "unusual line ends": "a\r\nb\rc\x0bd\x0ce\u2028f\u2029g\x85h",
    "a template": "$graph ${format} {0} %s",
    "other scripts": "```\n答え — ответ \U0001f600\n```",
}


def all_cases(task_class: TaskClass, module: TaskModule, count: int = 20) -> list[Case]:
    """The cases of all labelled tasks of a class."""
    return [c for task in task_class.tasks for c in module.cases(task, SUITE, 7, count)]


def check_cases(task_class: TaskClass, module: TaskModule) -> None:
    """Cases are the same for a seed, no more than asked for, JSON-shaped and all different."""
    for task in task_class.tasks:
        found = list(module.cases(task, SUITE, 7, FEW))
        assert found, f"{task.label} has no cases"
        assert len(found) <= FEW
        assert len(module.cases(task, SUITE, 7, 1)) == 1
        assert found == list(module.cases(task, SUITE, 7, FEW))
        assert found[:1] == list(module.cases(task, SUITE, 7, 1))
        assert len({case.iri for case in found}) == len(found)
        for case in found:
            check_case(task, case)


def check_case(task: Task, case: Case) -> None:
    """A case knows its task, and survives JSON unchanged."""
    assert (case.suite, case.task_class) == (SUITE, task.task_class)
    assert dict(case.parameters) == dict(task.parameters)
    assert json.loads(json.dumps(case.data)) == case.data
    again = catalogue.make_case(SUITE, task.task_class, case.parameters, case.data, case.uid)
    assert again == case


def check_prompt(module: TaskModule, case: Case) -> None:
    """A prompt is a text, the same each time, that does not give the answer away."""
    text = module.prompt(case)
    assert text.strip()
    assert text == module.prompt(case)
    assert "\r" not in text
    reference = module.reference(case)
    # A single value can be one that the prompt asks to choose from.
    assert "\n" not in reference.strip() or reference not in text


def check_reference(
    task_class: TaskClass, module: TaskModule, case: Case, executor: Executor
) -> None:
    """The reference answer has the best main score, and the dialogue is over after it."""
    verdict = module.judge(case, [module.reference(case)], executor)
    check_verdict(task_class, verdict, rounds=1)
    assert verdict.outcome is Outcome.SCORED, verdict
    assert verdict.next_prompt is None, verdict.feedback
    names = [task_class.main_metric] if task_class.max_rounds > 1 else []
    scores = dict(verdict.scores) | aggregate([verdict.scores], names, task_class.max_rounds)
    assert scores[task_class.main_metric] == 1.0, scores


def check_verdict(task_class: TaskClass, verdict: Verdict, rounds: int) -> None:
    """Every score is declared and in its declared range; what follows a last round is nothing."""
    declared = task_class.answer_metrics
    for name, value in verdict.scores.items():
        assert name in declared, f"{task_class.name} does not declare the score {name}"
        metric = declared[name]
        assert isinstance(value, float), f"{name} is {value!r}, which is no float"
        assert math.isfinite(value)
        assert metric.minimum is None or value >= metric.minimum, f"{name} is {value!r}"
        assert metric.maximum is None or value <= metric.maximum, f"{name} is {value!r}"
    json.dumps(verdict.infos)
    assert (verdict.next_prompt is None) == (verdict.feedback is None)
    if rounds >= task_class.max_rounds:
        assert verdict.next_prompt is None
    if verdict.feedback is not None:
        assert verdict.feedback in {"syntax", "content", "format", "empty-result"}
        assert verdict.next_prompt is not None
        assert verdict.next_prompt.strip()


def check_answer(
    task_class: TaskClass, module: TaskModule, case: Case, answer: str, executor: Executor
) -> Verdict:
    """Whatever the answer is, it is judged, and judged alike each time, in every round."""
    for rounds in range(1, task_class.max_rounds + 1):
        verdict = module.judge(case, [answer] * rounds, executor)
        check_verdict(task_class, verdict, rounds)
    assert verdict == module.judge(case, [answer] * task_class.max_rounds, executor)
    if not answer.strip():
        assert verdict.outcome is Outcome.EMPTY
    return verdict


def check_task_class(name: str, executor: Executor | None = None) -> None:
    """Everything above for the task class called ``name``.

    ``executor`` parses and queries for the judge; by default a :class:`PlainExecutor`.
    """
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    plain = PlainExecutor() if executor is None else executor
    assert name == module.NAME
    check_cases(task_class, module)
    cases: Sequence[Case] = all_cases(task_class, module, FEW)
    for case in cases:
        check_prompt(module, case)
        check_reference(task_class, module, case, plain)
    for answer in HOSTILE.values():
        check_answer(task_class, module, cases[0], answer, plain)
