# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the figures of papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kgbench.plots.box_plots import BOXES, distributions
from kgbench.plots.figures import Layout, find_figure
from kgbench.plugins.papers.reproduction import Reproduced
from kgbench.scores.catalogue import display_names
from kgbench.store.protocol import Store
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(store: Store, reproduced: Reproduced) -> Iterator[tuple[str, Figure, Table]]:
    """Yield the figures of a published table with their names and the tables that they show.

    Figures have the display names of models, the tables have the names of the catalogue.
    """
    name, table = reproduced.published.name, reproduced.table
    if table is None or reproduced.selection is None:
        return
    names = display_names(store)
    if reproduced.published.figure == "boxplot":
        for glob in reproduced.published.tasks:
            narrowed = replace(reproduced.selection, tasks=glob)
            for task, values in distributions(store, narrowed).items():
                yield f"{name}-{task}", *BOXES.figure(values, names, Layout())
    else:
        kind = find_figure(str(reproduced.published.figure))
        yield name, *kind.figure(table, names, Layout())
