# SPDX-License-Identifier: Apache-2.0
"""The tasks of kgbench for Inspect AI: ``inspect eval kgbench/RdfFriendCount-turtle-1``.

Every task label is an Inspect task (entry point ``inspect_ai``). Its samples are kgbench's cases,
its solver holds the dialogue with kgbench's feedback prompts, and its scorer uses kgbench's judge.
Judging runs in child processes with limits, as in ``kgbench run``. Tools of a case are offered
natively by the same :class:`ToolTurns` as in ``kgbench run``; Inspect only forwards the calls
(``tool_calls="none"``). The metadata of samples and scores has all that
``kgbench import inspect`` needs (:mod:`kgbench.plugins.inspect.samples`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import anyio.to_thread
import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageTool, ChatMessageUser
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCallError, ToolDef, ToolParams

import kgbench.api as kb
from kgbench import clock
from kgbench.connectors import declared
from kgbench.engine.tool_turns import ToolTurns, TurnResult
from kgbench.errors import nearest
from kgbench.execution import frames, judging
from kgbench.execution.judging import JudgeLimits, ToolRequest, answer_batch, judge_batch
from kgbench.execution.pools import executor
from kgbench.model import TaskClass
from kgbench.plugins.inspect import samples as log_samples
from kgbench.plugins.inspect.logs import SCORER
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tool_calls import TOOL_RESULTS, ToolUse
from kgbench.tools import wording
from kgbench.tools.module import limits_dollars


def offered_tools(case: kb.Case, label: str) -> tuple[kb.Tool, ...]:
    """Return the tools that ``case`` offers; most cases offer none.

    Raises :class:`~kgbench.errors.TaskError` if dollars are limited, because Inspect has no prices.
    """
    tools = tool_prompts.tools_of(case)
    if tools and limits_dollars(case.parameters):
        raise kb.TaskError(
            f"{label} limits the dollars of a dialogue, which cannot be counted in Inspect: use "
            "'kgbench run', and export the dialogues with 'kgbench export inspect'"
        )
    return tools


def definitions(tools: Sequence[kb.Tool]) -> list[Any]:
    """Convert tools to Inspect's definitions."""
    return [
        ToolDef(
            _never_executed(),
            name=tool.name,
            description=tool.description,
            parameters=_parameters(tool),
        )
        for tool in tools
    ]


def answer_text(output: Any) -> str:
    """Return the text of an answer with its tool calls, in the form that kgbench records."""
    calls = (output.message.tool_calls or ()) if output.choices else ()
    return wording.with_calls(output.completion, [_call(call) for call in calls])


def messages(uses: Sequence[ToolUse], prompt: str) -> list[Any]:
    """Return the next messages to the model: the results of its calls, followed by ``prompt``.

    ``prompt`` is the note about the budget or the feedback of a judge, without result blocks.
    """
    result = [
        ChatMessageTool(
            content=wording.result_text(use.result),
            tool_call_id=use.call.id,
            function=use.call.name,
            error=_error(use.result),
        )
        for use in uses
    ]
    if not result:
        return [ChatMessageUser(content=prompt)]
    result[-1].content = f"{result[-1].content}\n{prompt}"
    return result


class Tools:
    """The tools of a dialogue, used in the processes of a pool under the usual limits."""

    def __init__(self, case: kb.Case, tools: Sequence[kb.Tool], pool: Executor) -> None:
        self._turns = ToolTurns(case, tools, _JudgePool(pool), native=True)

    async def use(self, dialogue: kb.Dialogue) -> TurnResult:
        """Use the tools that the last answer calls; call this once per answer.

        This runs in a thread, because Inspect's event loop may not be that of asyncio.
        """
        return await anyio.to_thread.run_sync(lambda: asyncio.run(self._turns.use(dialogue)))


class _JudgePool:
    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    async def use(self, request: ToolRequest) -> judging.ToolRun:
        future = self._pool.submit(answer_batch, [request], JudgeLimits())
        (tool_run,) = await asyncio.wrap_future(future)
        assert isinstance(tool_run, judging.ToolRun)
        return tool_run


def _parameters(tool: kb.Tool) -> Any:
    """Return the schema of the arguments; Inspect requires a description of each parameter."""
    parameters = ToolParams.model_validate(dict(tool.parameters))
    for name, schema in parameters.properties.items():
        schema.description = schema.description or name
    return parameters


