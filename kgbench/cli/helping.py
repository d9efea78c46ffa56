# SPDX-License-Identifier: Apache-2.0
"""What ``--help`` prints: whole option names, words instead of types, options in groups.

It is made here for all commands, from what they declare. A command need not know of it.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, get_args

import typer
from typer.core import TyperCommand, TyperGroup

_WIDEST, _NARROWEST = 100, 60
_NAMES = 28  # columns of names; a longer one has its help on the next line
_MANY = 8  # options from which on they are grouped
_CHOICES = 26  # letters of choices that stand beside the name of an option

_WORDS = {int: "N", float: "NUMBER", Path: "PATH"}

GROUPS: Mapping[str, frozenset[str]] = {
    "Selection": frozenset(
        (
            *("store", "suite", "pass", "run", "task", "model", "round", "metric", "set"),
            *("compass", "comparison", "declared", "common", "name", "iterations", "outcome"),
            *("below", "search", "iterations-per-case", "each", "top"),
        )
    ),
    "Limits": frozenset(
        (
            *("max-cost", "max-tokens", "concurrency", "call-timeout", "timeout", "limit"),
            *("requests-per-minute", "tokens-per-minute", "prices", "wait"),
        )
    ),
    "Output": frozenset(
        (
            *("format", "json", "out", "guard", "crlf", "title", "no-title", "size", "overlay"),
            *("explain", "all", "sort", "details", "points", "flips", "whole-store"),
        )
    ),
}
"""Options by what they are for, without their dashes; others stand under "Options"."""


class Entry(NamedTuple):
    """A line of help: what is typed, and what it means."""

    typed: str
    help: str


class _Helping:
    """Prints the help of a command; mixed into the command classes of typer."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, the description, and arguments, options and commands in groups."""
        width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) - 1
        command: Any = self
        lines = [*_wrapped(f"Usage: {_usage(command, ctx)}", width, "       ")]
        for paragraph in _paragraphs(command.help or ""):
            lines += ["", *_wrapped(paragraph, width)]
        for title, entries in _sections(command, ctx):
            lines += ["", *_panel(title, entries, width)]
        formatter.write("\n".join(lines))


class HelpedCommand(_Helping, TyperCommand):
    """A command with readable help."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read the words of the command line."""
        try:
            return super().make_context(*given, **named)
        except typer.BadParameter as error:  # typer leaves in it what its library for types says
            error.message = error.message.removeprefix("Value error, ")
            raise


