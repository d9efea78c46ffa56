# SPDX-License-Identifier: Apache-2.0
"""The command line: a page for each command with its arguments and options, from the commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from docs.reference_pages.declared import cell
from kgbench.cli import app

INTRODUCTION = """\
# Command line

These pages are generated from the commands. `kgbench COMMAND --help` (`-h`) prints the options that
people use most, `--help-all` all of them. Before the command, `kgbench` accepts `--debug` (which
shows the traceback of an error), `--version`, and the options of
[shell completion](../tutorial.md#shell-completion).

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | refused or failed, with a message |
| 2 | wrong usage |
| 3 | a run with unfinished dialogues |
| 4 | a write failed (disk full, quota, read-only) |
| 130 | interrupted |
"""


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every executable command with its full name, such as ``kgbench store copy``."""
    yield from _below("kgbench", typer.main.get_command(app))


def _below(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(found, "commands", {})
    if not inner or found.invoke_without_command:
        yield name, found
    for each in sorted(inner):
        yield from _below(f"{name} {each}", inner[each])


def flags(parameter: Any) -> list[str]:
    """Return how an option is written, its negation included."""
    return [*parameter.opts, *parameter.secondary_opts]


def command_pages() -> dict[str, str]:
    """Return the index of the commands, and one page for each command or group of commands."""
    found = {"reference/command-line.md": INTRODUCTION + "\n| command | does |\n|---|---|\n"}
    for name, command in sorted(typer.main.get_command(app).commands.items()):  # type: ignore[attr-defined]
        first = (command.help or "").split("\n\n")[0]
        found["reference/command-line.md"] += f"| [{name}](commands/{name}.md) | {cell(first)} |\n"
        found[path(name)] = "\n".join(_sections(f"kgbench {name}", command))
    return found


def names() -> Iterator[str]:
    """Yield the names of the commands and of the groups of commands."""
    yield from typer.main.get_command(app).commands  # type: ignore[attr-defined]


def path(name: str) -> str:
    """Return the path, below ``docs/``, of the page about the command ``name``."""
    return f"reference/commands/{name}.md"


def _sections(name: str, command: Any) -> Iterator[str]:
    several = getattr(command, "commands", None)
    yield f"# {name}\n"
    if several:
        yield f"{command.help}\n"
    for full, found in _below(name, command):
        if several:
            yield f"## {full}\n"
        yield f"{found.help}\n" if found.help else ""
        usage = " ".join([full, *_arguments(found), "[OPTIONS]"])
        yield f"```text\n{usage}\n```\n"
        yield from _table(found)


def _arguments(found: Any) -> Iterator[str]:
    for parameter in found.params:
        if parameter.param_type_name == "argument":
            word = (parameter.metavar or parameter.name or "").upper().strip("[]").rstrip(".")
            several = "..." if parameter.nargs == -1 or parameter.multiple else ""
            yield f"{word}{several}" if parameter.required else f"[{word}{several}]"


def _table(found: Any) -> Iterator[str]:
    yield "| argument, option | does | default |\n|---|---|---|"
    for parameter in found.params:
        if parameter.param_type_name == "argument":
            shown = f"`{(parameter.metavar or parameter.name or '').upper()}`"
        else:
            shown = ", ".join(f"`{flag}`" for flag in flags(parameter))
        yield f"| {shown} | {cell(parameter.help or '')} | {_default(parameter)} |"
    yield ""


def _default(parameter: Any) -> str:
    """Return the value of an option that is not given; what a place decides is not told."""
    value = parameter.default
    if value is None or callable(value) or value in ((), [], "", False) or parameter.required:
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`"
    return f"`{value}`"
