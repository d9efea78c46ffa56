# SPDX-License-Identifier: Apache-2.0
"""``kgbench judge``: let models judge stored dialogues by a declared rubric."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

import kgbench.api as kb
from kgbench.cli import options
from kgbench.cli.option_groups import Limits, Permissions
from kgbench.cli.printing import count, report

if TYPE_CHECKING:
    from kgbench.engine import Progress
    from kgbench.record.judgements import Rubric

PANEL = "Judge again"
JudgedGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--judged", metavar="GLOB", help="Only dialogues of models that match; repeatable."
    ),
]
JudgedSample = Annotated[
    int | None,
    typer.Option(
        "--sample", metavar="N", min=1, help="Only N dialogues (or pairs), drawn at random."
    ),
]
_SAMPLES = 1_000  # of the bootstrap: enough for the end of a command


class Calibrate(StrEnum):
    """How to treat judges that have drifted."""

    REFUSE = "refuse"
    WARN = "warn"
    NO = "no"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("judge")(judge)


@kb.grouped
def judge(
    *,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run to judge: its id, IRI or label. Default: the newest.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric", metavar="NAME", help="The rubric; without it, all rubrics are listed."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A judge model, such as openai:NAME@http://host/v1; repeatable.",
            autocompletion=options.complete_models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    judged: JudgedGlobs = None,
    sample: JudgedSample = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            help="Seed of the sample and of the option order.",
            rich_help_panel="Tests",
        ),
    ] = 0,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="K",
            min=1,
            help="Ask each judge K times.",
            rich_help_panel="Continuing",
        ),
    ] = 1,
    limits: Limits,
    calibrate: Annotated[
        Calibrate,
        typer.Option(
            "--calibrate",
            help="Run the rubric's calibration set on each judge first; refuse judges that have "
            "drifted, warn about them, or do not calibrate (no).",
            rich_help_panel="Continuing",
        ),
    ] = Calibrate.REFUSE,
    new: Annotated[
        bool, typer.Option("--new", help="Start a new run of judges.", rich_help_panel="Continuing")
    ] = False,
    store: options.Store = None,
    preflight: options.Preflight = True,
    permissions: Permissions,
    json_: options.AsJson = False,
) -> None:
    """Have models judge the dialogues of a run by a rubric, or continue doing so.

    No verdict is requested twice. The judges' answers are a separate run in the suite
    'judgements'; the judged run is not changed. Prints the agreement of the judges at the end
    (`kgbench analyze agreement`).
    """
    import asyncio  # takes 20 ms, which most commands do not need

    from kgbench.cli.run import run_with_progress
    from kgbench.engine import Settings
    from kgbench.engine.plans import continued
    from kgbench.plugins.judging.planning import JudgingRequest, judging_plan, judging_questions
    from kgbench.record import reading
    from kgbench.record.judgements import rubric as rubric_called
    from kgbench.run_selection import Selection
    from kgbench.scores.selection import newest_judgeable_run
    from kgbench.store import open_existing

    if rubric is None and (run is not None or model or task or judged):
        raise typer.BadParameter(
            "name the rubric to judge by; kgbench judge alone lists them", param_hint="--rubric"
        )
    if rubric is None:
        _list_rubrics(json_=json_)
        return
    if not model:
        raise typer.BadParameter("name a judge model, such as baseline:oracle", param_hint="-m")
    plan_fields = limits.chosen()
    judging = JudgingRequest(
        rubric_called(rubric),
        Selection(tuple(task or ()), tuple(judged or ())),
        sample,
        seed,
        repeat,
    )
    with open_existing(store) as opened:
        judged_run = newest_judgeable_run(opened) if run is None else reading.find_run(opened, run)
        exercises = judging_questions(opened, judged_run, judging)
        plan = judging_plan(judged_run, judging, model, **plan_fields)
        permissions.require(plan.models)
        existing = continued(opened, plan, None, new=new)
        planned = sum(map(len, exercises.exercises.values())) * len(plan.models) * plan.iterations
        graph = None if existing is None else existing.graph
        rows = kb.query_rows(opened, "dialogue-counts", runGraph=graph) if graph else []
        counted = [int(number or 0) for *_, number in rows]
        if sum(counted) < planned and not _calibrate_judges(
            opened, judging.rubric, model, calibrate, plan_fields
        ):
            raise typer.Exit(3)
        settings = Settings(
            run=existing,
            preflight=(lambda line: typer.echo(line, err=True)) if preflight else None,
        )
        progress = asyncio.run(
            run_with_progress(opened, plan, settings, quiet=json_, plan_exercises=exercises)
        )
        _report(opened, judged_run.iri, progress, json_=json_)
    if progress.interrupted:
        raise typer.Exit(130)
    if not progress.finished:
        raise typer.Exit(3)


def _calibrate_judges(
    store: kb.Store,
    rubric: Rubric,
    models: Sequence[str],
    policy: Calibrate,
    plan_fields: Mapping[str, Any],
) -> bool:
    """Run the calibration set of a rubric, if it has one, and print warnings.

    ``plan_fields`` are other fields of the plan. Returns whether the calibration finished. Raises
    :class:`~kgbench.errors.JudgeRefused` for a judge that has drifted, unless ``policy`` only
    warns.
    """
    import asyncio  # takes 20 ms, which most commands do not need

    from kgbench.cli.run import run_with_progress
    from kgbench.engine import Settings
    from kgbench.errors import JudgeRefused
    from kgbench.plugins.judging.calibration import (
        calibration_plan,
        calibration_questions,
        calibration_set,
        check_calibrations,
    )
    from kgbench.record import reading

    calibration = None if policy is Calibrate.NO else calibration_set(rubric)
    if calibration is None:
        return True
    plan = calibration_plan(calibration, models, **plan_fields)
    exercises = calibration_questions(calibration)
    progress: Progress = asyncio.run(
        run_with_progress(store, plan, Settings(), quiet=True, plan_exercises=exercises)
    )
    if not progress.finished:
        missing = count(progress.planned - progress.complete, "answer")
        reason = "; ".join(progress.failures) or progress.limit or "interrupted"
        typer.echo(f"The calibration is incomplete, {missing} missing: {reason}", err=True)
        return False
    warnings, refusals = check_calibrations(
        store, reading.find_run(store, progress.run), calibration
    )
    if refusals and policy is Calibrate.REFUSE:
        raise JudgeRefused(
            f"{'; '.join(refusals)}. Verdicts would not be comparable with earlier ones: "
            "`--calibrate warn` judges anyway"
        )
    for line in (*warnings, *refusals):
        typer.echo(f"warning: {line}", err=True)
    return True


def _list_rubrics(*, json_: bool) -> None:
    from kgbench.record.judgements import rubrics

    known = list(rubrics().values())
    entries = [
        {
            "name": rubric.name,
            "version": rubric.version,
            "iri": rubric.iri,
            "kind": rubric.kind,
            "label": rubric.label,
            "options": [option.name for option in rubric.options],
        }
        for rubric in known
    ]
    report(entries, (f"{r.name:<14}{r.kind:<10}{r.label}" for r in known), json_=json_)


def _report(store: kb.Store, judged: str, progress: Progress, *, json_: bool) -> None:
    from kgbench.analysis.run_results import RunResults
    from kgbench.analysis.run_totals import totals
    from kgbench.cli.run_report import print_failures, progress_lines, totals_line
    from kgbench.plugins.judging.agreement import agreement
    from kgbench.record import reading
    from kgbench.scores.selection import select
    from kgbench.tables.rendering import render

    run = reading.find_run(store, progress.run)
    table = agreement(store, select(store, run=judged), samples=_SAMPLES)
    costs = totals(store, run)
    data = {
        "run": progress.run,
        "judged": judged,
        "planned": progress.planned,
        "complete": progress.valid,
        "invalidated": progress.invalidated,
        "failed": progress.failed,
        "interrupted": progress.interrupted,
        "limit": progress.limit,
        "failures": progress.failures,
        "totals": costs,
        "agreement": json.loads(render(table, "json")),
    }
    lines: list[str | kb.Table] = [
        table,
        *(f"warning  {each}" for each in RunResults(store, run).warnings),
        *progress_lines(store, progress),
        f"total  {totals_line(costs)}",
        f"run    {progress.run} ({run.label})",
    ]
    if progress.limit is not None:
        lines.append(
            f"Stopped by {progress.limit}; raise the limit and repeat the command to continue."
        )
    elif not progress.finished:
        missing = progress.planned - progress.before - progress.complete
        lines.append(f"{count(missing, 'verdict')} missing; repeat the command to continue.")
    report(data, lines, json_=json_)
    if not json_:
        print_failures(progress)
