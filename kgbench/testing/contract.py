# SPDX-License-Identifier: Apache-2.0
"""The contract of task classes, as functions that yield violations, one sentence each.

A package with a task class calls :func:`check_task_class` in its tests; ``kgbench tasks check``
makes further checks (:mod:`kgbench.testing.checking`).

Prompts and feedback must not reveal the reference answer. A prompt may show a document that
contains the answer, so names or values of the answer in a prompt are no leak. A leak is

* the whole reference answer, if it has several lines, or if it is long and occurs outside the
  texts of the case, which a prompt may show;
* a field of the case that makes up the whole reference answer and that the prompt shows: if the
  field is given another value, that value appears both in the answer and in the prompt.

Fences around the reference answer are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kgbench.errors import nearest
from kgbench.execution.judging import JudgeRequest
from kgbench.model import (
    TOLERANCE,
    Case,
    Executor,
    Json,
    Metric,
    Outcome,
    Task,
    TaskClass,
    TaskModule,
    Verdict,
)
from kgbench.rdf.declared import Declared
from kgbench.scoring.fences import fenced_blocks
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue
from kgbench.tasks.declaration import labelled_task
from kgbench.testing.hostile import NO_ANSWERS
from kgbench.testing.judging import PlainExecutor
from kgbench.vocab import KGB, compact

SUITE = "contract"
FEW = 3  # cases of each task that are checked
FEEDBACK = frozenset(("syntax", "content", "format", "empty-result"))

#: Judges a batch of answers: one verdict for each, in order.
Judge = Callable[[Sequence[JudgeRequest]], Sequence[Verdict]]


def all_cases(task_class: TaskClass, module: TaskModule, count: int) -> list[Case]:
    """Return the cases of all labelled tasks of a class, at most ``count`` of each task."""
    return [case for task in tasks(task_class) for case in module.cases(task, SUITE, 7, count)]


def tasks(task_class: TaskClass) -> Sequence[Task]:
    """Return the labelled tasks of a class; if it has none, a task with the default parameters."""
    return task_class.tasks or [labelled_task(task_class, task_class.name, {})]


def judge_here(module: TaskModule, executor: Executor) -> Judge:
    """Return a judge that calls the module in this process, without limits."""
    return lambda batch: [
        module.judge(request.case, request.answers, executor) for request in batch
    ]


def faults_of_cases(task_class: TaskClass, module: TaskModule) -> Iterator[str]:
    """Check that cases are reproducible, at most as many as requested, JSON-shaped and distinct."""
    for task in tasks(task_class):
        cases = list(module.cases(task, SUITE, 7, FEW))
        if not cases:
            yield f"{task.label} has no cases"
        if len(cases) > FEW or len(module.cases(task, SUITE, 7, 1)) > 1:
            yield f"{task.label}: cases() gives more cases than it was asked for"
        same = cases == list(module.cases(task, SUITE, 7, FEW))
        if not same or cases[:1] != list(module.cases(task, SUITE, 7, 1)):
            yield f"{task.label}: cases() gives other cases for the same seed"
        if len({case.iri for case in cases}) < len(cases):
            yield f"{task.label}: two cases are the same"
        for case in cases:
            yield from faults_of_case(task, case)


def faults_of_case(task: Task, case: Case) -> Iterator[str]:
    """Check that a case has the parameters of its task, and data that JSON preserves."""
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
    """Check that a prompt is reproducible, not empty, and does not contain the answer."""
    text = module.prompt(case)
    if not text.strip():
        yield f"the prompt of {_name(case)} is empty"
    if text != module.prompt(case):
        yield f"the prompt of {_name(case)} differs each time"
    if "\r" in text:
        yield f"the prompt of {_name(case)} has carriage returns"
    leak = prompt_leak(module, case)
    if leak is not None:
        yield f"the prompt of {_name(case)} {leak}"


def faults_of_reference(
    task_class: TaskClass, module: TaskModule, case: Case, judge: Judge
) -> Iterator[str]:
    """Check that the reference answer gets the best main score and ends the dialogue."""
    (verdict,) = judge([JudgeRequest(case, (module.reference(case),))])
    subject = f"the reference answer of {_name(case)}"
    if verdict.outcome is not Outcome.SCORED:
        message = verdict.infos.get("message", "")
        yield f"{subject} has the outcome {verdict.outcome}{f': {message}' if message else ''}"
        return
    yield from (f"{subject}: {fault}" for fault in faults_of_verdict(task_class, verdict, 1))
    if verdict.next_prompt is not None:
        yield f"{subject} gets feedback ({verdict.feedback}) instead of ending the dialogue"
    metric = task_class.metrics[task_class.main_metric]
    score = main_score(task_class, verdict)
    if score is None or not is_best(metric, score):
        yield f"{subject} gets {metric.name} = {score}, which is not the best value"


def faults_of_echo(
    task_class: TaskClass, module: TaskModule, case: Case, judge: Judge
) -> Iterator[str]:
    """Check that an answer that repeats the prompt does not get the best score."""
    metric = task_class.metrics[task_class.main_metric]
    (verdict,) = judge([JudgeRequest(case, (module.prompt(case),))])
    score = main_score(task_class, verdict)
    if score is not None and metric.maximum != metric.minimum and is_best(metric, score):
        yield f"the prompt of {_name(case)}, sent back as the answer, gets the best score"


def main_score(task_class: TaskClass, verdict: Verdict) -> float | None:
    """Return the main score of a dialogue that ends with its first answer.

    The result is ``None`` if the score is undefined.
    """
    names = [task_class.main_metric] if task_class.max_rounds > 1 else []
    try:
        scores = dict(verdict.scores) | aggregate([verdict.scores], names, task_class.max_rounds)
    except ValueError:  # the main metric does not have the name of an aggregate
        return None
    return scores.get(task_class.main_metric)


def is_best(metric: Metric, score: float) -> bool:
    """Return whether no value of the metric is better than ``score``.

    The result is true if the metric's range is unbounded on the better side.
    """
    bound = metric.maximum if metric.higher_is_better else metric.minimum
    return bound is None or abs(score - bound) <= TOLERANCE


def faults_of_verdict(task_class: TaskClass, verdict: Verdict, rounds: int) -> Iterator[str]:
    """Check that scores are declared and in range, infos are JSON, and feedback is consistent."""
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
    """Check that an answer gets valid and reproducible verdicts in every round."""
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
    """Check the contract of the task class called ``name``.

    ``executor`` parses documents and runs queries for the judge; by default a
    :class:`PlainExecutor`. Raises :class:`AssertionError` with all violations, one per line.
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


