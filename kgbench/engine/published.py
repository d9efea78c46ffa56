# SPDX-License-Identifier: Apache-2.0
"""Exercises of a suite whose results were imported: its cases, asked exactly as they were asked.

The prompt of a case is the stored one of the earliest dialogue about it, so that a new model gets
what the published ones got, graphs that only the prompt shows included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgbench.config.names import suites_of_results
from kgbench.engine import planning
from kgbench.engine.planning import Exercise
from kgbench.errors import TaskError
from kgbench.model import Case, Plan, Task
from kgbench.rdf import digest
from kgbench.record import reading
from kgbench.record.reading import StoredPrompt
from kgbench.recorded_results import needs_results
from kgbench.store.protocol import Store
from kgbench.tasks import graphs, succession


def exercises(store: Store, plan: Plan, *, endpoint: bool) -> Mapping[str, Sequence[Exercise]]:
    """The exercises of each task label of ``plan``: of its task classes, or of imported results.

    With ``endpoint`` there is one for the cases whose graph only an endpoint has.

    Raises :class:`~kgbench.errors.TaskError` where a task has no cases in the plan's suite, or
    cases that cannot be run here.
    """
    if plan.suite in suites_of_results():
        return stored_exercises(store, plan, endpoint=endpoint)
    return planning.exercises(plan)


def stored_exercises(store: Store, plan: Plan, *, endpoint: bool) -> dict[str, Sequence[Exercise]]:
    """The exercises of each task label of ``plan`` in its suite, as they were first asked.

    Raises :class:`~kgbench.errors.TaskError` where the store has no case of a task in the suite,
    where a case lacks what its judge needs, where a graph that cases run on is not installed, and
    where only an endpoint can say whether an answer is right and there is no ``endpoint``.
    """
    found: dict[str, Sequence[Exercise]] = {}
    prompts = _first_prompts(store, plan.suite)
    for task in plan.tasks:
        of_task = prompts.get(task.iri, [])
        if not of_task:
            raise TaskError(
                f"the store {store.location} has no cases of {task.label} in the suite "
                f"{plan.suite}: import its published results first, or choose other tasks"
            )
        found[task.label] = [_exercise(store, task, one) for one in of_task]
    _check([each.case for exercises in found.values() for each in exercises], endpoint=endpoint)
    return found


def _first_prompts(store: Store, suite: str) -> dict[str, list[StoredPrompt]]:
    """The earliest prompt of each case, by task."""
    iri = store.iris.mint("suite", suite=suite)
    first: dict[tuple[str, str], StoredPrompt] = {}
    for run in reading.runs(store):
        if run.suite == iri:
            for one in reading.suite_prompts(store, run.graph, iri):
                key = (one.task, one.case)
                first[key] = min(first.get(key, one), one)
    found: dict[str, list[StoredPrompt]] = {}
    for one in sorted(first.values()):
        found.setdefault(one.task, []).append(one)
    return found


def _exercise(store: Store, task: Task, asked: StoredPrompt) -> Exercise:
    return Exercise(task, reading.case(store, asked.case), asked.text, digest(asked.text))


def _check(cases: Sequence[Case], *, endpoint: bool) -> None:
    graphs.require(cases)
    for case in cases:
        if missing := succession.lacking(case):
            raise TaskError(
                f"the case {case.iri} was published without '{missing}', so no answer to it can be "
                "judged: leave its task out with --task"
            )
        if needs_results(case) and not endpoint:
            raise TaskError(
                f"the case {case.iri} was published with the results of an endpoint: name one that "
                f"answers about the same data with --endpoint, or leave its task out with --task"
            )
