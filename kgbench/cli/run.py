# SPDX-License-Identifier: Apache-2.0
"""``kgbench run``: plan, run or continue a benchmark, and end with the leaderboard."""

from __future__ import annotations

import asyncio
import json
import signal
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import completing, options
from kgbench.cli.progress import progress
from kgbench.cli.totals import duration, sentence, tokens, totals, usd
from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.engine import Progress, Settings
    from kgbench.model import Plan
    from kgbench.record.reading import RunInfo
    from kgbench.store.protocol import Store


_STOPPING = {
    False: "Finishing the calls under way; Ctrl-C again gives them up.",
    True: "Stopping; batches go on at their provider, and the same command collects them.",
}


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("run")(run)


def run(  # noqa: PLR0917 - a command line has many options
    config: options.Configuration = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A model such as baseline:oracle or openai:NAME@http://host/v1, "
            "or a glob over the configuration's models; repeatable.",
            autocompletion=completing.models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=1, help="Dialogues per task label.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="Ask the cases of this suite, whose published results the store has.",
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN", help="Continue this run.", autocompletion=completing.runs
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new run, even if there is one to continue.")
    ] = False,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency", "-c", min=1, help="Calls under way at once, per model, at most."
        ),
    ] = None,
    call_timeout: Annotated[
        float | None,
        typer.Option(
            "--call-timeout", metavar="SECONDS", min=0.001, help="Seconds for one answer."
        ),
    ] = None,
    requests_per_minute: Annotated[
        float | None,
        typer.Option("--requests-per-minute", min=0.01, help="Calls begun a minute, per model."),
    ] = None,
    tokens_per_minute: Annotated[
        float | None,
        typer.Option("--tokens-per-minute", min=1, help="Tokens a minute, per model."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="USD", min=0, help="Stop when the run has cost this."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=0, help="Stop when the run has used so many tokens."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="A price table of your own (Turtle)."),
    ] = None,
    batch: Annotated[
        bool | None,
        typer.Option(
            "--batch/--no-batch",
            help="Ask through the batch interfaces of providers: cheaper, within a day.",
        ),
    ] = None,
    retry_errors: Annotated[
        bool,
        typer.Option(
            "--retry-errors/--no-retry-errors",
            help="Ask again where the provider failed in an earlier session.",
        ),
    ] = True,
    redo_invalidated: Annotated[
        bool,
        typer.Option("--redo-invalidated", help="Ask again what has been invalidated."),
    ] = False,
    reuse_answers: Annotated[
        bool,
        typer.Option(
            "--reuse-answers",
            help="Take the answers of other runs in the store to identical requests.",
        ),
    ] = False,
    abandon_batches: Annotated[
        bool,
        typer.Option("--abandon-batches", help="Give up the batches that the run has under way."),
    ] = False,
    engine: options.Engine = "oxigraph",
    endpoint: options.Endpoint = None,
    executor: options.Executor = "local",
    store: options.Store = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be asked and what it may cost, and stop."),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", metavar="FILE", help="Append every request and reply, as JSON lines."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say every request and reply on stderr.")
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Run a benchmark, or continue it: what is stored already is not asked again.

    Without CONFIG this is the quick start: the baseline models on all tasks. The same command
    continues the newest run of the same name; --new begins another.
    """
    from kgbench.engine import Journal, Settings, run_to_continue
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import begin
    from kgbench.execution.pools import executor as make_executor
    from kgbench.record import reading
    from kgbench.store import open_store

    given = {
        "suite": suite,
        "concurrency": concurrency,
        "call_timeout": call_timeout,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "max_cost": None if max_cost is None else Decimal(str(max_cost)),
        "max_tokens": max_tokens,
        "prices": prices,
        "batch": batch,
    }
    chosen: dict[str, Any] = {k: value for k, value in given.items() if value is not None}
    selected: dict[str, Any] = {"tasks": task, "models": model, "iterations": iterations}
    if dry_run:
        from kgbench.cli.dry_run import say

        run_name = None if new else run_id or ""
        plan = _plan(config, selected, chosen)
        say(plan, store, run_name, endpoint=endpoint is not None, json_=json_)
        return
    with make_executor(executor) as judges:
        begin(judges, JudgeLimits(engine=engine))  # they start while the configuration is read
        plan = _plan(config, selected, chosen)
        journal = Journal(log, (lambda line: typer.echo(line, err=True)) if verbose else None)
        with open_store(store) as opened:
            if run_id is not None:
                continued: RunInfo | None = reading.find_run(opened, run_id)
            else:
                continued = None if new else run_to_continue(opened, plan)
            settings = Settings(
                run=continued,
                engine=engine,
                executor=judges,
                retry_errors=retry_errors,
                redo_invalidated=redo_invalidated,
                reuse_answers=reuse_answers,
                abandon_batches=abandon_batches,
                endpoint=endpoint,
                journal=journal,
            )
            done = asyncio.run(_run(opened, plan, settings, quiet=json_ or verbose))
            journal.close()
            _report(opened, plan, done, json_=json_)
    if done.interrupted:
        raise typer.Exit(130)
    if not done.finished:
        raise typer.Exit(3)


def _plan(config: Path | None, selected: dict[str, Any], chosen: dict[str, Any]) -> Plan:
    """The plan of a configuration, or of the quick start, with what was ``chosen`` in its place."""
    from dataclasses import replace

    from kgbench import config as configurations
    from kgbench.config import turtle
    from kgbench.config.names import suites
    from kgbench.nearest import nearest

    plan = (
        configurations.quick_start(**selected)
        if config is None
        else configurations.load(config, **selected)
    )
    suite = chosen.get("suite")
    if suite is not None and suite not in suites():
        message = f"unknown suite '{suite}': {nearest(suite, suites())}"
        raise typer.BadParameter(message, param_hint="--suite")
    if chosen:
        plan = replace(plan, **chosen)
        plan = replace(plan, source_ttl=turtle.written(plan))
    return plan


async def _run(store: Store, plan: Plan, settings: Settings, *, quiet: bool) -> Progress:
    from kgbench.engine import Stop, run_plan

    stop = Stop()

    def interrupted() -> None:
        if not stop.requested:
            typer.echo(_STOPPING[plan.batch], err=True)
        stop.request()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, interrupted)
    with progress(plan.name, None, quiet=quiet) as advance:

        def watch(seen: Progress) -> None:
            advance(seen.before + seen.complete, _note(seen), total=seen.planned)

        return await run_plan(store, plan, settings, stop=stop, watch=watch)


def _note(seen: Progress) -> str:
    """Rate, tokens, cost and time left of a run that is under way."""
    parts = [f"{seen.rate:.1f}/s"]
    if seen.input_tokens or seen.output_tokens:
        parts.append(f"{tokens(seen.input_tokens + seen.output_tokens)} tokens")
        parts.append("cost unknown" if seen.unpriced else usd(seen.cost))
    if seen.seconds_left is not None:
        parts.append(f"{duration(seen.seconds_left)} left")
    if seen.awaited:
        parts.append(f"{tokens(seen.awaited)} answers awaited in batches")
    if seen.failed:
        parts.append(f"{seen.failed} failed")
    return ", ".join(parts)


def _report(store: Store, plan: Plan, done: Progress, *, json_: bool) -> None:
    from kgbench.analysis.leaderboard import leaderboard
    from kgbench.analysis.rendering import render
    from kgbench.analysis.selection import select
    from kgbench.record import batches, reading

    table = leaderboard(store, select(store, suite=plan.suite))
    spent_on = reading.find_run(store, done.run)
    spent = totals(store, spent_on)
    if json_:
        said = {
            "run": done.run,
            "store": store.location,
            "planned": done.planned,
            "complete": done.before + done.complete,
            "failed": done.failed,
            "left_open": done.left_open,
            "interrupted": done.interrupted,
            "limit": done.limit,
            "failures": done.failures,
            "totals": spent,
            "leaderboard": json.loads(render(table, "json")),
        }
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    typer.echo(render(table, "table"), nl=False)
    typer.echo(
        f"{done.before + done.complete:,} of {count(done.planned, 'dialogue')} complete"
        f" ({done.complete:,} now), {done.failed:,} failed, {count(done.calls, 'call')}"
    )
    if done.left_open:
        typer.echo(f"  {done.left_open} failed before and were not asked again")
    for said_, times in sorted(done.failures.items(), key=lambda item: -item[1])[:5]:
        typer.echo(f"  {times} x {said_}", err=True)
    for label, why in done.stopped_models.items():
        typer.echo(f"  {label} was asked no more: {why}", err=True)
    typer.echo(f"total  {sentence(spent)}")
    typer.echo(f"run    {done.run}")
    typer.echo(f"store  {store.location}")
    under_way = sum(one.requests for one in batches.open_ones(store, spent_on.graph))
    if under_way:
        typer.echo(f"{tokens(under_way)} answers are under way in batches (kgbench status).")
    if done.limit is not None:
        typer.echo(f"Stopped by {done.limit}; with a higher one the same command continues.")
    elif not done.finished:
        typer.echo("The same command continues this run.")
