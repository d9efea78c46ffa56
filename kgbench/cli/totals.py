# SPDX-License-Identifier: Apache-2.0
"""What a run has cost, for people and as JSON: computed from the store, never carried along."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.record.reading import RunInfo
    from kgbench.store.protocol import Store


def totals(store: Store, run: RunInfo) -> dict[str, Any]:
    """Tokens, cost and working time of a run, in all and by model.

    ``cost_usd`` counts the models in ``priced``; those in ``unpriced`` have no known price or did
    not say their tokens, so that nobody knows their cost.
    """
    from kgbench.analysis import queries
    from kgbench.engine.prices import WITHOUT_PROVIDER
    from kgbench.engine.spending import recorded_price, total
    from kgbench.record import accounts

    known = {iri: (label, by) for iri, _, label, by in queries.rows(store, "list-models")}
    paid = accounts.prices(store, run.graph)
    models: dict[str, Any] = {}
    everything = accounts.Usage()
    for iri, usage in sorted(accounts.usage(store, run.graph).items()):
        label, connector = known.get(iri, (iri, None))
        price = recorded_price(paid[iri]) if iri in paid else None
        found = total(usage, price, free=connector in WITHOUT_PROVIDER)
        everything += usage
        models[label or iri] = {
            "answers": usage.answers,
            "failed_calls": usage.failures,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cached_tokens": usage.cached,
            "reasoning_tokens": usage.reasoning,
            "answers_without_counts": usage.uncounted,
            "cost_usd": None if found.cost is None else str(found.cost),
            "price": f"{price.date} {price.source}" if price is not None else None,
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


def sentence(said: dict[str, Any]) -> str:
    """The totals in one line."""
    return (
        f"{count(said['answers'], 'answer')}, {tokens(said['input_tokens'])} tokens read and "
        f"{tokens(said['output_tokens'])} written, {cost(said)}, {duration(said['seconds'])}"
    )


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
