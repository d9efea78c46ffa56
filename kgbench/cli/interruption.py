# SPDX-License-Identifier: Apache-2.0
"""Handling of Ctrl-C for all commands that do not handle it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from kgbench.cli.help_format import GroupWithHelp

INTERRUPTED = (
    "kgbench: interrupted; stored data are consistent, and the same command can be repeated"
)


class Commands(GroupWithHelp):
    """The group of all commands; it turns Ctrl-C into one line and exit code 130.

    Commands let :class:`KeyboardInterrupt` pass. To stay consistent, they write the statement that
    makes their other writes count last, and atomically.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments of the command line."""
        with _interruption_reported():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that ``ctx`` names."""
        with _interruption_reported():
            return super().invoke(ctx)


@contextmanager
def _interruption_reported() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(INTERRUPTED, err=True)
        raise typer.Exit(130) from None
