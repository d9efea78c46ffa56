# SPDX-License-Identifier: Apache-2.0
"""Messages of commands: terminal-safe lines, counted nouns, missing packages."""

from __future__ import annotations

import typer

from kgbench.characters import visible
from kgbench.errors import ResourceError


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun; ``plural`` is needed where it is not formed with ``s``.

    >>> count(1, "run"), count(1200, "run"), count(0, "analysis", "analyses")
    ('1 run', '1,200 runs', '0 analyses')
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def echo_visible(text: str, *, err: bool = False) -> None:
    """Print a line with control characters escaped, so that it cannot steer a terminal."""
    typer.echo(visible(text), err=err)


def missing_package(error: ModuleNotFoundError, extra: str) -> ResourceError:
    """Return the error for a package of an extra that is not installed.

    Raises ``error`` itself if a module of kgbench is missing.
    """
    name = error.name or ""
    if name.partition(".")[0] == "kgbench":
        raise error
    return ResourceError(f"{name} is not installed: pip install 'kgbench[{extra}]'")
