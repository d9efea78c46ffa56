# SPDX-License-Identifier: Apache-2.0
"""The tools of a case in Inspect AI: offered natively, used by kgbench, returned as messages.

Inspect only forwards the calls (``tool_calls="none"``). The same :class:`ToolTurns` as in ``kgbench
run`` checks arguments, counts calls and reports the budget.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import anyio.to_thread
from inspect_ai.model import ChatMessageTool, ChatMessageUser
from inspect_ai.tool import ToolCallError, ToolDef, ToolParams

from kgbench.engine.tool_turns import ToolTurns, TurnResult
from kgbench.errors import EvaluationError, TaskError
from kgbench.execution import judging
from kgbench.execution.judging import JudgeLimits, ToolRequest, answer_batch
from kgbench.model import Case, Dialogue
from kgbench.plugins.inspect.samples import error_type
from kgbench.tasks import tool_prompts
from kgbench.tool_calls import Tool, ToolCall, ToolResult, ToolUse
from kgbench.tools import budget, wording


def offered_tools(case: Case, label: str) -> tuple[Tool, ...]:
    """Return the tools that ``case`` offers; most cases offer none.

    Raises :class:`~kgbench.errors.TaskError` if dollars are limited, because Inspect has no prices.
    """
    tools = tool_prompts.tools_of(case)
    if tools and budget.limits_dollars(case.parameters):
        raise TaskError(
            f"{label} limits the dollars of a dialogue, which cannot be counted in Inspect: use "
            "'kgbench run', and export the dialogues with 'kgbench export inspect'"
        )
    return tools


def definitions(tools: Sequence[Tool]) -> list[Any]:
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

    def __init__(self, case: Case, tools: Sequence[Tool], pool: Executor) -> None:
        self._turns = ToolTurns(case, tools, _JudgePool(pool), native=True)

    async def use(self, dialogue: Dialogue) -> TurnResult:
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


def _parameters(tool: Tool) -> Any:
    """Return the schema of the arguments; Inspect requires a description of each parameter."""
    parameters = ToolParams.model_validate(dict(tool.parameters))
    for name, schema in parameters.properties.items():
        schema.description = schema.description or name
    return parameters


def _call(call: Any) -> ToolCall:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return ToolCall(call.function, arguments, call.id, call.parse_error)


def _error(result: ToolResult) -> Any:
    kind: Any = error_type(result)
    return None if kind is None else ToolCallError(kind, wording.result_text(result))


def _never_executed() -> Any:
    """Return a new function for each tool, because Inspect stores the definition on it."""

    async def execute(**_: Any) -> str:
        raise EvaluationError("the tools of kgbench are not used by Inspect itself")

    return execute
