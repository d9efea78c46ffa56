# SPDX-License-Identifier: Apache-2.0
"""Progress of long operations on stderr: a bar on a terminal, else a line every ten seconds.

Both show the estimated time left, and what a failed call waits for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from kgbench.analysis.run_totals import duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Task
    from rich.text import Text

    from kgbench.engine.session import Wait

_SILENT = 10.0  # seconds between lines if stderr is not a terminal
_SHORT = 0.9  # seconds; shorter waits are not reported
_FRAME = 0.1  # seconds between updates of the bar


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
