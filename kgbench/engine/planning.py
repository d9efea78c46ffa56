# SPDX-License-Identifier: Apache-2.0
"""The dialogues of a plan: their cases, their order and their identity.

A planned dialogue is identical to a stored one if and only if all ingredients of their digests are
equal: task (class, version, label, parameters), case content, first prompt, model with sampling
parameters and options, and iteration. The store has all of these, so that differences can be
explained.

In suites of imported results, the prompt of a case is that of the earliest stored dialogue about
it, so that a new model gets the same text as the published models, including graphs that only the
prompt shows. The task is the recorded one, so that scores are comparable with the published ones.
If the task class has a new name or version since, today's class judges, and its metrics take the
place of the recorded ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from kgbench.config.names import suites_of_results
from kgbench.connectors.declared import NATIVE, TEXT, is_native
from kgbench.errors import TaskError
from kgbench.model import Case, ModelSetup, Plan, Task
from kgbench.on_demand import OnDemand
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.record.reading import StoredPrompt
from kgbench.record.recorded_results import needs_results
from kgbench.record.recorder import DIGEST_SCHEME
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, graphs, texts, tool_prompts
from kgbench.tool_calls import Tool

_KEPT = 256  # exercises cached per task: more than the distance between two models in a run


@dataclass(frozen=True, slots=True)
class Exercise:
    """A case of a task with its first prompt, the same for every model.

    ``recorded`` says that the store already has the case, as it was published. With
    ``counted_alone`` the iterations are counted per case, so that a dialogue's identity does not
    depend on the position of its case; otherwise they are counted over all cases of a task label.
    """

    task: Task
    case: Case
    prompt: str
    prompt_digest: str
    recorded: bool = False
    counted_alone: bool = False


@dataclass(frozen=True, slots=True)
class PlannedDialogue:
    """One dialogue of a plan; ``digest`` is its identity.

    ``tools`` are the tools of the case; ``native`` says that they are offered by the provider's
    own tool calling; otherwise the prompt describes them.
    """

    model: ModelSetup
    exercise: Exercise
    iteration: int
    digest: str
    tools: tuple[Tool, ...] = ()
    native: bool = False


def ingredients(model: ModelSetup, exercise: Exercise, iteration: int) -> dict[str, object]:
    """Return the values from which the identity of a planned dialogue is computed."""
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
    """Return the exercises of each task label, in the order in which iterations take them.

    The task's module generates the cases lazily. Raises :class:`~kgbench.errors.TaskError` for a
    task without cases in the plan's suite, or with parameters that allow none.
    """
    by_label: dict[str, Sequence[Exercise]] = {}
    for task in plan.tasks:
        module = catalogue.module(task.task_class)
        cases = module.cases(task, plan.suite, plan.seed, plan.iterations)
        if not cases:
            raise TaskError(f"the task {task.label} has no cases in the suite {plan.suite}")
        by_label[task.label] = task_exercises = GeneratedExercises(task, cases)
        if task not in catalogue.task_class(task.task_class).tasks:
            # The tests generate cases of the declared tasks only. Other parameters may allow no
            # case, which shows when the first one is generated: do that before work starts.
            _ = task_exercises[0]
    return by_label


class GeneratedExercises(OnDemand[Exercise]):
    """The exercises of a task with generated cases, made on access, with a bounded cache."""

    def __init__(self, task: Task, cases: Sequence[Case]) -> None:
        prompt = catalogue.module(task.task_class).prompt
        self._cases = cases

        @lru_cache(_KEPT)
        def exercise(k: int) -> Exercise:
            case = cases[k] if k else self.first_case
            text = prompt(case)
            return Exercise(task, case, text, digest(text))

        super().__init__(len(cases), exercise)

    @cached_property
    def first_case(self) -> Case:
        """The first case, without its prompt, which can take longer than the case."""
        return self._cases[0]


def dialogue_count(plan: Plan, exercises: Mapping[str, Sequence[Exercise]]) -> int:
    """Return the number of dialogues per model of the plan."""
    if plan.iterations_per_case:
        return sum(plan.iterations * len(cases) for cases in exercises.values())
    return plan.iterations * len(exercises)


def planned_dialogues(
    plan: Plan, exercises: Mapping[str, Sequence[Exercise]], model: ModelSetup
) -> Iterator[PlannedDialogue]:
    """Yield the dialogues of one model, iteration by iteration over all task labels."""
    rounds = plan.iterations * (
        max(map(len, exercises.values()), default=0) if plan.iterations_per_case else 1
    )
    for iteration in range(rounds):
        for cases in exercises.values():
            if plan.iterations_per_case and iteration >= plan.iterations * len(cases):
                continue
            exercise = cases[iteration % len(cases)]
            number = iteration // len(cases) if exercise.counted_alone else iteration
            tools = tool_prompts.tools_of(exercise.case)
            native = bool(tools) and is_native(model, plan.tool_protocol)
            if tools:
                exercise = _with_tools(exercise, tools, native=native)
            values = ingredients(model, exercise, number)
            identity = digest(canonical_json(values))
            yield PlannedDialogue(model, exercise, number, identity, tools, native)


def with_server_tools(dialogue: PlannedDialogue, tools: Sequence[Tool]) -> PlannedDialogue:
    """Replace the tools of a dialogue by those of a server, except tools that end the dialogue.

    The identity stays the same: the plan names the server, whose tools may change over time.
    """
    ending = [tool for tool in dialogue.tools if tool.ends]
    case = dialogue.exercise.case
    offered = (*tools, *ending)
    case_prompt = catalogue.module(case.task_class).prompt(case)
    prompt = tool_prompts.prompt(case, case_prompt, offered, native=dialogue.native)
    return replace(dialogue, exercise=replace(dialogue.exercise, prompt=prompt), tools=offered)


def tool_protocols(plan: Plan, exercises: Mapping[str, Sequence[Exercise]]) -> dict[str, list[str]]:
    """Return the labels of the plan's models by tool protocol; empty if no task offers tools.

    Raises :class:`~kgbench.errors.ModelSpecError` for a model that does not support the plan's
    protocol. Whether a task offers tools is read off its first case, which is generated only if
    the task class can offer any.
    """
    if not any(_offers_tools(task, exercises.get(task.label, ())) for task in plan.tasks):
        return {}
    labels: dict[str, list[str]] = {}
    for model in plan.models:
        native = is_native(model, plan.tool_protocol)
        name = NATIVE if native else TEXT
        labels.setdefault(name, []).append(model.label)
    return labels


def native_tools(
    plan: Plan, exercises: Mapping[str, Sequence[Exercise]], model: ModelSetup
) -> tuple[Tool, ...]:
    """Return the tools of the first task that offers tools, if the provider passes them on."""
    if is_native(model, plan.tool_protocol):
        for task in plan.tasks:
            of_task = exercises.get(task.label, ())
            if _offers_tools(task, of_task):
                return tool_prompts.tools_of(of_task[0].case)
    return ()


def _offers_tools(task: Task, exercises: Sequence[Exercise]) -> bool:
    if not exercises or not tool_prompts.may_offer(catalogue.successor(task.task_class)):
        return False  # without generating the first case, which can take seconds
    if isinstance(exercises, GeneratedExercises):
        return bool(tool_prompts.tools_of(exercises.first_case))
    return bool(tool_prompts.tools_of(exercises[0].case))


def describe_protocols(protocols: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a readable line for each protocol in the result of :func:`tool_protocols`."""
    words = {
        NATIVE: "the provider's tool calling",
        TEXT: "text in the prompt",
    }
    for name, labels in protocols.items():
        yield f"tools by {words[name]}: {', '.join(labels)}"


