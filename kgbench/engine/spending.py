# SPDX-License-Identifier: Apache-2.0
"""Spending of a run: declared prices, its cost and tokens so far, and the limits on both.

The limits hold for the run, not for a session: repeating the command after an interruption does
not start a new budget. Prices are declared in ``ontology/prices.ttl``, with date and source, and in
tables of users.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from kgbench import clock, resources
from kgbench.config.specs import WITHOUT_COST
from kgbench.connectors.declared import declarations
from kgbench.errors import ModelSpecError, ResourceError
from kgbench.model import ModelSetup, Plan
from kgbench.model import Usage as CallUsage
from kgbench.rdf.declared import Declared
from kgbench.rdf.declared_terms import check_terms
from kgbench.record.accounts import Price, SessionPrice, Usage, counted
from kgbench.tools.module import BUDGET_DOLLARS, limits_dollars
from kgbench.vocab import DCTERMS, KGB, SKOS

CHARACTERS_PER_TOKEN = 4  # about right for English text; used for estimates only
_DATED = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{3}|@\d{8})$")


@dataclass(frozen=True, slots=True)
class Entry:
    """The price of a model; ``connector`` is ``None`` if it holds for any model of that name."""

    name: str
    connector: str | None
    price: Price


def declared_prices(own: Path | None = None) -> list[Entry]:
    """Read the entries of the file ``own``, which take precedence, and of the shipped table.

    Raises :class:`~kgbench.errors.ResourceError` for a file that is missing or not a price table,
    and for one with two prices of a model on the same day.
    """
    shipped = _entries(resources.path("ontology", "prices.ttl"))
    return shipped if own is None else [*_entries(own, own=True), *shipped]


def price_of(setup: ModelSetup, entries: Sequence[Entry]) -> Price | None:
    """Return the price of a model, or ``None`` if no entry declares it."""
    if setup.connector in WITHOUT_COST:
        return Price(Decimal(0), Decimal(0), Decimal(0), "", "")
    names = (setup.label, setup.spec, setup.model_id)
    for entry in entries:
        if entry.connector is None and entry.name in names:
            return entry.price
    if setup.base_url is not None:
        return None
    plain = setup.model_id.removeprefix("models/")
    for name in (plain, _DATED.sub("", plain)):
        for entry in entries:
            if entry.connector == setup.connector and entry.name == name:
                return entry.price
    return None


def is_paid(setup: ModelSetup, entries: Sequence[Entry]) -> bool:
    """Return whether calls cost money: at a known price, or at a provider's own server.

    An address in the environment is that of another server.
    """
    price = price_of(setup, entries)
    if price is not None:
        return bool(price.input or price.output)
    declared = declarations().get(setup.connector)
    service = None if declared is None else declared.service
    if service is None or service.own is None or os.environ.get(service.variable or ""):
        return False
    return setup.base_url is None


def _entries(path: Path, *, own: bool = False) -> list[Entry]:
    declared = Declared(path)
    if own:
        check_terms(declared.graph, path)
    entries = [_entry(declared, node) for node in declared.instances(KGB.Price)]
    if not entries:
        raise ResourceError(f"the price table {path} holds no kgb:Price")
    days = Counter((entry.name, entry.connector, entry.price.date) for entry in entries)
    for (name, _, day), number in days.items():
        if number > 1:
            raise ResourceError(f"the price table {path} has {number} prices of '{name}' on {day}")
    # The newest price counts, one of the future only where there is no other.
    today = clock.now().date().isoformat()
    entries.sort(key=lambda entry: (entry.price.date <= today, entry.price.date), reverse=True)
    return sorted(entries, key=lambda entry: (entry.name, entry.connector or ""))


def _entry(declared: Declared, node: Any) -> Entry:
    read = declared.required_as(node, KGB.inputPrice, _usd)
    cached = declared.read(node, KGB.cachedPrice, _usd)
    batch = declared.read(node, KGB.batchFactor, _share)
    price = Price(
        read,
        declared.required_as(node, KGB.outputPrice, _usd),
        read if cached is None else cached,
        date=declared.required_as(node, DCTERMS.date, _day),
        source=declared.required(node, DCTERMS.source),
        batch=Decimal(1) if batch is None else batch,
    )
    name = declared.required(node, SKOS.notation)
    return Entry(name, declared.text(node, KGB.connector), price)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("it is no date such as 2026-01-31") from None


def _share(text: str) -> Decimal:
    if (share := _usd(text)) > 1:
        raise ValueError("it is no share of the price, such as 0.5")
    return share


def _usd(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError("it is no amount such as 0.25")
    return Decimal(text)


# --- what a run spends ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a whole run in USD and in tokens (read and written); ``None`` is no limit."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None


class Amount(NamedTuple):
    """Tokens, read and written, and what they cost in USD."""

    tokens: int = 0
    cost: Decimal = Decimal(0)

    def plus(self, other: Amount) -> Amount:
        """Return the sum of both."""
        return Amount(self.tokens + other.tokens, self.cost + other.cost)


@dataclass(slots=True)
class _Spent:
    """The spending of a model in this session; ``estimate`` is the most of dialogues under way."""

    dialogues: int = 0
    under_way: int = 0
    amount: Amount = field(default_factory=Amount)
    estimate: tuple[int, int] = (0, 0)


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
        self._unpriced = [model.spec for model in models if self.prices[model.iri] is None]
        if limits.max_cost is not None and self._unpriced:
            raise ModelSpecError(
                f"no price is known for {', '.join(self._unpriced)}, so that its cost cannot be "
                f"limited: name one in a table of your own (--prices), or limit tokens"
            )
        both = enumerate((limits.max_tokens, limits.max_cost))
        self._limits = [(part, limit) for part, limit in both if limit is not None]
        self._free = {m.iri for m in models if m.connector in WITHOUT_COST}
        self._batched = batched
        self._models: dict[str, _Spent] = {model.iri: _Spent() for model in models}
        self._used = Amount()
        self._averages: dict[str, Amount] = {}  # of a dialogue in earlier sessions
        for iri, usage in before.items():
            if iri not in self._free:
                guessed, price = uncounted.get(iri, 0), self._listed.get(iri)
                paid = Decimal(0) if price is None else counted(usage, price)
                tokens = usage.input + usage.output + guessed
                earlier = Amount(tokens, paid + self._guessed(iri, guessed))
                self._used = self._used.plus(earlier)
                if n := usage.answers:
                    self._averages[iri] = Amount(earlier.tokens // n, earlier.cost / n)
        self._ended = asyncio.Event()

    def check_budgets(self, plan: Plan) -> None:
        """Refuse a plan whose tasks limit the dollars per dialogue if a model has no known price.

        Raises :class:`~kgbench.errors.ModelSpecError`.
        """
        limited = [task.label for task in plan.tasks if limits_dollars(task.parameters)]
        if limited and self._unpriced:
            raise ModelSpecError(
                f"{limited[0]} limits the US dollars of a dialogue, but no price is known for "
                f"{', '.join(self._unpriced)}: name one in a table of your own (--prices), or set "
                f"{BUDGET_DOLLARS} to 0, which is no limit"
            )

    @property
    def under_way(self) -> bool:
        """Whether dialogues that count against a limit are under way."""
        return any(spent.under_way for spent in self._models.values())

    def one_ended(self) -> Coroutine[None, None, bool]:
        """Wait until a dialogue ends, which may have used less than was reserved for it."""
        return self._ended.wait()

    def prices_to_record(self, models: Sequence[ModelSetup]) -> list[SessionPrice]:
        """Return the prices to record: those of models with a provider and a known price."""
        listed = [(model.iri, self._listed[model.iri]) for model in models]
        return [price.recorded(iri) for iri, price in listed if price is not None and price.source]

    def begin(self, model: str, read: int, written: int = 0) -> str | None:
        """Begin a dialogue of about these tokens, or return the limit that prevents it now.

        The limit is reached for good only if nothing is :attr:`under_way`.
        """
        if model in self._free:
            return None
        spent = self._models[model]
        others, most = spent.under_way, spent.estimate
        spent.estimate = (max(most[0], read), max(most[1], written)) if others else (read, written)
        spent.under_way += 1
        under_way = [
            (each.under_way, self._reserved(iri))
            for iri, each in self._models.items()
            if each.under_way
        ]
        # With many dialogues under way, the average of a model is not known.
        too_many = model not in self._batched and spent.under_way > max(1, 2 * spent.dialogues)
        for part, limit in self._limits:
            reserved = sum(number * amount[part] for number, amount in under_way)
            if too_many or self._used[part] + reserved > limit:
                spent.under_way = others
                spent.estimate = most if others else spent.estimate
                return _option(limit)
        return None

    def end(self, model: str, usage: CallUsage, uncounted: int | None) -> Decimal | None:
        """End a dialogue, :meth:`pay` for its last calls, and return their cost."""
        if model not in self._free:
            self._models[model].dialogues += 1
            self._models[model].under_way -= 1
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
        price, spent = self.prices[model], self._models[model]
        read, written, guessed = usage.input or 0, usage.output or 0, uncounted or 0
        cost = None if price is None else price.cost(CallUsage(read, written, usage.cached))
        paid = Amount(
            read + written + guessed, (cost or Decimal(0)) + self._guessed(model, guessed)
        )
        self._used = self._used.plus(paid)
        spent.amount = spent.amount.plus(paid)
        return cost if uncounted is None else None

    @property
    def reached(self) -> str | None:
        """The limit that leaves no room for another dialogue of any model, or ``None``."""
        amounts = [self._reserved(iri) for iri in self._models if iri not in self._free]
        for part, limit in self._limits:
            room = limit - self._used[part]
            if room <= 0 or room < min((amount[part] for amount in amounts), default=0):
                return _option(limit)
        return None

    def _reserved(self, model: str) -> Amount:
        """Return what is reserved for a dialogue of a model."""
        spent, price = self._models[model], self.prices[model]
        read, written = spent.estimate
        guess = price.cost(CallUsage(read, written)) if price is not None else None
        known = self._averages.get(model, Amount())
        if n := spent.dialogues:
            known = Amount(spent.amount.tokens // n, spent.amount.cost / n)
        return Amount(max(read + written, known.tokens), max(guess or Decimal(0), known.cost))

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
