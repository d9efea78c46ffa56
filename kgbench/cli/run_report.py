# SPDX-License-Identifier: Apache-2.0
"""The final report of ``kgbench run``: table, outcomes, warnings, worst dialogues, costs."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from kgbench.analysis.outcomes import Ending, by_fact
from kgbench.analysis.run_totals import tokens, totals
from kgbench.cli import messages
from kgbench.cli.messages import count, echo_visible
from kgbench.cli.totals import totals_line

if TYPE_CHECKING:
    from kgbench.analysis.run_results import RunResults
    from kgbench.engine import Progress
    from kgbench.model import Plan
    from kgbench.store.protocol import Store

REDO = "Invalidated dialogues run again with --redo-invalidated."
_LISTED = 5
_QUICK_START = "quick-start"  # the name in tasks/quick-start.yaml
_REAL_MODEL = """
These models are baselines. A real one runs on this machine, without a key, in about a minute:
pip install 'kgbench[local]' && kgbench models install smollm2 && \\
kgbench run --model local:smollm2 --task 'RdfFriendCount-*-1' -n 1"""


def report(
    store: Store,
    plan: Plan,
    progress: Progress,
    location: str | None,
    *,
    whole_store: bool,
    json_: bool,
) -> None:
    """Print the results of a run.

    ``location`` is the store's location if printed commands must repeat it.
    """
    from kgbench.analysis.run_results import run_results
    from kgbench.record import batches, reading
    from kgbench.tables.rendering import render

    run = reading.find_run(store, progress.run)
    results = run_results(store, run, whole_store=whole_store)
    costs = totals(store, run)
    rows = set(results.table.iris.get("model", {}).values())
    without_row = [setup.label for setup in plan.models if setup.iri not in rows]
    if json_:
        data = {
            "run": progress.run,
            "name": run.label,
            "store": store.location,
            "planned": progress.planned,
            "complete": progress.valid,
            "invalidated": progress.invalidated,
            "failed": progress.failed,
            "calls": progress.calls,
            "requests": progress.requests,
            "timeouts": progress.timeouts,
            "restarts": progress.restarts,
            "left_open": progress.left_open,
            "recovered": progress.recovered,
            "kept": progress.unclaimed,
            "interrupted": progress.interrupted,
            "limit": progress.limit,
            "failures": progress.failures,
            "passed_over": [*plan.passed_over, *progress.passed_over],
            "tool_protocols": progress.tool_protocols,
            "totals": costs,
            "without_row": without_row,
            "leaderboard": json.loads(render(results.table, "json")),
            "published": None
            if results.published is None
            else json.loads(render(results.published, "json")),
            "outcomes": {model: by_fact(found) for model, found in results.endings.items()},
            "warnings": results.warnings,
            "worst": [item.as_json() for item in results.worst],
        }
        messages.report(data, (), json_=True)
        return
    for table in filter(None, (results.published, results.table)):
        typer.echo(render(table, "table"), nl=False)
    if without_row:
        echo_visible(f"No row, because no dialogue has ended or failed: {', '.join(without_row)}.")
    _print_results(store, results, location)
    tell_progress(store, progress)
    typer.echo(f"total  {totals_line(costs)}")
    echo_visible(f"run    {progress.run} ({run.label})")
    typer.echo(f"store  {store.location}")
    if progress.cost:
        at = "" if location is None else f" --store {location}"
        echo_visible(f"Back up what was paid for: kgbench store backup FILE.nq.gz{at}")
    pending = sum(item.requests for item in batches.unended_batches(store, run.graph))
    if pending:
        typer.echo(f"{tokens(pending)} answers are pending in batches (kgbench status).")
    if progress.limit is not None:
        typer.echo(
            f"Stopped by {progress.limit}; raise the limit and repeat the command to continue."
        )
    if progress.invalidated:
        typer.echo(REDO)
    if progress.limit is None and not progress.finished:
        typer.echo("Repeat the command to continue this run.")
    if plan.name == _QUICK_START:
        typer.echo(_REAL_MODEL)


def _print_results(store: Store, results: RunResults, location: str | None) -> None:
    """Print the outcomes of all answers, warnings, and the worst dialogues."""
    from kgbench.analysis.worst import show_line
    from kgbench.record.dialogue_names import short_names

    endings = sum(results.endings.values(), Counter[Ending]())
    if endings:
        counts = (f"{number:,} {ending.words}" for ending, number in endings.most_common())
        typer.echo(f"answers  {', '.join(counts)}")
    for warning in results.warnings:
        echo_visible(f"warning  {warning}")
    if results.worst:
        typer.echo("\nThe worst dialogues of this run:")
        names = short_names(store, (worst.dialogue for worst in results.worst))
        for worst in results.worst:
            named = worst._replace(dialogue=names[worst.dialogue])
            echo_visible(show_line(named, location, model=True))
        typer.echo()


def tell_progress(store: Store, progress: Progress) -> None:
    """Print how many dialogues are complete, and why others are not."""
    typer.echo(
        f"{progress.valid:,} of {count(progress.planned, 'dialogue')} complete"
        f" ({progress.complete:,} now), {progress.failed:,} failed, {count(progress.calls, 'call')}"
        f"{_attempts(progress)}"
    )
    if progress.invalidated:
        typer.echo(f"  {count(progress.invalidated, 'dialogue')} invalidated and not counted")
    for passed_over in progress.passed_over:
        typer.echo(f"left out: {passed_over}")
    if progress.left_open:
        typer.echo(f"  {progress.left_open} failed before and were not asked again")
    _print_replies(store, progress)
    for message, times in sorted(progress.failures.items(), key=lambda item: -item[1])[:_LISTED]:
        typer.echo(f"  {times} x {message}", err=True)
    for label, reason in progress.restarts.items():
        typer.echo(f"  {label}: {reason} and was started again", err=True)
    for label, reason in progress.stopped_models.items():
        typer.echo(f"  no more calls to {label}: {reason}", err=True)


def _attempts(progress: Progress) -> str:
    """Return in words how many requests the calls took, if there were retries or timeouts."""
    if not progress.timeouts and progress.requests <= progress.calls:
        return ""
    late = f", {progress.timeouts:,} timed out" if progress.timeouts else ""
    return f" ({count(progress.requests, 'request')}{late})"


def _print_replies(store: Store, progress: Progress) -> None:
    """Print how many replies of earlier sessions were recovered, and how many are left over."""
    from kgbench.store import reply_log

    if progress.recovered:
        words = count(progress.recovered, "answer")
        typer.echo(f"  {words} recovered from an earlier session, without another call")
    if progress.unclaimed:
        words = count(progress.unclaimed, "reply", "replies")
        file = reply_log.path(store.location)
        typer.echo(f"  {words} of other dialogues, or unparsable: kept in {file}")
