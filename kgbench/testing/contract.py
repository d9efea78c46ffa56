# SPDX-License-Identifier: Apache-2.0
"""The contract of a task class, as functions that give its faults, one sentence each.

A package with a task class of its own calls :func:`check_task_class` in a test of its own;
``kgbench tasks check`` looks at more (:mod:`kgbench.testing.checking`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence

from kgbench.execution.judging import JudgeRequest
from kgbench.model import Case, Executor, Metric, Outcome, Task, TaskClass, TaskModule, Verdict
from kgbench.scoring.aggregation import aggregate
from kgbench.tasks import catalogue
from kgbench.tasks.parameters import labelled_task
from kgbench.testing import leaks
from kgbench.testing.executor import PlainExecutor
from kgbench.testing.hostile import NO_ANSWERS

SUITE = "contract"
FEW = 3  # cases that are looked at of each task
FEEDBACK = frozenset(("syntax", "content", "format", "empty-result"))

#: Judges a batch of answers: one verdict for each, in order.
Judge = Callable[[Sequence[JudgeRequest]], Sequence[Verdict]]

_NEAR = 1e-9  # sums of weights may miss 1 by so much


def all_cases(task_class: TaskClass, module: TaskModule, count: int = 20) -> list[Case]:
    """The cases of all labelled tasks of a class, at most ``count`` of each task."""
    return [c for task in tasks(task_class) for c in module.cases(task, SUITE, 7, count)]


def tasks(task_class: TaskClass) -> Sequence[Task]:
    """The labelled tasks of a class; where it has none, the one with the defaults."""
    return task_class.tasks or [labelled_task(task_class, task_class.name, {})]


def judge_here(module: TaskModule, executor: Executor) -> Judge:
    """The judge of a module in this process, without limits."""
    return lambda batch: [module.judge(each.case, each.answers, executor) for each in batch]


def faults_of_cases(task_class: TaskClass, module: TaskModule) -> Iterator[str]:
    """Cases are the same for a seed, no more than asked for, JSON-shaped and all different."""
    for task in tasks(task_class):
        found = list(module.cases(task, SUITE, 7, FEW))
        if not found:
            yield f"{task.label} has no cases"
        if len(found) > FEW or len(module.cases(task, SUITE, 7, 1)) > 1:
            yield f"{task.label}: cases() gives more cases than it was asked for"
        same = found == list(module.cases(task, SUITE, 7, FEW))
        if not same or found[:1] != list(module.cases(task, SUITE, 7, 1)):
            yield f"{task.label}: cases() gives other cases for the same seed"
        if len({case.iri for case in found}) < len(found):
            yield f"{task.label}: two cases are the same"
        for case in found:
            yield from faults_of_case(task, case)


def faults_of_case(task: Task, case: Case) -> Iterator[str]:
    """A case knows its task, and survives JSON unchanged."""
    if (case.suite, case.task_class) != (SUITE, task.task_class):
        yield f"{_name(case)} has another suite or task class than it was asked for"
    if dict(case.parameters) != dict(task.parameters):
        yield f"{_name(case)} has other parameters than its task {task.label}"
    try:
        same = json.loads(json.dumps(case.data)) == case.data
    except (TypeError, ValueError):
        same = False
    if not same:
        yield f"the data of {_name(case)} are not JSON"
    elif catalogue.make_case(SUITE, task.task_class, case.parameters, case.data, case.uid) != case:
        yield f"{_name(case)} was not made by catalogue.make_case"


def faults_of_prompt(module: TaskModule, case: Case) -> Iterator[str]:
    """A prompt is a text, the same each time, that does not give the answer away."""
    text = module.prompt(case)
    if not text.strip():
        yield f"the prompt of {_name(case)} is empty"
    if text != module.prompt(case):
        yield f"the prompt of {_name(case)} differs each time"
    if "\r" in text:
        yield f"the prompt of {_name(case)} has carriage returns"
    leak = leaks.leak(module, case)
    if leak is not None:
        yield f"the prompt of {_name(case)} {leak}"


def faults_of_reference(
    task_class: TaskClass, module: TaskModule, case: Case, judge: Judge
) -> Iterator[str]:
    """The reference answer has the best main score, and the dialogue is over after it."""
    (verdict,) = judge([JudgeRequest(case, (module.reference(case),))])
    about = f"the reference answer of {_name(case)}"
    if verdict.outcome is not Outcome.SCORED:
        why = verdict.infos.get("message", "")
        yield f"{about} has the outcome {verdict.outcome}{f': {why}' if why else ''}"
        return
    yield from (f"{about}: {fault}" for fault in faults_of_verdict(task_class, verdict, 1))
    if verdict.next_prompt is not None:
        yield f"{about} gets feedback ({verdict.feedback}) instead of ending the dialogue"
    metric = task_class.metrics[task_class.main_metric]
    score = main_score(task_class, verdict)
    if score is None or not is_best(metric, score):
        yield f"{about} gets {metric.name} = {score}, which is not the best value"


def faults_of_echo(
    task_class: TaskClass, module: TaskModule, case: Case, judge: Judge
) -> Iterator[str]:
    """Whoever sends the prompt back has answered nothing, and does not get the best score."""
    metric = task_class.metrics[task_class.main_metric]
    (verdict,) = judge([JudgeRequest(case, (module.prompt(case),))])
    score = main_score(task_class, verdict)
    if score is not None and metric.maximum != metric.minimum and is_best(metric, score):
        yield f"the prompt of {_name(case)}, sent back as the answer, gets the best score"


def main_score(task_class: TaskClass, verdict: Verdict) -> float | None:
    """The main score of a dialogue that ends with its first answer."""
    names = [task_class.main_metric] if task_class.max_rounds > 1 else []
    try:
        scores = dict(verdict.scores) | aggregate([verdict.scores], names, task_class.max_rounds)
    except ValueError:  # the main metric is not called as an aggregate is
        return None
    return scores.get(task_class.main_metric)


def is_best(metric: Metric, score: float) -> bool:
    """Whether no value of the metric is better; true where its range has no end on that side."""
    best = metric.maximum if metric.higher_is_better else metric.minimum
    return best is None or abs(score - best) < _NEAR


def faults_of_verdict(task_class: TaskClass, verdict: Verdict, rounds: int) -> Iterator[str]:
    """Every score is declared and in its declared range; what follows a last round is nothing."""
    declared = task_class.answer_metrics
    for name, value in verdict.scores.items():
        metric = declared.get(name)
        if metric is None:
            yield f"the score {name} is not declared"
        elif not isinstance(value, float) or not math.isfinite(value):
            yield f"the score {name} is {value!r}, which is no finite float"
        elif metric.minimum is not None and value < metric.minimum:
            yield f"the score {name} is {value!r}, below its range"
        elif metric.maximum is not None and value > metric.maximum:
            yield f"the score {name} is {value!r}, above its range"
    try:
        json.dumps(verdict.infos)
    except (TypeError, ValueError) as error:
        yield f"the infos are not JSON: {error}"
    yield from _faults_of_feedback(task_class, verdict, rounds)


def _faults_of_feedback(task_class: TaskClass, verdict: Verdict, rounds: int) -> Iterator[str]:
    if (verdict.next_prompt is None) != (verdict.feedback is None):
        yield "next_prompt and feedback must be given together"
    if verdict.feedback is not None and verdict.feedback not in FEEDBACK:
        yield f"the feedback {verdict.feedback!r} is none of {', '.join(sorted(FEEDBACK))}"
    if verdict.next_prompt is not None and not verdict.next_prompt.strip():
        yield "the feedback is an empty text"
    if rounds >= task_class.max_rounds and verdict.next_prompt is not None:
        yield f"there is feedback after the last of {task_class.max_rounds} rounds"


def faults_of_answer(task_class: TaskClass, case: Case, answer: str, judge: Judge) -> Iterator[str]:
    """Whatever the answer is, it is judged, and judged alike each time, in every round."""
    rounds = range(1, task_class.max_rounds + 1)
    requests = [JudgeRequest(case, (answer,) * k) for k in rounds]
    *verdicts, last, again = judge([*requests, requests[-1]])
    for k, verdict in zip(rounds, [*verdicts, last], strict=True):
        yield from faults_of_verdict(task_class, verdict, k)
    if last != again:
        yield "the same answer is judged differently each time"
    if not answer.strip() and last.outcome is not Outcome.EMPTY:
        yield f"an answer without text has the outcome {last.outcome} instead of empty"


def check_task_class(name: str, executor: Executor | None = None) -> None:
    """Raise :class:`AssertionError` with the faults of the task class called ``name``, if any.

    ``executor`` parses and queries for the judge; by default a :class:`PlainExecutor`.
    """
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    judge = judge_here(module, PlainExecutor() if executor is None else executor)
    faults = [*_faults(task_class, module, judge)]
    if faults:
        raise AssertionError("\n".join([f"{name}:", *dict.fromkeys(faults)]))


def _faults(task_class: TaskClass, module: TaskModule, judge: Judge) -> Iterator[str]:
    if task_class.name != module.NAME:
        yield f"the module says NAME = {module.NAME!r}"
    yield from faults_of_cases(task_class, module)
    cases = all_cases(task_class, module, FEW)
    for case in cases:
        yield from faults_of_prompt(module, case)
        yield from faults_of_reference(task_class, module, case, judge)
        yield from faults_of_echo(task_class, module, case, judge)
    for kind, answer in NO_ANSWERS.items() if cases else ():
        for fault in faults_of_answer(task_class, cases[0], answer, judge):
            yield f"hostile answer ({kind}): {fault}"


def _name(case: Case) -> str:
    return f"the case {case.uid or case.digest[:12]}"
