# SPDX-License-Identifier: Apache-2.0
"""What a dialogue with tools may use: calls, tokens, seconds, US dollars; parameters of its task.

Calls of tools that end a dialogue are free, so that an answer is never over budget. Seconds are
those of model calls alone: how long tools take depends on the machine that runs kgbench. Those of
calls in batches do not count, for they tell how busy the provider was. Dollars are by the price
that the run records. A limit of 0 dollars is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from kgbench.model import Turn, Usage

CALLS: Final = "budgetCalls"
TOKENS: Final = "budgetTokens"
SECONDS: Final = "budgetSeconds"
DOLLARS: Final = "budgetDollars"
_CHARACTERS_PER_TOKEN: Final = 4  # where a provider counts none

Cost: TypeAlias = Callable[[Usage], Decimal | None]
"""What tokens cost, in USD; ``None`` if no price is known."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used up: tokens read and written, seconds of model calls, US dollars."""

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
        """Of what nothing is left after so many ``calls``; where there is any, no tool is used."""
        limits = (
            ("tool calls", self.calls, calls),
            ("tokens", self.tokens, spent.tokens),
            ("seconds", self.seconds, spent.seconds),
            ("US dollars", self.dollars, spent.dollars),
        )
        return tuple(name for name, limit, used in limits if limit is not None and used >= limit)

    def left(self, calls: int, spent: Spent) -> str:
        """Return what is left, in words for the model."""
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


def of(parameters: Mapping[str, Any]) -> Budget:
    """Return the budget that the parameters of a task declare."""
    dollars = Decimal(str(parameters.get(DOLLARS) or 0))
    return Budget(
        parameters[CALLS], parameters.get(TOKENS), parameters.get(SECONDS), dollars or None
    )


def limits_dollars(parameters: Mapping[str, Any]) -> bool:
    """Return whether the parameters of a task limit the dollars of a dialogue."""
    return bool(parameters.get(DOLLARS))


def spent(turns: Sequence[Turn], cost: Cost = lambda _: None) -> Spent:
    """Return what the answered calls of ``turns`` used.

    Where a provider counts no tokens, four characters are one, and a call reads all before it.
    """
    tokens, seconds, dollars = 0, 0.0, Decimal(0)
    read = 0  # characters
    for turn in turns:
        read += len(turn.prompt)
        for call in turn.calls:
            if call.reply is None:
                continue
            usage = call.reply.usage
            if usage.input is None and usage.output is None:
                written = len(call.reply.text) // _CHARACTERS_PER_TOKEN
                usage = Usage(read // _CHARACTERS_PER_TOKEN, written)
            counted = Usage(usage.input or 0, usage.output or 0, usage.cached)
            tokens += (counted.input or 0) + (counted.output or 0)
            dollars += cost(counted) or Decimal(0)
            if call.batch is None:
                seconds += (call.ended - call.started).total_seconds()
        read += len(turn.answer or "")
    return Spent(tokens, seconds, dollars)
