# SPDX-License-Identifier: Apache-2.0
"""Tokens, cost and working time of runs, computed from the store."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from kgbench.store.reader import cache_per_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgbench.record.accounts import Price, Total
    from kgbench.record.reading import RunInfo
    from kgbench.store.protocol import Store


class ModelCost(NamedTuple):
    """The usage and cost of a model (IRI and label) in a run, and the price used."""

    model: str
    label: str
    total: Total
    price: Price | None


class CatalogueModel(NamedTuple):
    """A model of the catalogue; ``label`` is its name in tables, by default its id."""

    id: str
    label: str
    connector: str | None


@cache_per_snapshot
def catalogue_models(store: Store) -> dict[str, CatalogueModel]:
    """Return the models of the catalogue, by IRI, sorted by id."""
    from kgbench.rdf import queries
    from kgbench.store.iris import unique_names

    rows = queries.rows(store, "list-models")
    names = unique_names((str(iri), label or str(id_)) for iri, id_, label, _ in rows)
    return {str(i): CatalogueModel(str(id_), names[str(i)], by) for i, id_, _, by in rows}


def costs_by_model(store: Store, run: RunInfo) -> Iterator[ModelCost]:
    """Yield the usage and cost of each model in a run, by the prices recorded with its sessions."""
    from kgbench.config.specs import WITHOUT_COST
    from kgbench.record import accounts
    from kgbench.record.accounts import recorded_price, total

    catalogue = catalogue_models(store)
    paid = accounts.prices(store, run.graph)
    for iri, usage in sorted(accounts.usage(store, run.graph).items()):
        model = catalogue.get(iri, CatalogueModel(iri, iri, None))
        price = recorded_price(paid[iri]) if iri in paid else None
        free = model.connector in WITHOUT_COST
        yield ModelCost(iri, model.label, total(usage, price, free=free), price)


def costs_by_task(store: Store, graph: str) -> dict[tuple[str, str], Total]:
    """Return usage and cost of the answered calls in a run's graph, by task and model (IRIs)."""
    from kgbench.config.specs import WITHOUT_COST
    from kgbench.record import accounts
    from kgbench.record.accounts import recorded_price, total

    paid = accounts.prices(store, graph)
    connectors = {iri: model.connector for iri, model in catalogue_models(store).items()}
    return {
        (task, model): total(
            usage,
            recorded_price(paid[model]) if model in paid else None,
            free=connectors.get(model) in WITHOUT_COST,
        )
        for (task, model), usage in accounts.usage_by_task(store, graph).items()
    }


def totals(store: Store, run: RunInfo) -> dict[str, Any]:
    """Return tokens, cost and working time of a run, in total and by model, as a JSON object.

    ``cost_usd`` is the total over the models of known cost; the models in ``unpriced`` have no
    known price or did not report all tokens, so their cost is unknown. ``answers_without_counts``
    are answers of providers, whose tokens are missing in the totals.
    """
    from kgbench.record import accounts

    models: dict[str, Any] = {}
    all_usage = accounts.Usage()
    for of_model in costs_by_model(store, run):
        usage = of_model.total.usage
        all_usage += usage
        models[of_model.label] = {
            "answers": usage.answers,
            "failed_calls": usage.failures,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cached_tokens": usage.cached,
            "reasoning_tokens": usage.reasoning,
            "answers_without_counts": usage.uncounted,
            "cost_usd": None if of_model.total.cost is None else str(of_model.total.cost),
            "price": None
            if of_model.price is None
            else f"{of_model.price.date} {of_model.price.source}",
        }
    costs = [of_model["cost_usd"] for of_model in models.values()]
    without = sum(m["answers_without_counts"] for m in models.values() if m["cost_usd"] is None)
    return {
        "answers": all_usage.answers,
        "failed_calls": all_usage.failures,
        "input_tokens": all_usage.input,
        "output_tokens": all_usage.output,
        "answers_without_counts": without,
        "cost_usd": str(sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0))),
        "unpriced": [label for label, of_model in models.items() if of_model["cost_usd"] is None],
        "seconds": round(accounts.working_seconds(store, run.iri, run.graph), 3),
        "models": models,
    }


def cost(run_totals: dict[str, Any]) -> str:
    """Return the cost in words, from the result of :func:`totals`; unknown costs are named."""
    unpriced = run_totals["unpriced"]
    if unpriced and len(unpriced) == len(run_totals["models"]):
        return "cost unknown"
    known_cost = usd(Decimal(run_totals["cost_usd"]))
    return f"{known_cost} and the unknown cost of {', '.join(unpriced)}" if unpriced else known_cost


def usd(amount: Decimal) -> str:
    """Format an amount of US dollars with two digits, or six digits for less than ten cents."""
    return f"${amount:,.2f}" if amount >= Decimal("0.1") or not amount else f"${amount:.6f}"


def tokens(number: int) -> str:
    """Format a number of tokens with thousands separators."""
    return f"{number:,}"


def duration(seconds: float) -> str:
    """Format a duration given in seconds as hours, minutes and seconds."""
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds_left} s" if minutes else f"{seconds:.1f} s"
