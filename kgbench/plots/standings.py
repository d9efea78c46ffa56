# SPDX-License-Identifier: Apache-2.0
"""The leaderboard as a bar chart with intervals, leaders in a dark colour, unranked models last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgbench.plots.figures import (
    NATURAL,
    PALETTE,
    FigureKind,
    Size,
    create_figure,
    wrapped,
)
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.25  # the height of a row in inches
_OTHER, _UNTESTED, _UNRANKED = "#A8CCE3", "#E6E6E6", "#FFFFFF"  # also lighter in grey
_NAME = 26  # the letters in a line of a name


def ranked(table: Table) -> list[str]:
    """Return the models of a leaderboard, the best first."""
    return [str(model) for model in table.column("model")]


def standings_figure(table: Table, size: Size | None = None) -> Figure:
    """Draw a table of :func:`kgbench.analysis.leaders.leaders`.

    Dark bars are models that lead, light bars are worse models, grey bars have no test.
    Models with white bars below the line are not ranked, because they lack scores.
    Lines are 95 % intervals of the scores. Score, range of ranks, and a letter for each group of
    models without significant differences are on the right.
    """
    rows: list[dict[str, Any]] = [r for r in table.records() if r["score"] is not None]
    complete = sum(row["rank"] is not None for row in rows)
    task_count = max((row["tasks"] for row in rows), default=0)
    chosen = NATURAL if size is None else size
    gap = 0.9 if 0 < complete < len(rows) else 0.0  # of a row, with the line
    positions = [position + (gap if position >= complete else 0.0) for position in range(len(rows))]
    bounded = all(0.0 <= row[end] <= 1.0 for row in rows for end in _ends(row))

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for position, row in zip(positions, rows, strict=True):
            _bar(axes, position, row, chosen)
        names = [_name(row, task_count) for row in rows]
        axes.set_yticks(positions, names)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_ylim((positions[-1] if positions else 0) + 0.6, -1.1)
        if bounded:
            axes.set_xlim(0, 1)
        if gap:
            line = positions[complete] - 0.5 - gap / 2
            axes.axhline(line, color="#777777", linewidth=chosen.points(0.8), linestyle="--")
            axes.text(
                0.0,
                line + 0.1,
                " not ranked: some scores are missing",
                transform=axes.get_yaxis_transform(),
                va="top",
                fontsize=chosen.points(6.5),
                color="#555555",
            )
        _aside(axes, -0.75, "score", "rank", chosen, bold=True)
        axes.set_xlabel("combined score")

    return create_figure(
        draw,
        size=chosen,
        height=0.68 + _ROW * (len(rows) + gap + 1),
        title=table.title,
        handles=_handles(table, rows, complete),
    )


def _interval(table: Table) -> str:
    """Return the legend label of intervals, with the estimand."""
    estimand = table.context.get("estimand_label")
    return wrapped(f"95 % interval ({estimand})" if estimand else "95 % interval", 34)


def _ends(row: dict[str, Any]) -> list[str]:
    return [name for name in ("score", "ci_low", "ci_high") if row[name] is not None]


def _name(row: dict[str, Any], task_count: int) -> str:
    name = wrapped(str(row["model"]), _NAME)
    return name if row["rank"] is not None else f"{name} ({row['tasks']} of {task_count} tasks)"


def _bar(axes: Any, position: float, row: dict[str, Any], size: Size) -> None:
    colour = {True: PALETTE[0], False: _OTHER, None: _UNTESTED}[row["leads"]]
    if row["rank"] is None:
        colour = _UNRANKED
    axes.barh(
        position,
        row["score"],
        height=0.66,
        color=colour,
        edgecolor=PALETTE[0],
        linewidth=0.6,
        zorder=2,
    )
    if row["ci_low"] is not None:
        axes.plot(
            [row["ci_low"], row["ci_high"]],
            [position, position],
            color="black",
            linewidth=size.points(1.4),
            marker="|",
            markersize=size.points(4),
            zorder=3,
        )
    first, last = row["rank_low"], row["rank_high"]
    ranks = "" if first is None else str(first) if first == last else f"{first}\u2013{last}"
    if row["group"]:
        ranks += f" {row['group'].replace(' ', '')}"
    _aside(axes, position, f"{row['score']:.3f}".replace("-", "\u2212"), ranks, size)


def _aside(
    axes: Any, position: float, score: str, ranks: str, size: Size, *, bold: bool = False
) -> None:
    """Write score and ranks to the right of a row."""
    for text, shift in ((score, 6), (ranks, 40)):
        axes.annotate(
            text,
            (1, position),
            xycoords=("axes fraction", "data"),
            xytext=(size.points(shift), 0),
            textcoords="offset points",
            va="center",
            fontsize=size.points(7),
            fontweight="bold" if bold else "normal",
            annotation_clip=False,
        )


def _handles(table: Table, rows: list[dict[str, Any]], complete: int) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    test, alpha = table.context.get("test"), table.context.get("alpha")
    test_text = "" if test is None else f" ({test} test, \u03b1 = {alpha:g})"

    def patch(colour: str, label: str) -> Patch:
        return Patch(facecolor=colour, edgecolor=PALETTE[0], linewidth=0.6, label=label)

    handles: list[Any] = [patch(PALETTE[0], f"no model is significantly better{test_text}")]
    if any(row["leads"] is False for row in rows):
        handles.append(patch(_OTHER, "significantly worse than another model"))
    if any(row["leads"] is None for row in rows[:complete]):
        handles.append(patch(_UNTESTED, "no test"))
    if complete < len(rows):
        handles.append(patch(_UNRANKED, "not ranked"))
    handles.append(Line2D([], [], color="black", marker="|", label=_interval(table)))
    return handles


STANDINGS = FigureKind(
    "leaderboard",
    standings_figure,
    options=("declared", "round", "common"),
    declared=("set", "score_set"),
    ranked=ranked,
    fixed={"significance": True},
)
