# SPDX-License-Identifier: Apache-2.0
"""The command line: one thin module per command, nothing heavy imported before it is used.

Exit codes: 0 done, 1 refused or failed with words, 2 wrong usage, 3 a run with dialogues that
failed, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from kgbench.cli.interruption import Commands
from kgbench.errors import KgbenchError

COMMANDS = (
    "run",
    "status",
    "invalidate",
    "reevaluate",
    "import_",
    "validate",
    "query",
    "show",
    "analyze",
    "compare",
    "plot",
    "serve",
    "publish",
    "export",
    "store",
    "tasks",
    "models",
    "datasets",
    "doctor",
)


def _version(wanted: bool) -> None:
    if wanted:
        from kgbench import __version__

        typer.echo(f"kgbench {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - acts through its callback
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    context.obj = {"debug": debug}


def made(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command line with these of its commands."""
    made_of = typer.Typer(
        name="kgbench",
        cls=Commands,
        help="Measure how well language models work with knowledge graphs; keep every step as RDF.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made_of.callback()(_root)
    for name in names:
        import_module(f"kgbench.cli.{name}").command(made_of)
    return made_of


@cache
def _whole() -> typer.Typer:
    return made()


def __getattr__(name: str) -> Any:
    if name == "app":  # made when it is asked for: most often one command is enough
        return _whole()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _wanted(words: Sequence[str]) -> Sequence[str]:
    """The one command that the words of a command line begin with, else all."""
    known = {name.rstrip("_"): name for name in COMMANDS}
    return [known[words[0]]] if words and words[0] in known else COMMANDS


def main() -> None:
    """Run the command line; an expected error becomes one message on stderr and exit code 1."""
    try:
        made(_wanted(sys.argv[1:]))()
    except KgbenchError as error:
        if "--debug" in sys.argv:
            raise
        from kgbench.analysis.rendering import visible  # a file that is refused may hold anything

        typer.echo(f"kgbench: {visible(str(error))}", err=True)
        raise SystemExit(1) from None
    except OSError as error:
        if "--debug" in sys.argv or error.filename is None:
            raise
        typer.echo(f"kgbench: {error.filename}: {error.strerror}", err=True)
        raise SystemExit(1) from None
