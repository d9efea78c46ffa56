# SPDX-License-Identifier: Apache-2.0
"""``kgbench reproduce``: tables and figures of papers, made again beside what they print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options

if TYPE_CHECKING:
    from kgbench.analysis.papers import Reproduced
    from kgbench.store.protocol import Store


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Tables and figures, such as swj-table-6; globs. Default: all.",
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = Path("papers"),
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Make tables and figures of papers again, each cell beside the printed one.

    Reads the published results that were imported into the store. Ends with code 1 where a cell
    differs without a known cause.
    """
    from importlib.util import find_spec

    from kgbench import files
    from kgbench.analysis import papers
    from kgbench.analysis.rendering import render
    from kgbench.store import open_reader

    wanted = papers.chosen(names or [])
    drawing = find_spec("matplotlib") is not None
    with open_reader(store) as opened:
        found = []
        for published in wanted:
            one = papers.reproduce(opened, published)
            found.append(one)
            if one.table is not None:
                files.write(out / f"{published.name}.csv", render(one.table, "csv"))
                if drawing and published.figure is not None:
                    _draw(opened, one, out)
            if one.cells:
                files.write(out / f"{published.name}-cells.csv", render(one.as_table(), "csv"))
    files.write(out / "index.md", papers.report(found))
    table = papers.summary(found)
    typer.echo(render(table, "json" if json_ else "table"), nl=False)
    if not drawing:
        typer.echo("no figures: install the extra 'plots' (pip install 'kgbench[plots]')", err=True)
    typer.echo(f"wrote {out}", err=True)
    if any(one.unexplained for one in found):
        raise typer.Exit(1)


def _draw(store: Store, one: Reproduced, out: Path) -> None:
    from kgbench.plots.figures import file_name, save, state_digest
    from kgbench.plots.published import figures

    assert one.selection is not None
    state = state_digest(store, one.selection)
    for name, figure, table in figures(store, one):
        save(figure, out, file_name(name), formats=["svg"], tables=[table], state=state)
