# SPDX-License-Identifier: Apache-2.0
"""Progress of long work on stderr: a bar on a terminal, a line now and then elsewhere.

Both show one estimate of the time left, and for what a failed call waits.
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

    from kgbench.engine.progress import Wait

_SILENT = 10.0  # seconds between lines where there is no terminal
_SHORT = 0.9  # seconds; of shorter waits no line tells
_FRAME = 0.1


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Gives ``advance(done, note="", total=None, left=None, wait=None)``.

    ``total`` may be ``None`` where nobody knows it. ``left`` are the seconds that the rest takes,
    where the caller knows better than the rate so far. ``wait`` is for what the work waits.
    """
    if quiet:
        yield lambda *_, **__: None
    elif sys.stderr.isatty():
        yield from _bar(what, total)
    else:
        yield from _lines(what, total)


def _bar(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    waiting: Wait | None = None

    class Left(TimeRemainingColumn):
        """The time left as the caller says it, else by the rate of the bar."""

        def render(self, task: Task) -> Text:
            left = task.fields["left"]
            return super().render(task) if left is None else Text(f"{duration(left)} left")

    class Bar(Progress):
        """A bar, and below it what the work waits for, counted down."""

        def get_renderables(self) -> Iterable[RenderableType]:
            yield from super().get_renderables()
            if waiting is not None and waiting.seconds_left > 0:
                yield Text(str(waiting), style="yellow", overflow="ellipsis", no_wrap=True)

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Left(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, note="", left=None)
        shown = 0.0

        def advance(
            done: int,
            note: str = "",
            total: int | None = None,
            left: float | None = None,
            wait: Wait | None = None,
        ) -> None:
            nonlocal shown, waiting
            waiting = wait
            now = time.monotonic()
            if now - shown >= _FRAME:
                shown = now
                bar.update(task, completed=done, note=note, total=total, left=left)

        yield advance


def _lines(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    shown = time.monotonic()
    told = _Told()

    def advance(
        done: int,
        note: str = "",
        total: int | None = total,
        left: float | None = None,
        wait: Wait | None = None,
    ) -> None:
        nonlocal shown
        if wait is not None and told.is_new(wait):
            typer.echo(f"{what}: {wait}", err=True)
        now = time.monotonic()
        if now - shown >= _SILENT:
            shown = now
            of = "" if total is None else f" of {total}"
            parts = [note] if note else []
            parts += [f"{duration(left)} left"] if left is not None else []
            typer.echo(f"{what}: {done}{of} {', '.join(parts)}".rstrip(), err=True)

    yield advance


class _Told:
    """The waits that lines have told of: one in ten seconds, and each that lasts much longer."""

    def __init__(self) -> None:
        self._at = self._until = float("-inf")

    def is_new(self, wait: Wait) -> bool:
        """Whether a line shall tell of ``wait``; notes that it does."""
        now = time.monotonic()
        recent = now - self._at < _SILENT and wait.until - self._until < _SILENT
        if recent or wait.until <= self._until or wait.seconds_left < _SHORT:
            return False
        self._at, self._until = now, wait.until
        return True
