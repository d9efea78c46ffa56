# SPDX-License-Identifier: Apache-2.0
"""Everything that can be checked of task classes in a folder, for ``kgbench tasks check``.

Judges run as in a benchmark: in a child process with limits. Nothing is asked of a model.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

from kgbench.errors import ResourceError, TaskError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Outcome, TaskClass, TaskModule, Verdict
from kgbench.nearest import nearest
from kgbench.tasks import catalogue, sealed_classes
from kgbench.testing import contract, hostile, leaks, wheels
from kgbench.testing.declared import Fault, declared
from kgbench.testing.fields import faults_of_fields
from kgbench.testing.sources import PROJECT, Source, entry_points, sources, used

HOSTILE_ANSWERS = 200
LIMITS = JudgeLimits(seconds=10.0)

_MOST_CASES = 200  # of a task class
_AGAIN = 30  # hostile answers that are judged twice
_LISTED = 5  # files that a message lists at most
_SHOWN = 40  # characters of an answer in a message


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a task class: what was looked at, and what is wrong.

    ``skipped`` says why nothing was looked at.
    """

    task_class: str
    name: str
    file: Path
    looked_at: str = ""
    faults: tuple[Fault, ...] = ()
    skipped: str | None = None


def check_folder(folder: Path, *, limits: JudgeLimits = LIMITS) -> Iterator[Check]:
    """The checks of all task classes that are declared in ``folder``, one after the other.

    A class is used from the folder, be it installed or not. Raises
    :class:`~kgbench.errors.ResourceError` where the folder declares none.
    """
    built = cache(_built)
    for source in sources(folder):
        project = source.project
        wheel = None
        if project is not None and source.name in entry_points(project):
            wheel = _wheel(source, built(project))
        with used(project):
            yield from _checks(source, limits, wheel)


_OF_CODE = ("cases", "prompts", "reference answers", "hostile answers")


def _checks(source: Source, limits: JudgeLimits, wheel: Check | None) -> Iterator[Check]:
    path = source.folder / catalogue.DECLARATION
    made = partial(Check, source.name, file=path)
    found = declared(path)
    if found.syntax:
        yield made("declaration", faults=tuple(found.syntax))
    else:
        yield made("declaration", looked_at="shape", faults=tuple(found.shape))
        yield made("vocabulary", looked_at="terms", faults=tuple(found.terms))
        yield made("levels", looked_at="values", faults=tuple(found.levels))
    module, faults, skipped = _code(source)
    if faults or skipped is None:
        yield made("code", looked_at="module", faults=faults)
    if wheel is not None:
        yield wheel
    if module is None:
        why = skipped or "the class cannot be used"
        yield from (made(name, skipped=why) for name in _OF_CODE)
        return
    task_class = catalogue.task_class(source.name)
    faults = _collected(contract.faults_of_cases(task_class, module))
    cases, more = _all_cases(task_class, module)
    yield made("cases", looked_at=_count(len(cases), "case"), faults=(*faults, *more))
    if not cases:
        yield from (made(name, skipped="there are no cases") for name in _OF_CODE[1:])
        return
    judge = partial(judge_batch, limits=limits)
    references = partial(_references, path)
    for name, look in (("prompts", _prompts), ("reference answers", references)):
        faults = _collected(look(task_class, module, cases, judge))
        yield made(name, looked_at=_count(len(cases), "case"), faults=faults)
    looked_at, faults = _hostile(task_class, module, cases, judge)
    yield made("hostile answers", looked_at=looked_at, faults=faults)


def _code(source: Source) -> tuple[TaskModule | None, tuple[Fault, ...], str | None]:
    """The module of a class, what is wrong with it, and why it is not looked at."""
    name, project = source.name, source.project
    try:
        task_class, module = catalogue.task_class(name), catalogue.module(name)
        place = catalogue.folder(name).resolve()
    except TaskError as error:
        if name in catalogue.unusable():
            return None, (Fault(str(error)),), None
        if project is None:
            return None, (), f"no {PROJECT} names its module, and it is not installed"
        hint = nearest(name, entry_points(project))
        about = f"{project / PROJECT} names no module for {name} ({catalogue.GROUP}): {hint}"
        return None, (Fault(about),), None
    if place != source.folder:
        return None, (), f"the class that is used under this name lies in {place}"
    why = sealed_classes.why_sealed(name)
    if why is not None:
        return None, (), f"it is sealed: {why}"
    said = getattr(module, "NAME", None)
    lacks = [
        each
        for each in ("cases", "prompt", "judge", "reference")
        if not callable(getattr(module, each, None))
    ]
    faults = [Fault(f"the module has no function {each}()") for each in lacks]
    if said != task_class.name:
        faults.append(Fault(f"the module says NAME = {said!r} instead of {name!r}"))
    return (None if lacks else module), tuple(faults), None