class HelpedGroup(_Helping, TyperGroup):
    """A group of commands with readable help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line; without any, print the help on standard error."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)  # typer relies on its own help to print itself
        return super().parse_args(ctx, args)


def helped(app: typer.Typer) -> typer.Typer:
    """The same application; all its commands and groups print readable help."""
    for command in app.registered_commands:
        command.cls = HelpedCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = HelpedGroup
            helped(group.typer_instance)
    return app


def _usage(command: Any, ctx: Any) -> str:
    pieces = [ctx.command_path]
    pieces += [_argument(each) for each in command.params if each.param_type_name == "argument"]
    if any(each.param_type_name == "option" for each in command.params):
        pieces.append("[OPTIONS]")
    if isinstance(command, TyperGroup):
        pieces.append("COMMAND ...")
    return " ".join(pieces)


def _sections(command: Any, ctx: Any) -> Iterator[tuple[str, list[Entry]]]:
    params = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False)]
    arguments = [each for each in params if each.param_type_name == "argument"]
    if arguments:
        yield "Arguments", [Entry(_argument(each), _told(each)) for each in arguments]
    options = [each for each in params if each.param_type_name == "option"]
    grouped: dict[str, list[Entry]] = {"Options": []}
    grouped |= {title: [] for title in GROUPS}
    for option in options:
        title = _group(option) if len(options) > _MANY else "Options"
        grouped.setdefault(title, []).append(Entry(_option(option), _told(option)))
    for title in sorted(grouped, key="Options".__eq__):  # the others keep their order
        if grouped[title]:
            yield title, grouped[title]
    if isinstance(command, TyperGroup):
        commands = [(name, command.get_command(ctx, name)) for name in command.list_commands(ctx)]
        yield (
            "Commands",
            [Entry(name, found.get_short_help_str(400)) for name, found in commands if found],
        )


def _group(option: Any) -> str:
    panel = getattr(option, "rich_help_panel", None)
    names = {name.lstrip("-") for name in option.opts}
    return panel or next((title for title, known in GROUPS.items() if names & known), "Options")


def _argument(argument: Any) -> str:
    name = _metavar(argument) or argument.name.upper()
    name = name.replace("[", "").replace("]", "")
    name += "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    """How an option is typed: ``-m, --model SPEC``."""
    names = sorted(option.opts, key=lambda name: (name.startswith("--"), -len(name)))
    names += option.secondary_opts
    metavar = _metavar(option)
    return " ".join(filter(None, [", ".join(names), metavar]))


def _metavar(param: Any) -> str:
    """What stands for the value: the declared word, choices if they are short, or a plain word."""
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        return ""
    if param.metavar:
        return str(param.metavar)
    choices = _choices(param)
    if choices:
        joined = "|".join(choices)
        return joined if len(joined) <= _CHOICES else str(param.name).strip("_").upper()
    kind = _kind(param)
    return next((word for of, word in _WORDS.items() if issubclass(kind, of)), "TEXT")


def _kind(param: Any) -> type:
    """The type of the value; text where it is none."""
    found = getattr(getattr(param, "type_descriptor", None), "annotation", str)
    while get_args(found):  # of several values, or of one that may be left out
        found = next(each for each in get_args(found) if each is not NoneType)
    return found if isinstance(found, type) else str


def _choices(param: Any) -> list[str]:
    kind = _kind(param)
    return [str(each.value) for each in kind] if issubclass(kind, Enum) else []


def _told(param: Any) -> str:
    """The help of a parameter, with the choices, bounds and default that it does not name."""
    told = " ".join((getattr(param, "help", None) or "").split())
    more = []
    choices = _choices(param)
    if choices and "|".join(choices) not in _metavar(param) and choices[0] not in told:
        more.append(f"One of {', '.join(choices)}.")
    if bounds := _bounds(getattr(param, "min", None), getattr(param, "max", None)):
        more.append(f"{bounds}.")
    default = param.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    if plain and default != "" and "efault" not in told and param.param_type_name == "option":
        more.append(f"Default: {getattr(default, 'value', default)}.")
    variable = getattr(param, "envvar", None)
    if variable and variable not in told:
        more.append(f"Or set {variable}.")
    if param.required and param.param_type_name == "option":
        more.append("Required.")
    return " ".join([told, *more])


def _bounds(low: float | None, high: float | None) -> str:
    if high is None:
        return f"At least {low:g}" if low else ""
    return f"At most {high:g}" if low is None else f"From {low:g} to {high:g}"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if joined := " ".join(paragraph.split()):
            yield joined


def _panel(title: str, entries: Iterable[Entry], width: int) -> Iterator[str]:
    inner = width - 4
    entries = list(entries)
    names = min(_NAMES, max(len(entry.typed) for entry in entries))
    yield f"╭─ {title} {'─' * (width - len(title) - 5)}╮"
    for entry in entries:
        for line in _entry(entry, names, inner):
            yield f"│ {line.ljust(inner)} │"
    yield f"╰{'─' * (width - 2)}╯"


def _entry(entry: Entry, names: int, inner: int) -> Iterator[str]:
    """The lines of an entry: help beside the name, or below one that is too long."""
    told = _wrapped(entry.help, inner - names - 2) or [""]
    if len(entry.typed) <= names:
        yield f"{entry.typed.ljust(names)}  {told[0]}".rstrip()
        told = told[1:]
    else:
        yield from _wrapped(entry.typed, inner, "    ")
    for line in told:
        yield f"{' ' * (names + 2)}{line}".rstrip()


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=True
    )
