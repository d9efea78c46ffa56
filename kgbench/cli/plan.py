# SPDX-License-Identifier: Apache-2.0
"""Planning: ``kgbench plan``, and the estimates of ``kgbench run --dry-run``.

The one calculates how many cases and repetitions a claim needs, the other calls, tokens and cost
per model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.commands import grouped
from kgbench.cli.printing import Output, count, report

if TYPE_CHECKING:
    from kgbench.analysis.planning import Detectable
    from kgbench.engine.planning import PlanExercises
    from kgbench.engine.preflight import Estimate, ModelEstimate
    from kgbench.model import Plan
    from kgbench.tables import Table


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


def print_estimate(
    plan: Plan,
    location: str | None,
    run: str | None,
    *,
    endpoint: bool,
    redo_invalidated: bool,
    retry_errors: bool | None,
    limit: int | None,
    json_: bool,
) -> None:
    """Print the estimate for ``plan``.

    ``run`` names the run to continue; ``""`` is the newest run with the plan's name, ``None`` a new
    run. ``endpoint`` says whether a SPARQL endpoint was given; ``redo_invalidated`` and
    ``retry_errors`` and ``limit`` are as in :class:`~kgbench.engine.Settings`.
    """
    from kgbench.cli.run_report import REDO
    from kgbench.config.names import suites_of_results
    from kgbench.config.specs import WITHOUT_COST
    from kgbench.connectors import lacking
    from kgbench.connectors.batches import require
    from kgbench.connectors.declared import requirements
    from kgbench.engine import planning
    from kgbench.engine.planning import PlanExercises, stored_exercises
    from kgbench.engine.preflight import RULE, model_estimates
    from kgbench.engine.spending import declared_prices
    from kgbench.store import open_reader

    for model in plan.models if plan.batch else ():
        if model.connector not in WITHOUT_COST:
            require(model)

    complete, invalidated = _complete(
        plan, location, run, redo=redo_invalidated, retry=retry_errors
    )
    if plan.suite in suites_of_results():  # only they need a store
        with open_reader(location) as store:
            plan_exercises = stored_exercises(store, plan, endpoint=endpoint)
    else:
        plan_exercises = PlanExercises(planning.exercises(plan))
    prices = declared_prices(plan.prices)
    models = list(model_estimates(plan, complete, prices, plan_exercises.exercises, limit))
    left_out = [*plan.passed_over, *plan_exercises.passed_over]
    detectable = _detectable(plan, plan_exercises, location)
    needed = [needed for model in plan.models for needed in requirements(model)]
    missing = list(filter(None, map(lacking, plan.models)))
    data = {
        "name": plan.name,
        "suite": plan.suite,
        "tasks": list(plan_exercises.exercises),
        "passed_over": left_out,
        "requirements": [requirement._asdict() for requirement in needed],
        "lacking": missing,
        "dialogues": sum(forecast.planned for forecast in models),
        "invalidated": invalidated,
        "dialogues_to_do": sum(forecast.dialogues for forecast in models),
        "rule": RULE,
        "models": [_entry(forecast) for forecast in models],
        "detectable": None if detectable is None else detectable._asdict(),
    }
    lines: list[str | Table] = [f"left out: {passed_over}" for passed_over in left_out]
    lines += [f"note: {note}" for note in (*needed, *missing)]
    if invalidated:
        lines.append(f"{count(invalidated, 'dialogue')} invalidated and not counted. {REDO}")
    lines.append(_table(plan, models, RULE))
    if detectable is not None:
        lines.append(_claim(detectable))
    report(data, lines, json_=json_)


def _claim(detectable: Detectable) -> str:
    """Return in words what difference between two models the plan can detect."""
    if detectable.difference is None:
        return (
            f"Cannot detect a difference between two models for cases of this kind (alpha 0.05): "
            f"{detectable.reason}; see kgbench plan."
        )
    return (
        f"Can detect a difference of {detectable.difference:.3f} between two models "
        f"(power 0.8, alpha 0.05), from {count(detectable.cases, 'case')} of "
        f"{count(detectable.tasks, 'task')} and the variances of stored results; see kgbench plan."
    )


def _table(plan: Plan, models: Sequence[ModelEstimate], rule: str) -> Table:
    from kgbench.analysis.run_totals import tokens
    from kgbench.tables import Column, Kind, Table

    per_model = models[0].planned
    title = (
        f"{plan.name}: {count(len(plan.tasks), 'task label')} x {count(len(plan.models), 'model')}"
        f" = {count(per_model * len(models), 'dialogue')} ({per_model:,} per model)"
        f"{', in batches' if plan.batch else ''}"
    )
    counted = {
        "dialogues": "To do",
        "calls": "Calls",
        "input_tokens": "Tokens read",
        "output_tokens": "Tokens written",
        "cost": "Cost",
    }
    columns = [Column(name, heading, Kind.COUNT) for name, heading in counted.items()]
    rows = tuple(
        (
            forecast.model.label,
            tokens(forecast.dialogues),
            *(
                _range(tokens(getattr(forecast.least, name)), tokens(getattr(forecast.most, name)))
                for name in ("calls", "input_tokens", "output_tokens")
            ),
            _cost(forecast.least, forecast.most),
        )
        for forecast in models
    )
    return Table(title, (Column("model", "Model"), *columns), rows, notes=(rule,))


def _detectable(
    plan: Plan, plan_exercises: PlanExercises, location: str | None
) -> Detectable | None:
    """Return the smallest difference that the plan can detect, or ``None`` if unknown.

    It is estimated from stored results of the suite. That a plan can detect no difference at all
    follows without results.
    """
    from kgbench.analysis import planning
    from kgbench.engine.planning import planned_dialogues
    from kgbench.errors import QueryError, StoreError
    from kgbench.scores.selection import select
    from kgbench.store import open_reader

    by_label: dict[str, Counter[str]] = {}  # how often each case of a task is run per model
    for dialogue in planned_dialogues(plan, plan_exercises.exercises, plan.models[0]):
        counts = by_label.setdefault(dialogue.exercise.task.label, Counter())
        counts[dialogue.exercise.case.iri] += 1
    repetitions = {label: list(counts.values()) for label, counts in by_label.items()}
    if (never := planning.undetectable(repetitions)) is not None:
        return never
    try:
        with open_reader(location) as store:
            return planning.detectable(store, select(store, plan.suite), repetitions)
    except (QueryError, StoreError):  # no store yet, or no results of this suite in it
        return None


def _complete(
    plan: Plan, location: str | None, run: str | None, *, redo: bool, retry: bool | None
) -> tuple[set[str], int]:
    """Return the digests of the complete dialogues of ``run``, which would not run again.

    The number counts the invalidated ones among them; with ``redo``, these are not complete, and
    with ``retry``, those are not that ended because the conversation was too long. A new run has
    none, and neither has a store that does not exist.
    """
    from kgbench.engine import Settings, run_to_continue
    from kgbench.engine.run import load_run_state
    from kgbench.errors import StoreError
    from kgbench.record import reading
    from kgbench.store import open_reader

    if run is None:
        return set(), 0
    try:
        reader = open_reader(location)
    except StoreError:
        if run:
            raise
        return set(), 0
    with reader as store:
        info = reading.find_run(store, run) if run else run_to_continue(store, plan)
        if info is None:
            return set(), 0
        settings = Settings(run=info, redo_invalidated=redo, retry_errors=retry)
        state = load_run_state(store, settings)
        complete = {
            digest: stored.iri for digest, stored in state.states.items() if stored.complete
        }
        return set(complete), len(set(complete.values()) & set(state.invalidated))


def _entry(forecast: ModelEstimate) -> dict[str, Any]:
    def estimate(value: Estimate) -> dict[str, Any]:
        return {**asdict(value), "cost": None if value.cost is None else str(value.cost)}

    return {
        "model": forecast.model.label,
        "dialogues": forecast.planned,
        "dialogues_to_do": forecast.dialogues,
        "least": estimate(forecast.least),
        "most": estimate(forecast.most),
    }


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _cost(least: Estimate, most: Estimate) -> str:
    from kgbench.analysis.run_totals import usd

    if least.cost is None or most.cost is None:
        return "unknown"
    return _range(usd(least.cost), usd(most.cost))
