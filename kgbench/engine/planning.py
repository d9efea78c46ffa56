# SPDX-License-Identifier: Apache-2.0
"""From a plan to its dialogues: which cases, in which order, with which identity.

A planned dialogue is the same one as a stored dialogue exactly when all ingredients of its digest
are equal: task (class, version, label, parameters), case content, first prompt, model with
sampling parameters and options, and iteration. All of these are in the store, so that a
difference can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kgbench.connectors import tool_protocol
from kgbench.errors import TaskError
from kgbench.model import Case, ModelSetup, Plan, Task
from kgbench.on_demand import OnDemand
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import DIGEST_SCHEME
from kgbench.tasks import catalogue, succession, tool_prompts
from kgbench.tool_calls import Tool

_KEPT = 256  # exercises of each task: more than models can be apart


@dataclass(frozen=True, slots=True)
class Exercise:
    """A case of a task with its first prompt: what every model is asked alike.

    ``recorded`` says that the store has the case already, as it was published. With
    ``counted_alone`` the iterations of the case are counted by themselves, so that the identity of
    a dialogue does not depend on the place of its case among others; else they are counted for
    all cases of a task label together.
    """

    task: Task
    case: Case
    prompt: str
    prompt_digest: str
    recorded: bool = False
    counted_alone: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """One dialogue of a plan; ``digest`` is its identity.

    ``tools`` are what the case offers; ``native`` says that they are offered by the provider's own
    tool calling, otherwise the prompt tells of them.
    """

    model: ModelSetup
    exercise: Exercise
    iteration: int
    digest: str
    tools: tuple[Tool, ...] = ()
    native: bool = False


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

    Their cases are those that the module of the task gives, and are made when they are asked for.
    Raises :class:`~kgbench.errors.TaskError` for a task without cases in the plan's suite, or
    with parameters that allow none.
    """
    found: dict[str, Sequence[Exercise]] = {}
    for task in plan.tasks:
        module = catalogue.module(task.task_class)
        cases = module.cases(task, plan.suite, plan.seed, plan.iterations)
        if not cases:
            raise TaskError(f"the task {task.label} has no cases in the suite {plan.suite}")
        found[task.label] = asked = OnDemand(len(cases), _maker(task, cases))
        if task not in catalogue.task_class(task.task_class).tasks:
            # Tests make cases of what classes declare. Other parameters may allow none, which
            # shows in the first case: it is made before work starts.
            _ = asked[0]
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
            number = iteration // len(cases) if exercise.counted_alone else iteration
            tools = tool_prompts.tools_of(exercise.case)
            native = bool(tools) and tool_protocol.is_native(model, plan.tool_protocol)
            if tools:
                exercise = _with_tools(exercise, tools, native=native)
            made_of = ingredients(model, exercise, number)
            identity = digest(canonical_json(made_of))
            yield Planned(model, exercise, number, identity, tools, native)


def equipped(planned: Planned, tools: Sequence[Tool]) -> Planned:
    """``planned`` with the ``tools`` of a server in place of those of its case that do not end it.

    Its identity stays: the plan names the server, which may offer something else another time.
    """
    ending = [tool for tool in planned.tools if tool.ends]
    case = planned.exercise.case
    offered = (*tools, *ending)
    asked = catalogue.module(case.task_class).prompt(case)
    text = tool_prompts.prompt(case, asked, offered, native=planned.native)
    return replace(planned, exercise=replace(planned.exercise, prompt=text), tools=offered)


def tool_protocols(plan: Plan, asked: Mapping[str, Sequence[Exercise]]) -> dict[str, list[str]]:
    """The models (labels) of a plan by how they are offered tools; empty where none are offered.

    Raises :class:`~kgbench.errors.ModelSpecError` for a model that cannot be asked as the plan
    says. Whether a task offers tools is seen from its first case, which is made only where the
    task class can offer any.
    """
    if not any(_offers_tools(task, asked.get(task.label, ())) for task in plan.tasks):
        return {}
    found: dict[str, list[str]] = {}
    for model in plan.models:
        native = tool_protocol.is_native(model, plan.tool_protocol)
        name = tool_protocol.NATIVE if native else tool_protocol.TEXT
        found.setdefault(name, []).append(model.label)
    return found


def _offers_tools(task: Task, exercises: Sequence[Exercise]) -> bool:
    if not exercises or not tool_prompts.may_offer(succession.successor(task.task_class)):
        return False  # and its first case, which can take seconds, need not be made
    return bool(tool_prompts.tools_of(exercises[0].case))


def told(protocols: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What :func:`tool_protocols` found, in words: a line for each protocol."""
    words = {
        tool_protocol.NATIVE: "the provider's tool calling",
        tool_protocol.TEXT: "text in the prompt",
    }
    for name, labels in protocols.items():
        yield f"tools by {words[name]}: {', '.join(labels)}"


def _with_tools(exercise: Exercise, tools: Sequence[Tool], *, native: bool) -> Exercise:
    """``exercise`` with the prompt that tells of its tools; one that was recorded tells already."""
    if exercise.recorded:
        return exercise
    text = tool_prompts.prompt(exercise.case, exercise.prompt, tools, native=native)
    return replace(exercise, prompt=text, prompt_digest=digest(text))
