# SPDX-License-Identifier: Apache-2.0
"""The final report of ``kgbench run``: table, outcomes, warnings, worst dialogues, costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from kgbench.analysis.outcomes import Ending, by_fact
from kgbench.analysis.run_totals import cost, duration, tokens, totals
from kgbench.cli import printing
from kgbench.cli.printing import count
from kgbench.errors import pip_install, program
from kgbench.tables import Ref

if TYPE_CHECKING:
    from kgbench.analysis.run_results import RunResults
    from kgbench.engine import Progress
    from kgbench.model import Plan
    from kgbench.store.protocol import Store
    from kgbench.tables import Table

REDO = "Invalidated dialogues run again with --redo-invalidated."
_LISTED = 5
_QUICK_START = "quick-start"  # the name in tasks/quick-start.yaml
_REAL_MODEL = """
These models are baselines. A real one of 98 MB answers four questions in a minute, without a key:
{install} && {kgbench} models install smollm2 && \\
{kgbench} run --model local:smollm2 --task 'RdfFriendCount-*-1' -n 1"""


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
    from kgbench.analysis.run_results import RunResults
    from kgbench.record import reading
    from kgbench.tables import render

    run = reading.find_run(store, progress.run)
    results = RunResults(store, run, whole_store=whole_store)
    costs = totals(store, run)
    rows = {cell.iri for cell in results.table.column("model") if isinstance(cell, Ref)}
    without_row = [setup.label for setup in plan.models if setup.iri not in rows]

    def lines() -> Iterator[str | Table]:
        yield from filter(None, (results.published, results.table))
        if without_row:
            yield f"No row, because no dialogue has ended or failed: {', '.join(without_row)}."
        yield from _results(store, results, location)
        yield from progress_lines(store, progress)
        yield f"total  {totals_line(costs)}"
        yield f"run    {progress.run} ({run.label})"
        yield f"store  {store.location}"
        yield from _continuing(store, plan, progress, run.graph, location)

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
        "published": results.published and json.loads(render(results.published, "json")),
        "outcomes": {model: by_fact(found) for model, found in results.endings.items()},
        "warnings": results.warnings,
        "worst": [item.as_json() for item in results.worst()],
    }
    printing.report(data, lines(), json_=json_)
    if not json_:
        print_failures(progress)


def _results(store: Store, results: RunResults, location: str | None) -> Iterator[str]:
    """Yield the outcomes of all answers, warnings, and the worst dialogues."""
    from kgbench.analysis.worst import show_line
    from kgbench.record.identity import short_names
    from kgbench.scores.catalogue import display_names

    endings = sum(results.endings.values(), Counter[Ending]())
    if endings:
        counts = (f"{number:,} {ending.words}" for ending, number in endings.most_common())
        yield f"answers  {', '.join(counts)}"
    for warning in results.warnings:
        yield f"warning  {warning}"
    if found := results.worst():
        yield "\nThe worst dialogues of this run:"
        names = short_names(store, (worst.dialogue for worst in found))
        models = display_names(store)
        for worst in found:
            model = models.get(worst.model, worst.model)
            named = worst._replace(dialogue=names[worst.dialogue], model=model)
            yield show_line(named, location, model=True)
        yield ""


def _continuing(
    store: Store, plan: Plan, progress: Progress, graph: str, location: str | None
) -> Iterator[str]:
    """Yield what to do next."""
    from kgbench.record import batches

    if progress.cost:
        at = "" if location is None else f" --store {location}"
        yield f"Back up what was paid for: kgbench store backup FILE.nq.gz{at}"
    if pending := sum(item.requests for item in batches.unended_batches(store, graph)):
        yield f"{tokens(pending)} answers are pending in batches (kgbench status)."
    if progress.limit is not None:
        yield f"Stopped by {progress.limit}; raise the limit and repeat the command to continue."
    if progress.invalidated:
        yield REDO
    if progress.limit is None and not progress.finished:
        yield "Repeat the command to continue this run."
    if plan.name == _QUICK_START:
        install = pip_install("kgbench[local]")
        yield _REAL_MODEL.format(install=install, kgbench=program("kgbench"))


def progress_lines(store: Store, progress: Progress) -> Iterator[str]:
    """Yield how many dialogues are complete, and what became of replies of earlier sessions."""
    from kgbench.store.back_ends import reply_log

    requests = ""
    if progress.timeouts or progress.requests > progress.calls:
        late = f", {progress.timeouts:,} timed out" if progress.timeouts else ""
        requests = f" ({count(progress.requests, 'request')}{late})"
    yield (
        f"{progress.valid:,} of {count(progress.planned, 'dialogue')} complete"
        f" ({progress.complete:,} now), {progress.failed:,} failed, {count(progress.calls, 'call')}"
        f"{requests}"
    )
    if progress.invalidated:
        yield f"  {count(progress.invalidated, 'dialogue')} invalidated and not counted"
    for passed_over in progress.passed_over:
        yield f"left out: {passed_over}"
    if progress.left_open:
        yield f"  {progress.left_open} failed before and were not asked again"
    if progress.recovered:
        answers = count(progress.recovered, "answer")
        yield f"  {answers} recovered from an earlier session, without another call"
    if progress.unclaimed:
        replies = count(progress.unclaimed, "reply", "replies")
        file = reply_log(store.location)
        yield f"  {replies} of other dialogues, or unparsable: kept in {file}"


def print_failures(progress: Progress) -> None:
    """Print on standard error why dialogues are not complete."""
    for message, times in sorted(progress.failures.items(), key=lambda item: -item[1])[:_LISTED]:
        typer.echo(f"  {times} x {message}", err=True)
    for label, reason in progress.restarts.items():
        typer.echo(f"  {label}: {reason} and was started again", err=True)
    for label, reason in progress.stopped_models.items():
        typer.echo(f"  no more calls to {label}: {reason}", err=True)


def totals_line(totals: dict[str, Any]) -> str:
    """Return answers, tokens, cost and duration of a run in one line.

    Tokens that no provider counted are unknown.
    """
    read, written = totals["input_tokens"], totals["output_tokens"]
    without = totals["answers_without_counts"]
    if without and not (read or written):
        used = "tokens unknown"
    else:
        rest = f" (unknown for {count(without, 'answer')})" if without else ""
        least = "at least " if without else ""
        used = f"{least}{tokens(read)} tokens read and {tokens(written)} written{rest}"
    answers = count(totals["answers"], "answer")
    return f"{answers}, {used}, {cost(totals)}, {duration(totals['seconds'])}"
