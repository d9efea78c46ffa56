# SPDX-License-Identifier: Apache-2.0
"""Heat maps of the agreement of judges with execution and with each other."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgbench.analysis.verdicts import EXECUTION
from kgbench.plots.figures import (
    NATURAL,
    FigureKind,
    Size,
    create_figure,
    text_width,
)
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEANING = "share of equal verdicts; Cohen's kappa below it"
_COLOURS = "cividis"  # distinguishable in grey and with red-green colour blindness
_DARK = 0.45  # text is white on colours below this value
_CELL = 0.4  # the height of a cell in inches
_WIDE = 2.4  # the width in inches of a panel without the names of its rows
_LETTERS = 28  # the letters in a line of a name


@dataclass(frozen=True, slots=True)
class _Panel:
    """A heat map: names of rows (``down``) and columns, and the value and text of each cell."""

    title: str
    down: Sequence[str]
    across: Sequence[str]
    cells: Sequence[Sequence[tuple[float | None, str]]]


def agreement_map(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.plugins.judging.agreement.agreement`.

    The panel of each rubric and group has judges as rows, and execution and the same judges, by
    number, as columns. Colour and first number are the share of equal verdicts, the second number
    is Cohen's kappa.
    """
    panels = []
    for title, rows in _groups(table).items():
        pairs = {(str(row["judge"]), str(row["against"])): row for row in rows if _is_pair(row)}
        judges = sorted({name for pair in pairs for name in pair} - {EXECUTION})
        execution = [EXECUTION] if any(EXECUTION in pair for pair in pairs) else []
        cells = [
            [_agreed(pairs, judge, other) for other in [*execution, *judges]] for judge in judges
        ]
        numbered = [f"{judge} ({number})" for number, judge in enumerate(judges, 1)]
        columns = [*execution, *(f"({number})" for number, _ in enumerate(judges, 1))]
        panels.append(_Panel(title, numbered, columns, cells))
    return _maps(table, panels, size)


def _groups(table: Table) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in table.records():
        group = row["group"]
        groups.setdefault(f"{row['rubric']}, {group}" if group else str(row["rubric"]), []).append(
            row
        )
    return groups


def _is_pair(row: dict[str, Any]) -> bool:
    return str(row["against"]) != "each other"


def _agreed(
    pairs: dict[tuple[str, str], dict[str, Any]], judge: str, other: str
) -> tuple[float | None, str]:
    row = pairs.get((judge, other)) or pairs.get((other, judge))
    if row is None:
        return None, "\u2013" if judge == other else ""
    kappa = row["kappa"]
    return row["agreement"], f"{row['agreement']:.0%}" + ("" if kappa is None else f"\n{kappa:.2f}")


def _maps(table: Table, panels: Sequence[_Panel], size: Size | None) -> Figure:
    chosen = NATURAL if size is None else size
    names = max((len(name) for panel in panels for name in panel.down), default=0)
    wide = text_width("a" * min(names, _LETTERS), 7) + _WIDE
    per_row = max(1, min(len(panels), int(chosen.across / wide)))
    lines = [panels[k : k + per_row] for k in range(0, len(panels), per_row)]
    letters = max(12, int((chosen.across / per_row - wide + _WIDE) / text_width("a", 8.5)) - 6)
    heights = [max(_height(panel, letters) for panel in line) for line in lines]

    def draw(figure: Figure) -> None:
        grid = figure.add_gridspec(max(1, len(lines)), per_row, height_ratios=heights or None)
        for down, line in enumerate(lines):
            for across, panel in enumerate(line):
                _draw(figure.add_subplot(grid[down, across]), panel, chosen, letters)
        room = int(chosen.across / text_width("a", 7)) - 2
        below = _lines(_MEANING if panels else "No judge was asked.", room)
        figure.supxlabel(below, x=0.012, ha="left", fontsize=chosen.points(7), color="#555555")

    return create_figure(draw, size=chosen, height=sum(heights) + 0.45, title=table.title)


def _height(panel: _Panel, letters: int) -> float:
    """Return the height in inches that a panel needs at scale 1."""
    return _CELL * len(panel.down) + 0.16 * (_lines(panel.title, letters).count("\n") + 1) + 0.4


def _lines(name: str, letters: int) -> str:
    """Break a name into lines of at most ``letters`` letters; longer words are broken, too."""
    return "\n".join(textwrap.wrap(name, letters, break_on_hyphens=False))


def _draw(axes: Any, panel: _Panel, chosen: Size, letters: int) -> None:
    import matplotlib as mpl

    colours: Callable[[float], Any] = mpl.colormaps[_COLOURS]
    for down, row in enumerate(panel.cells):
        for across, (value, text) in enumerate(row):
            if value is not None:
                left, right = across - 0.48, across + 0.48
                face = colours(value)
                axes.fill_between([left, right], down - 0.47, down + 0.47, color=face, lw=0)
            ink = "#555555" if value is None else "white" if value < _DARK else "black"
            alignment: dict[str, Any] = {"ha": "center", "va": "center"}
            axes.text(across, down, text, color=ink, fontsize=chosen.points(7), **alignment)
    axes.set_xticks(range(len(panel.across)), panel.across, fontsize=chosen.points(7))
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(panel.down)), [_lines(name, _LETTERS) for name in panel.down])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlim(-0.5, len(panel.across) - 0.5)
    axes.set_ylim(len(panel.down) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_title(_lines(panel.title, letters), loc="left")


AGREEMENT = FigureKind("agreement", agreement_map)
