# SPDX-License-Identifier: Apache-2.0
"""Help output: complete option names, words instead of type names, rarer options apart.

The help of every command is generated from its typer declaration. Of a command with many options,
``--help`` shows those without a ``rich_help_panel``, and ``--help-all`` the panels of the others,
too.
"""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

_WIDEST, _NARROWEST = 100, 60
_NAMES = 28  # columns for option names; the help of a longer name starts on the next line
_MANY = 9  # options that --help shows without panels
_EVERYTHING = "kgbench: --help-all"  # in the meta data of a context
_CHOICES = 26  # characters; longer lists of choices are not shown beside the option name

_WORDS = {int: "N", float: "NUMBER", Path: "PATH"}


class Entry(NamedTuple):
    """An entry of a help panel: the syntax of a parameter or command, and its description."""

    typed: str
    help: str


class _HelpFormat:
    """Mixin for typer's command classes that formats the help of a command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, the description, and panels of arguments, options and commands."""
        width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) - 1
        command: Any = self
        lines = [*_wrapped(f"Usage: {_usage(command, ctx)}", width, "       ")]
        for paragraph in _paragraphs(command.help or ""):
            lines += ["", *_wrapped(paragraph, width)]
        for title, entries in _sections(command, ctx):
            lines += ["", *_panel(title, entries, width)]
        if (rarer := _rarer(command)) and not ctx.meta.get(_EVERYTHING):
            lines += ["", f"{ctx.command_path} --help-all shows {len(rarer)} more options."]
        formatter.write("\n".join(lines))


class CommandWithHelp(_HelpFormat, TyperCommand):
    """A typer command with kgbench's help format."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with ``--help-all`` if ``--help`` leaves options out."""
        params = super().get_params(ctx)
        return [*params, _help_all()] if _rarer(self) else params

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments of the command line."""
        try:
            return super().make_context(*args, **kwargs)
        except typer.BadParameter as error:  # typer keeps this prefix of pydantic's message
            error.message = error.message.removeprefix("Value error, ")
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; refuse a second value for an option that has only one.

        The parser keeps the last value, so that the command would use less than it was given.
        """
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for param, times in Counter(given).items():
                if times > 1 and isinstance(param, TyperOption) and _has_one_value(param):
                    name = max(param.opts, key=len)
                    message = f"given {times} times, but it has one value: give it once"
                    raise typer.BadParameter(message, ctx=ctx, param_hint=name)
        return super().parse_args(ctx, args)


class GroupWithHelp(_HelpFormat, TyperGroup):
    """A typer command group with kgbench's help format."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help on standard error."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)  # typer would print only its own help format
        return super().parse_args(ctx, args)


def with_help_format(app: typer.Typer) -> typer.Typer:
    """Give all commands and groups of ``app`` kgbench's help format, and return ``app``."""
    for command in app.registered_commands:
        command.cls = CommandWithHelp
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = GroupWithHelp
            with_help_format(group.typer_instance)
    return app


def _rarer(command: Any) -> list[Any]:
    """Return the options of ``command`` that ``--help`` leaves out."""
    options = [param for param in command.params if param.param_type_name == "option"]
    return [each for each in options if each.rich_help_panel] if len(options) > _MANY else []


@cache
def _help_all() -> Any:
    app = typer.Typer(add_completion=False)
    app.command()(_everything)
    (option,) = typer.main.get_command(app).params
    return option


def _show_everything(context: typer.Context, chosen: bool) -> None:
    if chosen and not context.resilient_parsing:
        context.meta[_EVERYTHING] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _everything(
    *,
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            is_eager=True,
            expose_value=False,
            callback=_show_everything,
            help="Show this message with all options.",
        ),
    ] = False,
) -> None:
    """Declare the option."""


def _has_one_value(option: TyperOption) -> bool:
    return not (option.multiple or option.is_flag or option.count)