def _built(project: Path) -> Mapping[str, bytes] | Fault | str:
    """The wheel of a project, or what is wrong with the project, or why no wheel is built."""
    try:
        return wheels.contents(project)
    except wheels.FaultyPackageError as error:
        return Fault(f"no wheel can be built: {error}")
    except wheels.NotBuiltHereError as error:
        return f"no wheel is built: {error}"


def _wheel(source: Source, wheel: Mapping[str, bytes] | Fault | str) -> Check:
    """The wheel holds all of the task class, so that it works where it is installed."""
    made = partial(Check, source.name, "wheel", file=(source.project or source.folder) / PROJECT)
    if isinstance(wheel, str):
        return made(skipped=wheel)
    if isinstance(wheel, Fault):
        return made(looked_at="wheel", faults=(wheel,))
    try:
        absent = list(wheels.lacking(source, wheel))
    except ResourceError:
        return made(skipped="the declaration is broken")
    shown = ", ".join(absent[:_LISTED]) + (
        f" and {len(absent) - _LISTED} more" * (len(absent) > _LISTED)
    )
    faults = [Fault(f"the wheel lacks {shown}: {PROJECT} must make it part of the package")]
    looked_at = f"wheel: {_count(len(wheel), 'file')}"
    return made(looked_at=looked_at, faults=tuple(faults if absent else ()))


def _all_cases(task_class: TaskClass, module: TaskModule) -> tuple[list[Case], tuple[Fault, ...]]:
    try:
        found = list(islice(contract.all_cases(task_class, module), _MOST_CASES))
    except Exception as error:  # noqa: BLE001 - whatever the code of others raises
        return [], (Fault(_raised("cases()", error)),)
    return found, ()


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
    """The judge ends with an outcome whatever is answered, in the first round and in the last."""
    try:
        references = [module.reference(case) for case in cases]
    except Exception as error:  # noqa: BLE001 - whatever the code of others raises
        return "0 answers", (Fault(_raised("reference()", error)),)
    given = list(hostile.answers(references, HOSTILE_ANSWERS))
    asked = [cases[number % len(cases)] for number in range(len(given))]
    faults: dict[str, list[str]] = {}
    outcomes: Counter[str] = Counter()
    for rounds in sorted({1, most := task_class.max_rounds}):
        requests = [
            JudgeRequest(case, (text,) * rounds)
            for case, (_, text) in zip(asked, given, strict=True)
        ]
        verdicts = judge([*requests, *requests[:_AGAIN]])
        outcomes.update(str(verdict.outcome) for verdict in verdicts[: len(given)])
        for number, ((kind, text), verdict) in enumerate(zip(given, verdicts, strict=False)):
            found = list(_of_hostile(task_class, verdict, kind, text, rounds))
            told = kind in hostile.NO_ANSWERS and verdict.next_prompt
            if told and leaks.is_told(module, asked[number], told):
                found.append("the feedback on it contains the reference answer")
            if number < _AGAIN and _differ(verdict, verdicts[len(given) + number]):
                found.append("the same answer is judged differently each time")
            for fault in found:
                faults.setdefault(fault, []).append(f"{kind}, {_start(text)}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    about = _count(len(given), "answer") + (", 2 rounds" if most > 1 else "")
    return f"{about}: {counts}", tuple(
        Fault(f"{fault} ({_count(len(places), 'answer')}; the first: {places[0]})")
        for fault, places in faults.items()
    )


def _of_hostile(
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


def _differ(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts differ for another reason than a limit, which machines reach or not."""
    return one != other and Outcome.TIMEOUT not in {one.outcome, other.outcome}


def _collected(faults: Iterator[str]) -> tuple[Fault, ...]:
    """The faults, each once, and the exception that ended the search where there was one."""
    found: list[str] = []
    try:
        found.extend(faults)
    except Exception as error:  # noqa: BLE001 - whatever the code of others raises
        found.append(_raised("the module", error))
    return tuple(map(Fault, dict.fromkeys(found)))


def _raised(what: str, error: Exception) -> str:
    """An exception of the code of others, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{what} raises {type(error).__name__}: {error}{place}"


def _start(text: str) -> str:
    return repr(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")


def _count(number: int, one: str) -> str:
    return f"{number:,} {one if number == 1 else f'{one}s'}"
