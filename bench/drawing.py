# SPDX-License-Identifier: Apache-2.0
"""A figure of the ratios of a benchmark run: kgbench compared with its peers and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import Result
from kgbench.plots.figures import PALETTE, Size, create_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ratios(
    results: Mapping[str, Sequence[Result]], before: Mapping[tuple[str, str, str], float]
) -> Figure | None:
    """Draw a line per ratio, on a logarithmic scale; hollow circles are the latest recorded values.

    ``None`` if no result is a ratio.
    """
    rows = [
        (name, result)
        for name, measured in results.items()
        for result in measured
        if result.unit == "x" and result.value > 0
    ]
    if not rows:
        return None

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.axvline(1, color="0.6", linewidth=0.8)
        for row, (name, result) in enumerate(rows):
            earlier = before.get((name, result.what, result.against))
            if earlier:
                axes.plot([earlier, result.value], [row, row], color="0.6", linewidth=0.8)
                axes.plot(earlier, row, "o", color=PALETTE[0], fillstyle="none", markersize=5)
            axes.plot(result.value, row, "o", color=PALETTE[0], markersize=5)
            if result.goal:
                axes.annotate(
                    f"goal {result.goal}",
                    (1.01, row),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    fontsize=6.5,
                )
        labels = [f"{name}: {result.what}\nagainst {result.against}" for name, result in rows]
        axes.set_yticks(range(len(rows)), labels, fontsize=6)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.set_xlabel("ratio; filled: this run, hollow: recorded before")
        axes.set_title("kgbench compared with its peers and limits")

    return create_figure(draw, size=Size(7.2), height=1.0 + 0.32 * len(rows))


def save(figure: Figure, path: Path) -> None:
    """Write the figure as SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "kgbench"})
