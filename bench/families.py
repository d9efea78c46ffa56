# SPDX-License-Identifier: Apache-2.0
"""Generated families of tasks: how fast their cases are made, and answers to them judged.

All labelled tasks of a family take part, so all its levels, names and formats. Half of the answers
are the reference; in the others something is dropped, changed or cut off, as the noisy baseline
does. Both are judged in this process: what isolation costs is in ``reevaluating``.
"""

from __future__ import annotations

from itertools import count
from random import Random
from time import perf_counter
from typing import Final

from bench.harness import LEAST, Result, Timing
from kgbench.analysis.difficulty import LEVEL
from kgbench.connectors.baseline import damaged
from kgbench.execution.engines import engine
from kgbench.model import Case, TaskClass
from kgbench.tasks import catalogue

_CASES: Final = 10
"""Cases of each labelled task."""
_SEEDS = count(1)


def run() -> list[Result]:
    """Cases made a second and answers judged a second, for each family."""
    return [
        found
        for one in catalogue.task_classes().values()
        if any(LEVEL in task.parameters for task in one.tasks)
        for found in _family(one)
    ]


def _family(one: TaskClass) -> list[Result]:
    """Both speeds of a family; each repetition has a seed, and so worlds, of its own."""
    making, judging = [], []
    made = judged = 0
    for _ in range(LEAST):
        begin = perf_counter()
        cases = _made(one, next(_SEEDS))
        making.append(perf_counter() - begin)
        answers = [(case, said) for case in cases for said in _said(case)]
        begin = perf_counter()
        _judge(answers)
        judging.append(perf_counter() - begin)
        made, judged = len(cases), len(answers)
    return [
        _result(f"{one.name}, cases", made, Timing(tuple(making)), "cases/s", len(one.tasks)),
        _result(
            f"{one.name}, answers", judged, Timing(tuple(judging)), "answers/s", len(one.tasks)
        ),
    ]


def _result(what: str, many: int, timed: Timing, unit: str, tasks: int) -> Result:
    note = f"{many} of {tasks} tasks, spread {timed.spread:.0%}"
    return Result(what, many / timed.median, unit, note=note)


def _made(one: TaskClass, seed: int) -> list[Case]:
    module = catalogue.module(one.name)
    return [case for task in one.tasks for case in module.cases(task, "bench", seed, _CASES)]


def _said(case: Case) -> list[str]:
    best = catalogue.module(case.task_class).reference(case)
    return [best, damaged(best, Random(case.iri))]  # noqa: S311 - no secret


def _judge(answers: list[tuple[Case, str]]) -> None:
    executor = engine("oxigraph")
    for case, said in answers:
        catalogue.module(case.task_class).judge(case, [said], executor)
