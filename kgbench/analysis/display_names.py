# SPDX-License-Identifier: Apache-2.0
"""Display names of models, for the tables and figures that people read.

CSV and JSON, which programs read, keep the names of the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgbench.analysis import catalogue
from kgbench.analysis.tables import Ref, Table, Value
from kgbench.store.protocol import Store

COLUMN = "model"


def display_names(store: Store) -> dict[str, str]:
    """Return the display name of each model of a store, by its name in the catalogue."""
    return {model.name: model.shown for model in catalogue.models(store).values()}


def model_names(store: Store) -> dict[str, str]:
    """Return the display name of each model, by IRI."""
    return {model.iri: model.shown for model in catalogue.models(store).values()}


def displayed(table: Table, names: Mapping[str, str]) -> Table:
    """Replace the names in the column of models by display names.

    >>> from kgbench.analysis.tables import Column, Table
    >>> table = Table("Scores", (Column("model", "Model"),), (("org/small-7b",),))
    >>> displayed(table, {"org/small-7b": "Small 7B"}).rows
    (('Small 7B',),)
    """
    if COLUMN not in table.names:
        return table
    index = table.names.index(COLUMN)

    def shown(value: Value) -> Value:
        name = names.get(str(value))
        if name is None:
            return value
        return value.relabelled(name) if isinstance(value, Ref) else name

    return replace(
        table,
        rows=tuple((*row[:index], shown(row[index]), *row[index + 1 :]) for row in table.rows),
    )
