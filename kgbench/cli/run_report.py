# SPDX-License-Identifier: Apache-2.0
"""What ``kgbench run`` ends with: the run's table, outcomes, warnings, worst dialogues, costs."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from kgbench.analysis.run_totals import tokens, totals
from kgbench.cli.totals import sentence
from kgbench.cli.wording import count, tell

if TYPE_CHECKING:
    from kgbench.analysis.run_results import RunResults
    from kgbench.engine import Progress
    from kgbench.model import Plan
    from kgbench.store.protocol import Store

_LISTED = 5


def report(
    store: Store,
    plan: Plan,
    done: Progress,
    location: str | None,
    *,
    whole_store: bool,
    json_: bool,
) -> None:
    """Print what a run has reached; ``location`` is the store where it was typed."""
    from kgbench.analysis.rendering import render
    from kgbench.analysis.run_results import run_results
    from kgbench.record import batches, reading

    run = reading.find_run(store, done.run)
    found = run_results(store, run, whole_store=whole_store)
    spent = totals(store, run)
    if json_:
        said = {
            "run": done.run,
            "name": run.label,
            "store": store.location,
            "planned": done.planned,
            "complete": done.before + done.complete,
            "failed": done.failed,
            "left_open": done.left_open,
            "recovered": done.recovered,
            "kept": done.kept,
            "interrupted": done.interrupted,
            "limit": done.limit,
            "failures": done.failures,
            "passed_over": [*plan.passed_over, *done.passed_over],
            "tool_protocols": done.tool_protocols,
            "totals": spent,
            "leaderboard": json.loads(render(found.table, "json")),
            "outcomes": found.outcomes,
            "warnings": [*found.warnings()],
            "worst": [one.as_json() for one in found.worst],
        }
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    typer.echo(render(found.table, "table"), nl=False)
    _tell_results(found, location)
    tell_progress(store, done)
    typer.echo(f"total  {sentence(spent)}")
    tell(f"run    {done.run} ({run.label})")
    typer.echo(f"store  {store.location}")
    under_way = sum(one.requests for one in batches.open_ones(store, run.graph))
    if under_way:
        typer.echo(f"{tokens(under_way)} answers are under way in batches (kgbench status).")
    if done.limit is not None:
        typer.echo(f"Stopped by {done.limit}; with a higher one the same command continues.")
    elif not done.finished:
        typer.echo("The same command continues this run.")


def _tell_results(found: RunResults, location: str | None) -> None:
    """Outcomes of all answers, warnings, and the worst dialogues."""
    from kgbench.analysis.worst import show_line

    everything = sum(found.outcomes.values(), Counter[str]())
    if everything:
        counts = (f"{n:,} {name.replace('-', ' ')}" for name, n in everything.most_common())
        typer.echo(f"answers  {', '.join(counts)}")
    for warning in found.warnings():
        tell(f"warning  {warning}")
    if found.worst:
        typer.echo("\nThe worst dialogues of this run:")
        for one in found.worst:
            tell(show_line(one, location, model=True))
        typer.echo()


def tell_progress(store: Store, done: Progress) -> None:
    """How many dialogues are complete, and what kept the others from it."""
    typer.echo(
        f"{done.before + done.complete:,} of {count(done.planned, 'dialogue')} complete"
        f" ({done.complete:,} now), {done.failed:,} failed, {count(done.calls, 'call')}"
    )
    for passed_over in done.passed_over:
        typer.echo(f"passed over: {passed_over}")
    if done.left_open:
        typer.echo(f"  {done.left_open} failed before and were not asked again")
    _tell_replies(store, done)
    for said, times in sorted(done.failures.items(), key=lambda item: -item[1])[:_LISTED]:
        typer.echo(f"  {times} x {said}", err=True)
    for label, why in done.stopped_models.items():
        typer.echo(f"  {label} was asked no more: {why}", err=True)


def _tell_replies(store: Store, done: Progress) -> None:
    """Say which replies of earlier sessions were taken up, and which are kept."""
    from kgbench.store import reply_log

    if done.recovered:
        words = count(done.recovered, "answer")
        typer.echo(f"  {words} had been received by an earlier session, and not asked for again")
    if done.kept:
        words, folder = count(done.kept, "reply", "replies"), reply_log.folder(store.location)
        typer.echo(f"  {words} belong to no dialogue of this session: kept in {folder}")