def _usage(command: Any, ctx: Any) -> str:
    pieces = [ctx.command_path]
    pieces += [_argument(param) for param in command.params if param.param_type_name == "argument"]
    if any(param.param_type_name == "option" for param in command.params):
        pieces.append("[OPTIONS]")
    if isinstance(command, TyperGroup):
        pieces.append("COMMAND ...")
    return " ".join(pieces)


def _sections(command: Any, ctx: Any) -> Iterator[tuple[str, list[Entry]]]:
    params = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    arguments = [param for param in params if param.param_type_name == "argument"]
    if arguments:
        yield "Arguments", [Entry(_argument(param), _description(param)) for param in arguments]
    if isinstance(command, TyperGroup):
        groups: dict[str, list[Entry]] = {}
        for name in command.list_commands(ctx):
            if found := command.get_command(ctx, name):
                entry = Entry(name, found.get_short_help_str(400))
                panel = getattr(found, "rich_help_panel", None) or "Commands"
                groups.setdefault(panel, []).append(entry)
        yield from groups.items()
    rarer = _rarer(command)
    panels: dict[str, list[Entry]] = {"Options": []}
    for option in params:
        if option.param_type_name == "option":
            title = option.rich_help_panel if option in rarer else "Options"
            panels.setdefault(title, []).append(Entry(_option(option), _description(option)))
    yield from panels.items() if ctx.meta.get(_EVERYTHING) else [("Options", panels["Options"])]


def _argument(argument: Any) -> str:
    name = _metavar(argument) or argument.name.upper()
    name = name.replace("[", "").replace("]", "")
    name += "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    """Return the syntax of an option, such as ``-m, --model SPEC``."""
    names = sorted(option.opts, key=lambda name: (name.startswith("--"), -len(name)))
    names += option.secondary_opts
    metavar = _metavar(option)
    return " ".join(filter(None, [", ".join(names), metavar]))


def _metavar(param: Any) -> str:
    """Return the placeholder of a value: the metavar, short choices, or a word for its type."""
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        return ""
    if param.metavar:
        return str(param.metavar)
    choices = _choices(param)
    if choices:
        joined = "|".join(choices)
        return joined if len(joined) <= _CHOICES else str(param.name).strip("_").upper()
    kind = _kind(param)
    return next(
        (word for value_type, word in _WORDS.items() if issubclass(kind, value_type)), "TEXT"
    )


def _kind(param: Any) -> type:
    """Return the type of a parameter's value; ``str`` if it is not a class."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", str)
    while get_args(annotation):  # list[...] or ... | None
        annotation = next(arg for arg in get_args(annotation) if arg is not NoneType)
    return annotation if isinstance(annotation, type) else str


def _choices(param: Any) -> list[str]:
    kind = _kind(param)
    return [str(choice.value) for choice in kind] if issubclass(kind, Enum) else []


def _description(param: Any) -> str:
    """Return the help of a parameter, plus choices, bounds and default that the text omits."""
    text = " ".join((getattr(param, "help", None) or "").split())
    more = []
    choices = _choices(param)
    if "|".join(choices) not in _metavar(param) and not all(name in text for name in choices):
        more.append(f"One of {', '.join(choices)}.")
    if bounds := _bounds(getattr(param, "min", None), getattr(param, "max", None)):
        more.append(f"{bounds}.")
    default = param.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    if plain and default != "" and "efault" not in text and param.param_type_name == "option":
        more.append(f"Default: {getattr(default, 'value', default)}.")
    variable = getattr(param, "envvar", None)
    if variable and variable not in text:
        more.append(f"Or set {variable}.")
    if param.required and param.param_type_name == "option":
        more.append("Required.")
    return " ".join([text, *more])


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
    """Yield the lines of an entry: the help beside the name, or below a long name."""
    lines = _wrapped(entry.help, inner - names - 2) or [""]
    if len(entry.typed) <= names:
        yield f"{entry.typed.ljust(names)}  {lines[0]}".rstrip()
        lines = lines[1:]
    else:
        yield from _wrapped(entry.typed, inner, "    ")
    for line in lines:
        yield f"{' ' * (names + 2)}{line}".rstrip()


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=True
    )
