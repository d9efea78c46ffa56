# SPDX-License-Identifier: Apache-2.0
"""Prices of tokens, from declared tables with date and source.

The shipped table (``ontology/prices.ttl``) holds list prices of the providers' own services. A
model at another address has no known price unless the user's own table names its label,
specification or id. An unknown price is ``None`` and is never counted as zero.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from kgbench import resources
from kgbench.config.specs import WITHOUT_COST
from kgbench.connectors.declared import declarations
from kgbench.errors import ResourceError
from kgbench.model import ModelSetup, Usage
from kgbench.rdf.declared import Declared
from kgbench.rdf.declared_terms import check_terms
from kgbench.vocab import DCTERMS, KGB, SKOS

CHARACTERS_PER_TOKEN = 4  # about right for English text; used for estimates only
_MILLION = Decimal(1_000_000)
_DATED = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{3}|@\d{8})$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens read, written, and read from the provider's cache.

    ``date`` (ISO) is the day on which the price was valid, ``source`` the IRI of the price list.
    ``batch`` is the factor for requests in batches.
    """

    input: Decimal
    output: Decimal
    cached: Decimal
    date: str
    source: str
    batch: Decimal = Decimal(1)

    def in_batches(self) -> Price:
        """Return the price of requests in batches."""
        amounts = (self.input * self.batch, self.output * self.batch, self.cached * self.batch)
        return Price(*amounts, self.date, self.source, self.batch)

    def cost(self, usage: Usage) -> Decimal | None:
        """Return the USD for ``usage``, whose input includes cached tokens, if it has counts."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached or 0, usage.input)
        read = (usage.input - cached) * self.input + cached * self.cached
        return (read + usage.output * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Entry:
    """The price of a model; ``connector`` is ``None`` if it holds for any model of that name."""

    name: str
    connector: str | None
    price: Price


def declared(own: Path | None = None) -> list[Entry]:
    """Read the entries of the file ``own``, which take precedence, and of the shipped table.

    Raises :class:`~kgbench.errors.ResourceError` for a file that is missing or not a price table.
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
    entries.sort(key=lambda entry: entry.price.date, reverse=True)  # the newest price counts
    return sorted(entries, key=lambda entry: (entry.name, entry.connector or ""))


def _entry(declared: Declared, node: Any) -> Entry:
    read = declared.required_as(node, KGB.inputPrice, _usd)
    cached = declared.read(node, KGB.cachedPrice, _usd)
    batch = declared.read(node, KGB.batchFactor, _usd)
    price = Price(
        read,
        declared.required_as(node, KGB.outputPrice, _usd),
        read if cached is None else cached,
        date=declared.required(node, DCTERMS.date),
        source=declared.required(node, DCTERMS.source),
        batch=Decimal(1) if batch is None else batch,
    )
    name = declared.required(node, SKOS.notation)
    return Entry(name, declared.text(node, KGB.connector), price)


def _usd(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError("it is no amount such as 0.25")
    return Decimal(text)
