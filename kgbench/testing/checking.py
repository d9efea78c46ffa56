# SPDX-License-Identifier: Apache-2.0
"""All checks of the task classes in a folder, for ``kgbench tasks check``.

Judges run as in a benchmark: in a child process with limits. No model is called.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from kgbench.errors import ResourceError, TaskError, nearest
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Outcome, TaskClass, TaskModule, Verdict
from kgbench.tasks import catalogue, texts
from kgbench.testing import contract, hostile, packages
from kgbench.testing.contract import faults_of_fields
from kgbench.testing.declaration_faults import Fault, check_declaration
from kgbench.testing.packages import PROJECT, Source, entry_points, importable_from, sources

HOSTILE_ANSWERS = 200
LIMITS = JudgeLimits(seconds=10.0)

_MOST_CASES = 100  # of a task class, shared by its tasks
_MOST_OF_A_TASK = 20
_JUDGED_TWICE = 30  # hostile answers, to see whether verdicts are reproducible
_LISTED = 5  # most files that a message lists
_SHOWN = 40  # characters of an answer in a message


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a task class, with the faults that it revealed.

    ``looked_at`` names the subject of the check; ``skipped`` is the reason if it was not made.
    """

    task_class: str
    name: str
    file: Path
    looked_at: str = ""
    faults: tuple[Fault, ...] = ()
    skipped: str | None = None


def check_folder(folder: Path, *, limits: JudgeLimits = LIMITS) -> Iterator[Check]:
    """Check all task classes that are declared in ``folder``, and yield each check when it is done.

    A class is imported from the folder, whether it is installed or not. Raises
    :class:`~kgbench.errors.ResourceError` if the folder declares no task class.
    """
    build = cache(_build_wheel)
    for source in sources(folder):
        project = source.project
        wheel = None
        if project is not None and source.name in entry_points(project):
            wheel = _check_wheel(source, build(project))
        with importable_from(project):
            yield from _checks(source, limits, wheel)


_CODE_CHECKS = ("cases", "prompts", "reference answers", "hostile answers")


def _checks(source: Source, limits: JudgeLimits, wheel: Check | None) -> Iterator[Check]:
    path = source.folder / catalogue.DECLARATION
    check = partial(Check, source.name, file=path)
    declaration_faults = check_declaration(path)
    if declaration_faults.syntax:
        yield check("declaration", faults=tuple(declaration_faults.syntax))
    else:
        yield check("declaration", looked_at="shape", faults=tuple(declaration_faults.shape))
        yield check("vocabulary", looked_at="terms", faults=tuple(declaration_faults.terms))
        yield check("levels", looked_at="values", faults=tuple(declaration_faults.levels))
    module, faults, skipped = _code(source)
    if faults or skipped is None:
        yield check("code", looked_at="module", faults=faults)
    if wheel is not None:
        yield wheel
    if module is None:
        reason = skipped or "the class cannot be used"
        yield from (check(name, skipped=reason) for name in _CODE_CHECKS)
        return
    task_class = catalogue.task_class(source.name)
    faults = _collected(contract.faults_of_cases(task_class, module))
    cases, case_faults = _all_cases(task_class, module)
    yield check("cases", looked_at=_counted(len(cases), "case"), faults=(*faults, *case_faults))
    if not cases:
        yield from (check(name, skipped="there are no cases") for name in _CODE_CHECKS[1:])
        return
    judge = partial(judge_batch, limits=limits)
    references = partial(_references, path)
    for name, find_faults in (("prompts", _prompts), ("reference answers", references)):
        faults = _collected(find_faults(task_class, module, cases, judge))
        yield check(name, looked_at=_counted(len(cases), "case"), faults=faults)
    looked_at, faults = _hostile(task_class, module, cases, judge)
    yield check("hostile answers", looked_at=looked_at, faults=faults)