def _call(call: Any) -> kb.ToolCall:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return kb.ToolCall(call.function, arguments, call.id, call.parse_error)


def _error(result: kb.ToolResult) -> Any:
    kind: Any = log_samples.error_type(result)
    return None if kind is None else ToolCallError(kind, wording.result_text(result))


def _never_executed() -> Any:
    """Return a new function for each tool, because Inspect stores the definition on it."""

    async def execute(**_: Any) -> str:
        raise kb.EvaluationError("the tools of kgbench are not used by Inspect itself")

    return execute


SUITE = "kgbench-1"
ITERATIONS = 10


def task(label: str, iterations: int = ITERATIONS, suite: str = SUITE, seed: int = 0) -> Any:
    """Return the Inspect task for a task label, with at most ``iterations`` different cases.

    ``seed`` selects the generated cases, as in a configuration of ``kgbench run``. Raises
    :class:`~kgbench.errors.TaskError` if there is no such task or case, or if the task offers tools
    and limits dollars.
    """
    known = catalogue.labelled_tasks()
    if label not in known:
        raise kb.TaskError(f"there is no task '{label}': {nearest(label, known)}")
    labelled = known[label]
    samples = []
    for k in range(log_samples.case_count(labelled, suite, seed, iterations)):
        identity = log_samples.CaseIdentity.of(labelled, suite, seed, k)
        case = identity.case(label)
        prompt = catalogue.module(labelled.task_class).prompt(case)
        metadata: dict[str, Any] = {log_samples.CASE: identity.as_json()}
        if tools := offered_tools(case, label):
            prompt = tool_prompts.prompt(case, prompt, tools, native=True)
            metadata[log_samples.PROTOCOL] = declared.NATIVE
        # No target, so that logs do not reveal reference answers and can be published.
        samples.append(Sample(id=f"{k}", input=prompt, metadata=metadata))
    return inspect_ai.Task(
        dataset=MemoryDataset(samples, name=label),
        solver=dialogue(),
        scorer=scores(),
        name=label,
        version=labelled.version,
        metadata={"suite": suite, "seed": seed},
    )


def _dialogue() -> Any:
    """Build the solver, which asks, uses tools, judges, and gives feedback in several rounds."""

    async def solve(state: Any, generate: Callable[..., Any]) -> Any:
        identity = log_samples.CaseIdentity.read(state.metadata[log_samples.CASE], state.sample_id)
        case, task_class = identity.case(identity.label), _class_of(identity)
        offered = offered_tools(case, identity.label)
        tools = Tools(case, offered, _pool()) if offered else None
        state.tools = definitions(offered)
        dialogue_so_far = _dialogue_of(case, [])
        prompt, feedback = state.messages[-1].text, None
        while True:
            started = clock.now()
            state = await generate(state, tool_calls="none")
            turn = _turn(prompt, feedback, started, state.output)
            dialogue_so_far = replace(dialogue_so_far, turns=(*dialogue_so_far.turns, turn))
            tool_run = None if tools is None else await tools.use(dialogue_so_far)
            if tool_run is not None:
                dialogue_so_far = replace(
                    dialogue_so_far,
                    turns=(*dialogue_so_far.turns[:-1], replace(turn, uses=tool_run.uses)),
                )
            state.metadata[log_samples.TURNS] = [
                log_samples.turn_as_json(past) for past in dialogue_so_far.turns
            ]
            uses = () if tool_run is None else tool_run.uses
            if state.completed:
                return state
            if tool_run is not None and tool_run.prompt is not None:
                prompt, feedback = tool_run.prompt, TOOL_RESULTS
                state.messages += messages(uses, wording.split_results(prompt)[1])
                continue
            verdict = (await _judged(case, dialogue_so_far))[-1]
            if verdict.next_prompt is None or len(dialogue_so_far.judged) == task_class.max_rounds:
                return state
            prompt, feedback = verdict.next_prompt, verdict.feedback
            state.messages += messages(uses, prompt)

    return solve


