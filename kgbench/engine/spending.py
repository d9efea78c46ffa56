# SPDX-License-Identifier: Apache-2.0
"""What a run may still spend: its totals so far, prices, and limits on both.

The limits are the run's, not the session's: the same command, given again after an interruption,
does not begin a new budget.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kgbench.engine.prices import WITHOUT_PROVIDER, Entry, Price, price_of
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.model import Usage as CallUsage
from kgbench.record.accounts import Paid, Usage


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


class Spending:
    """Counts what a run spends against its limits.

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
        self._cost = Decimal(0)
        for iri, used in before.items():
            price = self._listed.get(iri)
            self._cost += counted(used, price) if price is not None else Decimal(0)
        self._dialogues = 0
        self._spent_now = (self._tokens, self._cost)
        self._under_way: dict[str, int] = {}

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
        """Begin a dialogue of about so many tokens, or say which limit stands against it.

        What is under way counts as much as an average dialogue so far, or as its estimate.
        """
        if model in self._free:
            return None
        self._under_way[model] = self._under_way.get(model, 0) + 1
        reached = self._reached(model, read, written)
        if reached is not None:
            self._under_way[model] -= 1
        return reached

    def end(self, model: str, usage: CallUsage, uncounted: int) -> Decimal | None:
        """A dialogue ended that used this much, ``uncounted`` tokens estimated; its cost in USD."""
        if model in self._free:
            return Decimal(0)
        self._under_way[model] -= 1
        self._dialogues += 1
        self._tokens += (usage.input or 0) + (usage.output or 0) + uncounted
        price = self.prices[model]
        if price is None:
            return None
        cost = price.cost(CallUsage(usage.input or 0, usage.output or 0, usage.cached))
        guess = price.cost(CallUsage(uncounted, 0))
        assert cost is not None
        assert guess is not None
        self._cost += cost + guess
        return None if uncounted else cost

    def _reached(self, model: str, read: int, written: int) -> str | None:
        limits, flying = self._limits, sum(self._under_way.values())
        began_tokens, began_cost = self._spent_now
        done = max(1, self._dialogues)
        if limits.max_tokens is not None:
            each = max(read + written, (self._tokens - began_tokens) // done)
            if self._tokens + flying * each > limits.max_tokens:
                return f"--max-tokens {limits.max_tokens}"
        price = self.prices[model]
        if limits.max_cost is not None and price is not None:
            guess = price.cost(CallUsage(read, written)) or Decimal(0)
            mean = max(guess, (self._cost - began_cost) / done)
            if self._cost + flying * mean > limits.max_cost:
                return f"--max-cost {limits.max_cost}"
        return None
