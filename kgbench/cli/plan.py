# SPDX-License-Identifier: Apache-2.0
"""``kgbench plan``: calculate how many cases and repetitions a claim needs."""

from __future__ import annotations

from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.option_groups import Output, grouped


@grouped
def plan(
    *,
    detect: Annotated[
        float,
        typer.Option(
            metavar="DIFFERENCE",
            help="The difference of means to detect; needs --from, or --between and --within.",
        ),
    ],
    power: Annotated[
        float, typer.Option(help="The probability of detecting it if it exists.")
    ] = 0.8,
    alpha: Annotated[
        float, typer.Option(help="The two-sided significance level of the paired test.")
    ] = 0.05,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="SUITE|RUN", help="Estimate variances and effort from these results."
        ),
    ] = None,
    between: Annotated[
        float | None,
        options.rarer("Assumptions", min=0, help="The variance of scores between cases."),
    ] = None,
    within: Annotated[
        float | None,
        options.rarer("Assumptions", min=0, help="The variance between repetitions of a case."),
    ] = None,
    correlation: Annotated[
        float | None,
        options.rarer(
            "Assumptions",
            min=-1,
            max=1,
            help="The correlation of two models over cases. Default: measured, else 0.",
        ),
    ] = None,
    repetitions: Annotated[
        list[int] | None,
        options.rarer(
            "Assumptions",
            metavar="N",
            min=1,
            help="How often each case is run; repeatable. Default: 1, 2, 4, 8.",
        ),
    ] = None,
    metric: options.Metric = None,
    round: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    store: options.Store = None,
    pass_: options.Pass = options.FIRST,
    output: Output,
) -> None:
    """Calculate how many cases and repetitions detect a difference, and their effort.

    Variances are estimated from results (--from) or given (--between and --within). Both models
    run the same cases.
    """
    from kgbench.analysis import planning
    from kgbench.store import open_reader

    claim = planning.Claim(detect, power, alpha).checked()
    declared = planning.DeclaredVariances(between, within, correlation)
    counts = repetitions or planning.REPETITIONS
    if from_ is None:
        if between is None or within is None:
            raise typer.BadParameter(
                "variances are needed: name a suite or run with results to estimate them from, "
                "such as --from kgbench-1, or give --between and --within",
                param_hint="--from",
            )
        table = planning.plan(claim, declared, repetitions=counts)
    else:
        with open_reader(store) as opened:
            chosen = planning.source(opened, from_, pass_, tasks=task, models=model or "*")
            table = planning.plan_from(
                opened,
                chosen,
                claim,
                declared,
                repetitions=counts,
                metric=metric,
                round=round,
            )
    output.write(table)
