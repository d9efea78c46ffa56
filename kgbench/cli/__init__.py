# SPDX-License-Identifier: Apache-2.0
"""The command line: thin modules of one or two commands, which import heavy packages in functions.

A module has a function named after its command, or the ``group`` of its subcommands, of which a
function ``subcommands(words)`` may yield more. Plug-ins add commands by entry points of the group
``kgbench.commands``: modules with a function ``command(app)`` and, if they belong to one of
:data:`PANELS`, its name in ``PANEL``.

Exit codes: 0 success, 1 refused or failed with a message, 2 wrong usage, 3 a run with unfinished
dialogues, 4 a write failed (disk full, quota, read-only), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer

from kgbench import entry_points
from kgbench.cli import plug_ins
from kgbench.cli.commands import Commands, with_help_format
from kgbench.errors import KgbenchError, WriteFailed

PANELS = {
    "Run": ("init", "validate", "run", "status"),
    "Look at results": (
        "leaderboard",
        "compare",
        "analyze",
        "dialogues",
        "show",
        "plot",
        "query",
        "plan",
        "view",
    ),
    "Judge again": ("reevaluate", "invalidate"),
    "Show to others": ("serve", "publish", "export", "keys"),
    "Tasks, models and data": (
        "tasks",
        "models",
        "datasets",
        "import_",
        "store",
        "doctor",
    ),
}
"""The commands, in the order of their list; most are in the module of the same name."""
_MODULES: Final = {
    "init": "configurations",
    "validate": "configurations",
    "leaderboard": "analyze",
    "compare": "analyze",
    "show": "dialogues",
    "invalidate": "reevaluate",
    "view": "serve",
}
"""The modules of the other commands."""

COMMANDS = tuple(name for names in PANELS.values() for name in names)
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_KNOWN: Final = {name.rstrip("_"): name for name in COMMANDS}
_GROUP: Final = "kgbench.commands"  # of plug-ins
_OTHERS: Final = "Of plug-ins"  # the panel of a command that names none

_LISTS: Final = (["-h"], ["--help"])


def _version(requested: bool) -> None:
    if requested:
        from kgbench import __version__

        typer.echo(f"kgbench {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[  # noqa: ARG001 - acts through its callback
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    context.obj = {"debug": debug}


def build_app(
    names: Sequence[str] | None = None, *, words: Sequence[str] = (), listed: bool = False
) -> typer.Typer:
    """Build the command line with the commands ``names``, or with all.

    With ``listed``, subcommands may be missing: enough for the list of commands. With the
    ``words`` after a command, subcommands that they do not begin with may lack options.
    """
    modules = {name: _module(name) for name in (COMMANDS if names is None else names)}
    if names is None:
        modules |= plug_ins.usable(_GROUP, _KNOWN)
    root = typer.Typer(
        name="kgbench",
        cls=Commands,
        help="Measure how well language models work with knowledge graphs; keep every step as RDF.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_root)
    panels = {}
    for name, module in modules.items():
        if name not in COMMANDS:
            module.command(root)
        elif hasattr(module, name):
            root.command(name)(getattr(module, name))
        else:
            root.add_typer(_group(module, None if listed else words), name=name.rstrip("_"))
        panels[name.rstrip("_")] = _PANEL_OF.get(name) or getattr(module, "PANEL", _OTHERS)
    registered: list[Any] = [*root.registered_commands, *root.registered_groups]
    for each in registered:
        each.rich_help_panel = panels.get(each.name, _OTHERS)
    return with_help_format(root)


def _module(name: str) -> Any:
    """Return the module of a command."""
    if name in COMMANDS:
        return import_module(f"kgbench.cli.{_MODULES.get(name, name)}")
    return plug_ins.load(_GROUP, name, _KNOWN)


def _group(module: Any, words: Sequence[str] | None) -> typer.Typer:
    """Return the subcommands of a module, without those that are made anew if ``words`` is none."""
    group: typer.Typer = copy(module.group)
    group.registered_commands = list(group.registered_commands)
    if words is not None and hasattr(module, "subcommands"):
        for each in module.subcommands(words):
            named = group.command(each.name, help=each.help, rich_help_panel=each.panel)
            named(each.function)
    return group


def _listing() -> typer.Typer:
    """Build the command line for its list of commands: without options, which take most time."""
    listed = build_app(listed=True)
    for command in listed.registered_commands:
        command.callback = _placeholder(command.callback)
    for group in listed.registered_groups:
        assert group.typer_instance is not None
        group.typer_instance.registered_commands = []
    return listed


def _placeholder(command: Any) -> Callable[[], None]:
    """Return an empty function with the name and docstring of ``command``."""

    def placeholder() -> None:
        """Do nothing."""

    placeholder.__name__, placeholder.__doc__ = command.__name__, command.__doc__
    return placeholder


@cache
def _app() -> typer.Typer:
    return build_app()


def __getattr__(name: str) -> Any:
    if name == "app":  # built on first use: most invocations need one command only
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _requested_commands(words: Sequence[str]) -> Sequence[str] | None:
    """Return the command that a command line begins with; ``None``, for all, if there is none."""
    if not words:
        return None
    if words[0] in _KNOWN:
        return [_KNOWN[words[0]]]
    return [words[0]] if words[0] in entry_points.names(_GROUP) else None


def main() -> None:
    """Run the command line; print an expected error as one message on stderr and exit with 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # unencodable characters must not end a command
            stream.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:]
        requested = _requested_commands(words)
        app = (
            _listing()
            if words in _LISTS
            else build_app(requested, words=(words[1:] or [""]) if requested else ())
        )
        app(prog_name="kgbench")  # also in a child, which `python -m kgbench` starts
    except KgbenchError as error:
        if "--debug" in sys.argv:
            raise
        from kgbench.characters import visible  # messages may quote hostile files

        typer.echo(f"kgbench: {visible(str(error))}", err=True)
        raise SystemExit(4 if isinstance(error, WriteFailed) else 1) from None
    except RuntimeError as error:  # raised by pyoxigraph while rows are read lazily
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
        subject = error.filename or "a file cannot be written"
        typer.echo(f"kgbench: {subject}: {error.strerror}", err=True)
        raise SystemExit(4 if refused else 1) from None
