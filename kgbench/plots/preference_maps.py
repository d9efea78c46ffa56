# SPDX-License-Identifier: Apache-2.0
"""Format preference as a map: a row per model, a column per task, a colour per format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgbench.analysis.format_preference import ALL_MODELS, ALL_TASKS
from kgbench.plots.figures import (
    NATURAL,
    PALETTE,
    FigureKind,
    Size,
    create_figure,
    text_width,
    wrapped,
)
from kgbench.tables import Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STRONG = (PALETTE[0], "#E69F00")  # distinguishable in grey: one dark, one light
_PALE = ("#BFDCEC", "#FBE7BF")
_INK = ("white", "black")
_HEAD = 6.5  # font size of the names of tasks


def preference_map(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.format_preference.format_preference`.

    Strong preferences have a full colour and bold text, weaker ones a pale colour; empty cells have
    no data. Lines separate the pooled row and column.
    """
    chosen = NATURAL if size is None else size
    formats = (table.context["first_format"], table.context["second_format"])
    models = [wrapped(str(row[0]), 24) for row in table.rows]
    names = max((text_width(model, 7) for model in models), default=0.0)
    cell = max(0.3, (chosen.across - names - 0.4) / max(1, len(table.columns) - 1))
    letters = max(7, int(cell * 72 / (0.6 * 6.5)))
    columns = [wrapped(column.title, letters) for column in table.columns[1:]]
    upright = any(text_width(title, _HEAD) > cell for title in columns)
    if upright:  # the names do not fit side by side
        columns = [column.title for column in table.columns[1:]]
        heads = max(text_width(title, _HEAD) for title in columns)
    else:
        heads = 0.12 * max((title.count("\n") + 1 for title in columns), default=1)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for down, row in enumerate(table.rows):
            for across, mark in enumerate(row[1:]):
                text = "" if mark is None else str(mark)
                strong, winner = text.startswith("**"), text.strip("*")
                ink = "#555555"
                if winner in formats:
                    which = formats.index(winner)
                    face = (_STRONG if strong else _PALE)[which]
                    ink = _INK[which] if strong else "black"
                    axes.fill_between(
                        [across - 0.48, across + 0.48], down - 0.46, down + 0.46, color=face, lw=0
                    )
                axes.text(
                    across,
                    down,
                    winner.replace("-", "\u2013") if winner == "-" else winner,
                    ha="center",
                    va="center",
                    fontsize=chosen.points(6.5),
                    fontweight="bold" if strong else "normal",
                    color=ink,
                )
        turn = 90 if upright else 0
        axes.set_xticks(range(len(columns)), columns, fontsize=chosen.points(_HEAD), rotation=turn)
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(models)), models)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        _part(axes, table, chosen)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(table.rows) - 0.5, -0.5)
        axes.grid(visible=False)

    return create_figure(
        draw,
        size=chosen,
        height=0.3 + heads + 0.24 * len(table.rows),
        title=table.title,
        handles=_handles(table, formats),
    )


def _part(axes: Any, table: Table, size: Size) -> None:
    """Draw lines before the pooled column of all tasks and the pooled row of all models."""
    line: dict[str, Any] = {"color": "#777777", "linewidth": size.points(0.8), "zorder": 0}
    if len(table.columns) > 2 and table.columns[-1].title == ALL_TASKS:  # noqa: PLR2004
        axes.axvline(len(table.columns) - 2.5, **line)
    if len(table.rows) > 1 and table.rows[-1][0] == ALL_MODELS:
        axes.axhline(len(table.rows) - 1.5, **line)


def _handles(table: Table, formats: tuple[Value, Value]) -> list[Any]:
    """Return the legend entries of the marks that occur in a table."""
    from matplotlib.patches import Patch

    marks = {mark for row in table.rows for mark in row[1:]}
    weak, strong = table.context.get("alpha"), table.context.get("strong")
    handles: list[Any] = []
    for index, name in enumerate(formats):
        for colours, level, mark in ((_STRONG, strong, f"**{name}**"), (_PALE, weak, name)):
            level_text = "" if level is None else f", p < {level:g}"
            if mark in marks:
                handles.append(
                    Patch(facecolor=colours[index], label=f"better with {name}{level_text}")
                )
    handles.append(Patch(facecolor="none", label="\u2013 no difference shown"))
    return handles


PREFERENCES = FigureKind(
    "format-preference",
    preference_map,
    options=("declared",),
    declared=("comparison", "comparison"),
    fixed={"details": False},
)
