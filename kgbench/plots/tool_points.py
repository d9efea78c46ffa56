# SPDX-License-Identifier: Apache-2.0
"""Scatter plots of success with tools against tool calls and cost, a point per model and task."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from kgbench.plots.figures import (
    MARKERS,
    NATURAL,
    PALETTE,
    FigureKind,
    Size,
    create_figure,
    goodness,
    wrapped,
)
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OTHER = "#AAAAAA"  # the colour of models beyond the palette
_WIDE = 6.0  # the least width in inches for two panels side by side
_AXES = (("calls", "tool calls per dialogue"), ("cost", "USD per dialogue"))
_TOKENS = ("tokens", "tokens per dialogue")


class _Looks(NamedTuple):
    """The colour of each model and the shape of each task."""

    colours: dict[str, str]
    shapes: dict[str, str]


def ranked(table: Table) -> list[str]:
    """Return the models of a table of :func:`kgbench.analysis.tool_usage.tool_success`, ranked.

    The order is that of the best score of each model on any task.
    """
    best: dict[str, float] = {}
    for row in table.records():
        model, score = str(row["model"]), row["score"]
        good = -inf if score is None else goodness(table, row["metric"], float(score))
        best[model] = max(best.get(model, -inf), good)
    return sorted(best, key=lambda model: (-best[model], model))


def tool_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.tool_usage.tool_success`.

    Colours are models and shapes are tasks, so that the conditions of a task class (with and
    without tools) can be compared for each model. The second panel shows tokens where no cost is
    known but tokens are.
    """
    chosen = NATURAL if size is None else size
    rows = [row for row in table.records() if row["score"] is not None]
    models = ranked(table)
    tasks = sorted({str(row["task"]) for row in rows})
    looks = _Looks(
        dict(zip(models, PALETTE, strict=False)),
        {task: MARKERS[k % len(MARKERS)] for k, task in enumerate(tasks)},
    )
    handles = _handles(looks, others=len(models) > len(PALETTE))
    panels = [_AXES[0], _second(rows)]
    across = 2 if chosen.across >= _WIDE else 1
    down = len(panels) // across

    def draw(figure: Figure) -> None:
        for position, (name, label) in enumerate(panels, 1):
            axes = figure.add_subplot(down, across, position)
            _points(axes, name, rows, looks, chosen)
            axes.set_xlabel(label)
            metrics = sorted({str(row["metric"]) for row in rows})
            axes.set_ylabel(f"mean {' / '.join(metrics)}")

    return create_figure(
        draw, size=chosen, height=0.3 + 2.5 * down, title=table.title, handles=handles
    )


def _second(rows: list[dict[str, Any]]) -> tuple[str, str]:
    paid = any(row["cost"] for row in rows)
    return _TOKENS if not paid and any(row["tokens"] for row in rows) else _AXES[1]


def _points(axes: Any, name: str, rows: list[dict[str, Any]], looks: _Looks, size: Size) -> None:
    plotted = [row for row in rows if row[name] is not None]
    for row in plotted:
        axes.plot(
            row[name],
            row["score"],
            color=looks.colours.get(str(row["model"]), _OTHER),
            marker=looks.shapes[str(row["task"])],
            markersize=size.points(6.5),
            fillstyle="none",  # equal points of two tasks stay visible
            markeredgewidth=size.points(1.4),
            linestyle="none",
            clip_on=False,
            zorder=3,
        )
    if not plotted:
        axes.text(0.5, 0.5, "unknown", transform=axes.transAxes, ha="center", color="#555555")
    if all(0.0 <= row["score"] <= 1.0 for row in rows):
        axes.set_ylim(-0.03, 1.03)
    greatest = max((row[name] for row in plotted), default=0.0)
    axes.set_xlim(0, greatest * 1.05 or 1.0)


def _handles(looks: _Looks, *, others: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    colours = looks.colours | ({"other models": _OTHER} if others else {})
    handles: list[Any] = [
        Line2D([], [], color=colour, marker="s", linestyle="none", label=wrapped(model, 30))
        for model, colour in colours.items()
    ]
    handles += [
        Line2D(
            [],
            [],
            color="#555555",
            marker=shape,
            fillstyle="none",
            linestyle="none",
            label=wrapped(task, 30),
        )
        for task, shape in looks.shapes.items()
    ]
    return handles


TOOLS = FigureKind("tools", tool_figure, options=("metric",), ranked=ranked, fixed={"by": "model"})
