# SPDX-License-Identifier: Apache-2.0
"""What commands print: results as JSON or text, tables, and the progress of long operations.

Progress goes to stderr: a bar on a terminal, else a line every ten seconds. Both show the estimated
time left, and what a failed call waits for.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgbench.characters import visible
from kgbench.cli import options
from kgbench.cli.commands import Group
from kgbench.cli.options import Form
from kgbench.errors import ResourceError, pip_install

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Task
    from rich.text import Text

    from kgbench.analysis.registry import Analysis, Arguments
    from kgbench.engine.session import Wait
    from kgbench.scores.selection import Selection
    from kgbench.store.protocol import Store
    from kgbench.tables import Table, Value

_MARK = re.compile(r"(?<= )\*\*(\w[\w-]*)\*\*(?= |$)", re.MULTILINE)
_SILENT = 10.0  # seconds between lines if stderr is not a terminal
_SHORT = 0.9  # seconds; shorter waits are not reported
_FRAME = 0.1  # seconds between updates of the bar


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun; ``plural`` is needed where it is not formed with ``s``.

    >>> count(1, "run"), count(1200, "run"), count(0, "analysis", "analyses")
    ('1 run', '1,200 runs', '0 analyses')
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def echo_visible(text: str, *, err: bool = False) -> None:
    """Print a line with control characters escaped, so that it cannot steer a terminal."""
    typer.echo(visible(text), err=err)


def report(data: Any, lines: Iterable[str | Table], *, json_: bool) -> None:
    """Print the result of a command: ``data`` as JSON in ASCII, or ``lines`` of text and tables.

    Neither can steer a terminal: control characters of the text are escaped.
    """
    if json_:
        typer.echo(json.dumps(data, indent=2))
        return
    for line in lines:
        if isinstance(line, str):
            echo_visible(line)
        else:
            from kgbench.tables import render

            typer.echo(render(line, "table"), nl=False)


def listing(title: str, columns: Mapping[str, str], entries: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table of ``entries``, with ``columns`` by key and heading; lists have no cell."""
    from kgbench.tables import Column, Table

    def cell(value: Any) -> Value:
        return value if isinstance(value, int | float | str) else ""

    rows = tuple(tuple(cell(entry[name]) for name in columns) for entry in entries)
    return Table(title, tuple(Column(*column) for column in columns.items()), rows)


def missing_package(error: ModuleNotFoundError, extra: str) -> ResourceError:
    """Return the error for a package of an extra that is not installed.

    Raises ``error`` itself if a module of kgbench is missing.
    """
    name = error.name or ""
    if name.partition(".")[0] == "kgbench":
        raise error
    return ResourceError(f"{name} is not installed: {pip_install(f'kgbench[{extra}]')}")


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
        table = stored_or_computed(opened, chosen, analysis, arguments, keep=keep)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Group):
    """Format and destination of a table."""

    form: options.TableForm = None
    json_: options.AsJson = False
    out: options.TableFile = None
    columns: options.Columns = None
    guard: options.Guard = False
    crlf: options.Crlf = False

    def __post_init__(self) -> None:
        """Refuse the name of a file that shows no format, before anything is computed."""
        _ = self.effective_form

    @property
    def effective_form(self) -> Form:
        """The output format: ``--json``, ``--format``, or else what the file name shows."""
        if self.json_:
            return Form.JSON
        if self.form is not None or self.out is None:
            return self.form or Form.TABLE
        return Form.of_file(self.out)

    def write(self, table: Table) -> None:
        """Write the chosen columns of a table; see :func:`write`."""
        if self.columns is not None:
            table = table.only(*(name.strip() for name in self.columns.split(",")))
        write(table, self.effective_form, self.out, guard=self.guard, crlf=self.crlf)


@contextmanager
def progress(
    label: str, total: int | None, *, quiet: bool = False
) -> Iterator[Callable[..., None]]:
    """Show progress, and yield the function ``advance``, which updates it.

    Its arguments are ``completed, note="", total=None, seconds_left=None, wait=None``. ``total`` is
    ``None`` if it is unknown. ``seconds_left`` is the caller's estimate; without it, the rate so
    far is used. ``wait`` is the wait before the next retry.
    """
    if quiet:
        yield lambda *_, **__: None
    elif sys.stderr.isatty():
        yield from _bar(label, total)
    else:
        yield from _lines(label, total)


def _bar(label: str, total: int | None) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    from kgbench.analysis.run_totals import duration

    waiting: Wait | None = None

    class Left(TimeRemainingColumn):
        """The caller's estimate of the time left, else one from the rate of the bar."""

        def render(self, task: Task) -> Text:
            seconds = task.fields["seconds_left"]
            return super().render(task) if seconds is None else Text(f"{duration(seconds)} left")

    class Bar(Progress):
        """A progress bar with a countdown of the current wait below it."""

        def get_renderables(self) -> Iterable[RenderableType]:
            yield from super().get_renderables()
            if waiting is not None and waiting.seconds_left > 0:
                yield Text(str(waiting), style="yellow", overflow="ellipsis", no_wrap=True)

    def whole(**given: object) -> Column:  # the note alone yields on a narrow terminal
        return Column(no_wrap=True, **given)  # type: ignore[arg-type]

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False, table_column=whole()),
        BarColumn(min(40, console.width // 4), table_column=whole()),
        MofNCompleteColumn(table_column=whole()),
        Left(table_column=whole()),
        TextColumn(
            "{task.fields[note]}", markup=False, table_column=whole(ratio=1, overflow="ellipsis")
        ),
    )
    with Bar(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task(label, total=total, note="", seconds_left=None)
        updated = 0.0

        def advance(
            completed: int,
            note: str = "",
            total: int | None = None,
            seconds_left: float | None = None,
            wait: Wait | None = None,
        ) -> None:
            nonlocal updated, waiting
            waiting = wait
            now = time.monotonic()
            if now - updated >= _FRAME:
                updated = now
                bar.update(
                    task, completed=completed, note=note, total=total, seconds_left=seconds_left
                )

        yield advance


def _lines(label: str, total: int | None) -> Iterator[Callable[..., None]]:
    from kgbench.analysis.run_totals import duration

    updated = time.monotonic()
    waits = _ReportedWaits()

    def advance(
        completed: int,
        note: str = "",
        total: int | None = total,
        seconds_left: float | None = None,
        wait: Wait | None = None,
    ) -> None:
        nonlocal updated
        if wait is not None and waits.is_new(wait):
            typer.echo(f"{label}: {wait}", err=True)
        now = time.monotonic()
        if now - updated >= _SILENT:
            updated = now
            out_of = "" if total is None else f" of {total}"
            parts = [note] if note else []
            parts += [f"{duration(seconds_left)} left"] if seconds_left is not None else []
            typer.echo(f"{label}: {completed}{out_of} {', '.join(parts)}".rstrip(), err=True)

    yield advance


class _ReportedWaits:
    """The last reported wait: at most one is reported in ten seconds, unless it is much longer."""

    def __init__(self) -> None:
        self._at = self._until = float("-inf")

    def is_new(self, wait: Wait) -> bool:
        """Return whether ``wait`` is to be reported, and remember it if so."""
        now = time.monotonic()
        recent = now - self._at < _SILENT and wait.until - self._until < _SILENT
        if recent or wait.until <= self._until or wait.seconds_left < _SHORT:
            return False
        self._at, self._until = now, wait.until
        return True
