# SPDX-License-Identifier: Apache-2.0
"""``kgbench compare``: compare two models, runs or evaluation passes."""

from __future__ import annotations

from typing import Annotated

import typer

from kgbench.analysis.registry import check_estimand
from kgbench.cli import options
from kgbench.cli.messages import report
from kgbench.cli.option_groups import Output, grouped


@grouped
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model, run or evaluation pass.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another of the same kind.")],
    *,
    metric: options.Metric = None,
    round: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    flips: Annotated[
        bool, typer.Option("--flips", help="List the cases that only one side solved.")
    ] = False,
    solved: Annotated[
        float, options.rarer("Scores", help="The minimum score of a solved dialogue.")
    ] = 0.5,
    estimand: Annotated[
        str,
        options.rarer(
            "Scores",
            metavar="NAME",
            help="The population of intervals and tests: cases (of this kind), repetitions (of "
            "these cases), tasks (of this kind), or dialogues (as if independent); available "
            "stands for cases, or repetitions where a task has one case.",
            callback=check_estimand,
        ),
    ] = "available",
    margin: Annotated[
        float | None,
        typer.Option(min=0, help="Also test whether A and B differ by less than this."),
    ] = None,
    samples: Annotated[
        int, options.rarer("Tests", min=1, help="Bootstrap samples (dialogues).")
    ] = 10_000,
    seed: Annotated[
        int, options.rarer("Tests", min=0, help="Seed of the bootstrap (dialogues).")
    ] = 0,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
    output: Output,
) -> None:
    """Compare two models, two runs or two evaluation passes, task by task.

    Answers to the same cases are paired; a note says where the sides share no case.
    With --json, two passes are compared value by value, in the format of `reevaluate --json`.
    """
    from kgbench.analysis import compare as analysis
    from kgbench.analysis.matching import matches, select_sides
    from kgbench.analysis.passes import compare_passes
    from kgbench.analysis.registry import OptionRefused
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        try:
            a, b, chosen = select_sides(
                opened,
                first,
                second,
                suite=suite,
                pass_=pass_,
                run=run,
                tasks=task,
                models=model or "*",
            )
        except OptionRefused as refused:
            hint = {"models": "--model", "run": "--run"}[refused.name]
            raise typer.BadParameter(refused.reason, param_hint=hint) from None
        if output.json_ and a.kind == "pass" and not flips:
            report(compare_passes(opened, chosen, a.iri, b.iri).report(), (), json_=True)
            return
        pairs = matches(opened, chosen, a, b, metric=metric, round=round)
        table = (
            analysis.flips(pairs, a, b, estimand=estimand, solved=solved)
            if flips
            else analysis.compare(
                pairs,
                a,
                b,
                estimand=estimand,
                margin=margin,
                solved=solved,
                samples=samples,
                seed=seed,
            )
        )
    output.write(table)
