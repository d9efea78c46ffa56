# SPDX-License-Identifier: Apache-2.0
"""Judges as maps: how far they agree with each other, and which verdicts they confuse."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgbench.analysis.tables import Table
from kgbench.analysis.verdicts import EXECUTION
from kgbench.plots.figures import NATURAL, Size, head, head_height, styled, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = "cividis"  # told apart by people who see no red or green, and in grey
_DARK = 0.45  # of the range of colours: below it, text is white
_CELL = 0.4  # inches of the height of a cell
_WIDE = 2.4  # inches that a panel needs beside the names of its rows
_LETTERS = 28  # of a line of such a name


@dataclass(frozen=True, slots=True)
class _Panel:
    """A map: names of its rows and columns, and of each cell the value (low to 1) and the text."""

    title: str
    down: Sequence[str]
    across: Sequence[str]
    cells: Sequence[Sequence[tuple[float | None, str]]]


def agreement_map(table: Table, size: Size | None = None) -> Figure:
    """The figure of a table of :func:`kgbench.analysis.judge_agreement.agreement`.

    A panel for each rubric and group has judges down, and execution and the same judges, by number,
    across. Colour and first number are the share of equal verdicts, the second is Cohen's kappa.
    """
    panels = []
    for title, rows in _groups(table).items():
        pairs = {(str(row["judge"]), str(row["against"])): row for row in rows if _is_pair(row)}
        judges = sorted({name for pair in pairs for name in pair} - {EXECUTION})
        held = [EXECUTION] if any(EXECUTION in pair for pair in pairs) else []
        cells = [[_agreed(pairs, judge, other) for other in [*held, *judges]] for judge in judges]
        numbered = [f"{judge} ({number})" for number, judge in enumerate(judges, 1)]
        columns = [*held, *(f"({number})" for number, _ in enumerate(judges, 1))]
        panels.append(_Panel(title, numbered, columns, cells))
    return _maps(table, panels, "share of equal verdicts; Cohen's kappa below it", size)


def confusion_map(table: Table, size: Size | None = None) -> Figure:
    """The figure of a table of :func:`kgbench.analysis.confusion.confusion`.

    A panel for each rubric, group and judge has what execution implies down and what the judge
    said across; judges are held against each other only where nothing was executed. Colours are
    shares of the row, numbers are items.
    """
    panels = []
    for title, rows in _groups(table).items():
        executed = [row for row in rows if row["against"] == EXECUTION] or rows
        for pair in dict.fromkeys((str(row["judge"]), str(row["against"])) for row in executed):
            of_pair = [row for row in executed if (row["judge"], row["against"]) == pair]
            down = list(dict.fromkeys(str(row["expected"]) for row in of_pair))
            across = list(dict.fromkeys(str(row["said"]) for row in of_pair))
            found = {(row["expected"], row["said"]): row for row in of_pair}
            cells = [[_counted(found[name, said]) for said in across] for name in down]
            panels.append(_Panel(f"{title}: {pair[0]} against {pair[1]}", down, across, cells))
    return _maps(
        table,
        panels,
        "down: expected, across: said; share of the expected verdict, items below it",
        size,
    )


def _groups(table: Table) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.records():
        group = row["group"]
        found.setdefault(f"{row['rubric']}, {group}" if group else str(row["rubric"]), []).append(
            row
        )
    return found


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


def _counted(row: dict[str, Any]) -> tuple[float | None, str]:
    return row["share"], f"{row['share']:.0%}\n{row['items']:,}"


def _maps(table: Table, panels: Sequence[_Panel], meaning: str, size: Size | None) -> Figure:
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
        head(figure, table.title, chosen)
        room = int(chosen.across / text_width("a", 7)) - 2
        below = _lines(meaning if panels else "No judge was asked.", room)
        figure.supxlabel(below, x=0.012, ha="left", fontsize=chosen.points(7), color="#555555")

    needed = sum(heights) + head_height(table.title, chosen) + 0.45
    return styled(draw, size=chosen, height=needed)


def _height(panel: _Panel, letters: int) -> float:
    """The inches that a panel needs at scale 1."""
    return _CELL * len(panel.down) + 0.16 * (_lines(panel.title, letters).count("\n") + 1) + 0.4


def _lines(name: str, letters: int) -> str:
    """A name in lines of at most so many letters; a word that is longer is broken."""
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
            place: dict[str, Any] = {"ha": "center", "va": "center"}
            axes.text(across, down, text, color=ink, fontsize=chosen.points(7), **place)
    axes.set_xticks(range(len(panel.across)), panel.across, fontsize=chosen.points(7))
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(panel.down)), [_lines(name, _LETTERS) for name in panel.down])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlim(-0.5, len(panel.across) - 0.5)
    axes.set_ylim(len(panel.down) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_title(_lines(panel.title, letters), loc="left")
