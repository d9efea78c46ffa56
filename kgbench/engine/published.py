# SPDX-License-Identifier: Apache-2.0
"""Exercises of suites with imported results: their cases, with the prompts that were published.

The prompt of a case is that of the earliest stored dialogue about it, so that a new model gets the
same text as the published models, including graphs that only the prompt shows. The task is the
recorded one, so that scores are comparable with the published ones. If the task class has a new
name or version since, today's class judges, and its metrics take the place of the recorded ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from kgbench import config
from kgbench.config import turtle
from kgbench.config.names import suites_of_results
from kgbench.engine import planning
from kgbench.engine.planning import Exercise
from kgbench.errors import TaskError
from kgbench.model import Case, Plan, Task
from kgbench.nearest import nearest
from kgbench.rdf import digest
from kgbench.record import reading
from kgbench.record.reading import StoredPrompt
from kgbench.record.recorded_results import needs_results
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, graphs, successors, texts


@dataclass(frozen=True, slots=True)
class PlanExercises:
    """The exercises of each task label, and notes about cases that are left out.

    ``later_metrics`` maps metrics (IRIs) of today's task classes to the recorded metrics that they
    replace. ``judged`` are the IRIs of the runs whose dialogues are put before judge models.
    """

    exercises: Mapping[str, Sequence[Exercise]]
    passed_over: tuple[str, ...] = ()
    later_metrics: Mapping[str, str] = field(default_factory=dict)
    judged: tuple[str, ...] = ()


def plan_exercises(store: Store, plan: Plan, *, endpoint: bool) -> PlanExercises:
    """Return the exercises of ``plan``: cases of its task classes, or those of imported results.

    ``endpoint`` says whether an endpoint is available for cases whose graph only an endpoint has.
    Raises :class:`~kgbench.errors.TaskError` if a task class has no cases in the plan's suite, or
    if none of the imported cases can be run here.
    """
    if plan.suite in suites_of_results():
        return stored_exercises(store, plan, endpoint=endpoint)
    return PlanExercises(planning.exercises(plan))


def whole_suite(
    store: Store,
    suite: str,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    iterations: int | None = None,
    **overrides: Any,
) -> Plan:
    """Return a plan for all imported cases of ``suite`` under their published labels, each once.

    ``tasks`` are globs over labels and task classes; ``models`` are specifications, or globs over
    the models of the quick start; ``iterations`` is a number of dialogues per label instead, and
    ``overrides`` are further fields of the plan.
    Raises :class:`~kgbench.errors.TaskError` if the store has no such cases, and
    :class:`~kgbench.errors.ConfigurationError` for unknown models.
    """
    current = (successors.as_new_task(task) for task, _ in _recorded(store, suite))
    recorded = list({task.iri: task for task in current}.values())
    if not recorded:
        raise no_results(suite, f"the store {store.location} has none")
    for glob in tasks or ():
        if not any(_matches(task, glob) for task in recorded):
            hint = nearest(glob, {task.label for task in recorded})
            raise TaskError(f"no task of the suite {suite} fits {glob}: {hint}")
    chosen = [t for t in recorded if not tasks or any(_matches(t, glob) for glob in tasks)]
    base = config.quick_start(models=models, iterations=iterations, **overrides)
    plan = replace(
        base,
        name=suite,
        suite=suite,
        tasks=tuple(chosen),
        iterations=iterations or 1,
        iterations_per_case=iterations is None,
    )
    return replace(plan, source_ttl=turtle.plan_to_turtle(plan))


def no_results(suite: str, reason: str) -> TaskError:
    """Return the error for a suite of imported cases; ``reason`` says why there are none."""
    return TaskError(
        f"the suite {suite} has the cases of its published results, and {reason}: "
        f"{suites_of_results()[suite]}"
    )


def _matches(task: Task, glob: str) -> bool:
    return fnmatchcase(task.label, glob) or fnmatchcase(task.task_class, glob)


def stored_exercises(store: Store, plan: Plan, *, endpoint: bool) -> PlanExercises:
    """Return the exercises of ``plan`` in a suite of imported results, with their first prompts.

    Tasks without a stored case in the suite are left out, and so are cases that cannot be judged
    here: their task class is unknown, they lack data that their judge needs, their graph is not
    installed, or they need an endpoint and there is no ``endpoint``. Raises
    :class:`~kgbench.errors.TaskError` if nothing is left.
    """
    recorded = _recorded(store, plan.suite)
    exercises: dict[str, Sequence[Exercise]] = {}
    passed_over = []
    for task in plan.tasks:
        prompts = {
            prompt.case: (of_task, prompt)
            for of_task, prompts in recorded
            if _same(task, of_task)
            for prompt in prompts
        }
        cases = [_exercise(store, *exercise) for exercise in prompts.values()]
        obstacles = [_obstacle(exercise.case, endpoint=endpoint) for exercise in cases]
        usable = [
            exercise
            for exercise, obstacle in zip(cases, obstacles, strict=True)
            if obstacle is None
        ]
        if usable:
            exercises[task.label] = usable
        elif not cases:
            passed_over.append(
                f"the store {store.location} has no cases of {task.label} in the suite "
                f"{plan.suite}: import its published results first, or choose other tasks"
            )
        for obstacle, count in Counter(o for o in obstacles if o is not None).items():
            part = f", {count} of {len(cases)} cases" if usable else ""
            passed_over.append(f"{task.label}{part}: {obstacle}")
    if not exercises:
        raise TaskError("; ".join(passed_over))
    tasks = {exercise.task.iri: exercise.task for group in exercises.values() for exercise in group}
    later = {
        metric: earlier
        for task in tasks.values()
        for earlier, metric in successors.renamed_metrics(task, store.iris).items()
        if earlier in reading.class_metrics(store, task)
    }
    return PlanExercises(exercises, tuple(passed_over), later)


def _same(task: Task, recorded: Task) -> bool:
    """Return whether the tasks agree in label, today's class and all parameters of both."""
    name = successors.successor(recorded.task_class)
    if (task.label, successors.successor(task.task_class)) != (recorded.label, name):
        return False
    known = recorded.parameters.items()
    return all(task.parameters.get(key, value) == value for key, value in known)


