# SPDX-License-Identifier: Apache-2.0
"""Reading, storing and writing of tables, shared by the commands that print them."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kgbench.characters import visible
from kgbench.cli.messages import count

if TYPE_CHECKING:
    from kgbench.analysis.registry import Analysis, Arguments
    from kgbench.scores.selection import Selection
    from kgbench.store.protocol import Store
    from kgbench.tables import Table


_MARK = re.compile(r"(?<= )\*\*(\w[\w-]*)\*\*(?= |$)", re.MULTILINE)


class Form(StrEnum):
    """Output formats of tables."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    MARKDOWN = "markdown"
    LATEX = "latex"

    @classmethod
    def of_file(cls, path: Path) -> Form:
        """Return the format that the name of a file shows, or else ``table``.

        >>> Form.of_file(Path("scores.tex"))
        <Form.LATEX: 'latex'>
        """
        suffixes = {".md": cls.MARKDOWN, ".tex": cls.LATEX}
        suffixes |= {f".{form}": form for form in (cls.CSV, cls.JSON, cls.XLSX)}
        return suffixes.get(path.suffix.lower(), cls.TABLE)

    @property
    def for_people(self) -> bool:
        """Whether the format is for readers: with display names and rounded numbers."""
        return self not in (Form.CSV, Form.JSON)


def read(
    analysis: Analysis[...],
    arguments: Arguments,
    store: str | None,
    choose: Callable[[Store], Selection],
    *,
    form: Form = Form.TABLE,
    keep: bool = False,
) -> Table:
    """Return the table of an analysis of the selected scores, from the cache if it is valid.

    The store is opened for writing only with ``keep``, which stores the table in it. Raises
    :class:`~kgbench.errors.StoreInUse` if another process owns the store then. In a ``form`` for
    readers, models have their display names.
    """
    from kgbench.analysis.stored_results import stored_or_computed
    from kgbench.scores.catalogue import display_names, displayed
    from kgbench.scores.selectors import with_left_out_notes
    from kgbench.store import open_existing, open_reader

    with _garbage_collection_paused(), (open_existing if keep else open_reader)(store) as opened:
        chosen = choose(opened)
        table, basis, started = stored_or_computed(opened, chosen, analysis, arguments)
        if keep and started is not None:
            from kgbench.analysis.storing import store_table

            store_table(opened, basis, table, started)
        names = display_names(opened) if form.for_people else {}
        return displayed(with_left_out_notes(opened, table), names)


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause the search for cycles, which takes half the time of a table over a million values.

    Values by case are many small objects without cycles, which are freed without a search.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def write(
    table: Table, form: Form, out: Path | None, *, guard: bool = False, crlf: bool = False
) -> None:
    """Write a table to the terminal or a file; XLSX only to a file.

    With ``guard``, text that a spreadsheet would run as a formula is escaped, and the number of
    changed cells is printed on standard error. With ``crlf``, lines of CSV end with CR LF
    (RFC 4180).
    """
    from kgbench import files
    from kgbench.tables.rendering import as_csv, render

    if guard:
        table, changed = table.spreadsheet_safe()
        report_guarded(changed)
    if form is Form.XLSX:
        from kgbench.tables.xlsx import as_xlsx

        if out is None:
            raise typer.BadParameter("a workbook needs a file", param_hint="--out")
        files.write(out, as_xlsx(table))
    else:
        text = as_csv(table, "\r\n") if form is Form.CSV and crlf else render(table, form)
        if out is None:
            # CSV and JSON keep control characters, which a terminal would interpret.
            if sys.stdout.isatty():
                text = visible(text)
                if form is Form.TABLE and "NO_COLOR" not in os.environ:
                    text = _MARK.sub("    \x1b[1m\\1\x1b[22m", text)  # as wide as with asterisks
            typer.echo(text, nl=False)
            return
        files.write(out, text)
    typer.echo(f"wrote {out}", err=True)


def report_guarded(cells: int) -> None:
    """Print on standard error how many cells got an apostrophe that the store does not have."""
    typer.echo(f"guarded: {count(cells, 'cell')} with an apostrophe before the text", err=True)
