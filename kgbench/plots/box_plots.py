# SPDX-License-Identifier: Apache-2.0
"""Box plots of one task: for each model a box, the mean, and bars with the counts of values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgbench.analysis.task_scores import QUERIES
from kgbench.plots.figures import (
    NATURAL,
    PALETTE,
    FigureKind,
    Layout,
    Size,
    create_figure,
    goodness,
    text_width,
    wrapped,
)
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names
from kgbench.scores.reading import histograms
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, less_is_better, score_name
from kgbench.statistics.histogram import Histogram
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    Column("task", "Task"),
    Column("metric", "Metric"),
    Column("model", "Model"),
    Column("value", "Value", Kind.SCORE),
    Column("count", "Count", Kind.COUNT),
)
_ROW = 0.42  # the height of a row in inches
_TALL = 0.4  # the height of the tallest bar, as a share of a row
_NAME = 32  # the letters in a line of a name
_FACE, _BAR = "#DCEAF5", "#8C8C8C"


def distributions(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    round: str | None = None,
) -> dict[str, Table]:
    """Read the values of every model, one table per task name.

    ``metric`` and ``round`` are as in :func:`~kgbench.analysis.task_scores.task_scores`.
    """
    chosen = chosen_scores(store, selection.tasks, metric, round)
    names, tasks = catalogue.models(store), catalogue.tasks(store)
    metrics = catalogue.metrics(store)
    rows: dict[str, list[tuple[str, str, str, float, int]]] = {}
    context = {tasks[task].name: less_is_better([chosen[task]], metrics) for task in chosen}
    for iri, parts in histograms(store, selection, chosen.values()).items():
        for score, histogram in parts.items():
            task = tasks[score.task].name
            model = names.name(iri)
            rows.setdefault(task, []).extend(
                (task, score_name(score, metrics), model, value, count)
                for value, count in sorted(histogram.counts.items())
            )
    return {
        task: Table(
            f"{task} ({selection.suite_name})",
            COLUMNS,
            tuple(sorted(rows_of_task, key=lambda row: (row[2], row[3]))),
            queries=QUERIES,
            context={**selection.context, **context[task]},
        )
        for task, rows_of_task in sorted(rows.items())
    }


def of_model(tables: Mapping[str, Table], model: str) -> Table:
    """Return the values of one model in the tables of :func:`distributions`, by task.

    To draw a box for each task, the column of models holds tasks with their metrics, and the column
    of tasks holds the model.
    """
    rows = [
        (model, "score", f"{task} ({row[1]})", row[3], row[4])
        for task, table in tables.items()
        for row in table.rows
        if row[2] == model
    ]
    return Table(model, COLUMNS, tuple(rows), queries=QUERIES)


def ranked(table: Table) -> dict[str, Histogram]:
    """Return the values of each model in a table of :func:`distributions`, the best mean first."""
    counts: dict[str, dict[float, int]] = {}
    for _, _, model, value, count in table.rows:
        assert isinstance(value, float)
        assert isinstance(count, int)
        counts.setdefault(str(model), {})[value] = count
    models = {model: Histogram(counts_of_model) for model, counts_of_model in counts.items()}

    def order(model: str) -> tuple[float, str]:
        return -goodness(table, table.rows[0][1], models[model].mean or 0.0), model

    return {model: models[model] for model in sorted(models, key=order)}


def box_plot(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`distributions`, with the best model on top.

    The bars above the box of a model show how many dialogues have each value, by their height and
    the number above them. Values that are too close together share a bar.
    """
    models = ranked(table)
    chosen = NATURAL if size is None else size
    values = [value for histogram in models.values() for value in histogram.counts]
    shares = all(0.0 <= value <= 1.0 for value in values)
    low, high = (_foot(min(values)), 1.0) if shares else (min(values), max(values))
    room = (high - low) * 0.03 or 0.5
    names = [wrapped(name, _NAME) for name in models]
    across = chosen.across - max((text_width(name, 7) for name in names), default=0.0) - 0.3
    # Numbers above bars closer than this would overlap.
    gap = 0.19 / max(0.5, across) * (high - low + 2 * room)
    barred = [bars(histogram, gap) for histogram in models.values()]
    greatest = max(count for row in barred for _, count in row)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        _boxes(axes, models, chosen)
        for position, row in enumerate(barred):
            foot = position - 0.02  # the axis of models points down
            for value, count in row:
                height = _TALL * count / greatest
                axes.bar(value, -height, width=gap / 2, bottom=foot, color=_BAR, zorder=2)
                axes.text(
                    value,
                    foot - height - 0.02,
                    f"{count:,}",
                    ha="center",
                    va="bottom",
                    fontsize=chosen.points(5.5),
                    zorder=4,
                )
        cut = f" (axis from {low:g})" if shares and low else ""
        axes.set_xlabel(f"{table.rows[0][1]}{cut}")
        axes.set_yticks(range(len(models)), names)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(models) - 0.5, -0.72)
        axes.set_xlim(low - room, high + room)

    return create_figure(
        draw,
        size=chosen,
        height=0.55 + _ROW * (len(models) + 0.2),
        title=table.title,
        handles=_handles(chosen),
    )


