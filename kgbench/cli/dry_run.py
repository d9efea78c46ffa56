# SPDX-License-Identifier: Apache-2.0
"""What ``kgbench run --dry-run`` says: calls, tokens and cost per model, before any is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from kgbench.analysis.tables import Column, Kind, Table
from kgbench.cli.totals import tokens, usd
from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.engine.estimating import Estimate, Foreseen
    from kgbench.engine.planning import Exercise
    from kgbench.model import Plan


def say(
    plan: Plan,
    location: str | None,
    run: str | None,
    *,
    endpoint: bool,
    json_: bool,
) -> None:
    """Print the estimate for ``plan``.

    ``run`` names the run to continue, ``""`` the newest of the plan's name, ``None`` none;
    ``endpoint`` says whether there is one.
    """
    from kgbench.analysis.rendering import render
    from kgbench.connectors.batches import require
    from kgbench.engine.estimating import RULE, foreseen
    from kgbench.engine.prices import WITHOUT_PROVIDER, declared

    for model in plan.models if plan.batch else ():
        if model.connector not in WITHOUT_PROVIDER:
            require(model)

    complete = set() if run is None else _complete(plan, location, run)
    asked = _asked(plan, location, endpoint=endpoint)
    models = list(foreseen(plan, complete, declared(plan.prices), asked))
    if json_:
        said = {
            "name": plan.name,
            "suite": plan.suite,
            "tasks": [task.label for task in plan.tasks],
            "dialogues": sum(one.planned for one in models),
            "dialogues_to_do": sum(one.dialogues for one in models),
            "rule": RULE,
            "models": [_entry(one) for one in models],
        }
        typer.echo(json.dumps(said, indent=2))
        return
    typer.echo(render(_table(plan, models, f"Estimated: {RULE}."), "table"), nl=False)


def _table(plan: Plan, models: Sequence[Foreseen], rule: str) -> Table:
    each = models[0].planned
    title = (
        f"{plan.name}: {count(len(plan.tasks), 'task label')} x {count(len(plan.models), 'model')}"
        f" = {count(each * len(models), 'dialogue')} ({each:,} per model)"
        f"{', in batches' if plan.batch else ''}"
    )
    columns = (
        Column("model", "Model"),
        Column("dialogues", "To do", Kind.COUNT),
        Column("calls", "Calls", Kind.COUNT),
        Column("input_tokens", "Tokens read", Kind.COUNT),
        Column("output_tokens", "Tokens written", Kind.COUNT),
        Column("cost", "Cost", Kind.COUNT),
    )
    rows = tuple(
        (
            one.model.label,
            tokens(one.dialogues),
            _range(one.least.calls, one.most.calls),
            _range(one.least.input_tokens, one.most.input_tokens),
            _range(one.least.output_tokens, one.most.output_tokens),
            _cost(one.least, one.most),
        )
        for one in models
    )
    return Table(title, columns, rows, notes=(rule,))


def _asked(plan: Plan, location: str | None, *, endpoint: bool) -> Mapping[str, Sequence[Exercise]]:
    """The exercises of each task label; only those of imported results need a store."""
    from kgbench.config.names import suites_of_results
    from kgbench.engine import planning
    from kgbench.engine.published import stored_exercises
    from kgbench.store import open_reader

    if plan.suite not in suites_of_results():
        return planning.exercises(plan)
    with open_reader(location) as store:
        return stored_exercises(store, plan, endpoint=endpoint)


def _complete(plan: Plan, location: str | None, run: str) -> set[str]:
    """The digests of the plan's dialogues that the store has complete; none without a store."""
    from kgbench.engine import run_to_continue
    from kgbench.errors import StoreError
    from kgbench.record import reading
    from kgbench.store import open_reader

    try:
        reader = open_reader(location)
    except StoreError:
        if run:
            raise
        return set()
    with reader as store:
        found = reading.find_run(store, run) if run else run_to_continue(store, plan)
        if found is None:
            return set()
        states = reading.dialogue_states(store, found.graph)
        return {digest for digest, state in states.items() if state.complete}


def _entry(one: Foreseen) -> dict[str, Any]:
    def estimate(of: Estimate) -> dict[str, Any]:
        return {**asdict(of), "cost": None if of.cost is None else str(of.cost)}

    return {
        "model": one.model.label,
        "dialogues": one.planned,
        "dialogues_to_do": one.dialogues,
        "least": estimate(one.least),
        "most": estimate(one.most),
    }


def _range(least: int, most: int) -> str:
    return tokens(least) if least == most else f"{tokens(least)} to {tokens(most)}"


def _cost(least: Estimate, most: Estimate) -> str:
    if least.cost is None or most.cost is None:
        return "unknown"
    if least.cost == most.cost:
        return usd(least.cost)
    return f"{usd(least.cost)} to {usd(most.cost)}"
