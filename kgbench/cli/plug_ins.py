# SPDX-License-Identifier: Apache-2.0
"""Commands and subcommands of plug-ins, by the entry points of a group."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple

import typer

from kgbench import entry_points
from kgbench.errors import ResourceError


def listed() -> None:
    """Stand for a command in lists."""


class Subcommand(NamedTuple):
    """A subcommand that is made anew for each command line, with its help and panel."""

    name: str
    function: Callable[..., None] = listed
    help: str | None = None
    panel: str | None = None


def load(group: str, name: str, taken: Container[str]) -> Any:
    """Return what the entry point ``name`` of a group names; ``taken`` are names of kgbench's own.

    Raises :class:`~kgbench.errors.ResourceError` if it cannot be used.
    """
    place = f"'{name}' of {entry_points.origin(group, name)} cannot be used"
    if name in taken:
        raise ResourceError(f"{place}: kgbench has one of this name")
    try:
        return entry_points.load(group, name)
    except Exception as error:
        raise ResourceError(f"{place}: {str(error) or type(error).__name__}") from error


def usable(group: str, taken: Container[str]) -> dict[str, Any]:
    """Return what the entry points of a group name, by name, without those that cannot be used.

    Each of these is reported on standard error.
    """
    found = {}
    for name in entry_points.names(group):
        try:
            found[name] = load(group, name, taken)
        except ResourceError as error:
            typer.echo(f"kgbench: {error}", err=True)
    return found
