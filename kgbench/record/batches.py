# SPDX-License-Identifier: Apache-2.0
"""Batches <-> triples: intended, known by an id, ended.

Each step is a write of its own. A batch without an end may be under way at its provider, whether
it has an id here or not: only what was recorded before it was handed in can be found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kgbench.model import ModelSetup
from kgbench.rdf import integer, moment, queries, storable, string
from kgbench.record import terms as t
from kgbench.record.entries import model_entry
from kgbench.record.recorder import Recorder
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

NOT_SUBMITTED = "not submitted"
ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Batch:
    """A recorded batch. ``id`` is the provider's, once known; ``token`` ours."""

    iri: str
    model: str
    requests: int
    started: datetime
    id: str | None = None
    state: str | None = None

    @property
    def token(self) -> str:
        """What stands for the batch at its provider, from before it has an id there."""
        return self.iri.rpartition("/")[2].replace("-", "")


def intended(recorder: Recorder, setup: ModelSetup, batch: Batch) -> list[Block]:
    """That a batch of requests to the model ``setup`` is about to be handed in."""
    node = f"<{batch.iri}>"
    lines = [
        f"{node} {t.TYPE} {t.BATCH} .",
        f"{node} {t.TYPE} {t.ACTIVITY} .",
        f"{node} {t.PART_OF} <{recorder.run}> .",
        f"{node} {t.ASSOCIATED_WITH} <{batch.model}> .",
        f"{node} {t.REQUESTS} {integer(batch.requests)} .",
        f"{node} {t.STARTED} {moment(batch.started)} .",
    ]
    model = Block(recorder.iris.catalogue, model_entry(setup))
    return [model, Block(recorder.run_graph, lines)]


def known(recorder: Recorder, batch: Batch) -> Block:
    """By which id the provider knows it."""
    assert batch.id is not None
    return Block(recorder.run_graph, [f"<{batch.iri}> {t.BATCH_ID} {string(batch.id)} ."])


def ended(graph: str, batch: Batch, state: str, when: datetime) -> Block:
    """That there is nothing to be had from it any more."""
    node = f"<{batch.iri}>"
    word = string(storable(state).value)
    return Block(graph, [f"{node} {t.ENDED} {moment(when)} .", f"{node} {t.BATCH_STATE} {word} ."])


def now_after(batch: Batch) -> datetime:
    """Now, and never before the batch began, whatever clocks do."""
    return max(batch.started, datetime.now(UTC))


def all_of(store: Store, graph: str) -> list[Batch]:
    """The batches in a run's graph, in the order in which they were handed in."""
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


def open_ones(store: Store, graph: str) -> list[Batch]:
    """Those that have not ended."""
    return [batch for batch in all_of(store, graph) if batch.state is None]


def answers(store: Store, graph: str, batch: Batch) -> int:
    """How many answers of the batch are stored."""
    (row,) = store.query(fill("batch-answers.rq", graph=graph, batch=batch.iri))
    return int(row["answers"].value)
