# SPDX-License-Identifier: Apache-2.0
"""The figures of papers, drawn again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kgbench.analysis.display_names import display_names
from kgbench.analysis.papers import Reproduced
from kgbench.analysis.tables import Table
from kgbench.plots.box_plots import distributions
from kgbench.plots.kinds import KINDS, Layout
from kgbench.store.protocol import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(store: Store, found: Reproduced) -> Iterator[tuple[str, Figure, Table]]:
    """The figures of a published table: what each is called, the figure, and the table it shows.

    Figures have the display names of models, the tables beside them those of the catalogue.
    """
    name, table = found.published.name, found.table
    if table is None or found.selection is None:
        return
    names = display_names(store)
    if found.published.figure == "boxplot":
        for glob in found.published.tasks:
            narrowed = replace(found.selection, tasks=glob)
            for task, values in distributions(store, narrowed).items():
                yield f"{name}-{task}", *KINDS["boxplot"].figure(values, names, Layout())
    else:
        kind = KINDS[str(found.published.figure)]
        yield name, *kind.figure(table, names, Layout())
