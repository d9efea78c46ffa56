# SPDX-License-Identifier: Apache-2.0
"""Lines for people: safe for a terminal, with counts in words; and what is not installed."""

from __future__ import annotations

import typer

from kgbench.characters import visible
from kgbench.errors import ResourceError


def count(number: int, one: str, several: str | None = None) -> str:
    """A number of things, with separators; ``several`` is the plural where it takes no ``s``.

    >>> count(1, "run"), count(1200, "run"), count(0, "analysis", "analyses")
    ('1 run', '1,200 runs', '0 analyses')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def tell(text: str, *, err: bool = False) -> None:
    """Print a line in which nothing steers a terminal, whatever names and messages it holds."""
    typer.echo(visible(text), err=err)


def missing(error: ModuleNotFoundError, extra: str) -> ResourceError:
    """What to say where a package of an extra is not installed.

    Raises ``error`` itself where it is a module of kgbench that is not there.
    """
    name = error.name or ""
    if name.partition(".")[0] == "kgbench":
        raise error
    return ResourceError(f"{name} is not installed: pip install 'kgbench[{extra}]'")
