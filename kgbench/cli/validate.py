# SPDX-License-Identifier: Apache-2.0
"""``kgbench validate``: check a configuration and print the findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import count, report

if TYPE_CHECKING:
    from kgbench.config import Report


def validate(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A configuration (YAML, JSON or Turtle).")
    ],
    *,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Check a configuration without running it.

    Exits with 1 if the configuration is refused.
    """
    from kgbench import config as configurations

    checked = configurations.check(config)
    data = {
        "accepted": not checked.findings,
        **asdict(checked),
        "requirements": [needed._asdict() for needed in checked.requirements],
    }
    report(data, _accepted(config, checked) if not checked.findings else (), json_=json_)
    if checked.findings:
        refused = f"refused: {count(len(checked.findings), 'finding')}"
        for line in () if json_ else (*checked.findings, refused):
            typer.echo(str(line), err=True)
        raise typer.Exit(1)


def _accepted(config: Path, checked: Report) -> Iterator[str]:
    for note in (*checked.unavailable, *checked.requirements, *checked.lacking):
        yield f"note: {note}"
    per_case = " per case" if checked.per_case else ""
    yield (
        f"accepted: {config}: {count(checked.tasks, 'task')}, {count(checked.models, 'model')}, "
        f"{count(checked.iterations, 'iteration')}{per_case}"
    )
    if checked.unavailable:
        yield f"{len(checked.unavailable)} of them cannot be run here: `kgbench run` skips them"