def _code(source: Source) -> tuple[TaskModule | None, tuple[Fault, ...], str | None]:
    """Return the module of a class, its faults, and the reason for not checking it."""
    name, project = source.name, source.project
    try:
        task_class, module = catalogue.task_class(name), catalogue.module(name)
        folder = catalogue.folder(name).resolve()
    except TaskError as error:
        if name in catalogue.unusable():
            return None, (Fault(str(error)),), None
        if project is None:
            return None, (), f"no {PROJECT} names its module, and it is not installed"
        hint = nearest(name, entry_points(project))
        message = f"{project / PROJECT} names no module for {name} ({catalogue.GROUP}): {hint}"
        return None, (Fault(message),), None
    if folder != source.folder:
        message = f"{name} is loaded from {folder}: check that folder, or rename this class"
        return None, (Fault(message),), None
    sealed_reason = texts.missing_key(name)
    if sealed_reason is not None:
        return None, (), f"it is sealed: {sealed_reason}"
    declared_name = getattr(module, "NAME", None)
    missing = [
        function
        for function in ("cases", "prompt", "judge", "reference")
        if not callable(getattr(module, function, None))
    ]
    faults = [Fault(f"the module has no function {function}()") for function in missing]
    if declared_name != task_class.name:
        faults.append(Fault(f"the module says NAME = {declared_name!r} instead of {name!r}"))
    return (None if missing else module), tuple(faults), None


def _build_wheel(project: Path) -> Mapping[str, bytes] | Fault | str:
    """Return a project's wheel as files, the project's fault, or the reason for not building."""
    try:
        return packages.contents(project)
    except packages.FaultyPackageError as error:
        return Fault(f"no wheel can be built: {error}")
    except packages.NotBuiltHereError as error:
        return f"no wheel is built: {error}"


def _check_wheel(source: Source, wheel: Mapping[str, bytes] | Fault | str) -> Check:
    """Check that the wheel contains the module, declaration and data of a task class."""
    check = partial(Check, source.name, "wheel", file=(source.project or source.folder) / PROJECT)
    if isinstance(wheel, str):
        return check(skipped=wheel)
    if isinstance(wheel, Fault):
        return check(looked_at="wheel", faults=(wheel,))
    try:
        absent = list(packages.missing_files(source, wheel))
    except ResourceError:
        return check(skipped="the declaration is broken")
    listed = ", ".join(absent[:_LISTED]) + (
        f" and {len(absent) - _LISTED} more" * (len(absent) > _LISTED)
    )
    faults = [Fault(f"the wheel lacks {listed}: {PROJECT} must make it part of the package")]
    looked_at = f"wheel: {_counted(len(wheel), 'file')}"
    return check(looked_at=looked_at, faults=tuple(faults if absent else ()))


