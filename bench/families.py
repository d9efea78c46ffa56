# SPDX-License-Identifier: Apache-2.0
"""Generated families of tasks: the speed of generating cases and of judging answers.

All labelled tasks of a family take part, and so all its levels, names and formats. Half of the
answers are references; in the others parts are dropped, changed or cut off, as by the noisy
baseline. Both are judged in this process; ``reevaluating`` includes the cost of isolation.
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
    """Return cases generated and answers judged per second, for each family."""
    return [
        result
        for task_class in catalogue.task_classes().values()
        if any(LEVEL in task.parameters for task in task_class.tasks)
        for result in _family(task_class)
    ]


def _family(task_class: TaskClass) -> list[Result]:
    """Return both speeds of a family; each repetition has its own seed, and so its own worlds."""
    making, judging = [], []
    generated = judged = 0
    for _ in range(LEAST):
        begin = perf_counter()
        cases = _cases(task_class, next(_SEEDS))
        making.append(perf_counter() - begin)
        answers = [(case, answer) for case in cases for answer in _answers(case)]
        begin = perf_counter()
        _judge(answers)
        judging.append(perf_counter() - begin)
        generated, judged = len(cases), len(answers)
    name, tasks = task_class.name, len(task_class.tasks)
    return [
        _result(f"{name}, cases", generated, Timing(tuple(making)), "cases/s", tasks),
        _result(f"{name}, answers", judged, Timing(tuple(judging)), "answers/s", tasks),
    ]


def _result(what: str, many: int, timed: Timing, unit: str, tasks: int) -> Result:
    note = f"{many} from {tasks} tasks, spread {timed.spread:.0%}"
    return Result(what, many / timed.median, unit, note=note)


def _cases(task_class: TaskClass, seed: int) -> list[Case]:
    module = catalogue.module(task_class.name)
    return [case for task in task_class.tasks for case in module.cases(task, "bench", seed, _CASES)]


def _answers(case: Case) -> list[str]:
    reference = catalogue.module(case.task_class).reference(case)
    return [reference, damaged(reference, Random(case.iri))]  # noqa: S311 - no secret


def _judge(answers: list[tuple[Case, str]]) -> None:
    executor = engine("oxigraph")
    for case, answer in answers:
        catalogue.module(case.task_class).judge(case, [answer], executor)
