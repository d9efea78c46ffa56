# SPDX-License-Identifier: Apache-2.0
"""``kgbench doctor``: check the installation, API keys, and whether everything works."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.printing import report

if TYPE_CHECKING:
    from kgbench.doctor import Condition

_COLOURS = {"ok": "green", "absent": "bright_black", "note": "yellow", "broken": "red"}


def doctor(
    network: Annotated[
        bool,
        typer.Option(
            "--network",
            help="Also contact the servers named by --store and the environment (no others).",
        ),
    ] = False,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Check the installation, API keys, store, data sets and judging.

    Exits with 1 if something is broken. Nothing is changed and no model is called. Of API keys,
    only the variable names are printed.
    """
    from kgbench.doctor import State, examine
    from kgbench.store import default_location

    conditions: list[Condition] = []
    for condition in examine(store or default_location(), network=network):
        if not json_:
            _print(condition, first=not conditions or conditions[-1].part != condition.part)
        conditions.append(condition)
    broken = sum(condition.state is State.BROKEN for condition in conditions)
    data = {"broken": broken, "conditions": list(map(asdict, conditions))}
    subject = {0: "nothing is", 1: "1 thing is"}.get(broken, f"{broken} things are")
    report(data, [f"\n{subject} broken"], json_=json_)
    if broken:
        raise typer.Exit(1)


def _print(condition: Condition, *, first: bool) -> None:
    if first:
        typer.echo(condition.part)
    state = f"{condition.state.value:6}"
    if "NO_COLOR" not in os.environ:
        state = typer.style(state, fg=_COLOURS[condition.state.value])
    typer.echo(f"  {state}  {condition.name:14}  {condition.words}")
    if condition.advice is not None:
        typer.echo(f"{'':26}{condition.advice}")
