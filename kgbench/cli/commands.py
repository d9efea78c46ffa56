# SPDX-License-Identifier: Apache-2.0
"""What all commands have beyond typer's: help for readers, groups of options, an end on Ctrl-C.

Help has words instead of Python types. Of a command with many options, ``--help`` shows those
without a ``rich_help_panel``, and ``--help-all`` the panels of the others, too.

Several commands share a group of options (:class:`Group`), a dataclass whose fields are typer
options. A command decorated with :func:`grouped` declares a parameter of that type; the command
line shows the fields instead.

Native code reacts neither to Ctrl-C nor to a time limit before it returns. So commands that read
what others made run in a child process, which this one ends: :func:`supervised`.
"""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache, wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from kgbench.children import lockdown
from kgbench.children.child import command

_WIDEST, _NARROWEST = 100, 60
_MANY = 9  # options that --help shows without panels
_EVERYTHING = "kgbench: --help-all"  # in the meta data of a context
_CHOICES = 26  # characters; longer lists of choices stand in the help text

_WORDS = {int: "N", float: "N", Path: "PATH"}
INTERRUPTED = (
    "kgbench: interrupted; stored data are consistent, and the same command can be repeated"
)

_READERS: Final = frozenset(("harvest", "import", "datasets"))  # of what others made
_SUPERVISOR: Final = "KGBENCH_SUPERVISOR"  # the process that ends this one
_PATIENCE: Final = 0.4  # seconds that a child has to end by itself after Ctrl-C
_GRACE: Final = 0.5  # seconds beyond a time limit, in which a command may report it by itself
_SHOW_CURSOR: Final = "\x1b[?25h"  # an ended progress bar leaves it hidden


class _HelpFormat:
    """Mixin for typer's command classes that prepares what typer prints."""

    help: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters as help shows them, ``--help-all`` included where it is needed."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        rarer = _rarer(self)
        for param in params:
            _describe(param)
            if param not in rarer and param.param_type_name == "option":
                param.rich_help_panel = None
        return [*params, _help_all()] if rarer else params

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, in lines that can be read on wide and narrow terminals."""
        from typer import rich_utils

        paragraphs = (self.help or "").split("\n\n")
        self.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        everything = ctx.meta.get(_EVERYTHING, False)
        rarer = _rarer(self)
        for option in rarer:
            option.hidden = not everything
        columns = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))
        unlimited, rich_utils.MAX_WIDTH = rich_utils.MAX_WIDTH, columns
        super().format_help(ctx, formatter)  # type: ignore[misc]
        rich_utils.MAX_WIDTH = unlimited  # of errors
        if rarer and not everything:
            typer.echo(f"{ctx.command_path} --help-all shows {len(rarer)} more options.")


class CommandWithHelp(_HelpFormat, TyperCommand):
    """A typer command with kgbench's help."""

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
    """A typer command group with kgbench's help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help on standard error."""
        with redirect_stdout(sys.stdout if args else sys.stderr):
            return super().parse_args(ctx, args)


def with_help_format(app: typer.Typer) -> typer.Typer:
    """Give all commands and groups of ``app`` kgbench's help, and return ``app``."""
    for each in app.registered_commands:
        each.cls = CommandWithHelp
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
    _describe(option)
    return option


def _show_everything(context: typer.Context, chosen: bool) -> None:
    if chosen and not context.resilient_parsing:
        context.meta[_EVERYTHING] = True
        context.get_help()
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


