# SPDX-License-Identifier: Apache-2.0
"""Records provider batches as triples in three steps: intended, submitted (with an id), ended.

Each step is a separate write. A batch without an end may be in progress at its provider, with or
without an id in the store: it is recorded before it is submitted, so that it can be found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kgbench import clock
from kgbench.model import ModelSetup
from kgbench.rdf import queries
from kgbench.record import schema
from kgbench.record.recorder import Recorder, model_entry
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

NOT_SUBMITTED = "not submitted"
ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Batch:
    """A recorded batch. ``id`` is assigned by the provider, ``token`` by kgbench."""

    iri: str
    model: str
    requests: int
    started: datetime
    id: str | None = None
    state: str | None = None

    @property
    def token(self) -> str:
        """The name of the batch at its provider, known before the provider assigns an id."""
        return self.iri.rpartition("/")[2].replace("-", "")


def intention_blocks(recorder: Recorder, setup: ModelSetup, batch: Batch) -> list[Block]:
    """Return the blocks of a batch of requests that is about to be submitted."""
    lines = schema.of("Batch").triples(batch.iri, batch, run=recorder.run)
    model = Block(recorder.iris.catalogue, model_entry(setup))
    return [model, Block(recorder.run_graph, lines)]


def id_block(recorder: Recorder, batch: Batch) -> Block:
    """Return the block with the id that the provider assigned."""
    assert batch.id is not None
    return Block(recorder.run_graph, schema.of("Batch").facts(batch.iri, id=batch.id))


def end_block(graph: str, batch: Batch, state: str, when: datetime) -> Block:
    """Return the block for the end of a batch, after which no results are expected."""
    return Block(graph, schema.of("Batch").facts(batch.iri, ended=when, state=state))


def end_time(batch: Batch) -> datetime:
    """Return the current time, but never one before the start of the batch (clocks may go back)."""
    return max(batch.started, clock.now())


def all_batches(store: Store, graph: str) -> list[Batch]:
    """Return the batches in a run's graph, in the order of submission."""
    return [
        Batch(
            r["batch"].value,
            r["model"].value,
            int(r["requests"].value),
            datetime.fromisoformat(r["started"].value),
            None if r["batchId"] is None else r["batchId"].value,
            None if r["ended"] is None else r["batchState"].value,
        )
        for r in queries.run(store, "run-batches", runGraph=graph)
    ]


def unended_batches(store: Store, graph: str) -> list[Batch]:
    """Return the batches that have not ended."""
    return [batch for batch in all_batches(store, graph) if batch.state is None]


def answers(store: Store, graph: str, batch: Batch) -> int:
    """Return the number of stored answers of a batch."""
    (row,) = store.query(fill("batch-answers.rq", graph=graph, batch=batch.iri))
    return int(row["answers"].value)
