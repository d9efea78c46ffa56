# SPDX-License-Identifier: Apache-2.0
"""What commands that print tables share: reading, keeping and writing them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from datetime import datetime

    from kgbench.analysis.choosing import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.stored import Basis
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store


class Form(StrEnum):
    """How a table is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    MARKDOWN = "markdown"
    LATEX = "latex"


def show_cell(
    parts: Callable[[Store], Mapping[str, list[Score]]],
    cell: str,
    store: str | None,
    suite: str | None,
    choice: str,
) -> None:
    """Print the query behind a cell, and the values with the dialogues they come from."""
    from kgbench.analysis.explain import explain
    from kgbench.analysis.selection import select
    from kgbench.analysis.tables import render
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        text, table = explain(opened, select(opened, suite, choice), parts(opened), cell)
    typer.echo(text)
    typer.echo(render(table, "table"), nl=False)


def contents(file: Path | None) -> str | None:
    """The text of a file of declarations: part of what a table depends on."""
    return None if file is None else file.read_text(encoding="utf-8")


def read(
    made: Callable[[Store, Selection], Table],
    store: str | None,
    suite: str | None,
    choice: str,
    *,
    name: str,
    arguments: Mapping[str, object] | None = None,
) -> Table:
    """The table that ``made`` makes from the chosen scores: read back where nothing has changed.

    A table that had to be computed is kept in the store, unless another process owns it.
    """
    from kgbench.analysis.selection import select
    from kgbench.analysis.stored import remembered
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        chosen = select(opened, suite, choice)
        table, basis, started = remembered(
            opened, chosen, name, arguments or {}, lambda: made(opened, chosen)
        )
    if started is not None:
        _keep(store, basis, table, started)
    return table


def _keep(location: str | None, basis: Basis, table: Table, started: datetime) -> None:
    from kgbench.analysis.stored import keep
    from kgbench.errors import StoreInUse
    from kgbench.store import open_store

    try:
        with open_store(location) as owned:
            keep(owned, basis, table, started)
    except (StoreInUse, OSError):
        return  # owned by another process, or read-only: the table is computed again next time


def write(table: Table, form: Form, out: Path | None) -> None:
    """Write a table to the terminal or a file; XLSX only to a file."""
    from kgbench import files
    from kgbench.analysis.tables import render

    if form is Form.XLSX:
        from kgbench.analysis.xlsx import as_xlsx

        if out is None:
            raise typer.BadParameter("a workbook needs a file", param_hint="--out")
        files.write(out, as_xlsx(table))
    elif out is None:
        typer.echo(render(table, form), nl=False)
        return
    else:
        files.write(out, render(table, form))
    typer.echo(f"wrote {out}", err=True)


def file_stem(name: str) -> str:
    """A file name for a name: what is not safe in one becomes ``-``."""
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