def _all_cases(task_class: TaskClass, module: TaskModule) -> tuple[list[Case], tuple[Fault, ...]]:
    try:
        share = max(1, _MOST_CASES // len(contract.tasks(task_class)))
        return contract.all_cases(task_class, module, min(share, _MOST_OF_A_TASK)), ()
    except Exception as error:  # noqa: BLE001 - code of the author may raise anything
        return [], (Fault(_raised_message("cases()", error)),)


def _prompts(
    task_class: TaskClass, module: TaskModule, cases: Sequence[Case], judge: contract.Judge
) -> Iterator[str]:
    for case in cases:
        yield from contract.faults_of_prompt(module, case)
        yield from contract.faults_of_echo(task_class, module, case, judge)


def _references(
    declaration: Path,
    task_class: TaskClass,
    module: TaskModule,
    cases: Sequence[Case],
    judge: contract.Judge,
) -> Iterator[str]:
    for case in cases:
        yield from contract.faults_of_reference(task_class, module, case, judge)
    yield from faults_of_fields(declaration, module, cases, judge)


def _hostile(
    task_class: TaskClass, module: TaskModule, cases: Sequence[Case], judge: contract.Judge
) -> tuple[str, tuple[Fault, ...]]:
    """Check that the judge gives valid verdicts on hostile answers, in the first and last round."""
    try:
        references = [module.reference(case) for case in cases]
    except Exception as error:  # noqa: BLE001 - code of the author may raise anything
        return "0 answers", (Fault(_raised_message("reference()", error)),)
    answers = list(hostile.answers(references, HOSTILE_ANSWERS))
    asked_cases = [cases[number % len(cases)] for number in range(len(answers))]
    faults: dict[str, list[str]] = {}
    outcomes: Counter[str] = Counter()
    for rounds in sorted({1, last_round := task_class.max_rounds}):
        requests = [
            JudgeRequest(case, (text,) * rounds)
            for case, (_, text) in zip(asked_cases, answers, strict=True)
        ]
        verdicts = judge([*requests, *requests[:_JUDGED_TWICE]])
        outcomes.update(str(verdict.outcome) for verdict in verdicts[: len(answers)])
        for number, ((kind, text), verdict) in enumerate(zip(answers, verdicts, strict=False)):
            new_faults = list(_hostile_faults(task_class, verdict, kind, text, rounds))
            feedback = kind in hostile.NO_ANSWERS and verdict.next_prompt
            if feedback and contract.reveals_reference(module, asked_cases[number], feedback):
                new_faults.append("the feedback on it contains the reference answer")
            if number < _JUDGED_TWICE and _differ(verdict, verdicts[len(answers) + number]):
                new_faults.append("the same answer is judged differently each time")
            for fault in new_faults:
                faults.setdefault(fault, []).append(f"{kind}, {_beginning(text)}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    counted = _counted(len(answers), "answer") + (", 2 rounds" if last_round > 1 else "")
    return f"{counted}: {counts}", tuple(
        Fault(f"{fault} ({_counted(len(examples), 'answer')}; the first: {examples[0]})")
        for fault, examples in faults.items()
    )


def _hostile_faults(
    task_class: TaskClass, verdict: Verdict, kind: str, text: str, rounds: int
) -> Iterator[str]:
    if verdict.outcome is Outcome.EVALUATOR_ERROR:
        yield f"the judge fails: {verdict.infos.get('message')}"
        return
    limit = verdict.infos.get("limit")
    if verdict.outcome is Outcome.TIMEOUT and not verdict.scores and limit != "stack":
        yield f"the judge reaches the limit of {limit} outside of queries"
        return
    yield from contract.faults_of_verdict(task_class, verdict, rounds)
    if not text.strip() and verdict.outcome is not Outcome.EMPTY:
        yield f"an answer without text has the outcome {verdict.outcome} instead of empty"
    metric = task_class.metrics[task_class.main_metric]
    score = contract.main_score(task_class, verdict)
    if kind in hostile.NO_ANSWERS and score is not None and rounds == 1:
        bounded = metric.maximum if metric.higher_is_better else metric.minimum
        if bounded is not None and contract.is_best(metric, score):
            yield f"what is no answer gets the best score ({metric.name} = {score})"


def _differ(first: Verdict, second: Verdict) -> bool:
    """Return whether two verdicts differ.

    They do not if one hit a time limit, which depends on the machine.
    """
    return first != second and Outcome.TIMEOUT not in {first.outcome, second.outcome}


def _collected(faults: Iterator[str]) -> tuple[Fault, ...]:
    """Return the distinct faults, and as the last one an exception that ended the search."""
    messages: list[str] = []
    try:
        messages.extend(faults)
    except Exception as error:  # noqa: BLE001 - code of the author may raise anything
        messages.append(_raised_message("the module", error))
    return tuple(map(Fault, dict.fromkeys(messages)))


def _raised_message(raiser: str, error: Exception) -> str:
    """Return a message about an exception in an author's code, with file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{raiser} raises {type(error).__name__}: {error}{location}"


def _beginning(text: str) -> str:
    return repr(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"