def _with_tools(exercise: Exercise, tools: Sequence[Tool], *, native: bool) -> Exercise:
    """Add the description of the tools to the prompt, unless it is a recorded prompt."""
    if exercise.recorded:
        return exercise
    text = tool_prompts.prompt(exercise.case, exercise.prompt, tools, native=native)
    return replace(exercise, prompt=text, prompt_digest=digest(text))


# --- suites of imported results --------------------------------------------------------------


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
    return PlanExercises(exercises(plan))


def stored_exercises(store: Store, plan: Plan, *, endpoint: bool) -> PlanExercises:
    """Return the exercises of ``plan`` in a suite of imported results, with their first prompts.

    Tasks without a stored case in the suite are left out, and so are cases that cannot be judged
    here: their task class is unknown, they lack data that their judge needs, their graph is not
    installed, or they need an endpoint and there is no ``endpoint``. Raises
    :class:`~kgbench.errors.TaskError` if nothing is left.
    """
    recorded = recorded_prompts(store, plan.suite)
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
        for earlier, metric in catalogue.renamed_metrics(task, store.iris).items()
        if earlier in reading.class_metrics(store, task)
    }
    return PlanExercises(exercises, tuple(passed_over), later)


def _same(task: Task, recorded: Task) -> bool:
    """Return whether the tasks agree in label, today's class and all parameters of both."""
    name = catalogue.successor(recorded.task_class)
    if (task.label, catalogue.successor(task.task_class)) != (recorded.label, name):
        return False
    known = recorded.parameters.items()
    return all(task.parameters.get(key, value) == value for key, value in known)


def recorded_prompts(store: Store, suite: str) -> list[tuple[Task, list[StoredPrompt]]]:
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
    case = catalogue.as_successor_case(reading.case(store, prompt.case))
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
    if missing := catalogue.missing_data_key(case):
        return f"published without '{missing}', so no answer to it can be judged"
    if needs_results(case) and not endpoint:
        return (
            "answers to it are judged by an endpoint: give the URL of one with the same data as "
            "--endpoint"
        )
    return catalogue.obstacle(case)
