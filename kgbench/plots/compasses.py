# SPDX-License-Identifier: Apache-2.0
"""Compasses: a mean line and a band per model, as small multiples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kgbench.analysis.tables import Table
from kgbench.plots.figures import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDE = 2.1  # inches of one small multiple
_ACROSS = 5
_BAND = "#9CC4E4"
_UPRIGHT = 0.1  # an axis that points up or down has its name in the middle
_RINGS = (0.25, 0.5, 0.75, 1.0)


def compass_figure(table: Table) -> Figure:
    """The figure of a table of :func:`kgbench.analysis.compass.compass_table`."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in table.records():
        by_model.setdefault(str(row["model"]), []).append(row)
    across = min(_ACROSS, max(1, len(by_model)))
    down = math.ceil(len(by_model) / across)

    def draw(figure: Figure) -> None:
        for place, (model, rows) in enumerate(by_model.items(), 1):
            axes: Any = figure.add_subplot(down, across, place)
            _compass(axes, rows)
            axes.set_title(model, fontsize=7)
        figure.suptitle(table.title, fontsize=9)

    return styled(draw, width=max(3.0, _SIDE * across), height=0.5 + _SIDE * 1.1 * down)


def _compass(axes: Any, rows: list[dict[str, Any]]) -> None:
    """One compass in plain coordinates: the first axis points up, the others follow clockwise."""
    directions = [math.pi / 2 - 2 * math.pi * k / len(rows) for k in range(len(rows))]

    def around(radii: list[float]) -> tuple[list[float], list[float]]:
        points = [
            (r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, directions, strict=True)
        ]
        points.append(points[0])
        return [x for x, _ in points], [y for _, y in points]

    def column(name: str) -> list[float]:
        return [math.nan if row[name] is None else float(row[name]) for row in rows]

    for ring in _RINGS:
        axes.plot(*around([ring] * len(rows)), color="#CCCCCC", linewidth=0.6, zorder=1)
    for angle, row in zip(directions, rows, strict=True):
        x, y = math.cos(angle), math.sin(angle)
        axes.plot([0, x], [0, y], color="#CCCCCC", linewidth=0.6, zorder=1)
        side = "center" if abs(x) < _UPRIGHT else "left" if x > 0 else "right"
        axes.text(1.12 * x, 1.17 * y, str(row["axis"]), ha=side, va="center", fontsize=6)
    outer, inner = around(column("high")), around(column("low"))
    axes.fill(
        [*outer[0], *reversed(inner[0])],
        [*outer[1], *reversed(inner[1])],
        color=_BAND,
        alpha=0.6,
        linewidth=0,
        zorder=2,
    )
    axes.plot(*around(column("mean")), "o-", color="black", linewidth=1.2, markersize=2.5, zorder=3)
    axes.text(0.02, 0.5, "0.5", fontsize=4.5, color="#777777")
    axes.set_xlim(-1.75, 1.75)
    axes.set_ylim(-1.25, 1.3)
    axes.set_aspect("equal")
    axes.set_axis_off()
