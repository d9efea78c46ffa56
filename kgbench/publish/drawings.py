# SPDX-License-Identifier: Apache-2.0
"""Figures of a suite, with the numbers and queries behind them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kgbench.analysis.tables import Table, Value
from kgbench.publish.results import BOARD, TASKS, SuiteResults

_MOST_DRAWN = 100  # models in a figure; more cannot be told apart, and take minutes to draw


class Figure(NamedTuple):
    """A figure: its kind and title, and the paths of the SVG and of the plotted numbers."""

    kind: str
    title: str
    svg: str
    numbers: str


def figures(results: SuiteResults, folder: Path, state: str) -> Iterator[Figure]:
    """Draw the figures of a suite into ``folder``, with its best hundred models.

    The paths in the results are relative to the site; their last parts are the names in ``folder``.
    """
    from kgbench.plots.compasses import compass_figure
    from kgbench.plots.figures import save
    from kgbench.plots.standings import standings_figure

    ranked = results.tables.get(BOARD) or next(iter(results.tables.values()), None)
    best = [] if ranked is None else list(dict.fromkeys(ranked.column("model")))[:_MOST_DRAWN]
    for kind, table in results.tables.items():
        if kind == TASKS:
            continue
        name = f"{results.slug}-{kind}"
        drawable = _drawable(table, best)
        with warnings.catch_warnings():
            # Readers of the SVG may have fonts for characters that this machine lacks.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            figure = standings_figure(drawable) if kind == BOARD else compass_figure(drawable)
            svg, numbers = save(figure, folder, name, formats=["svg"], tables=[table], state=state)
        yield Figure(kind, table.title, f"figures/{svg.name}", f"figures/{numbers.name}")


def _drawable(table: Table, models: Collection[Value]) -> Table:
    """Return the rows of these models, with names that are safe to draw.

    These are short, and without control characters.
    """
    from kgbench.characters import one_line

    def name(value: Value) -> Value:
        return one_line(value)[:80] if isinstance(value, str) else value

    index = table.names.index("model")
    rows = tuple(tuple(map(name, row)) for row in table.rows if row[index] in models)
    all_shown = len(rows) == len(table.rows)
    title = table.title if all_shown else f"{table.title}: the {len(models)} best models"
    return replace(table, title=title, rows=rows)
