# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks new`` and ``kgbench tasks check``: for authors of task classes."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.wording import count, tell
from kgbench.tasks.beginnings import Answers, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgbench.testing.checking import Check


def command(group: typer.Typer) -> None:
    """Register the commands with ``kgbench tasks``."""
    group.command("new")(new)
    group.command("check")(check)


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the class: TurtleObjectList.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="FOLDER", help="Where to; default: a new folder called like it."
        ),
    ] = None,
    kind: Annotated[
        Kind, typer.Option("--kind", help="One answer, or a dialogue with feedback.")
    ] = Kind.ANSWER,
    answers: Annotated[
        Answers, typer.Option("--answers", help="Lines of text, or a graph in Turtle.")
    ] = Answers.TEXT,
    json_: options.AsJson = False,
) -> None:
    """Make a package with a new task class, which works as it stands.

    It has a declaration, a prompt, cases, a judge, and a test that passes once it is installed.
    """
    from kgbench.testing import scaffold

    made = scaffold.make(name, folder, kind=kind, answers=answers)
    place = made[0].parent
    if json_:
        written = [path.relative_to(place).as_posix() for path in made]
        typer.echo(json.dumps({"name": name, "folder": str(place), "files": written}, indent=2))
        return
    for path in made:
        tell(str(path))
    tell(f"Check it with: kgbench tasks check {shlex.quote(str(place))}")
    tell(f"Install it with: pip install {shlex.quote(str(place.absolute()))}")


def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="[FOLDER]", help="A task folder, or the folder of a package with some."
        ),
    ] = Path(),
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Check the task classes in FOLDER, installed or not; exit code 1 where something is wrong.

    Looks at declaration, vocabulary, levels, cases, prompts that give the answer away, reference
    answers, and at the judge with 200 hostile answers in a process with limits.
    """
    from kgbench.cli.progress import progress
    from kgbench.testing.checking import check_folder

    found: list[Check] = []
    with progress("checks", None, quiet=json_) as advance:
        for each in check_folder(folder):
            found.append(each)
            advance(len(found), f"{each.task_class}: {each.name}")
    if json_:
        typer.echo(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
    else:
        _say(found)
    if any(each.faults for each in found):
        raise typer.Exit(1)


def _as_json(checks: Sequence[Check]) -> dict[str, object]:
    return {
        "passed": not any(each.faults for each in checks),
        "checks": [
            asdict(each)
            | {
                "file": str(each.file),
                "faults": [fault._asdict() for fault in each.faults],
            }
            for each in checks
        ],
    }


def _say(checks: Sequence[Check]) -> None:
    from kgbench.analysis.rendering import render
    from kgbench.analysis.tables import Column, Table

    by_class: dict[str, list[Check]] = {}
    for each in checks:
        by_class.setdefault(each.task_class, []).append(each)
    if len(by_class) == 1:
        columns = (
            Column("check", "Check"),
            Column("result", "Result"),
            Column("looked_at", "Looked at"),
        )
        rows = tuple((each.name, _result([each]), each.looked_at) for each in checks)
    else:
        columns = (
            Column("class", "Task class"),
            Column("result", "Result"),
            Column("looked_at", "Hostile answers"),
        )
        rows = tuple(
            (name, _result(found), found[-1].looked_at) for name, found in by_class.items()
        )
    title = f"Checks of {next(iter(by_class))}" if len(by_class) == 1 else "Checks"
    typer.echo(render(Table(title, columns, rows), "table"), nl=False)
    for why in dict.fromkeys(
        f"{each.task_class}: not everything is checked: {each.skipped}"
        for each in checks
        if each.skipped is not None
    ):
        tell(why)
    for each in checks:
        for fault in each.faults:
            place = each.file if fault.line is None else f"{each.file}:{fault.line}"
            tell(f"{place}: {each.name}: {fault.message}", err=True)
    faults = sum(len(each.faults) for each in checks)
    classes = count(len(by_class), "task class", "task classes")
    tell(f"{count(faults, 'finding') if faults else 'no findings'} in {classes}", err=bool(faults))


def _result(checks: Sequence[Check]) -> str:
    """What came out of some checks, in two words."""
    faults = sum(len(each.faults) for each in checks)
    if faults:
        return count(faults, "finding")
    skipped = [each for each in checks if each.skipped is not None]
    if len(skipped) == len(checks):
        return "not checked"
    return "partly checked" if skipped else "ok"
