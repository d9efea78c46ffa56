# SPDX-License-Identifier: Apache-2.0
"""Spending of a run: its cost and tokens so far, and the limits on both.

The limits hold for the run, not for a session: repeating the command after an interruption does
not start a new budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kgbench.config.specs import WITHOUT_COST
from kgbench.engine.prices import Entry, Price, price_of
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup, Plan
from kgbench.model import Usage as CallUsage
from kgbench.record.accounts import SessionPrice, Usage
from kgbench.tools import budget


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a whole run in USD and in tokens (read and written); ``None`` is no limit."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """The usage and cost of a model; ``cost`` (USD) is ``None`` if price or counts are unknown."""

    usage: Usage
    cost: Decimal | None


def total(usage: Usage, price: Price | None, *, free: bool = False) -> Total:
    """Return the cost of ``usage`` at ``price``; ``free`` models always cost nothing."""
    if free:
        return Total(usage, Decimal(0))
    if price is None or usage.uncounted:
        return Total(usage, None)
    return Total(usage, counted(usage, price))


def counted(usage: Usage, price: Price) -> Decimal:
    """Return the USD for the counts in ``usage``, with batches at the price of batches."""
    read, written = usage.input - usage.batch_input, usage.output - usage.batch_output
    live = price.cost(CallUsage(read, written, usage.cached - usage.batch_cached))
    batched = CallUsage(usage.batch_input, usage.batch_output, usage.batch_cached)
    return (live or Decimal(0)) + (price.in_batches().cost(batched) or Decimal(0))


def recorded_price(paid: SessionPrice) -> Price:
    """Return the price that a session recorded."""
    read, written, cached = map(Decimal, (paid.input, paid.output, paid.cached))
    return Price(read, written, cached, paid.date, paid.source, Decimal(paid.batch))


@dataclass(slots=True)
class _Spent:
    """The spending of a model in this session; ``estimate`` is the most of dialogues under way."""

    dialogues: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    estimate: tuple[int, int] = (0, 0)

    def add(self, tokens: int, cost: Decimal) -> None:
        self.tokens += tokens
        self.cost += cost


class Spending:
    """Counts the spending of a run against its limits.

    A dialogue under way counts as the model's average or as its estimate, whichever is more. An
    estimate includes the prompt but no answer. Therefore, with a limit, a model starts with one
    dialogue and never has more than twice as many under way as have ended.

    ``before`` is the recorded usage of the run by model IRI, and ``uncounted`` an estimate of the
    tokens of its answers without counts; ``batched`` are the models that this session asks in
    batches. Raises :class:`~kgbench.errors.ModelSpecError` if cost is limited and
    a model has no known price.
    """

    def __init__(
        self,
        models: Sequence[ModelSetup],
        entries: Sequence[Entry],
        before: Mapping[str, Usage],
        uncounted: Mapping[str, int],
        limits: Limits,
        *,
        batched: Collection[str],
    ) -> None:
        self._listed = {model.iri: price_of(model, entries) for model in models}
        self.prices = {
            iri: price.in_batches() if price is not None and iri in batched else price
            for iri, price in self._listed.items()
        }
        unpriced = [model.spec for model in models if self.prices[model.iri] is None]
        if limits.max_cost is not None and unpriced:
            raise ModelSpecError(
                f"no price is known for {', '.join(unpriced)}, so that its cost cannot be "
                f"limited: name one in a table of your own (--prices), or limit tokens"
            )
        self._limits = limits
        self._free = {m.iri for m in models if m.connector in WITHOUT_COST}
        earlier = {
            iri: (
                usage.input + usage.output + uncounted.get(iri, 0),
                self._paid(iri, usage) + self._guessed(iri, uncounted.get(iri, 0)),
            )
            for iri, usage in before.items()
            if iri not in self._free
        }
        self._tokens = sum(tokens for tokens, _ in earlier.values())
        self._cost = sum((cost for _, cost in earlier.values()), Decimal(0))
        self._earlier = {
            iri: (tokens // before[iri].answers, cost / before[iri].answers)
            for iri, (tokens, cost) in earlier.items()
            if before[iri].answers
        }
        self._batched = batched
        self._session_spending: dict[str, _Spent] = {model.iri: _Spent() for model in models}
        self._under_way: dict[str, int] = {}
        self._ended = asyncio.Event()

    def check_budgets(self, plan: Plan) -> None:
        """Refuse a plan whose tasks limit the dollars per dialogue if a model has no known price.

        Raises :class:`~kgbench.errors.ModelSpecError`.
        """
        limited = [task.label for task in plan.tasks if budget.limits_dollars(task.parameters)]
        unpriced = [model.spec for model in plan.models if self.prices[model.iri] is None]
        if limited and unpriced:
            raise ModelSpecError(
                f"{limited[0]} limits the US dollars of a dialogue, but no price is known for "
                f"{', '.join(unpriced)}: name one in a table of your own (--prices), or set "
                f"{budget.DOLLARS} to 0, which is no limit"
            )

    @property
    def under_way(self) -> bool:
        """Whether dialogues that count against a limit are under way."""
        return any(self._under_way.values())

    def one_ended(self) -> Coroutine[None, None, bool]:
        """Wait until a dialogue ends, which may have used less than was reserved for it."""
        return self._ended.wait()

    def prices_to_record(self, models: Sequence[ModelSetup]) -> list[SessionPrice]:
        """Return the prices to record: those of models with a provider and a known price."""
        paid = []
        for model in models:
            price = self._listed[model.iri]
            if price is not None and price.source:
                amounts = (str(price.input), str(price.output), str(price.cached))
                where = (price.date, price.source)
                paid.append(SessionPrice(model.iri, *amounts, *where, str(price.batch)))
        return paid

    def begin(self, model: str, read: int, written: int = 0) -> str | None:
        """Begin a dialogue of about these tokens, or return the limit that prevents it now.

        The limit is reached for good only if nothing is :attr:`under_way`.
        """
        if model in self._free:
            return None
        others, spent = self._under_way.get(model, 0), self._session_spending[model]
        most = spent.estimate
        spent.estimate = (max(most[0], read), max(most[1], written)) if others else (read, written)
        self._under_way[model] = others + 1
        reached = self._limit_for(model)
        if reached is not None:
            self._under_way[model] = others
            if others:
                spent.estimate = most
        return reached

    def end(self, model: str, usage: CallUsage, uncounted: int | None) -> Decimal | None:
        """End a dialogue, :meth:`pay` for its last calls, and return their cost."""
        if model not in self._free:
            self._session_spending[model].dialogues += 1
            self._under_way[model] -= 1
            self._ended.set()
            self._ended = asyncio.Event()
        return self.pay(model, usage, uncounted)

    def pay(self, model: str, usage: CallUsage, uncounted: int | None) -> Decimal | None:
        """Count calls of a dialogue that is under way, and return their cost in USD.

        ``uncounted`` is an estimate of the tokens of answers without counts, and ``None`` if there
        are none. The cost is ``None`` if it is unknown.
        """
        if model in self._free:
            return Decimal(0)
        tokens = (usage.input or 0) + (usage.output or 0) + (uncounted or 0)
        self._tokens += tokens
        price = self.prices[model]
        if price is None:
            self._session_spending[model].add(tokens, Decimal(0))
            return None
        cost = price.cost(CallUsage(usage.input or 0, usage.output or 0, usage.cached))
        guess = self._guessed(model, uncounted or 0)
        assert cost is not None
        self._cost += cost + guess
        self._session_spending[model].add(tokens, cost + guess)
        return cost if uncounted is None else None

    @property
    def reached(self) -> str | None:
        """The limit that leaves no room for another dialogue of any model, or ``None``."""
        limits = self._limits
        costs = [self._reserved(iri) for iri in self._session_spending if iri not in self._free]
        if limits.max_tokens is not None:
            remaining = limits.max_tokens - self._tokens
            if remaining <= 0 or remaining < min((tokens for tokens, _ in costs), default=0):
                return _option(limits.max_tokens)
        if limits.max_cost is not None:
            room = limits.max_cost - self._cost
            if room <= 0 or room < min((cost for _, cost in costs), default=room):
                return _option(limits.max_cost)
        return None

    def _limit_for(self, model: str) -> str | None:
        limits = self._limits
        under_way = {iri: number for iri, number in self._under_way.items() if number}
        if limits.max_tokens is not None:
            reserved = sum(number * self._reserved(iri)[0] for iri, number in under_way.items())
            if self._tokens + reserved > limits.max_tokens or self._too_many(model):
                return _option(limits.max_tokens)
        if limits.max_cost is not None:
            cost = sum(
                (number * self._reserved(iri)[1] for iri, number in under_way.items()), Decimal(0)
            )
            if self._cost + cost > limits.max_cost or self._too_many(model):
                return _option(limits.max_cost)
        return None

    def _too_many(self, model: str) -> bool:
        """Return whether a model has too many dialogues under way for its average to be known."""
        limit = max(1, 2 * self._session_spending[model].dialogues)
        return model not in self._batched and self._under_way[model] > limit

    def _reserved(self, model: str) -> tuple[int, Decimal]:
        """Return the tokens and USD that are reserved for a dialogue of a model."""
        spent, price = self._session_spending[model], self.prices[model]
        read, written = spent.estimate
        guess = price.cost(CallUsage(read, written)) if price is not None else None
        if spent.dialogues:
            known = (spent.tokens // spent.dialogues, spent.cost / spent.dialogues)
        else:
            known = self._earlier.get(model, (0, Decimal(0)))
        return max(read + written, known[0]), max(guess or Decimal(0), known[1])

    def _paid(self, model: str, usage: Usage) -> Decimal:
        price = self._listed.get(model)
        return counted(usage, price) if price is not None else Decimal(0)

    def _guessed(self, model: str, uncounted: int) -> Decimal:
        """Return the price of answers of about so many tokens."""
        price = self.prices.get(model)
        cost = None if price is None else price.cost(CallUsage(0, uncounted))
        return cost or Decimal(0)


def _option(limit: Decimal | int) -> str:
    """Return the command-line option that sets a limit."""
    if isinstance(limit, Decimal):
        return f"--max-cost {limit.normalize():f}"
    return f"--max-tokens {limit}"