def _recorded(store: Store, suite: str) -> list[tuple[Task, list[StoredPrompt]]]:
    """Return the tasks of a suite, sorted by label, with the earliest prompts of their cases."""
    iri = store.iris.mint("suite", suite=suite)
    earliest: dict[tuple[str, str], StoredPrompt] = {}
    for run in reading.runs(store):
        if run.suite == iri:
            for prompt in reading.suite_prompts(store, run.graph, iri):
                key = (prompt.task, prompt.case)
                earliest[key] = min(earliest.get(key, prompt), prompt)
    by_task: dict[str, list[StoredPrompt]] = {}
    for prompt in sorted(earliest.values()):
        by_task.setdefault(prompt.task, []).append(prompt)
    tasks = [(reading.task(store, task), prompts) for task, prompts in by_task.items()]
    return sorted(tasks, key=lambda prompt: (prompt[0].label, prompt[0].version, prompt[0].iri))


def _exercise(store: Store, task: Task, prompt: StoredPrompt) -> Exercise:
    case = successors.as_successor_case(reading.case(store, prompt.case))
    return Exercise(task, case, prompt.text, digest(prompt.text), recorded=True)


def _obstacle(case: Case, *, endpoint: bool) -> str | None:
    """Return the reason why answers to ``case`` cannot be judged here, or ``None``."""
    if case.task_class not in catalogue.task_classes():
        return f"kgbench has no judge for the task class {case.task_class}"
    if sealed := texts.missing_key(case.task_class):
        return sealed
    try:
        graphs.require([case])
    except TaskError as error:
        return str(error)
    if missing := successors.missing_data_key(case):
        return f"published without '{missing}', so no answer to it can be judged"
    if needs_results(case) and not endpoint:
        return (
            "answers to it are judged by an endpoint: give the URL of one with the same data as "
            "--endpoint"
        )
    return catalogue.obstacle(case)
