# SPDX-License-Identifier: Apache-2.0
"""Open batches of a run: checks that they are not bypassed, and cancels them on request."""

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
    """Refuse to call a model directly while it has open batches.

    ``batched`` are the IRIs of the models that this session asks in batches. Raises
    :class:`~kgbench.errors.ModelSpecError`.
    """
    setups = {setup.iri: setup for setup in plan.models if setup.iri not in batched}
    open_ = [batch for batch in batches.unended_batches(store, run.graph) if batch.model in setups]
    if open_:
        ids = ", ".join(sorted({batch.id or "one without an id yet" for batch in open_}))
        raise ModelSpecError(
            f"{setups[open_[0].model].spec} has batches under way ({ids}): continue with "
            f"--batch, which collects them, or give them up with --abandon-batches"
        )


async def abandon(store: Store, run: RunInfo, plan: Plan, journal: Journal) -> None:
    """Ask providers to cancel the open batches of the plan's models, without waiting for them."""
    setups = {setup.iri: setup for setup in plan.models}
    for batch in batches.unended_batches(store, run.graph):
        if batch.model not in setups:
            continue
        message = None
        if batch.id is not None:
            try:
                async with open_batches(setups[batch.model], plan.call_timeout) as provider:
                    await provider.cancel(batch.id)
            except (ProviderError, ModelSpecError) as error:
                # The batch may have ended, or the provider may have deleted it.
                message = str(error)
        journal.note("batch-abandoned", iri=batch.iri, batch=batch.id, error=message)
        store.write(
            [batches.end_block(run.graph, batch, batches.ABANDONED, batches.end_time(batch))]
        )
