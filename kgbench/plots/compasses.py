# SPDX-License-Identifier: Apache-2.0
"""Compass figures: small multiples with a mean line and band per model, or one overlay."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kgbench.errors import QueryError
from kgbench.plots.figures import (
    DASHES,
    NATURAL,
    SIZES,
    FigureKind,
    Size,
    create_figure,
    legend_height,
    line_style,
    text_width,
    title_height,
    wrapped,
)
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kgbench.tables import Value

_CELL, _NARROW = 2.1, 1.6  # the least width of a small multiple in inches; in a narrow figure
_RADIUS, _ALONE = 0.95, 1.6  # the greatest radius in inches; of a single compass
_LEAST = 0.15  # the least radius in inches at which names do not hide the rings
_GAP = 0.05  # inches between an axis and its name
_BAND = "#9CC4E4"
_UPRIGHT = 0.1  # axes that deviate less from the vertical have centred names
_RINGS = (0.25, 0.5, 0.75, 1.0)
_TOGETHER = 8  # the greatest number of models in one compass
_LABEL, _NAME = 6.0, 7.5  # font sizes of the names of axes and of models

_Row = dict[str, Any]


def ranked(table: Table) -> dict[str, list[_Row]]:
    """Return the rows of each model, the best mean over all axes first.

    Models without a mean on some axis come last, because their means are not comparable.
    """
    by_model: dict[str, list[_Row]] = {}
    for row in table.records():
        by_model.setdefault(str(row["model"]), []).append(row)

    def order(model: str) -> tuple[bool, float, str]:
        means = [row["mean"] for row in by_model[model] if row["mean"] is not None]
        return len(means) < len(by_model[model]), -fmean(means) if means else 0.0, model

    return {model: by_model[model] for model in sorted(by_model, key=order)}


def compass_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.compass.compass_table`.

    There is one compass for each model, the best first. Axes without results are dashed and
    labelled.
    """
    by_model = ranked(table)
    chosen = size or (NATURAL if len(by_model) > 1 else SIZES["one-column"])
    handles = _handles(table)
    lines = max((wrapped(model, 24).count("\n") for model in by_model), default=0) + 1
    above = 0.04 + 0.14 * lines
    below = title_height(table.title, chosen) + legend_height(handles, chosen)
    across, down, frame = _grid(table, chosen, len(by_model), above, below)

    def draw(figure: Figure) -> None:
        for number, (model, rows) in enumerate(by_model.items(), 1):
            axes: Any = figure.add_subplot(down, across, number)
            frame.draw(axes, rows, chosen)
            _shape(axes, rows, chosen)
            axes.set_title(wrapped(model, 24), fontsize=chosen.points(_NAME))

    height = (frame.height + above) * down
    return create_figure(draw, size=chosen, height=height, title=table.title, handles=handles)


def _grid(
    table: Table, size: Size, number: int, above: float, below: float
) -> tuple[int, int, _Frame]:
    """Return the numbers of columns and rows for ``number`` compasses, and the frame of each.

    ``above`` is the height in inches of a name above a compass, ``below`` that of title and legend.
    If the size has a height, the compasses are as large as possible; raises
    :class:`~kgbench.errors.QueryError` where they would be too small to read.
    """
    if size.height is None:
        columns = max(1, int(size.across / (_CELL if size.across >= 2 * _CELL else _NARROW)))
        down = math.ceil(number / columns)
        across = math.ceil(number / max(1, down))
        limit = _ALONE if number == 1 else _RADIUS
        return across, down, _Frame(table, size.across / max(1, across) - 0.08, limit)
    grids = []
    for across in range(1, max(1, number) + 1):
        down = max(1, math.ceil(number / across))
        room = (size.height / size.scale - below) / down - above
        frame = _Frame(table, size.across / across - 0.08, math.inf, room)
        grids.append((across, down, frame))
    grid = max(grids, key=lambda grid: grid[2].fitting)
    if grid[2].fitting < _LEAST:
        raise QueryError(
            f"{number} compasses cannot be read in {size.width:.3g} x {size.height:.3g} inches: "
            f"choose fewer models or a larger size"
        )
    return grid


