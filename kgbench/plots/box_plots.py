# SPDX-License-Identifier: Apache-2.0
"""Box plots of one task: a box per model, its mean as a circle and every value as a cross."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_metrics
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.analysis.task_scores import QUERIES
from kgbench.plots.figures import PALETTE, styled
from kgbench.store.protocol import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    Column("task", "Task"),
    Column("metric", "Metric"),
    Column("model", "Model"),
    Column("value", "Value", Kind.SCORE),
    Column("count", "Count", Kind.COUNT),
)
_ROW = 0.24  # inches per model
_TOLD_APART = 40  # crosses across a box; from there on they are a line


def distributions(
    store: Store, selection: Selection, *, metric: str | None = None, tasks: str = "*"
) -> dict[str, Table]:
    """The values of every model, one table per task name."""
    chosen = chosen_metrics(store, tasks, metric)
    names, known, named = fetch.models(store), fetch.tasks(store), fetch.metrics(store)
    rows: dict[str, list[tuple[str, str, str, float, int]]] = {}
    for cell, histogram in fetch.histograms(store, selection, set(chosen.values())).items():
        if chosen.get(cell.task) == cell.metric:
            task = known[cell.task].name
            model = names.name(cell.model)
            rows.setdefault(task, []).extend(
                (task, named[cell.metric].name, model, value, count)
                for value, count in sorted(histogram.counts.items())
            )
    return {
        task: Table(
            f"{task} ({selection.suite_name})",
            COLUMNS,
            tuple(sorted(found, key=lambda row: (row[2], row[3]))),
            queries=QUERIES,
            context=selection.context,
        )
        for task, found in sorted(rows.items())
    }


def of_model(tables: Mapping[str, Table], model: str) -> Table:
    """The values of one model from the tables of :func:`distributions`: a box for each task.

    The column of models then holds tasks with their metrics, the column of tasks the model.
    """
    rows = [
        (model, "score", f"{task} ({row[1]})", row[3], row[4])
        for task, table in tables.items()
        for row in table.rows
        if row[2] == model
    ]
    return Table(model, COLUMNS, tuple(rows), queries=QUERIES)


def box_plot(table: Table) -> Figure:
    """The figure of one of the tables of :func:`distributions`; the best model is on top."""
    counts: dict[str, dict[float, int]] = {}
    for _, _, model, value, count in table.rows:
        assert isinstance(value, float)
        assert isinstance(count, int)
        counts.setdefault(str(model), {})[value] = count
    models = {model: Histogram(found) for model, found in counts.items()}
    ordered = sorted(models, key=lambda m: (models[m].mean or 0.0, m))
    metric = str(table.rows[0][1])

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.bxp(
            [_box(model, models[model]) for model in ordered],
            positions=range(len(ordered)),
            widths=0.6,
            orientation="horizontal",
            showmeans=True,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": "#DCEAF5", "edgecolor": PALETTE[0], "linewidth": 0.8},
            medianprops={"color": PALETTE[0], "linewidth": 1.6},
            whiskerprops={"color": PALETTE[0], "linewidth": 0.8},
            capprops={"color": PALETTE[0], "linewidth": 0.8},
            meanprops={
                "marker": "o",
                "markerfacecolor": PALETTE[1],
                "markeredgecolor": "black",
                "markersize": 4,
                "zorder": 4,
            },
        )
        for place, model in enumerate(ordered):
            xs, ys = _crosses(place, models[model].counts)
            axes.plot(xs, ys, "x", color="black", markersize=2.2, markeredgewidth=0.5, zorder=3)
        axes.set_xlabel(metric)
        axes.set_title(table.title)
        axes.set_ylim(-0.6, len(ordered) - 0.4)
        if all(0.0 <= value <= 1.0 for found in counts.values() for value in found):
            axes.set_xlim(-0.03, 1.03)  # shares: the same scale in every figure

    return styled(draw, width=6.3, height=1.0 + _ROW * len(ordered))


def _box(model: str, values: Histogram) -> dict[str, Any]:
    q1, q3 = values.quantile(0.25), values.quantile(0.75)
    assert q1 is not None
    assert q3 is not None
    reach = 1.5 * (q3 - q1)  # whiskers as Tukey draws them
    inside = [v for v in values.counts if q1 - reach <= v <= q3 + reach]
    return {
        "label": model,
        "mean": values.mean,
        "med": values.median,
        "q1": q1,
        "q3": q3,
        "whislo": min([*inside, q1]),
        "whishi": max([*inside, q3]),
        "fliers": [],
    }


def _crosses(place: int, counts: Mapping[float, int]) -> tuple[list[float], list[float]]:
    """Where the values are drawn: equal ones side by side, as far across the box as there are.

    Where there are more of a value than can be told apart, fewer fill the same stretch.
    """
    most = max(counts.values())
    xs, ys = [], []
    for value, count in counts.items():
        spread, drawn = 0.5 * count / most, min(count, _TOLD_APART)
        for k in range(drawn):
            xs.append(value)
            ys.append(place + spread * ((k + 0.5) / drawn - 0.5))
    return xs, ys
