# SPDX-License-Identifier: Apache-2.0
"""From a plan to its dialogues: which cases, in which order, with which identity.

A planned dialogue is the same one as a stored dialogue exactly when all ingredients of its digest
are equal: task (class, version, label, parameters), case content, first prompt, model with
sampling parameters and options, and iteration. All of these are in the store, so that a
difference can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgbench.errors import TaskError
from kgbench.model import Case, ModelSetup, Plan, Task
from kgbench.on_demand import OnDemand
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import DIGEST_SCHEME
from kgbench.tasks import catalogue

_KEPT = 256  # exercises of each task: more than models can be apart


@dataclass(frozen=True, slots=True)
class Exercise:
    """A case of a task with its first prompt: what every model is asked alike."""

    task: Task
    case: Case
    prompt: str
    prompt_digest: str


@dataclass(frozen=True, slots=True)
class Planned:
    """One dialogue of a plan; ``digest`` is its identity."""

    model: ModelSetup
    exercise: Exercise
    iteration: int
    digest: str


def ingredients(model: ModelSetup, exercise: Exercise, iteration: int) -> dict[str, object]:
    """What the identity of a planned dialogue is made of."""
    return {
        "scheme": DIGEST_SCHEME,
        "task": exercise.task.iri,
        "case": exercise.case.digest,
        "prompt": exercise.prompt_digest,
        "model": model.iri,
        "sampling": dict(model.sampling),
        "options": dict(model.options),
        "iteration": iteration,
    }


def exercises(plan: Plan) -> dict[str, Sequence[Exercise]]:
    """The exercises of each task label, in the order in which iterations take them.

    Their cases are those that the module of the task gives.
    Raises :class:`~kgbench.errors.TaskError` for a task without cases in the plan's suite.
    """
    found: dict[str, Sequence[Exercise]] = {}
    for task in plan.tasks:
        module = catalogue.module(task.task_class)
        cases = module.cases(task, plan.suite, plan.seed, plan.iterations)
        if not cases:
            raise TaskError(f"the task {task.label} has no cases in the suite {plan.suite}")
        found[task.label] = OnDemand(len(cases), _maker(task, cases))
    return found


def _maker(task: Task, cases: Sequence[Case]) -> Callable[[int], Exercise]:
    """Makes exercises when they are asked for and keeps the latest: memory stays flat."""
    prompt = catalogue.module(task.task_class).prompt

    @lru_cache(_KEPT)
    def exercise(k: int) -> Exercise:
        case = cases[k]
        text = prompt(case)
        return Exercise(task, case, text, digest(text))

    return exercise


def dialogue_count(plan: Plan, asked: Mapping[str, Sequence[Exercise]]) -> int:
    """How many dialogues each model of the plan has."""
    if plan.iterations_per_case:
        return sum(plan.iterations * len(cases) for cases in asked.values())
    return plan.iterations * len(asked)


def planned(
    plan: Plan, asked: Mapping[str, Sequence[Exercise]], model: ModelSetup
) -> Iterator[Planned]:
    """The dialogues of one model, iteration by iteration over all task labels."""
    rounds = plan.iterations * (
        max(map(len, asked.values()), default=0) if plan.iterations_per_case else 1
    )
    for iteration in range(rounds):
        for cases in asked.values():
            if plan.iterations_per_case and iteration >= plan.iterations * len(cases):
                continue
            exercise = cases[iteration % len(cases)]
            made_of = ingredients(model, exercise, iteration)
            yield Planned(model, exercise, iteration, digest(canonical_json(made_of)))