def overlay_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw the mean lines of several models in one compass, by colour, marker and dashes.

    Raises :class:`~kgbench.errors.QueryError` for more models than can be distinguished.
    """
    by_model = ranked(table)
    if len(by_model) > _TOGETHER:
        raise QueryError(
            f"{len(by_model)} models cannot be distinguished in one compass: choose at most "
            f"{_TOGETHER}, with --model or --top"
        )
    chosen = size or Size(4.6)
    handles = _lines(by_model)
    below = 0.2 + title_height(table.title, chosen) + legend_height(handles, chosen)
    room = None if chosen.height is None else chosen.height / chosen.scale - below
    limit = _ALONE if room is None else math.inf
    frame = _Frame(table, min(chosen.across, 4.6 if room is None else math.inf) - 0.1, limit, room)

    def draw(figure: Figure) -> None:
        axes: Any = figure.add_subplot()
        everywhere = [
            {**rows[0], "mean": next((r["mean"] for r in rows if r["mean"] is not None), None)}
            for rows in zip(*by_model.values(), strict=True)
        ]
        frame.draw(axes, everywhere, chosen)
        for index, rows in enumerate(by_model.values()):
            xs, ys = _points(rows, [_number(row["mean"]) for row in rows])
            axes.plot(xs, ys, **_look(index), markersize=chosen.points(3.5), zorder=3)

    return create_figure(
        draw, size=chosen, height=frame.height + 0.2, title=table.title, handles=handles
    )


class _Frame:
    """The rings, spokes and names of axes, in coordinates where the outermost ring has radius 1.

    The first axis points up, the others follow clockwise. The rings fill the space that the names
    leave in a cell of ``width`` inches and a height of ``room`` inches, up to a radius of ``limit``
    inches.
    """

    def __init__(self, table: Table, width: float, limit: float, room: float | None = None) -> None:
        rows = next(iter(ranked(table).values()), [])
        letters = 10 if width < 2 else 12 if width < 3 else 16  # noqa: PLR2004 - inches
        self._names = [wrapped(str(row["label"]), letters) for row in rows]
        self._missing = wrapped("(no results)", letters)
        lacking = {row["label"] for row in table.records() if row["mean"] is None}
        widest = [
            f"{name}\n{self._missing}" if row["label"] in lacking else name
            for name, row in zip(self._names, rows, strict=True)
        ]
        self._angles = _angles(len(rows))
        fitting = [
            (width / 2 - text_width(name, _LABEL)) / abs(math.cos(angle)) - _GAP
            for name, angle in zip(widest, self._angles, strict=True)
            if abs(math.cos(angle)) >= _UPRIGHT
        ]
        ends = [
            (math.sin(angle), 1.25 * _LABEL / 72 * (name.count("\n") + 1) * abs(math.sin(angle)))
            for name, angle in zip(widest, self._angles, strict=True)
        ]
        above = max((tall for y, tall in ends if y > 0), default=0.0) + 2 * _GAP
        below = max((tall for y, tall in ends if y <= 0), default=0.0) + 2 * _GAP
        reach = max([*(-y for y, _ in ends), 0.4])
        if room is not None:
            fitting.append((room - above - below) / (1 + reach))
        self.fitting = min([*fitting, limit])
        radius = max(0.3, self.fitting)
        self._reach = width / 2 / radius
        self._gap = _GAP / radius
        self._top, self._bottom = 1 + above / radius, -(reach + below / radius)
        self.height = radius * (self._top - self._bottom)

    def draw(self, axes: Any, rows: list[_Row], size: Size) -> None:
        """Draw the frame; spokes of axes without a mean are dashed, and their names say so."""
        grey, faint = "#666666", "#C8C8C8"
        for ring in _RINGS:
            xs, ys = _points(rows, [ring] * len(rows))
            axes.plot(xs, ys, color=faint, linewidth=size.points(0.5), zorder=1)
        for angle, name, row in zip(self._angles, self._names, rows, strict=True):
            x, y = math.cos(angle), math.sin(angle)
            missing = row["mean"] is None
            axes.plot(
                [0, x],
                [0, y],
                color=grey if missing else faint,
                linewidth=size.points(0.5),
                linestyle=(0, (2, 3)) if missing else "-",
                zorder=1,
            )
            side = "center" if abs(x) < _UPRIGHT else "left" if x > 0 else "right"
            axes.text(
                (1 + self._gap) * x,
                (1 + self._gap) * y,
                f"{name}\n{self._missing}" if missing else name,
                ha=side,
                va="center" if abs(y) < 0.5 else "bottom" if y > 0 else "top",  # noqa: PLR2004
                fontsize=size.points(_LABEL),
                color=grey if missing else "black",
                style="italic" if missing else "normal",
                linespacing=1.05,
            )
        between = math.pi / 2 + math.pi / max(1, len(rows))  # an angle without axis and name
        for ring in (0.5, 1.0):
            edge = ring * math.cos(math.pi / max(1, len(rows))) + self._gap
            axes.text(
                edge * math.cos(between),
                edge * math.sin(between),
                f"{ring:g}",
                fontsize=size.points(4.5),
                color=grey,
                ha="center",
                va="center",
                zorder=4,
            )
        axes.set_xlim(-self._reach, self._reach)
        axes.set_ylim(self._bottom, self._top)
        axes.set_aspect("equal")
        axes.set_axis_off()


def _shape(axes: Any, rows: list[_Row], size: Size) -> None:
    """Draw the mean line and the band of one model; both are interrupted at a missing axis."""
    outer, inner = (
        _points(rows, [_number(row[end]) for row in rows]) for end in ("band_to", "band_from")
    )
    for k in range(len(rows)):
        corners = [(o[0][j], o[1][j]) for o, j in ((outer, k), (outer, k + 1))]
        corners += [(i[0][j], i[1][j]) for i, j in ((inner, k + 1), (inner, k))]
        if not any(math.isnan(value) for corner in corners for value in corner):
            axes.fill(*zip(*corners, strict=True), color=_BAND, alpha=0.6, linewidth=0, zorder=2)
    xs, ys = _points(rows, [_number(row["mean"]) for row in rows])
    axes.plot(
        xs,
        ys,
        "o-",
        color="black",
        linewidth=size.points(1.1),
        markersize=size.points(2.5),
        zorder=3,
    )


def _angles(number: int) -> list[float]:
    return [math.pi / 2 - 2 * math.pi * k / number for k in range(number)]


def _points(rows: list[_Row], radii: list[float]) -> tuple[list[float], list[float]]:
    """Return the points at the radii on the axes of ``rows``; the first is repeated at the end."""
    points = [
        (r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, _angles(len(rows)), strict=True)
    ]
    points += points[:1]
    return [x for x, _ in points], [y for _, y in points]


def _number(value: Value) -> float:
    return math.nan if value is None else float(value)


def _handles(table: Table) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    band = table.context.get("band")
    width = "spread" if band is None else f"\u00b1 {band:g} standard deviations"
    return [
        Line2D([], [], color="black", marker="o", label="mean score"),
        Patch(facecolor=_BAND, alpha=0.6, label=f"{width} of all values, inside 0 to 1"),
    ]


def _look(index: int) -> dict[str, Any]:
    """Return colour, marker and dashes; neighbours differ in dashes, which also works in grey."""
    return {**line_style(index), "linestyle": DASHES[index % len(DASHES)]}


def _lines(by_model: dict[str, list[_Row]]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], label=wrapped(model, 30), **_look(index))
        for index, model in enumerate(by_model)
    ]


COMPASS = FigureKind(
    "compass",
    compass_figure,
    options=("declared",),
    declared=("compass", "compass"),
    ranked=ranked,
    together=overlay_figure,
)
