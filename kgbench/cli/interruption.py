# SPDX-License-Identifier: Apache-2.0
"""What Ctrl-C does in every command that does not deal with it by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from kgbench.cli.helping import HelpedGroup

WORDS = "kgbench: interrupted; what was stored is whole, and the same command may be given again"


class Commands(HelpedGroup):
    """The group of all commands: an interruption of any of them is one line and exit code 130.

    Commands need do nothing for that but let :class:`KeyboardInterrupt` pass, and write last and
    at once what makes the rest count.
    """

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read the words of the command line."""
        with _in_words():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that ``ctx`` names."""
        with _in_words():
            return super().invoke(ctx)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(WORDS, err=True)
        raise typer.Exit(130) from None
