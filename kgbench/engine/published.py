# SPDX-License-Identifier: Apache-2.0
"""Exercises of a suite whose results were imported: its cases, asked exactly as they were asked.

The prompt of a case is the stored one of the earliest dialogue about it, so that a new model gets
what the published ones got, graphs that only the prompt shows included. The task is the recorded
one, too, so that scores stand beside the published ones; where its class has another name or
version by now, today's class judges, by metrics that stand in the place of the recorded ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

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
from kgbench.tasks import catalogue, graphs, sealed_classes, succession


@dataclass(frozen=True, slots=True)
class Asked:
    """The exercises of each task label, and a line for each label of which cases are left out.

    ``later_metrics`` are the metrics (IRIs) of today's task classes that stand in the place of
    those that the tasks were recorded with. ``judged`` are the runs (IRIs) whose dialogues judges
    are asked about.
    """

    exercises: Mapping[str, Sequence[Exercise]]
    passed_over: tuple[str, ...] = ()
    later_metrics: Mapping[str, str] = field(default_factory=dict)
    judged: tuple[str, ...] = ()


def asked(store: Store, plan: Plan, *, endpoint: bool) -> Asked:
    """What ``plan`` asks: the cases of its task classes, or those of imported results.

    With ``endpoint`` there is one for the cases whose graph only an endpoint has. Raises
    :class:`~kgbench.errors.TaskError` where a task class has no cases in the plan's suite, and
    where none of the imported cases can be run here.
    """
    if plan.suite in suites_of_results():
        return stored_exercises(store, plan, endpoint=endpoint)
    return Asked(planning.exercises(plan))


def whole_suite(
    store: Store,
    suite: str,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    iterations: int | None = None,
) -> Plan:
    """A plan for all imported cases of ``suite`` under their published labels, each once.

    ``tasks`` are globs over labels and task classes; ``models`` are specifications, or globs over
    the models of the quick start; ``iterations`` asks for so many dialogues per label instead.
    Raises :class:`~kgbench.errors.TaskError` where the store has no such cases, and
    :class:`~kgbench.errors.ConfigurationError` for unknown models.
    """
    today = (succession.asked_as(task) for task, _ in _recorded(store, suite))
    recorded = list({task.iri: task for task in today}.values())
    if not recorded:
        raise TaskError(f"the store {store.location} has no published results of the suite {suite}")
    for glob in tasks or ():
        if not any(_matches(task, glob) for task in recorded):
            hint = nearest(glob, {task.label for task in recorded})
            raise TaskError(f"no task of the suite {suite} fits {glob}: {hint}")
    chosen = [t for t in recorded if not tasks or any(_matches(t, glob) for glob in tasks)]
    often = config.quick_start(models=models, iterations=iterations)
    plan = replace(
        often,
        name=suite,
        suite=suite,
        tasks=tuple(chosen),
        iterations=iterations or 1,
        iterations_per_case=iterations is None,
    )
    return replace(plan, source_ttl=turtle.written(plan))


def _matches(task: Task, glob: str) -> bool:
    return fnmatchcase(task.label, glob) or fnmatchcase(task.task_class, glob)


def stored_exercises(store: Store, plan: Plan, *, endpoint: bool) -> Asked:
    """What ``plan`` asks in a suite of imported results, as it was first asked.

    Left out are tasks that the store has no case of in the suite, and cases that cannot be judged
    here: their task class is unknown, they lack what their judge needs, their graph is not
    installed, or only an endpoint can say whether an answer is right and there is no ``endpoint``.
    Raises :class:`~kgbench.errors.TaskError` where nothing is left.
    """
    recorded = _recorded(store, plan.suite)
    found: dict[str, Sequence[Exercise]] = {}
    passed_over = []
    for task in plan.tasks:
        prompts = {
            prompt.case: (of_task, prompt)
            for of_task, prompts in recorded
            if _same(task, of_task)
            for prompt in prompts
        }
        cases = [_exercise(store, *one) for one in prompts.values()]
        obstacles = [_obstacle(one.case, endpoint=endpoint) for one in cases]
        left = [one for one, why in zip(cases, obstacles, strict=True) if why is None]
        if left:
            found[task.label] = left
        elif not cases:
            passed_over.append(
                f"the store {store.location} has no cases of {task.label} in the suite "
                f"{plan.suite}: import its published results first, or choose other tasks"
            )
        for why, times in Counter(why for why in obstacles if why is not None).items():
            part = f", {times} of {len(cases)} cases" if left else ""
            passed_over.append(f"{task.label}{part}: {why}")
    if not found:
        raise TaskError("; ".join(passed_over))
    tasks = {one.task.iri: one.task for exercises in found.values() for one in exercises}
    later = {
        metric: earlier
        for task in tasks.values()
        for earlier, metric in succession.renamed_metrics(task, store.iris).items()
        if earlier in reading.class_metrics(store, task)
    }
    return Asked(found, tuple(passed_over), later)


def _same(task: Task, recorded: Task) -> bool:
    """Whether ``recorded`` is ``task`` by label, class of today and all parameters of both."""
    name = succession.successor(recorded.task_class)
    if (task.label, succession.successor(task.task_class)) != (recorded.label, name):
        return False
    known = recorded.parameters.items()
    return all(task.parameters.get(key, value) == value for key, value in known)


def _recorded(store: Store, suite: str) -> list[tuple[Task, list[StoredPrompt]]]:
    """Each task of a suite, by label, with the earliest prompts of its cases."""
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
    tasks = [(reading.task(store, task), prompts) for task, prompts in found.items()]
    return sorted(tasks, key=lambda one: (one[0].label, one[0].version, one[0].iri))


def _exercise(store: Store, task: Task, asked: StoredPrompt) -> Exercise:
    case = succession.case_judged_as(reading.case(store, asked.case))
    return Exercise(task, case, asked.text, digest(asked.text), recorded=True)


def _obstacle(case: Case, *, endpoint: bool) -> str | None:
    """Why answers about ``case`` cannot be judged here; ``None`` where they can."""
    if case.task_class not in catalogue.task_classes():
        return f"kgbench has no judge for the task class {case.task_class}"
    if sealed := sealed_classes.why_sealed(case.task_class):
        return sealed
    try:
        graphs.require([case])
    except TaskError as error:
        return str(error)
    if missing := succession.lacking(case):
        return f"published without '{missing}', so no answer to it can be judged"
    if needs_results(case) and not endpoint:
        return (
            "published with the results of an endpoint: name one that answers about the same data "
            "with --endpoint"
        )
    return catalogue.obstacle(case)
