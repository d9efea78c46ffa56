# SPDX-License-Identifier: Apache-2.0
"""``kgbench plot``: figures from the scores in a store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kgbench.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store


class Kind(StrEnum):
    """What is drawn."""

    BOXPLOT = "boxplot"
    COMPASS = "compass"
    FORMAT_PREFERENCE = "format-preference"
    LEADERBOARD = "leaderboard"
    SIZES = "sizes"


class FigureForm(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plot")(plot)


def plot(
    kind: Annotated[Kind, typer.Argument(help="What to draw.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("plots"),
    form: Annotated[
        list[FigureForm] | None,
        typer.Option("--format", "-f", help="png, svg or pdf; repeatable. Default: png."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The declared compass, score set or format comparison."
        ),
    ] = None,
    declared: options.Declared = None,
    metric: options.Metric = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = "*",
    store: options.Store = None,
    suite: options.Suite = None,
    choice: options.Pass = "first",
) -> None:
    """Draw figures; beside each a JSON file with the numbers drawn and the queries behind them."""
    from kgbench.analysis.selection import select
    from kgbench.cli.wording import missing
    from kgbench.store import open_reader

    try:
        from kgbench.plots.figures import file_name, save, state_digest
    except ModuleNotFoundError as error:
        raise missing(error, "plots") from None
    wanted = _Wanted(name, declared, metric, task, model)
    formats = [str(one) for one in form or [FigureForm.PNG]]
    with open_reader(store) as opened:
        chosen = select(opened, suite, choice)
        state = state_digest(opened, chosen)
        for label, figure, table in _figures(kind, opened, chosen, wanted):
            named = file_name(str(kind), label) if label else str(kind)
            for path in save(figure, out, named, formats=formats, tables=[table], state=state):
                typer.echo(path)


class _Wanted(NamedTuple):
    """The options that choose what a figure shows."""

    name: str | None
    declared: Path | None
    metric: str | None
    task: str
    model: str


def _figures(
    kind: Kind, store: Store, chosen: Selection, wanted: _Wanted
) -> Iterator[tuple[str, Figure, Table]]:
    """The figures of a kind: what tells each apart, the figure, and the table it shows."""
    if kind is Kind.BOXPLOT:
        from kgbench.plots.box_plots import box_plot, distributions

        found = distributions(store, chosen, metric=wanted.metric, tasks=wanted.task)
        for task, table in found.items():
            yield task, box_plot(table), table
    elif kind is Kind.COMPASS:
        from kgbench.analysis.compass import compass, compass_table
        from kgbench.plots.compasses import compass_figure

        name = wanted.name or "eswc"
        table = compass_table(store, chosen, compass(name, wanted.declared))
        yield name, compass_figure(table), table
    elif kind is Kind.FORMAT_PREFERENCE:
        from kgbench.analysis.format_preference import comparison, format_preference
        from kgbench.plots.preference_maps import preference_map

        compared = comparison(wanted.name or "turtle-jsonld", wanted.declared)
        table = format_preference(store, chosen, compared)
        yield compared.name, preference_map(table, compared.formats), table
    elif kind is Kind.LEADERBOARD:
        from kgbench.analysis.declarations import score_set
        from kgbench.analysis.leaders import leaders
        from kgbench.plots.standings import standings_figure

        combined = score_set(wanted.name or "main", wanted.declared)
        table = leaders(store, chosen, combined)
        yield combined.name, standings_figure(table), table
    else:
        from kgbench.analysis.sizes import sizes
        from kgbench.plots.size_curves import size_figure

        table = sizes(store, chosen, metric=wanted.metric, tasks=wanted.task, models=wanted.model)
        yield "", size_figure(table), table
