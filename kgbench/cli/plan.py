# SPDX-License-Identifier: Apache-2.0
"""``kgbench plan``: how many cases and repetitions a claim needs."""

from __future__ import annotations

from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.groups import Output, grouped


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plan")(plan)


@grouped
def plan(
    *,
    detect: Annotated[
        float,
        typer.Option("--detect", metavar="DIFFERENCE", help="The difference of means to find."),
    ],
    power: Annotated[
        float, typer.Option("--power", help="The chance to find it if it is there.")
    ] = 0.8,
    alpha: Annotated[
        float, typer.Option("--alpha", help="The two-sided level of the paired test.")
    ] = 0.05,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="SUITE|RUN", help="Measure variances and effort in these results."
        ),
    ] = None,
    between: Annotated[
        float | None,
        typer.Option("--between", min=0, help="The variance of scores between cases."),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option("--within", min=0, help="The variance between repetitions of a case."),
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(
            "--correlation",
            min=-1,
            max=1,
            help="The correlation of two models over cases; 0 unless it is measured.",
        ),
    ] = None,
    repetitions: Annotated[
        list[int] | None,
        typer.Option(
            "--repetitions",
            metavar="N",
            min=1,
            help="How often each case is asked; repeatable. Default: 1, 2, 4, 8.",
        ),
    ] = None,
    metric: options.Metric = None,
    answers: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = "*",
    store: options.Store = None,
    choice: options.Pass = "first",
    output: Output,
) -> None:
    """Plan how many cases and repetitions find a difference, and what they take.

    Variances are measured in results (--from) or declared (--between and --within). Both models
    are asked the same cases.
    """
    from kgbench.analysis import planning
    from kgbench.store import open_reader

    claim = planning.Claim(detect, power, alpha).checked()
    declared = planning.Declared(between, within, correlation)
    wanted = repetitions or planning.REPETITIONS
    if from_ is None:
        if between is None or within is None:
            raise typer.BadParameter(
                "say where variances are measured, or declare --between and --within",
                param_hint="--from",
            )
        table = planning.plan(claim, declared, repetitions=wanted)
    else:
        with open_reader(store) as opened:
            chosen = planning.source(opened, from_, choice, tasks=task, models=model)
            table = planning.plan_from(
                opened,
                chosen,
                claim,
                declared,
                repetitions=wanted,
                metric=metric,
                answers=answers,
            )
    output.write(table)