def faults_of_fields(
    declaration: Path, module: TaskModule, cases: Sequence[Case], judge: Judge
) -> Iterator[str]:
    """Check that each declared field occurs in cases, or in infos of verdicts on reference answers.

    Pages silently ignore a misspelt field and show no comparison.
    """
    declared = Declared(declaration)
    for node in declared.instances(KGB.TaskClass):
        fields = {
            term: [value.value for value in declared.objects(node, term)]
            for term in (KGB.referenceText, KGB.referenceSet, KGB.judgedText, KGB.judgedSet)
        }
        data = {name for case in cases for name in case.data}
        for term in (KGB.referenceText, KGB.referenceSet):
            yield from _unknown(term, fields[term], data, "case")
        if fields[KGB.referenceSet] and not fields[KGB.judgedSet]:
            yield f"{compact(KGB.referenceSet)} has no effect without {compact(KGB.judgedSet)}"
        if fields[KGB.judgedText] or fields[KGB.judgedSet]:
            verdicts = judge([JudgeRequest(case, (module.reference(case),)) for case in cases])
            infos = {name for verdict in verdicts for name in verdict.infos}
            for term in (KGB.judgedText, KGB.judgedSet):
                if infos.isdisjoint(fields[term]):  # infos need only one of several fields
                    yield from _unknown(term, fields[term], infos, "verdict on a reference answer")


def _unknown(term: str, names: list[str], known: set[str], holder: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"no {holder} has the field '{name}' of {compact(term)}: {nearest(name, known)}"


_LONG = 60  # characters; labels in graphs are shorter, queries and statements mostly longer
_MARKER = "zqxleak"  # prefix of replacement values, which occurs in no prompt
_SEPARATORS = re.compile(r"[\s,;.*•-]*")  # between the values of a list


def prompt_leak(module: TaskModule, case: Case) -> str | None:
    """Return how the prompt of ``case`` reveals the reference answer; ``None`` if it does not."""
    prompt, reference = module.prompt(case), _unfenced(module.reference(case))
    if not reference:
        return None
    if "\n" in reference and reference in prompt:
        return "contains the reference answer"
    if len(reference) >= _LONG and reference in _without_texts(prompt, case, reference):
        return "contains the reference answer"
    for path, value in _fields(case.data):
        if _is_whole_answer(value, reference) and _is_copied(module, case, path, value):
            return f"shows the field '{'/'.join(path)}' of the case, which is the reference answer"
    return None


def reveals_reference(module: TaskModule, case: Case, feedback: str) -> bool:
    """Return whether feedback contains a reference answer that is long or has several lines."""
    reference = _unfenced(module.reference(case))
    return ("\n" in reference or len(reference) >= _LONG) and reference in feedback


def _unfenced(reference: str) -> str:
    """Return a reference answer without surrounding white space and fences."""
    blocks = list(fenced_blocks(reference))
    return (blocks[0].body if len(blocks) == 1 else reference).strip()


def _without_texts(prompt: str, case: Case, reference: str) -> str:
    """Return the prompt without texts of the case that contain the reference answer and more."""
    for text in sorted(map(str.strip, _texts(case.data)), key=len, reverse=True):
        if reference in text and text != reference:
            prompt = prompt.replace(text, "\0")
    return prompt


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_whole_answer(value: Json, reference: str) -> bool:
    """Return whether the value or values of a field make up the whole reference answer."""
    remaining = reference
    for part in sorted(map(str, _values(value)), key=len, reverse=True):
        if not part.strip() or part.strip() not in remaining:
            return False
        remaining = remaining.replace(part.strip(), "")
    return remaining != reference and _SEPARATORS.fullmatch(remaining) is not None


def _values(value: Json) -> list[Json]:
    """Return the values of a scalar or a list of scalars; empty for other structures."""
    values = value if isinstance(value, list) else [value]
    are_scalars = all(isinstance(item, str | int | float) for item in values)
    return values if are_scalars and not isinstance(value, bool) else []


def _fields(data: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the fields of a case with their paths, nested fields included."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from (((name, *path), inner) for path, inner in _fields(value))
        else:
            yield (name,), value


def _with_value(data: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    name, *rest = path
    return {**data, name: _with_value(data[name], tuple(rest), value) if rest else value}


def _is_copied(module: TaskModule, case: Case, path: tuple[str, ...], old: Json) -> bool:
    """Return whether a replaced value of a field appears in both the answer and the prompt."""
    replacements = [f"{_MARKER}{number}" for number, _ in enumerate(_values(old))]
    data = _with_value(case.data, path, replacements if isinstance(old, list) else replacements[0])
    changed = catalogue.make_case(case.suite, case.task_class, case.parameters, data, case.uid)
    try:
        prompt, reference = module.prompt(changed), module.reference(changed)
    except Exception:  # noqa: BLE001 - the field cannot hold an arbitrary text
        return False
    return all(replacement in prompt and replacement in reference for replacement in replacements)
