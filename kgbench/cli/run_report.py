# SPDX-License-Identifier: Apache-2.0
"""The final report of ``kgbench run``: table, outcomes, warnings, worst dialogues, costs."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from kgbench.analysis.run_totals import tokens, totals
from kgbench.cli.messages import count, echo_visible
from kgbench.cli.totals import totals_line

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
    """Print the results of a run.

    ``location`` is the store's location if printed commands must repeat it.
    """
    from kgbench.analysis.rendering import render
    from kgbench.analysis.run_results import run_results
    from kgbench.record import batches, reading

    run = reading.find_run(store, done.run)
    results = run_results(store, run, whole_store=whole_store)
    costs = totals(store, run)
    if json_:
        data = {
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
            "totals": costs,
            "leaderboard": json.loads(render(results.table, "json")),
            "outcomes": results.outcomes,
            "warnings": [*results.warnings()],
            "worst": [item.as_json() for item in results.worst],
        }
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    typer.echo(render(results.table, "table"), nl=False)
    _print_results(results, location)
    tell_progress(store, done)
    typer.echo(f"total  {totals_line(costs)}")
    echo_visible(f"run    {done.run} ({run.label})")
    typer.echo(f"store  {store.location}")
    pending = sum(item.requests for item in batches.unended_batches(store, run.graph))
    if pending:
        typer.echo(f"{tokens(pending)} answers are pending in batches (kgbench status).")
    if done.limit is not None:
        typer.echo(f"Stopped by {done.limit}; raise the limit and repeat the command to continue.")
    elif not done.finished:
        typer.echo("Repeat the command to continue this run.")


def _print_results(results: RunResults, location: str | None) -> None:
    """Print the outcomes of all answers, warnings, and the worst dialogues."""
    from kgbench.analysis.worst import show_line

    outcomes = sum(results.outcomes.values(), Counter[str]())
    if outcomes:
        counts = (f"{number:,} {name.replace('-', ' ')}" for name, number in outcomes.most_common())
        typer.echo(f"answers  {', '.join(counts)}")
    for warning in results.warnings():
        echo_visible(f"warning  {warning}")
    if results.worst:
        typer.echo("\nThe worst dialogues of this run:")
        for dialogue in results.worst:
            echo_visible(show_line(dialogue, location, model=True))
        typer.echo()


def tell_progress(store: Store, done: Progress) -> None:
    """Print how many dialogues are complete, and why others are not."""
    typer.echo(
        f"{done.before + done.complete:,} of {count(done.planned, 'dialogue')} complete"
        f" ({done.complete:,} now), {done.failed:,} failed, {count(done.calls, 'call')}"
    )
    for passed_over in done.passed_over:
        typer.echo(f"passed over: {passed_over}")
    if done.left_open:
        typer.echo(f"  {done.left_open} failed before and were not asked again")
    _print_replies(store, done)
    for message, times in sorted(done.failures.items(), key=lambda item: -item[1])[:_LISTED]:
        typer.echo(f"  {times} x {message}", err=True)
    for label, reason in done.stopped_models.items():
        typer.echo(f"  no more calls to {label}: {reason}", err=True)


def _print_replies(store: Store, done: Progress) -> None:
    """Print how many replies of earlier sessions were recovered, and how many are left over."""
    from kgbench.store import reply_log

    if done.recovered:
        words = count(done.recovered, "answer")
        typer.echo(f"  {words} recovered from an earlier session, without another call")
    if done.kept:
        words, folder = count(done.kept, "reply", "replies"), reply_log.folder(store.location)
        typer.echo(f"  {words} belong to no dialogue of this session: kept in {folder}")
