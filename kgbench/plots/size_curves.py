# SPDX-License-Identifier: Apache-2.0
"""Curves of scores against problem size or level of difficulty.

There is a curve with its 95 % interval per model, and a panel per series of tasks.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kgbench.plots.figures import (
    NATURAL,
    FigureKind,
    Size,
    create_figure,
    goodness,
    line_style,
    text_width,
    wrapped,
)
from kgbench.tables import Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_PER_PANEL = 8  # the greatest number of curves in one panel
_WIDE = 6.0  # the least width in inches for two panels side by side


def ranked(table: Table) -> list[str]:
    """Return the models of a table of sizes or of levels, the best on average first."""
    means: dict[str, list[float]] = {}
    for row in table.records():
        if row["mean"] is not None:
            mean = goodness(table, row["metric"], float(row["mean"]))
            means.setdefault(str(row["model"]), []).append(mean)
    return sorted(means, key=lambda model: (-fmean(means[model]), model))


def size_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.difficulty.sizes`.

    Many models are spread over several panels of the same series.
    """
    return _figure(table, size, "size", "problem size")


def difficulty_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.difficulty.difficulty`.

    There are panels for all families in the table; many models are spread over several panels.
    """
    families = len(set(table.column("family")))
    index = table.names.index("series")
    family = table.names.index("family")

    def titled(row: tuple[Value, ...]) -> tuple[Value, ...]:
        return (*row[:index], f"{row[family]}, {row[index]}", *row[index + 1 :])

    rows = table.rows if families == 1 else tuple(map(titled, table.rows))
    return _figure(replace(table, rows=rows), size, "level", "level")


def _figure(table: Table, size: Size | None, across_by: str, label: str) -> Figure:
    """Draw curves over the integers in the column ``across_by``."""
    chosen = NATURAL if size is None else size
    rows_of: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in table.records():
        series = rows_of.setdefault((str(row["series"]), str(row["metric"])), {})
        series.setdefault(str(row["model"]), []).append(row)
    models = sorted({model for series in rows_of.values() for model in series})
    looks = {model: line_style(position) for position, model in enumerate(models)}
    groups = [models[k : k + _PER_PANEL] for k in range(0, len(models), _PER_PANEL)]
    panels = [
        (title_and_metric, series, group)
        for title_and_metric, series in rows_of.items()
        for group in groups
    ]
    across = 2 if chosen.across >= _WIDE and len(panels) > 1 and len(groups) == 1 else 1
    down = -(-len(panels) // across)
    letters = max(20, int((chosen.across / across - 0.5) / text_width("a", 8.5)))
    handles = _handles(looks, table) if len(groups) == 1 else ()

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        for position, ((title, metric), series, group) in enumerate(panels, 1):
            axes = figure.add_subplot(down, across, position)
            for model in group:
                if model in series:
                    _curve(axes, model, series[model], looks[model], across_by)
            axes.set_title(wrapped(f"{title}: mean {metric}", letters))
            axes.set_xlabel(label)
            if across_by == "level":
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            _limit(axes, [row for rows in series.values() for row in rows])
            if len(groups) > 1:
                axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    return create_figure(
        draw, size=chosen, height=0.2 + 2.3 * down, title=table.title, handles=handles
    )


def _handles(looks: dict[str, dict[str, Any]], table: Table) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    estimand = table.context.get("estimand_label")
    label = "95 % interval of the mean" + (f" ({estimand})" if estimand else "")
    handles: list[Any] = [Line2D([], [], label=wrapped(m, 30), **look) for m, look in looks.items()]
    return [*handles, Patch(facecolor="#BBBBBB", alpha=0.5, label=wrapped(label, 30))]


def _limit(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Show shares on the whole scale from 0 to 1, the same in every figure."""
    values = [row[name] for row in rows for name in ("mean", "ci_low", "ci_high")]
    if all(0.0 <= value <= 1.0 for value in values if value is not None):
        axes.set_ylim(-0.03, 1.03)


def _curve(
    axes: Any, model: str, rows: list[dict[str, Any]], look: dict[str, Any], across_by: str
) -> None:
    rows = sorted(rows, key=lambda row: int(row[across_by]))
    xs = [row[across_by] for row in rows]
    low = [math.nan if row["ci_low"] is None else row["ci_low"] for row in rows]
    high = [math.nan if row["ci_high"] is None else row["ci_high"] for row in rows]
    axes.fill_between(xs, low, high, color=look["color"], alpha=0.15, lw=0)
    for edge in (low, high):  # overlapping bands stay readable in grey
        axes.plot(xs, edge, color=look["color"], linewidth=0.4, alpha=0.6, label="_band")
    axes.plot(xs, [row["mean"] for row in rows], label=model, **look)


SIZES = FigureKind("sizes", size_figure, options=("metric", "round"), ranked=ranked)
DIFFICULTY = FigureKind(
    "difficulty", difficulty_figure, options=("metric", "round"), ranked=ranked, each="family"
)
