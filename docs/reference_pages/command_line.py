# SPDX-License-Identifier: Apache-2.0
"""The command line: every command with its arguments and options, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from docs.reference_pages.declared import cell
from kgbench.cli import app

INTRODUCTION = """\
# Command line

This page is generated from the commands. `kgbench COMMAND --help` (`-h`) prints the options that
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


def page() -> str:
    """Return the page in Markdown."""
    lines = [INTRODUCTION]
    for name, found in commands():
        lines.append(f"## {name}\n")
        lines.append(f"{found.help}\n" if found.help else "")
        usage = " ".join([name, *_arguments(found), "[OPTIONS]"])
        lines.append(f"```text\n{usage}\n```\n")
        lines += _table(found)
    return "\n".join(lines)


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
