# SPDX-License-Identifier: Apache-2.0
"""The tools of a case inside of Inspect AI: offered natively, used by kgbench, told as messages.

Inspect only passes the calls on (``tool_calls="none"``). So arguments are checked, calls are
counted, and the budget is told as in ``kgbench run``, by the same :class:`ToolTurns`.
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

from kgbench.engine.tool_turns import ToolTurns, Used
from kgbench.errors import EvaluationError, TaskError
from kgbench.execution import judging
from kgbench.execution.judging import JudgeLimits, UseRequest, answer_batch
from kgbench.importers.inspect_samples import error_type
from kgbench.model import Case, Dialogue
from kgbench.tasks import tool_prompts
from kgbench.tool_calls import Tool, ToolCall, ToolResult, ToolUse
from kgbench.tools import budget, wording


def offered(case: Case, label: str) -> tuple[Tool, ...]:
    """Return the tools that ``case`` offers; none for most.

    Raises :class:`~kgbench.errors.TaskError` if dollars are limited, for Inspect knows no price.
    """
    tools = tool_prompts.tools_of(case)
    if tools and budget.limits_dollars(case.parameters):
        raise TaskError(
            f"{label} limits the dollars of a dialogue, which cannot be counted in Inspect: ask it "
            "by 'kgbench run', and take the dialogues to Inspect by 'kgbench export inspect'"
        )
    return tools


def definitions(tools: Sequence[Tool]) -> list[Any]:
    """``tools`` as Inspect offers them to a model."""
    return [
        ToolDef(
            _never_executed(),
            name=tool.name,
            description=tool.description,
            parameters=_parameters(tool),
        )
        for tool in tools
    ]


def spoken(output: Any) -> str:
    """Return an answer with its tool calls, as kgbench records it."""
    calls = (output.message.tool_calls or ()) if output.choices else ()
    return wording.with_calls(output.completion, [_call(call) for call in calls])


def messages(uses: Sequence[ToolUse], prompt: str) -> list[Any]:
    """What Inspect's model is told next: the results of its calls, and ``prompt`` behind them.

    ``prompt`` is what is left of the budget or the feedback of a judge, without results.
    """
    told = [
        ChatMessageTool(
            content=wording.result_text(use.result),
            tool_call_id=use.call.id,
            function=use.call.name,
            error=_error(use.result),
        )
        for use in uses
    ]
    if not told:
        return [ChatMessageUser(content=prompt)]
    told[-1].content = f"{told[-1].content}\n{prompt}"
    return told


class Tools:
    """The tools of one dialogue, used in the processes of an executor under the usual limits."""

    def __init__(self, case: Case, tools: Sequence[Tool], pool: Executor) -> None:
        self._turns = ToolTurns(case, tools, _Desk(pool), native=True)

    async def use(self, dialogue: Dialogue) -> Used:
        """Return what became of the calls in the last answer, each answer once.

        In a thread of its own, because Inspect's event loop need not be that of asyncio.
        """
        return await anyio.to_thread.run_sync(lambda: asyncio.run(self._turns.use(dialogue)))


class _Desk:
    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    async def use(self, request: UseRequest) -> judging.Used:
        asked = self._pool.submit(answer_batch, [request], JudgeLimits())
        (used,) = await asyncio.wrap_future(asked)
        assert isinstance(used, judging.Used)
        return used


def _parameters(tool: Tool) -> Any:
    """Return the schema of the arguments; Inspect refuses parameters that are not described."""
    found = ToolParams.model_validate(dict(tool.parameters))
    for name, one in found.properties.items():
        one.description = one.description or name
    return found


def _call(call: Any) -> ToolCall:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return ToolCall(call.function, arguments, call.id, call.parse_error)


def _error(result: ToolResult) -> Any:
    kind: Any = error_type(result)
    return None if kind is None else ToolCallError(kind, wording.result_text(result))


def _never_executed() -> Any:
    """Return a function of its own for each tool, because Inspect keeps the definition in it."""

    async def execute(**_: Any) -> str:
        raise EvaluationError("the tools of kgbench are not used by Inspect itself")

    return execute
