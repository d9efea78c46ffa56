# SPDX-License-Identifier: Apache-2.0
"""Display names of models, for the tables and figures that people read.

CSV and JSON, which programs read, keep the names of the catalogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from kgbench.analysis import scores as fetch
from kgbench.analysis.scaling import recorded, records
from kgbench.analysis.scores import ModelInfo
from kgbench.analysis.tables import Table
from kgbench.store.protocol import Store

COLUMN = "model"


def display_names(store: Store) -> dict[str, str]:
    """Return the display name of each model of a store, by its name in the catalogue.

    It is the label of the model's record (``queries/models.ttl``), else the last segment of a path
    on a model hub. Where two models would have the same display name, both keep their names in the
    catalogue.
    """
    all_records = records()

    def display_name(model: ModelInfo) -> str:
        record = recorded(model.id, all_records)
        return model.name.rpartition("/")[2] if record is None else record.label

    names = {model.name: display_name(model) for model in fetch.models(store).values()}
    uses = Counter(names.values()) + Counter(name for name in names if names[name] != name)
    return {name: new if uses[new] == 1 and new else name for name, new in names.items()}


def model_names(store: Store) -> dict[str, str]:
    """Return the display name of each model, by IRI."""
    names = display_names(store)
    return {model.iri: names.get(model.name, model.name) for model in fetch.models(store).values()}


def displayed(table: Table, names: Mapping[str, str]) -> Table:
    """Replace the names in the column of models by display names.

    >>> from kgbench.analysis.tables import Column
    >>> table = Table("Scores", (Column("model", "Model"),), (("org/small-7b",),))
    >>> displayed(table, {"org/small-7b": "Small 7B"}).rows
    (('Small 7B',),)
    """
    if COLUMN not in table.names:
        return table
    index = table.names.index(COLUMN)

    return replace(
        table,
        rows=tuple(
            (*row[:index], names.get(str(row[index]), row[index]), *row[index + 1 :])
            for row in table.rows
        ),
        iris={
            column: {names.get(name, name): iri for name, iri in iris.items()}
            if column == COLUMN
            else iris
            for column, iris in table.iris.items()
        },
    )
