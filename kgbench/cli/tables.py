# SPDX-License-Identifier: Apache-2.0
"""What commands that print tables share: reading, keeping and writing them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kgbench.characters import visible
from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.analysis.selection import Selection
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

    @property
    def for_people(self) -> bool:
        """Whether people read it: names are then those that are shown, numbers are rounded."""
        return self not in (Form.CSV, Form.JSON)


def read(
    made: Callable[[Store, Selection], Table],
    store: str | None,
    choose: Callable[[Store], Selection],
    *,
    name: str,
    arguments: Mapping[str, object] | None = None,
    form: Form = Form.TABLE,
    kept: bool = False,
) -> Table:
    """The table that ``made`` makes from chosen scores: read back where nothing has changed.

    The store is opened for writing only where the table is to be ``kept`` in it, by an analysis of
    that ``name`` and ``arguments``; :class:`~kgbench.errors.StoreInUse` is raised where another
    process owns it. In a ``form`` for people, models have their display names.
    """
    from kgbench.analysis.choosing import noted
    from kgbench.analysis.display_names import display_names, displayed
    from kgbench.analysis.stored import keep, remembered
    from kgbench.store import open_existing, open_reader

    with (open_existing if kept else open_reader)(store) as opened:
        chosen = choose(opened)
        table, basis, started = remembered(
            opened, chosen, name, arguments or {}, lambda: made(opened, chosen)
        )
        if kept and started is not None:
            keep(opened, basis, table, started)
        names = display_names(opened) if form.for_people else {}
        return displayed(noted(opened, table), names)


def write(
    table: Table, form: Form, out: Path | None, *, guard: bool = False, crlf: bool = False
) -> None:
    """Write a table to the terminal or a file; XLSX only to a file.

    With ``guard``, no text in it is a formula to a spreadsheet, and the number of cells that were
    changed is told on standard error. With ``crlf``, lines of CSV end as RFC 4180 has them.
    """
    from kgbench import files
    from kgbench.analysis.rendering import as_csv, render

    if guard:
        table, differing = table.spreadsheet_safe()
        tell_guarded(differing)
    if form is Form.XLSX:
        from kgbench.analysis.xlsx import as_xlsx

        if out is None:
            raise typer.BadParameter("a workbook needs a file", param_hint="--out")
        files.write(out, as_xlsx(table))
    else:
        text = as_csv(table, "\r\n") if form is Form.CSV and crlf else render(table, form)
        if out is None:
            # A terminal would obey control characters, which CSV and JSON carry as they are.
            typer.echo(visible(text) if sys.stdout.isatty() else text, nl=False)
            return
        files.write(out, text)
    typer.echo(f"wrote {out}", err=True)


def tell_guarded(cells: int) -> None:
    """Say on standard error how many cells have an apostrophe that the store has not."""
    typer.echo(f"guarded: {count(cells, 'cell')} with an apostrophe before the text", err=True)


def file_stem(name: str) -> str:
    """A file name for a name: what is not safe in one becomes ``-``."""
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
