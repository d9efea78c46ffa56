# SPDX-License-Identifier: Apache-2.0
"""What tokens cost: declared tables with date and source, and whose price is known.

The shipped table (``ontology/prices.ttl``) holds list prices of a provider's own service; a model
behind another address has no known price, unless a table of one's own names its label,
specification or id. An unknown price is ``None`` and never counts as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.model import ModelSetup, Usage
from kgbench.vocab import DCTERMS, KGB, RDF, SKOS

WITHOUT_PROVIDER = frozenset({"baseline", "replay"})  # nobody asks money for their answers

_MILLION = Decimal(1_000_000)
_DATED = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{3}|@\d{8})$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens read, written, and read from the provider's cache.

    ``date`` (ISO) is when this was the price and ``source`` (IRI) where it stood. ``batch`` is what
    the amounts are multiplied by for requests in batches.
    """

    input: Decimal
    output: Decimal
    cached: Decimal
    date: str
    source: str
    batch: Decimal = Decimal(1)

    def in_batches(self) -> Price:
        """The price of requests in batches."""
        amounts = (self.input * self.batch, self.output * self.batch, self.cached * self.batch)
        return Price(*amounts, self.date, self.source, self.batch)

    def cost(self, usage: Usage) -> Decimal | None:
        """USD for ``usage``, whose input includes what was cached; ``None`` without counts."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached or 0, usage.input)
        read = (usage.input - cached) * self.input + cached * self.cached
        return (read + usage.output * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Entry:
    """A price with whose it is: a connector's model, or any so named (``None``)."""

    name: str
    connector: str | None
    price: Price


def declared(own: Path | None = None) -> list[Entry]:
    """The entries of the file ``own``, which go first, and of the shipped table.

    Raises :class:`~kgbench.errors.ResourceError` for a file that is missing or no price table.
    """
    shipped = _entries(resources.path("ontology", "prices.ttl"))
    return shipped if own is None else [*_entries(own), *shipped]


def price_of(setup: ModelSetup, entries: Sequence[Entry]) -> Price | None:
    """The price of a model, or ``None`` where nobody has declared it."""
    if setup.connector in WITHOUT_PROVIDER:
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


def _entries(path: Path) -> list[Entry]:
    store = ox.Store()
    try:
        store.bulk_load(path=str(path), format=ox.RdfFormat.TURTLE)
    except (OSError, SyntaxError) as error:
        raise ResourceError(f"the price table {path} cannot be read: {error}") from None
    # In no variable, which an error would keep: the engine's iterators must end in their thread.
    entries = [
        _entry(store, path, quad.subject)
        for quad in store.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Price))
    ]
    if not entries:
        raise ResourceError(f"the price table {path} holds no kgb:Price")
    return sorted(entries, key=lambda e: (e.name, e.connector or "", e.price.date))


def _entry(store: ox.Store, path: Path, node: ox.NamedNode | ox.BlankNode | ox.Triple) -> Entry:
    def value(prop: str) -> str | None:
        quad = next(iter(store.quads_for_pattern(node, ox.NamedNode(prop), None)), None)
        term = None if quad is None else quad.object
        return term.value if isinstance(term, ox.Literal | ox.NamedNode) else None

    def needed(prop: str) -> str:
        found = value(prop)
        if found is None:
            raise ResourceError(f"{path}: the price {node} has no <{prop}>")
        return found

    def amount(prop: str) -> Decimal:
        text = needed(prop)
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            raise ResourceError(f"{path}: the price {node} has '{text}' where USD are wanted")
        return Decimal(text)

    read = amount(KGB.inputPrice)
    cached = amount(KGB.cachedPrice) if value(KGB.cachedPrice) is not None else read
    batch = amount(KGB.batchFactor) if value(KGB.batchFactor) is not None else Decimal(1)
    where = (needed(DCTERMS.date), needed(DCTERMS.source))
    price = Price(read, amount(KGB.outputPrice), cached, *where, batch)
    return Entry(needed(SKOS.notation), value(KGB.connector), price)
