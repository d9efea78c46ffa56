# SPDX-License-Identifier: Apache-2.0
"""The figures of a model card: the model's compass, and a box for each of its tasks."""

from __future__ import annotations

from pathlib import Path

from kgbench.analysis.compass import Compass, compass_table
from kgbench.analysis.scores import ModelInfo
from kgbench.analysis.selection import Selection
from kgbench.errors import QueryError
from kgbench.plots.box_plots import box_plot, distributions, of_model
from kgbench.plots.compasses import compass_figure
from kgbench.plots.figures import file_name, save, state_digest
from kgbench.store.protocol import Store


def card_figures(
    store: Store, selection: Selection, model: ModelInfo, axes: Compass, folder: Path
) -> list[str]:
    """Write the figures as SVG, and their numbers as JSON, to ``folder``; returns the SVG names."""
    state = state_digest(store, selection)
    figures = []
    try:
        table = compass_table(store, selection, axes)
    except QueryError:
        pass  # a suite without the tasks of this compass
    else:
        of_this_model = table.where("model", model.name)
        if of_this_model.rows:
            figures.append(("compass", compass_figure(of_this_model), of_this_model))
    boxes = of_model(distributions(store, selection), model.name)
    if boxes.rows:
        figures.append(("tasks", box_plot(boxes), boxes))
    return [
        save(
            figure,
            folder,
            file_name(model.name, kind),
            formats=["svg"],
            tables=[shown],
            state=state,
        )[0].name
        for kind, figure, shown in figures
    ]
