# SPDX-License-Identifier: Apache-2.0
"""What a run has cost, for people and as JSON: computed from the store, never carried along."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgbench.engine.prices import Price
    from kgbench.engine.spending import Total
    from kgbench.record.reading import RunInfo
    from kgbench.store.protocol import Store


class Spent(NamedTuple):
    """What a model (its IRI and label) has cost in a run, and the price that it was counted by."""

    model: str
    label: str
    total: Total
    price: Price | None


def spent(store: Store, run: RunInfo) -> Iterator[Spent]:
    """What each model has cost in a run, by the prices that its sessions took."""
    from kgbench.config.specs import WITHOUT_PROVIDER
    from kgbench.engine.spending import recorded_price, total
    from kgbench.rdf import queries
    from kgbench.record import accounts

    known = {iri: (label, by) for iri, _, label, by in queries.rows(store, "list-models")}
    paid = accounts.prices(store, run.graph)
    for iri, usage in sorted(accounts.usage(store, run.graph).items()):
        label, connector = known.get(iri, (iri, None))
        price = recorded_price(paid[iri]) if iri in paid else None
        free = connector in WITHOUT_PROVIDER
        yield Spent(iri, label or iri, total(usage, price, free=free), price)


def spent_by_task(store: Store, graph: str) -> dict[tuple[str, str], Total]:
    """What the answered calls of a run's graph used and cost, by task and model (IRIs)."""
    from kgbench.config.specs import WITHOUT_PROVIDER
    from kgbench.engine.spending import recorded_price, total
    from kgbench.rdf import queries
    from kgbench.record import accounts

    paid = accounts.prices(store, graph)
    connectors = {iri: by for iri, _, _, by in queries.rows(store, "list-models")}
    return {
        (task, model): total(
            usage,
            recorded_price(paid[model]) if model in paid else None,
            free=connectors.get(model) in WITHOUT_PROVIDER,
        )
        for (task, model), usage in accounts.usage_by_task(store, graph).items()
    }


def totals(store: Store, run: RunInfo) -> dict[str, Any]:
    """Tokens, cost and working time of a run, in all and by model.

    ``cost_usd`` counts the models in ``priced``; those in ``unpriced`` have no known price or did
    not say their tokens, so that nobody knows their cost.
    """
    from kgbench.record import accounts

    models: dict[str, Any] = {}
    everything = accounts.Usage()
    for one in spent(store, run):
        usage = one.total.usage
        everything += usage
        models[one.label] = {
            "answers": usage.answers,
            "failed_calls": usage.failures,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cached_tokens": usage.cached,
            "reasoning_tokens": usage.reasoning,
            "answers_without_counts": usage.uncounted,
            "cost_usd": None if one.total.cost is None else str(one.total.cost),
            "price": None if one.price is None else f"{one.price.date} {one.price.source}",
        }
    costs = [one["cost_usd"] for one in models.values()]
    return {
        "answers": everything.answers,
        "failed_calls": everything.failures,
        "input_tokens": everything.input,
        "output_tokens": everything.output,
        "cost_usd": str(sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0))),
        "unpriced": [label for label, one in models.items() if one["cost_usd"] is None],
        "seconds": round(accounts.working_seconds(store, run.iri, run.graph), 3),
        "models": models,
    }


def cost(said: dict[str, Any]) -> str:
    """The cost in words; what is not known is said to be so."""
    unpriced = said["unpriced"]
    if unpriced and len(unpriced) == len(said["models"]):
        return "cost unknown"
    known = usd(Decimal(said["cost_usd"]))
    return f"{known} and the unknown cost of {', '.join(unpriced)}" if unpriced else known


def usd(amount: Decimal) -> str:
    """An amount of US dollars: cents, and more digits where there are less than ten."""
    return f"${amount:,.2f}" if amount >= Decimal("0.1") or not amount else f"${amount:.6f}"


def tokens(number: int) -> str:
    """A number of tokens, with separators."""
    return f"{number:,}"


def duration(seconds: float) -> str:
    """Seconds in hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
