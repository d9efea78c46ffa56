# SPDX-License-Identifier: Apache-2.0
"""``kgbench validate``: check a configuration and print the findings."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import count

if TYPE_CHECKING:
    from kgbench.config import Report


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("validate")(validate)


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

    report = configurations.check(config)
    if json_:
        typer.echo(json.dumps(_as_json(report), indent=2, ensure_ascii=False))
    else:
        _print(config, report)
    if report.findings:
        raise typer.Exit(1)


def _as_json(report: Report) -> dict[str, object]:
    return {
        "accepted": not report.findings,
        "findings": [asdict(finding) for finding in report.findings],
        "unavailable": [asdict(finding) for finding in report.unavailable],
        "requirements": [needed._asdict() for needed in report.requirements],
        "lacking": report.lacking,
        "tasks": report.tasks,
        "models": report.models,
        "iterations": report.iterations,
        "per_case": report.per_case,
    }


def _print(config: Path, report: Report) -> None:
    for finding in report.findings:
        typer.echo(str(finding), err=True)
    if report.findings:
        typer.echo(f"refused: {count(len(report.findings), 'finding')}", err=True)
        return
    for finding in report.unavailable:
        typer.echo(f"note: {finding}")
    for note in (*report.requirements, *report.lacking):
        typer.echo(f"note: {note}")
    per_case = " per case" if report.per_case else ""
    typer.echo(
        f"accepted: {config}: {count(report.tasks, 'task')}, {count(report.models, 'model')}, "
        f"{count(report.iterations, 'iteration')}{per_case}"
    )
    if report.unavailable:
        typer.echo(
            f"{len(report.unavailable)} of them cannot be run here: `kgbench run` skips them"
        )
