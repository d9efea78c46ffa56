# SPDX-License-Identifier: Apache-2.0
"""What task classes with tools declare: functions beside those of all classes, and budgets.

Calls of tools that end a dialogue are free, so that an answer is never over budget. Only the
seconds of model calls count, because the time of tools depends on the machine that runs kgbench.
The seconds of calls in batches do not count, because they depend on the load of the provider.
Dollars are computed from the price that the run records. A limit of 0 dollars means no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Final, Protocol, TypeAlias

from kgbench.model import Case, Executor, Json, Turn, Usage, Verdict
from kgbench.tool_calls import Tool, ToolCall, ToolResult


class ToolModule(Protocol):
    """The additional functions of a task class whose cases offer tools.

    All are pure, apart from the executor, which runs queries under limits. Parameters of the task
    declare the budget (:mod:`kgbench.tools.module`).
    """

    def tools(self, case: Case) -> Sequence[Tool]:
        """Return the tools that ``case`` offers; none if it is asked without tools."""
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Use the tool called ``name``; the arguments are valid for its schema."""
        ...

    def judge_dialogue(
        self, case: Case, prompts: Sequence[str], answers: Sequence[str], executor: Executor
    ) -> Verdict:
        """Judge the last of ``answers``; each answers one of ``prompts``, including tool results.

        The texts have the form of :mod:`kgbench.tools.wording`.
        """
        ...

    def say(self, case: Case, agent: str, messages: Sequence[str], chance: Random) -> str:
        """Return the answer of the baseline model ``agent`` to ``messages``, in the text protocol.

        Agents are ``oracle``, ``schema-only``, ``random-walker`` and ``searcher``.
        """
        ...


class RecordedTools(Protocol):
    """The additional functions of a task class whose dialogues were recorded elsewhere, with tools.

    They let an audit execute recorded calls again, if kgbench has equivalent tools.
    """

    def again(
        self, case: Case, call: ToolCall, result: ToolResult, prompt: str
    ) -> Mapping[str, Json] | str:
        """Return arguments of :meth:`use` for a recorded call, or why it cannot be executed again.

        ``prompt`` is the first prompt of the dialogue.
        """
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Execute a call again with the arguments from :meth:`again`."""
        ...

    def agree(self, recorded: ToolResult, new_result: ToolResult) -> bool:
        """Return whether two results are equivalent, whatever their wording."""
        ...

    def why_different(self, recorded: ToolResult, new_result: ToolResult) -> str | None:
        """Return the class of the difference if the two results explain it, otherwise ``None``."""
        ...


BUDGET_CALLS: Final = "budgetCalls"
BUDGET_TOKENS: Final = "budgetTokens"
BUDGET_SECONDS: Final = "budgetSeconds"
BUDGET_DOLLARS: Final = "budgetDollars"
_CHARACTERS_PER_TOKEN: Final = 4  # if a provider reports no counts

Cost: TypeAlias = Callable[[Usage], Decimal | None]
"""A function from token counts to their cost in USD; ``None`` if no price is known."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The use of a dialogue: tokens read and written, seconds of model calls, US dollars."""

    tokens: int = 0
    seconds: float = 0.0
    dollars: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one dialogue; ``None`` if there is no limit."""

    calls: int
    tokens: int | None = None
    seconds: float | None = None
    dollars: Decimal | None = None

    def exhausted(self, calls: int, spent: Spent) -> tuple[str, ...]:
        """Return the names of the limits that are used up after ``calls`` tool calls."""
        limits = (
            ("tool calls", self.calls, calls),
            ("tokens", self.tokens, spent.tokens),
            ("seconds", self.seconds, spent.seconds),
            ("US dollars", self.dollars, spent.dollars),
        )
        return tuple(name for name, limit, used in limits if limit is not None and used >= limit)

    def remaining(self, calls: int, spent: Spent) -> str:
        """Return a message for the model about the rest of the budget."""
        parts = [f"{max(self.calls - calls, 0)} of {self.calls} tool calls"]
        if self.tokens is not None:
            parts.append(f"{max(self.tokens - spent.tokens, 0)} of {self.tokens} tokens")
        if self.seconds is not None:
            left = max(self.seconds - spent.seconds, 0)
            parts.append(f"{left:.0f} of {self.seconds:g} seconds of your time")
        if self.dollars is not None:
            left_dollars = max(self.dollars - spent.dollars, Decimal(0))
            parts.append(f"{left_dollars:.4f} of {self.dollars:f} US dollars")
        return f"Left: {', '.join(parts)}."


def budget_of(parameters: Mapping[str, Any]) -> Budget:
    """Return the budget that the parameters of a task declare."""
    dollars = Decimal(str(parameters.get(BUDGET_DOLLARS) or 0))
    return Budget(
        parameters[BUDGET_CALLS],
        parameters.get(BUDGET_TOKENS),
        parameters.get(BUDGET_SECONDS),
        dollars or None,
    )


def limits_dollars(parameters: Mapping[str, Any]) -> bool:
    """Return whether the parameters of a task limit the dollars of a dialogue."""
    return bool(parameters.get(BUDGET_DOLLARS))


def spent_in(turns: Sequence[Turn], cost: Cost = lambda _: None) -> Spent:
    """Return the use of the answered calls of ``turns``.

    Where a provider reports no token count, a token is four characters, and a call reads the whole
    dialogue before it.
    """
    tokens, seconds, dollars = 0, 0.0, Decimal(0)
    read = 0  # characters
    for turn in turns:
        read += len(turn.prompt)
        for call in turn.calls:
            if call.reply is None:
                continue
            usage = call.reply.usage
            guess = Usage(
                read // _CHARACTERS_PER_TOKEN, len(call.reply.text) // _CHARACTERS_PER_TOKEN
            )
            counted = Usage(
                guess.input if usage.input is None else usage.input,
                guess.output if usage.output is None else usage.output,
                usage.cached,
            )
            tokens += (counted.input or 0) + (counted.output or 0)
            dollars += cost(counted) or Decimal(0)
            if call.batch is None:
                seconds += (call.ended - call.started).total_seconds()
        read += len(turn.answer or "")
    return Spent(tokens, seconds, dollars)
