# SPDX-License-Identifier: Apache-2.0
"""What a run may still spend: its totals so far, prices, and limits on both.

The limits are the run's, not the session's: the same command, given again after an interruption,
does not begin a new budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kgbench.config.specs import WITHOUT_PROVIDER
from kgbench.engine.prices import Entry, Price, price_of
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup, Plan
from kgbench.model import Usage as CallUsage
from kgbench.record.accounts import Paid, Usage
from kgbench.tools import budget


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run stops: USD and tokens (read and written) of the whole run, or ``None``."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """What a model has cost; ``cost`` (USD) is ``None`` where price or counts are unknown."""

    usage: Usage
    cost: Decimal | None


def total(usage: Usage, price: Price | None, *, free: bool = False) -> Total:
    """The cost of ``usage`` by a price; ``free`` models cost nothing whatever they count."""
    if free:
        return Total(usage, Decimal(0))
    if price is None or usage.uncounted:
        return Total(usage, None)
    return Total(usage, counted(usage, price))


def counted(usage: Usage, price: Price) -> Decimal:
    """USD for the counts in ``usage``, those of batches at the price of batches."""
    read, written = usage.input - usage.batch_input, usage.output - usage.batch_output
    live = price.cost(CallUsage(read, written, usage.cached - usage.batch_cached))
    batched = CallUsage(usage.batch_input, usage.batch_output, usage.batch_cached)
    return (live or Decimal(0)) + (price.in_batches().cost(batched) or Decimal(0))


def recorded_price(paid: Paid) -> Price:
    """The price that a session took."""
    read, written, cached = map(Decimal, (paid.input, paid.output, paid.cached))
    return Price(read, written, cached, paid.date, paid.source, Decimal(paid.batch))


@dataclass(slots=True)
class _Spent:
    """What a model has cost in this session; ``estimate`` is of the dialogue begun last."""

    dialogues: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    estimate: tuple[int, int] = (0, 0)

    def add(self, tokens: int, cost: Decimal) -> None:
        self.dialogues += 1
        self.tokens += tokens
        self.cost += cost


class Spending:
    """Counts what a run spends against its limits.

    A dialogue under way counts as much as the model's average, or as its estimate, if that is more.
    An estimate knows the prompt but no answer. So with a limit a model begins with one dialogue,
    and never has more under way than twice those that have ended.

    ``before`` is what the run's graph has already, by model IRI; ``batched`` are the models that
    this session asks in batches. Raises :class:`~kgbench.errors.ModelSpecError` when cost is
    limited and a model has no known price.
    """

    def __init__(
        self,
        models: Sequence[ModelSetup],
        entries: Sequence[Entry],
        before: Mapping[str, Usage],
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
        self._free = {m.iri for m in models if m.connector in WITHOUT_PROVIDER}
        self._tokens = sum(used.input + used.output for used in before.values())
        self._cost = sum((self._paid(iri, used) for iri, used in before.items()), Decimal(0))
        self._earlier = {
            iri: self._per_answer(iri, used) for iri, used in before.items() if used.answers
        }
        self._batched = batched
        self._now: dict[str, _Spent] = {model.iri: _Spent() for model in models}
        self._under_way: dict[str, int] = {}
        self._ended = asyncio.Event()

    def check_budgets(self, plan: Plan) -> None:
        """Refuse a plan with tasks that limit the dollars of a dialogue of an unpriced model.

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
        """Whether dialogues are under way that count against a limit."""
        return any(self._under_way.values())

    def one_ended(self) -> Coroutine[None, None, bool]:
        """Wait for the next end of a dialogue: it may have used less than was held for it."""
        return self._ended.wait()

    def taken(self, models: Sequence[ModelSetup]) -> list[Paid]:
        """The prices to record: of every model with a provider and a known price."""
        found = []
        for model in models:
            price = self._listed[model.iri]
            if price is not None and price.source:
                amounts = (str(price.input), str(price.output), str(price.cached))
                where = (price.date, price.source)
                found.append(Paid(model.iri, *amounts, *where, str(price.batch)))
        return found

    def begin(self, model: str, read: int, written: int = 0) -> str | None:
        """Begin a dialogue of about so many tokens, or say which limit stands against it now.

        The limit is reached only where nothing is :attr:`under_way`.
        """
        if model in self._free:
            return None
        self._under_way[model] = self._under_way.get(model, 0) + 1
        self._now[model].estimate = (read, written)
        reached = self._reached(model)
        if reached is not None:
            self._under_way[model] -= 1
        return reached

    def end(self, model: str, usage: CallUsage, uncounted: int) -> Decimal | None:
        """A dialogue ended that used this much, ``uncounted`` tokens estimated; its cost in USD."""
        if model in self._free:
            return Decimal(0)
        self._under_way[model] -= 1
        self._ended.set()
        self._ended = asyncio.Event()
        tokens = (usage.input or 0) + (usage.output or 0) + uncounted
        self._tokens += tokens
        price = self.prices[model]
        if price is None:
            self._now[model].add(tokens, Decimal(0))
            return None
        cost = price.cost(CallUsage(usage.input or 0, usage.output or 0, usage.cached))
        guess = price.cost(CallUsage(uncounted, 0))
        assert cost is not None
        assert guess is not None
        self._cost += cost + guess
        self._now[model].add(tokens, cost + guess)
        return None if uncounted else cost

    @property
    def reached(self) -> str | None:
        """The limit that leaves no room for one dialogue more of any model, as far as is known."""
        limits = self._limits
        costs = [self._each(iri) for iri in self._now if iri not in self._free]
        if limits.max_tokens is not None:
            left = limits.max_tokens - self._tokens
            if left <= 0 or left < min((tokens for tokens, _ in costs), default=0):
                return _named(limits.max_tokens)
        if limits.max_cost is not None:
            room = limits.max_cost - self._cost
            if room <= 0 or room < min((cost for _, cost in costs), default=room):
                return _named(limits.max_cost)
        return None

    def _reached(self, model: str) -> str | None:
        limits = self._limits
        flying = {iri: number for iri, number in self._under_way.items() if number}
        if limits.max_tokens is not None:
            held = sum(number * self._each(iri)[0] for iri, number in flying.items())
            if self._tokens + held > limits.max_tokens or self._too_many(model):
                return _named(limits.max_tokens)
        if limits.max_cost is not None:
            cost = sum((number * self._each(iri)[1] for iri, number in flying.items()), Decimal(0))
            if self._cost + cost > limits.max_cost or self._too_many(model):
                return _named(limits.max_cost)
        return None

    def _too_many(self, model: str) -> bool:
        """Whether a model has more under way than its dialogues so far tell about."""
        most = max(1, 2 * self._now[model].dialogues)
        return model not in self._batched and self._under_way[model] > most

    def _each(self, model: str) -> tuple[int, Decimal]:
        """Tokens and USD that a dialogue of a model costs, about."""
        now, price = self._now[model], self.prices[model]
        read, written = now.estimate
        guess = price.cost(CallUsage(read, written)) if price is not None else None
        if now.dialogues:
            known = (now.tokens // now.dialogues, now.cost / now.dialogues)
        else:
            known = self._earlier.get(model, (0, Decimal(0)))
        return max(read + written, known[0]), max(guess or Decimal(0), known[1])

    def _paid(self, model: str, used: Usage) -> Decimal:
        price = self._listed.get(model)
        return counted(used, price) if price is not None else Decimal(0)

    def _per_answer(self, model: str, used: Usage) -> tuple[int, Decimal]:
        return (used.input + used.output) // used.answers, self._paid(model, used) / used.answers


def _named(limit: Decimal | int) -> str:
    """The option that sets a limit, as the command line takes it."""
    if isinstance(limit, Decimal):
        return f"--max-cost {limit.normalize():f}"
    return f"--max-tokens {limit}"