def _describe(param: Any) -> None:
    """Give a parameter a word for its type, and a help text with its bounds and choices."""
    if param.param_type_name == "argument":
        param.display_type_rich = lambda ctx: ""  # noqa: ARG005 - else the Python type
        if param.metavar is not None:
            param.metavar = param.metavar.replace("[", "").replace("]", "").removesuffix("...")
    param.show_default = param.show_default and "efault" not in (param.help or "")
    if param._get_number_range_help_str():  # noqa: SLF001 - typer has no other name
        param.help += f" {_bounds(param.min, param.max)}."
        param._get_number_range_help_str = lambda: None  # noqa: SLF001 - leaves the help no room
    if param.metavar is not None:
        return
    kind = _kind(param)
    choices = [str(choice.value) for choice in kind] if issubclass(kind, Enum) else []
    joined = "|".join(choices)
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        param.metavar = ""
    elif choices and len(joined) <= _CHOICES:
        param.metavar = joined
    elif choices or param.param_type_name == "argument":
        param.metavar = str(param.name).strip("_").upper()
        if not all(name in param.help for name in choices):
            param.help += f" One of {', '.join(choices)}."
    else:
        words = (word for value_type, word in _WORDS.items() if issubclass(kind, value_type))
        param.metavar = next(words, "TEXT")


def _bounds(low: float | None, high: float | None) -> str:
    if high is None:
        return f"At least {low:g}"
    return f"At most {high:g}" if low is None else f"From {low:g} to {high:g}"


def _kind(param: Any) -> type:
    """Return the type of a parameter's value; ``str`` if it is not a class."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", str)
    while get_args(annotation):  # list[...] or ... | None
        annotation = next(arg for arg in get_args(annotation) if arg is not NoneType)
    return annotation if isinstance(annotation, type) else str


class Group:
    """Base class of groups of options."""

    __slots__ = ()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace parameters of ``command`` that are groups by the options of the groups.

    The result takes only keyword arguments, named after the options.
    """
    groups: dict[str, Any] = {}
    flattened: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Group):
            groups[parameter.name] = parameter.annotation
            flattened += _options(parameter.annotation)
        else:
            flattened.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def wrapper(**kwargs: Any) -> None:
        for name, group in groups.items():
            kwargs[name] = group(**{field.name: kwargs.pop(field.name) for field in fields(group)})
        command(**kwargs)

    wrapper.__signature__ = inspect.Signature(flattened)  # type: ignore[attr-defined]
    return wrapper


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return [
        inspect.Parameter(
            field.name,
            kind,
            default=empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


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


def supervised(words: Sequence[str]) -> int | None:
    """Run the command line ``words`` in a child if it reads what others made.

    Returns its exit code, or ``None`` if this process is to run the command. On Ctrl-C the child
    has a moment to end by itself. Its temporary files are removed however it ends.
    """
    if _is_supervised():
        lockdown.die_with_parent(os.getppid())
        return None
    reads = bool(words) and (words[0] in _READERS or (words[0] == "publish" and "--check" in words))
    if not reads:
        return None
    with tempfile.TemporaryDirectory(prefix="kgbench-", ignore_cleanup_errors=True) as scratch:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {"PYTHONPATH": path, "TMPDIR": scratch, _SUPERVISOR: str(os.getpid())}
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command("kgbench", *words), env=os.environ | environment
        )
        try:
            return _exit_code(child.wait())
        except KeyboardInterrupt:
            return _interrupted(child)


def end_after(seconds: float) -> None:
    """End a supervised command ``seconds`` from now, whatever it does."""
    if _is_supervised():
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)


def _is_supervised() -> bool:
    return os.environ.get(_SUPERVISOR) == str(os.getppid())


def _interrupted(child: subprocess.Popen[bytes]) -> int:
    try:
        return _exit_code(child.wait(_PATIENCE))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    _report(INTERRUPTED)
    return 130


def _exit_code(status: int) -> int:
    """Return the exit code for the status of a child; report its end at the time limit."""
    if status == -signal.SIGALRM:
        _report("kgbench: the time limit is over, and nothing was half written: raise --seconds")
        return 1
    return status if status >= 0 else 128 - status


def _report(message: str) -> None:
    typer.echo(f"{_SHOW_CURSOR if sys.stderr.isatty() else ''}{message}", err=True)
