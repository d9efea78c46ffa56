# SPDX-License-Identifier: Apache-2.0
"""Messages of commands: results as JSON or text, counted nouns, missing packages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from kgbench.characters import visible
from kgbench.errors import ResourceError, pip_install

if TYPE_CHECKING:
    from kgbench.tables import Table, Value


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