def _scores() -> Any:
    """Build the scorer: scores of an answer, or of a dialogue if the class has several rounds."""

    async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 - the judge has the reference
        identity = log_samples.CaseIdentity.read(state.metadata[log_samples.CASE], state.sample_id)
        case, task_class = identity.case(identity.label), _class_of(identity)
        recorded = state.metadata.get(log_samples.TURNS) or []
        turns = [log_samples.read_turn(turn, identity.label) for turn in recorded]
        # Other solvers record no turns; then only the last answer is judged.
        record = _dialogue_of(case, turns or [_turn("", None, clock.now(), state.output)])
        verdicts = await _judged(case, record)
        for verdict in verdicts:
            if verdict.outcome is kb.Outcome.EVALUATOR_ERROR:
                raise kb.EvaluationError(f"{identity.label}: {verdict.infos.get('message')}")
        values = dialogue_scores(task_class, verdicts)
        details = {
            "answer": record.answers[-1],
            "explanation": "; ".join(
                verdict.outcome.value
                + (f", feedback on {verdict.feedback}" if verdict.feedback else "")
                for verdict in verdicts
            ),
            "metadata": {
                log_samples.VERDICTS: [frames.verdict_to_json(verdict) for verdict in verdicts]
            },
        }
        if not values:
            return Score.unscored(reason="scoring_failed", **details)
        metrics = task_class.metrics.items()
        names = {name: None for name, metric in metrics if _is_shown(task_class, metric)}
        return Score(value={**names, **values}, **details)

    return score


def _is_shown(task_class: TaskClass, metric: Any) -> bool:
    return (metric.aggregation is not None) == (task_class.max_rounds > 1)


def dialogue_scores(task_class: TaskClass, verdicts: Sequence[kb.Verdict]) -> Mapping[str, float]:
    """Return the scores of a single answer, or of the dialogue; empty if an answer has none."""
    if task_class.max_rounds == 1:
        return verdicts[-1].scores
    if not all(verdict.scores for verdict in verdicts):
        return {}
    names = {name for name, metric in task_class.metrics.items() if _is_shown(task_class, metric)}
    return aggregate([verdict.scores for verdict in verdicts], names, task_class.max_rounds)


def _turn(prompt: str, feedback: str | None, started: datetime, output: Any) -> kb.Turn:
    usage = output.usage
    tokens = kb.Usage()
    if usage is not None:
        read = usage.input_tokens_cache_read
        charged = usage.input_tokens + (read or 0) + (usage.input_tokens_cache_write or 0)
        tokens = kb.Usage(charged, usage.output_tokens, read, usage.reasoning_tokens)
    stop = output.stop_reason if output.choices else None
    reply = kb.Reply(
        text=answer_text(output),
        usage=tokens,
        model=output.model or None,
        finish_reason=stop,
        request_id=output.response_id,
        reasoning=_reasoning(output),
        outcome=log_samples.STOP_OUTCOMES.get(stop or ""),
    )
    return kb.Turn(prompt, (kb.Call(started, clock.now(), reply),), feedback)


def _reasoning(output: Any) -> str | None:
    content = output.message.content if output.choices else ""
    if isinstance(content, str):
        return None
    texts = [part.reasoning for part in content if getattr(part, "type", None) == "reasoning"]
    return "\n\n".join(texts) or None


def _class_of(identity: log_samples.CaseIdentity) -> TaskClass:
    return catalogue.task_class(identity.task(identity.label).task_class)


def _dialogue_of(case: kb.Case, turns: Sequence[kb.Turn]) -> kb.Dialogue:
    return kb.Dialogue("", "", "", "", case.suite, case.iri, 0, case.digest, tuple(turns))


async def _judged(case: kb.Case, record: kb.Dialogue) -> list[kb.Verdict]:
    """Return a verdict for each judged answer, from a child process, without blocking the loop."""
    requests = [judging.JudgeRequest.of(record, case, k) for k in record.judged]
    future = _pool().submit(judge_batch, requests, JudgeLimits())
    return await anyio.to_thread.run_sync(future.result)


@cache
def _pool() -> Executor:
    return executor("local")


dialogue = solver(name="kgbench_dialogue")(_dialogue)
scores = scorer(metrics={"*": [mean(), stderr()]}, name=SCORER)(_scores)


def _registered(label: str) -> Callable[..., Any]:
    def labelled(iterations: int = ITERATIONS, suite: str = SUITE, seed: int = 0) -> Any:
        return task(label, iterations, suite, seed)

    registered: Callable[..., Any] = inspect_ai.task(name=label)(labelled)
    return registered


#: All tasks by label; Inspect finds them as ``kgbench/LABEL``.
TASKS = {label: _registered(label) for label in catalogue.labelled_tasks()}
