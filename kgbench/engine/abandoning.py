# SPDX-License-Identifier: Apache-2.0
"""Batches that a run has under way: who must wait for them, and how they are given up."""

from __future__ import annotations

from collections.abc import Collection

from kgbench.connectors.batches import open_batches
from kgbench.engine.journal import Journal
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import Plan
from kgbench.record import batches
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store


def refuse_beside(store: Store, run: RunInfo, plan: Plan, batched: Collection[str]) -> None:
    """Refuse to ask a model call by call while it has batches under way.

    Raises :class:`~kgbench.errors.ModelSpecError`; ``batched`` are the models asked in batches.
    """
    setups = {setup.iri: setup for setup in plan.models if setup.iri not in batched}
    open_ = [one for one in batches.open_ones(store, run.graph) if one.model in setups]
    if open_:
        named = ", ".join(sorted({one.id or "one without an id yet" for one in open_}))
        raise ModelSpecError(
            f"{setups[open_[0].model].spec} has batches under way ({named}): continue with "
            f"--batch, which collects them, or give them up with --abandon-batches"
        )


async def abandon(store: Store, run: RunInfo, plan: Plan, journal: Journal) -> None:
    """Ask the providers to cancel the open batches of the plan's models, and wait for none."""
    setups = {setup.iri: setup for setup in plan.models}
    for one in batches.open_ones(store, run.graph):
        if one.model not in setups:
            continue
        said = None
        if one.id is not None:
            try:
                async with open_batches(setups[one.model], plan.call_timeout) as provider:
                    await provider.cancel(one.id)
            except (ProviderError, ModelSpecError) as error:
                said = str(error)  # it may have ended, or be forgotten there
        journal.note("batch-abandoned", iri=one.iri, batch=one.id, error=said)
        store.write([batches.ended(run.graph, one, batches.ABANDONED, batches.now_after(one))])
