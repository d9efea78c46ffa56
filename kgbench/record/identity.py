# SPDX-License-Identifier: Apache-2.0
"""The ingredients of the identity of stored dialogues, and the configurations of runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from kgbench.errors import StoreError
from kgbench.model import Json
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


@dataclass(frozen=True, slots=True)
class Ingredients:
    """The identity of a stored dialogue; ``prompt`` and ``case`` are digests.

    ``request_parameters`` are the sampling parameters and options of the model.
    """

    dialogue: str
    scheme: int
    model: str
    model_id: str
    model_label: str
    request_parameters: Json
    label: str
    task_class: str
    parameters: Json
    case: str
    iteration: int
    prompt: str


def ingredients(store: Store, graph: str) -> Iterator[Ingredients]:
    """Yield the ingredients of all dialogues in a run's graph."""
    for r in store.query(fill("ingredients.rq", graph=graph, catalogue=store.iris.catalogue)):
        yield Ingredients(
            dialogue=r["dialogue"].value,
            scheme=int(r["scheme"].value),
            model=r["model"].value,
            model_id=r["modelId"].value,
            model_label=r["modelLabel"].value,
            request_parameters={} if r["asked"] is None else json.loads(r["asked"].value),
            label=r["label"].value,
            task_class=r["class"].value,
            parameters=json.loads(r["parameters"].value),
            case=r["case"].value,
            iteration=int(r["iteration"].value),
            prompt=r["text"].value.rpartition("/")[2],
        )


class Configuration(NamedTuple):
    """The configuration of a session, in Turtle, and when the session began."""

    started: datetime
    text: str


def configurations(store: Store, run: RunInfo) -> list[Configuration]:
    """Return the configurations of a run's sessions in their order; imported runs have none."""
    rows = store.query(fill("configurations.rq", graph=run.graph, run=run.iri))
    return [
        Configuration(datetime.fromisoformat(row["started"].value), row["text"].value)
        for row in rows
    ]


def last_configuration(store: Store, run: RunInfo) -> str:
    """Return the newest configuration of a run, in Turtle.

    Raises :class:`~kgbench.errors.StoreError` for a run that has none (an imported one).
    """
    all_configurations = configurations(store, run)
    if not all_configurations:
        raise StoreError(f"the run {run.iri} has no configuration: it was imported")
    return all_configurations[-1].text
