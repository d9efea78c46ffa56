# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks new`` and ``kgbench tasks check``: commands for authors of task classes."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgbench.cli import options
from kgbench.cli.messages import count, echo_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgbench.testing.checking import Check


def command(group: typer.Typer) -> None:
    """Register the commands with ``kgbench tasks``."""
    group.command("new")(new)
    group.command("check")(check)


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the class, such as TurtleObjectList.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="The folder to create. Default: named after the class.",
        ),
    ] = None,
    kind: Annotated[
        Literal["answer", "dialogue"],
        typer.Option("--kind", help="One answer, or a dialogue with feedback."),
    ] = "answer",
    answers: Annotated[
        Literal["text", "graph"],
        typer.Option("--answers", help="Lines of text, or a graph in Turtle."),
    ] = "text",
    json_: options.AsJson = False,
) -> None:
    """Create a package with a new, working task class.

    The package has a declaration, a prompt, cases, a judge, and a test that passes once it is
    installed.
    """
    from kgbench.testing import scaffold

    files = scaffold.make(name, folder, kind=kind, answers=answers)
    package = files[0].parent
    if json_:
        written = [path.relative_to(package).as_posix() for path in files]
        typer.echo(json.dumps({"name": name, "folder": str(package), "files": written}, indent=2))
        return
    for path in files:
        echo_visible(str(path))
    echo_visible(f"Check it with: kgbench tasks check {shlex.quote(str(package))}")
    echo_visible(f"Install it with: pip install {shlex.quote(str(package.absolute()))}")


def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="[FOLDER]", help="A task folder, or the folder of a package with task folders."
        ),
    ] = Path(),
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Check the task classes in FOLDER, installed or not.

    Exits with 1 if there are findings. Checks the declaration, vocabulary, levels, cases, prompts
    that reveal the answer, reference answers, and the judge, with 200 hostile answers in a
    restricted process.
    """
    from kgbench.cli.progress import progress
    from kgbench.testing.checking import check_folder

    checks: list[Check] = []
    with progress("checks", None, quiet=json_) as advance:
        for result in check_folder(folder):
            checks.append(result)
            advance(len(checks), f"{result.task_class}: {result.name}")
    if json_:
        typer.echo(json.dumps(_as_json(checks), indent=2, ensure_ascii=False))
    else:
        _print(checks)
    if any(result.faults for result in checks):
        raise typer.Exit(1)


def _as_json(checks: Sequence[Check]) -> dict[str, object]:
    return {
        "passed": not any(check_.faults for check_ in checks),
        "checks": [
            asdict(check_)
            | {
                "file": str(check_.file),
                "faults": [fault._asdict() for fault in check_.faults],
            }
            for check_ in checks
        ],
    }


def _print(checks: Sequence[Check]) -> None:
    from kgbench.tables import Column, Table
    from kgbench.tables.rendering import render

    by_class: dict[str, list[Check]] = {}
    for check_ in checks:
        by_class.setdefault(check_.task_class, []).append(check_)
    if len(by_class) == 1:
        columns = (
            Column("check", "Check"),
            Column("result", "Result"),
            Column("looked_at", "Looked at"),
        )
        rows = tuple((check_.name, _result([check_]), check_.looked_at) for check_ in checks)
    else:
        columns = (
            Column("class", "Task class"),
            Column("result", "Result"),
            Column("looked_at", "Hostile answers"),
        )
        rows = tuple(
            (name, _result(class_checks), class_checks[-1].looked_at)
            for name, class_checks in by_class.items()
        )
    title = f"Checks of {next(iter(by_class))}" if len(by_class) == 1 else "Checks"
    typer.echo(render(Table(title, columns, rows), "table"), nl=False)
    for reason in dict.fromkeys(
        f"{check_.task_class}: not everything is checked: {check_.skipped}"
        for check_ in checks
        if check_.skipped is not None
    ):
        echo_visible(reason)
    for check_ in checks:
        for fault in check_.faults:
            location = check_.file if fault.line is None else f"{check_.file}:{fault.line}"
            echo_visible(f"{location}: {check_.name}: {fault.message}", err=True)
    faults = sum(len(check_.faults) for check_ in checks)
    classes = count(len(by_class), "task class", "task classes")
    echo_visible(
        f"{count(faults, 'finding') if faults else 'no findings'} in {classes}", err=bool(faults)
    )


def _result(checks: Sequence[Check]) -> str:
    """Summarise the result of checks in two words."""
    faults = sum(len(check_.faults) for check_ in checks)
    if faults:
        return count(faults, "finding")
    skipped = [check_ for check_ in checks if check_.skipped is not None]
    if len(skipped) == len(checks):
        return "not checked"
    return "partly checked" if skipped else "ok"
