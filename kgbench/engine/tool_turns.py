# SPDX-License-Identifier: Apache-2.0
"""Tool use in one dialogue: the calls of an answer, their results, and the remaining budget.

A call that cannot be parsed, names no tool of the case, or has invalid arguments returns an error
to the model and counts against the budget. When the budget is spent, the model is informed and has
one more answer, whose tool calls are refused. A dialogue ends with a call of a tool that ends it,
with an empty answer, with an answer that the provider truncated or refused, with an answer without
calls (in native tool calling), and with tool calls after the budget is spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol, TypeAlias

from kgbench import clock
from kgbench.connectors.tool_servers import Equipment
from kgbench.execution import judging
from kgbench.execution.judging import ToolRequest
from kgbench.model import Case, Dialogue, Json, Turn
from kgbench.tool_calls import Fault, Tool, ToolCall, ToolOutcome, ToolResult, ToolUse
from kgbench.tools import wording
from kgbench.tools.module import Cost, budget_of, spent_in

ACCEPTED = ToolResult("accepted")
_LAST = "No tool call is left: answer or give up now."
_SPENT = "The budget of {} is spent: answer or give up now."


class TurnResult(NamedTuple):
    """The results of the calls in an answer; ``prompt`` is ``None`` if the dialogue is over."""

    uses: tuple[ToolUse, ...]
    prompt: str | None


class _ServerRequest(NamedTuple):
    """A call of a tool of an MCP server."""

    name: str
    arguments: Mapping[str, Json]


_Request: TypeAlias = "ToolRequest | _ServerRequest"


class ToolRunner(Protocol):
    """A runner of the tools of cases."""

    async def use(self, request: ToolRequest) -> judging.ToolRun:
        """Run a tool and return its result and duration; no arguments of a model raise an error."""
        ...


class ToolTurns:
    """The ``tools`` of one dialogue about ``case``, and the budget that it has used.

    ``native`` says that they are offered by the provider's own tool calling. With ``equipment`` all
    tools except those that end the dialogue belong to an MCP server.
    """

    def __init__(
        self,
        case: Case,
        tools: Sequence[Tool],
        desk: ToolRunner,
        *,
        native: bool,
        equipment: Equipment | None = None,
        cost: Cost = lambda _: None,
    ) -> None:
        self._case = case
        self._tools = {tool.name: tool for tool in tools}
        self._budget = budget_of(case.parameters)
        self._native = native
        self._desk = desk
        self._equipment = equipment
        self._calls = 0
        self._cost = cost
        self._exhausted: tuple[str, ...] = ()  # budgets spent when the current answer was requested

    async def use(self, dialogue: Dialogue, known: Sequence[ToolUse] = ()) -> TurnResult:
        """Execute the tool calls of the last answer of ``dialogue``.

        ``known`` are the recorded uses of that answer, which are not repeated. The method must be
        called once for each answer, in their order.
        """
        turn = dialogue.turns[-1]
        calls = self._calls_of(turn)
        if not calls:
            return TurnResult((), None)
        if known:
            uses = tuple(known)
            self._calls += sum(self._counts(use.call, use.result) for use in uses)
        else:
            uses = await self._execute_all(calls)
        ends = any(self._ends(use.call, use.result) for use in uses)
        if ends or self._exhausted:
            return TurnResult(uses, None)
        spent = spent_in(dialogue.turns, self._cost)
        self._exhausted = self._budget.exhausted(self._calls, spent)
        note = self._budget.remaining(self._calls, spent)
        if self._exhausted:
            only_calls = self._exhausted == ("tool calls",)
            note = _LAST if only_calls else _SPENT.format(" and ".join(self._exhausted))
        return TurnResult(uses, wording.results_prompt(uses, note))

    def _calls_of(self, turn: Turn) -> tuple[ToolCall, ...]:
        reply = turn.calls[-1].reply
        assert reply is not None
        if reply.outcome is not None or not reply.answer.strip():
            return ()
        calls = wording.calls(reply.answer)
        if not calls and not self._native:
            return (ToolCall("", reply.answer, malformed=wording.NO_CALL),)
        return calls

    async def _execute_all(self, calls: Sequence[ToolCall]) -> tuple[ToolUse, ...]:
        """Execute the calls of one answer in parallel, as far as the budget goes."""
        prepared = [self._prepared(call) for call in calls]
        uses = [self._execute(call, item) for call, item in zip(calls, prepared, strict=True)]
        return tuple(await asyncio.gather(*uses))

    def _prepared(self, call: ToolCall) -> ToolResult | _Request:
        """Return the result of a call that runs no tool, or else the request to a tool."""
        over = self._exhausted or (("tool calls",) if self._calls >= self._budget.calls else ())
        tool = self._tools.get(call.name)
        fault = request = None
        if call.malformed is not None:
            fault = (Fault.MALFORMED, call.malformed)
        elif tool is None:
            known = ", ".join(self._tools)
            fault = (Fault.UNKNOWN_TOOL, f"there is no tool '{call.name[:100]}'; there are {known}")
        else:
            request, fault = self._request(call, tool)
        if fault is None and tool is not None and tool.ends:
            return ACCEPTED
        if over:
            text = f"not used: the budget of {' and '.join(over)} is spent"
            return ToolResult(text, ToolOutcome.OVER_BUDGET, fault and fault[0])
        self._calls += 1
        if fault is not None:
            return ToolResult(f"error: {fault[1]}", ToolOutcome.ERROR, fault[0])
        assert request is not None
        return request

    def _request(
        self, call: ToolCall, tool: Tool
    ) -> tuple[_Request | None, tuple[Fault, str] | None]:
        try:
            values = wording.read_arguments(call.arguments)
        except ValueError as error:
            return None, (Fault.MALFORMED, str(error))
        if self._equipment is not None and call.name in self._equipment.names:
            return _ServerRequest(call.name, values), None  # the server checks its arguments itself
        if reason := wording.fault_in(tool, values):
            return None, (Fault.ARGUMENTS, reason)
        return ToolRequest(self._case, call, values), None

    async def _execute(self, call: ToolCall, prepared: ToolResult | _Request) -> ToolUse:
        if isinstance(prepared, ToolResult):
            now = clock.now()
            return ToolUse(call, prepared, now, now)
        if isinstance(prepared, _ServerRequest):
            assert self._equipment is not None
            began = clock.now()
            result = await self._equipment.use(prepared.name, prepared.arguments)
            return ToolUse(call, result, began, clock.now(), self._equipment.server)
        result, seconds = await self._desk.use(prepared)
        ended = clock.now()
        return ToolUse(call, result, ended - timedelta(seconds=seconds), ended)

    def _ends(self, call: ToolCall, result: ToolResult) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.ends and result.outcome is ToolOutcome.OK

    def _counts(self, call: ToolCall, result: ToolResult) -> bool:
        return result.outcome is not ToolOutcome.OVER_BUDGET and not self._ends(call, result)