def _foot(least: float) -> float:
    """Return the start of the axis of shares: 0, or a value up to the least one if it is high."""
    return 0.0 if least < 0.5 else min(0.9, math.floor(10 * least) / 10)  # noqa: PLR2004


def bars(values: Histogram, gap: float) -> list[tuple[float, int]]:
    """Return values with their counts; values within ``gap`` are merged at their mean.

    >>> bars(Histogram({0.0: 3, 0.98: 1, 1.0: 1}), 0.05)
    [(0.0, 3), (0.99, 2)]
    """
    groups: list[list[tuple[float, int]]] = []
    for value, count in sorted(values.counts.items(), reverse=True):
        if groups and groups[-1][0][0] - value < gap:
            groups[-1].append((value, count))
        else:
            groups.append([(value, count)])
    merged = []
    for group in groups:
        number = sum(count for _, count in group)
        merged.append((sum(value * count for value, count in group) / number, number))
    return sorted(merged)


def _boxes(axes: Any, models: Mapping[str, Histogram], size: Size) -> None:
    line = {"color": PALETTE[0], "linewidth": size.points(0.8)}
    axes.bxp(
        [_box(model, histogram) for model, histogram in models.items()],
        positions=[position + 0.17 for position in range(len(models))],
        widths=0.22,
        orientation="horizontal",
        showmeans=True,
        showfliers=False,
        patch_artist=True,
        boxprops={
            "facecolor": _FACE,
            "edgecolor": PALETTE[0],
            "linewidth": size.points(0.8),
        },
        medianprops={"color": PALETTE[0], "linewidth": size.points(1.8)},
        whiskerprops=line,
        capprops=line,
        meanprops={
            "marker": "D",
            "markerfacecolor": PALETTE[1],
            "markeredgecolor": "black",
            "markeredgewidth": size.points(0.6),
            "markersize": size.points(3.5),
            "zorder": 4,
        },
    )


def _handles(size: Size) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    mean: dict[str, Any] = {"marker": "D", "color": PALETTE[1], "markeredgecolor": "black"}
    return [
        Patch(facecolor=_BAR, label="number of dialogues with this score"),
        Patch(facecolor=_FACE, edgecolor=PALETTE[0], label="middle half of them"),
        Line2D([], [], color=PALETTE[0], linewidth=size.points(1.8), label="median"),
        Line2D([], [], linestyle="", markersize=size.points(3.5), **mean, label="mean"),
    ]


def _box(model: str, values: Histogram) -> dict[str, Any]:
    q1, q3 = values.quantile(0.25), values.quantile(0.75)
    assert q1 is not None
    assert q3 is not None
    reach = 1.5 * (q3 - q1)  # Tukey's whiskers
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


BOXES = FigureKind("boxplot", box_plot, options=("metric", "round"), ranked=ranked)


def box_plots(
    store: Store, selection: Selection, layout: Layout, metric: str | None, round: str | None
) -> dict[str, Figure]:
    """Draw the box plot of each task; returns figures by task label.

    ``metric`` and ``round`` are as in :func:`distributions`.
    """
    BOXES.check(layout)
    names = display_names(store)
    tables = distributions(store, selection, metric=metric, round=round)
    return {task: BOXES.figure(table, names, layout)[0] for task, table in tables.items()}
