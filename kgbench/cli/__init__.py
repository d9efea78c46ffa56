# SPDX-License-Identifier: Apache-2.0
"""The command line: one thin module per command, nothing heavy imported before it is used.

Exit codes: 0 done, 1 refused or failed with words, 2 wrong usage, 3 a run with dialogues that
failed, 4 a write failed (disk full, quota, read-only), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer

from kgbench.cli.helping import helped
from kgbench.cli.interruption import Commands
from kgbench.errors import KgbenchError, WriteFailed

COMMANDS = (
    "init",
    "run",
    "status",
    "invalidate",
    "reevaluate",
    "import_",
    "judge",
    "review",
    "validate",
    "query",
    "show",
    "dialogues",
    "analyze",
    "compare",
    "plan",
    "plot",
    "reproduce",
    "serve",
    "publish",
    "keys",
    "harvest",
    "disclose",
    "export",
    "store",
    "tasks",
    "models",
    "datasets",
    "doctor",
)


_LISTS: Final = (["-h"], ["--help"])


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


def made(names: Sequence[str] = COMMANDS, *, listed: bool = False) -> typer.Typer:
    """The command line with these of its commands.

    Where they are only ``listed``, commands below them may be missing.
    """
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
        module = import_module(f"kgbench.cli.{name}")
        module.command(made_of)
        if not listed and hasattr(module, "subcommands"):
            module.subcommands()
    return helped(made_of)


def _listing() -> typer.Typer:
    """All commands as their list shows them, without options, which take most of the time."""
    listed = made(listed=True)
    for command in listed.registered_commands:
        command.callback = _described(command.callback)
    for group in listed.registered_groups:
        assert group.typer_instance is not None
        group.typer_instance.registered_commands = []
    return listed


def _described(of: Any) -> Callable[[], None]:
    def command() -> None:
        """Nothing; it stands for ``of``, whose name and description it has."""

    command.__name__, command.__doc__ = of.__name__, of.__doc__
    return command


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what its encoding lacks must end no command
            stream.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:]
        (_listing() if words in _LISTS else made(_wanted(words)))()
    except KgbenchError as error:
        if "--debug" in sys.argv:
            raise
        from kgbench.characters import visible  # a file that is refused may hold anything

        typer.echo(f"kgbench: {visible(str(error))}", err=True)
        raise SystemExit(4 if isinstance(error, WriteFailed) else 1) from None
    except RuntimeError as error:  # of the engine, in rows that were read later
        from kgbench.store.databases import damaged, is_damage

        if "--debug" in sys.argv or not is_damage(error):
            raise
        typer.echo(f"kgbench: {damaged('that is read', error)}", err=True)
        raise SystemExit(1) from None
    except OSError as error:
        from kgbench.files import NO_ROOM

        refused = error.errno in NO_ROOM
        if "--debug" in sys.argv or not (refused or error.filename):
            raise
        place = error.filename or "a file cannot be written"
        typer.echo(f"kgbench: {place}: {error.strerror}", err=True)
        raise SystemExit(4 if refused else 1) from None
