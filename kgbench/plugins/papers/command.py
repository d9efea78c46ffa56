# SPDX-License-Identifier: Apache-2.0
"""``kgbench reproduce``: reproduce tables and figures of papers and compare them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import kgbench.api as kb

if TYPE_CHECKING:
    from kgbench.plugins.papers.reproduction import Reproduced


PANEL = "Tasks, models and data"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Tables and figures, such as swj-table-6, or globs. Default: all.",
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = Path("papers"),
    store: kb.StoreOption = None,
    json_: kb.JsonOption = False,
) -> None:
    """Reproduce tables and figures of papers, and compare each cell with the printed one.

    Reads published results that were imported into the store. Exits with 1 if a cell differs
    without a known cause.
    """
    from importlib.util import find_spec

    from kgbench import files
    from kgbench.plugins.papers import reproduction as papers
    from kgbench.store import open_reader
    from kgbench.tables.rendering import render

    selected = papers.chosen(names or [])
    drawing = find_spec("matplotlib") is not None
    with open_reader(store) as opened:
        results = []
        for published in selected:
            result = papers.reproduce(opened, published)
            results.append(result)
            if result.table is not None:
                files.write(out / f"{published.name}.csv", render(result.table, "csv"))
                if drawing and published.figure is not None:
                    _draw(opened, result, out)
            if result.cells:
                files.write(out / f"{published.name}-cells.csv", render(result.as_table(), "csv"))
    files.write(out / "index.md", papers.report(results))
    table = papers.summary(results)
    typer.echo(render(table, "json" if json_ else "table"), nl=False)
    if not drawing:
        typer.echo(f"no figures without Matplotlib: {kb.pip_install('kgbench[plots]')}", err=True)
    typer.echo(f"wrote {out}", err=True)
    if any(result.unexplained for result in results):
        raise typer.Exit(1)


def _draw(store: kb.Store, result: Reproduced, out: Path) -> None:
    """Draw a published figure with the display names of models; its table has those of the store.

    A figure of distributions is one for each task.
    """
    from kgbench.plots.box_plots import BOXES, distributions
    from kgbench.plots.figures import Layout, file_name, find_figure, save, state_digest
    from kgbench.scores.catalogue import display_names

    assert result.selection is not None
    assert result.table is not None
    name, names = result.published.name, display_names(store)
    if result.published.figure == "boxplot":
        narrowed = (replace(result.selection, tasks=glob) for glob in result.published.tasks)
        drawn = {
            f"{name}-{task}": BOXES.figure(values, names, Layout())
            for selection in narrowed
            for task, values in distributions(store, selection).items()
        }
    else:
        kind = find_figure(str(result.published.figure))
        drawn = {name: kind.figure(result.table, names, Layout())}
    state = state_digest(store, result.selection)
    for title, (figure, table) in drawn.items():
        save(figure, out, file_name(title), formats=["svg"], tables=[table], state=state)
