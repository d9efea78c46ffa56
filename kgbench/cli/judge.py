# SPDX-License-Identifier: Apache-2.0
"""``kgbench judge``: ask models, by a declared rubric, about stored dialogues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import completing, options
from kgbench.cli.calibrating import Calibrate, calibrated, needs_asking
from kgbench.cli.groups import Limits, grouped
from kgbench.cli.wording import count, tell

if TYPE_CHECKING:
    from kgbench.engine import Progress
    from kgbench.store.protocol import Store


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("judge")(judge)


@grouped
def judge(
    *,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run whose dialogues are judged: its id, IRI or label; default: the newest.",
            autocompletion=completing.runs,
        ),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric", metavar="NAME", help="What is asked; without it, the rubrics are listed."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A judge, such as openai:NAME@http://host/v1; repeatable.",
            autocompletion=completing.models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    judged: options.JudgedGlobs = None,
    sample: options.JudgedSample = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the sample and of the order of options.")
    ] = 0,
    repeat: Annotated[
        int, typer.Option("--repeat", metavar="K", min=1, help="Ask each judge so often.")
    ] = 1,
    limits: Limits,
    calibrate: Annotated[
        Calibrate,
        typer.Option(
            "--calibrate",
            help="Ask each judge the rubric's calibration set first, and refuse or warn where it "
            "judges otherwise than at first; no: do not.",
        ),
    ] = Calibrate.REFUSE,
    new: Annotated[
        bool, typer.Option("--new", help="Ask all over again, in a new run of judges.")
    ] = False,
    store: options.Store = None,
    preflight: options.Preflight = True,
    json_: options.AsJson = False,
) -> None:
    """Ask judges about the dialogues of a run, or continue: no verdict is asked for twice.

    The judges' answers are a run of their own, in the suite 'judgements'; the run that they judge
    stays as it is. It ends with how far the judges agree (`kgbench analyze agreement`).
    """
    import asyncio  # 20 ms, which no other command needs

    from kgbench.cli.run import hold
    from kgbench.engine import Settings
    from kgbench.engine.plans import continued
    from kgbench.judges.dialogues import newest_judgeable
    from kgbench.judges.planning import Judging, judging_plan, questions
    from kgbench.judges.rubrics import rubric as rubric_called
    from kgbench.record import reading
    from kgbench.run_selection import Selection
    from kgbench.store import open_existing

    if rubric is None:
        _list_rubrics(json_=json_)
        return
    if not model:
        raise typer.BadParameter("name a judge: a model such as baseline:oracle", param_hint="-m")
    wanted = limits.chosen()
    judging = Judging(
        rubric_called(rubric),
        Selection(tuple(task or ()), tuple(judged or ())),
        sample,
        seed,
        repeat,
    )
    with open_existing(store) as opened:
        of = newest_judgeable(opened) if run is None else reading.find_run(opened, run)
        asked = questions(opened, of, judging)
        plan = judging_plan(of, judging, model, **wanted)
        before = continued(opened, plan, None, new=new)
        planned = sum(map(len, asked.exercises.values())) * len(plan.models) * plan.iterations
        if needs_asking(opened, None if before is None else before.graph, planned) and (
            not calibrated(opened, judging.rubric, model, calibrate, wanted)
        ):
            raise typer.Exit(3)
        settings = Settings(
            run=before,
            preflight=(lambda line: typer.echo(line, err=True)) if preflight else None,
        )
        done = asyncio.run(hold(opened, plan, settings, quiet=json_, given=asked))
        _report(opened, of.iri, done, json_=json_)
    if done.interrupted:
        raise typer.Exit(130)
    if not done.finished:
        raise typer.Exit(3)


def _list_rubrics(*, json_: bool) -> None:
    from kgbench.judges.rubrics import rubrics

    if json_:
        listed = [
            {
                "name": one.name,
                "version": one.version,
                "iri": one.iri,
                "kind": one.kind,
                "label": one.label,
                "options": [option.name for option in one.options],
            }
            for one in rubrics().values()
        ]
        typer.echo(json.dumps(listed, indent=2))
        return
    for one in rubrics().values():
        typer.echo(f"{one.name:<14}{one.kind:<10}{one.label}")


def _report(store: Store, judged: str, done: Progress, *, json_: bool) -> None:
    from kgbench.analysis.judge_agreement import agreement
    from kgbench.analysis.rendering import render
    from kgbench.analysis.run_totals import totals
    from kgbench.analysis.selection import select
    from kgbench.cli.run_report import tell_progress
    from kgbench.cli.totals import sentence
    from kgbench.record import reading

    run = reading.find_run(store, done.run)
    table = agreement(store, select(store, run=judged), samples=_SAMPLES)
    spent = totals(store, run)
    if json_:
        said = {
            "run": done.run,
            "judged": judged,
            "planned": done.planned,
            "complete": done.before + done.complete,
            "failed": done.failed,
            "interrupted": done.interrupted,
            "limit": done.limit,
            "failures": done.failures,
            "totals": spent,
            "agreement": json.loads(render(table, "json")),
        }
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    typer.echo(render(table, "table"), nl=False)
    tell_progress(store, done)
    typer.echo(f"total  {sentence(spent)}")
    tell(f"run    {done.run} ({run.label})")
    if done.limit is not None:
        typer.echo(f"Stopped by {done.limit}; with a higher one the same command continues.")
    elif not done.finished:
        left = done.planned - done.before - done.complete
        typer.echo(f"{count(left, 'verdict')} missing; the same command continues.")


_SAMPLES = 1_000  # of the bootstrap: enough for the end of a command
