# SPDX-License-Identifier: Apache-2.0
"""``kgbench run``: plan, run or continue a benchmark."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.commands import grouped
from kgbench.cli.option_groups import Limits, Permissions
from kgbench.cli.printing import progress

if TYPE_CHECKING:
    from kgbench.engine import Progress, Settings
    from kgbench.engine.planning import PlanExercises
    from kgbench.model import Plan
    from kgbench.store.protocol import Store


_STOPPING = {
    False: "Finishing the calls in progress; press Ctrl-C again to abandon them.",
    True: "Stopping; batches continue at the provider, and the same command collects them.",
}


def _suite(name: str | None) -> str | None:
    if name is None:
        return None
    from kgbench.config.names import checked_suite
    from kgbench.errors import TaskError

    try:
        return checked_suite(name)
    except TaskError as error:
        raise typer.BadParameter(str(error), param_hint="--suite") from None


@grouped
def run(
    *,
    config: options.Configuration = None,
    model: options.ModelSpecs = None,
    task: options.TaskGlobs = None,
    iterations: options.Iterations = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Run the cases of this suite; the store must hold its published results.",
            callback=_suite,
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        options.rarer(
            "Continuing",
            "--run",
            metavar="RUN",
            help="Continue this run: its id, IRI or label.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    new: Annotated[
        bool,
        options.rarer(
            "Continuing", "--new", help="Start a new run even if one could be continued."
        ),
    ] = False,
    limits: Limits,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Begin at most N dialogues with each model; the same command continues.",
        ),
    ] = None,
    tool_protocol: options.ToolProtocol = None,
    retry_errors: Annotated[
        bool | None,
        options.rarer(
            "Continuing",
            "--retry-errors/--no-retry-errors",
            help="Retry dialogues whose calls failed in an earlier session (default); if given, "
            "also those whose conversation was too long.",
        ),
    ] = None,
    redo_invalidated: Annotated[
        bool,
        options.rarer("Continuing", "--redo-invalidated", help="Run invalidated dialogues again."),
    ] = False,
    reuse_answers: Annotated[
        bool,
        options.rarer(
            "Continuing",
            "--reuse-answers",
            help="Reuse answers to identical requests from other runs in the store.",
        ),
    ] = False,
    fsync: Annotated[
        bool,
        options.rarer(
            "Continuing", "--fsync", help="Sync each reply to disk (fsync) before it is used."
        ),
    ] = False,
    abandon_batches: Annotated[
        bool,
        options.rarer("Continuing", "--abandon-batches", help="Abandon the run's pending batches."),
    ] = False,
    engine: options.Engine = "oxigraph",
    endpoint: options.Endpoint = None,
    executor: options.Executor = "local",
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    store: options.Store = None,
    preflight: options.Preflight = True,
    permissions: Permissions,
    start_tool_servers: Annotated[
        bool,
        options.rarer(
            "Models",
            "--start-tool-servers",
            help="Start the MCP servers that models name as commands (their option mcp).",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the planned calls and their estimated cost, and exit."
        ),
    ] = False,
    log: Annotated[
        Path | None,
        options.rarer(
            "Output", metavar="FILE", help="Append every request and reply to FILE as JSON Lines."
        ),
    ] = None,
    verbose: Annotated[
        bool,
        options.rarer("Output", "--verbose", "-v", help="Print every request and reply on stderr."),
    ] = False,
    whole_store: Annotated[
        bool,
        options.rarer(
            "Output",
            "--whole-store",
            help="Print the leaderboard of all runs in the store, not of this run.",
        ),
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Run a benchmark, or continue it without requesting stored answers again.

    Without CONFIG, the baseline models run on all tasks (the quick start). With --suite, each case
    of published results in the store runs once (or -n dialogues per task label). A run without
    CONFIG is named after its --model and --task. The same command continues the newest run of the
    same name; --new starts another.
    """
    if run_id is not None and not (config or model or task or suite):
        raise typer.BadParameter(
            "it only selects the run to continue: also name the configuration that the run was "
            "started with, or its --model and --task",
            param_hint="--run",
        )
    from kgbench.cli.run_report import report
    from kgbench.engine import Journal, Settings
    from kgbench.engine.plans import continued
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import executor as make_executor
    from kgbench.execution.pools import start_children
    from kgbench.store import open_store

    overrides: dict[str, Any] = {
        "tasks": task,
        "models": model,
        "iterations": iterations,
        "suite": suite,
        **limits.chosen(),
        "tool_protocol": None if tool_protocol is None else str(tool_protocol),
    }
    if dry_run:
        from kgbench.cli.plan import print_estimate

        run_name = None if new else run_id or ""
        plan = _plan(config, store, overrides)
        print_estimate(
            plan,
            store,
            run_name,
            endpoint=endpoint is not None,
            redo_invalidated=redo_invalidated,
            retry_errors=retry_errors,
            limit=limit,
            json_=json_,
        )
        return
    with make_executor(executor) as judges:
        plan = _plan(config, store, overrides)
        permissions.require(plan.models, start_tool_servers=start_tool_servers)
        # Child processes start while the store is opened.
        start_children(judges, JudgeLimits(engine=engine), plan.classes)
        for passed_over in () if json_ else plan.passed_over:
            typer.echo(f"left out: {passed_over}")
        journal = Journal(log, (lambda line: typer.echo(line, err=True)) if verbose else None)
        with open_store(store) as opened:
            settings = Settings(
                run=continued(opened, plan, run_id, new=new),
                engine=engine,
                executor=judges,
                preflight=(lambda line: typer.echo(line, err=True)) if preflight else None,
                retry_errors=retry_errors,
                redo_invalidated=redo_invalidated,
                reuse_answers=reuse_answers,
                abandon_batches=abandon_batches,
                endpoint=endpoint,
                limit=limit,
                start_tool_servers=start_tool_servers,
                fsync=fsync,
                tell=lambda line: typer.echo(line, err=True),
                journal=journal,
            )
            import asyncio  # takes 20 ms, which most commands do not need

            try:
                final_progress = asyncio.run(
                    run_with_progress(opened, plan, settings, quiet=json_ or verbose)
                )
            finally:
                journal.close()
            report(
                opened,
                plan,
                final_progress,
                options.explicit_store(store),
                whole_store=whole_store,
                json_=json_,
            )
    if final_progress.interrupted:
        raise typer.Exit(130)
    if not final_progress.finished:
        raise typer.Exit(3)


def _plan(config: Path | None, location: str | None, overrides: dict[str, Any]) -> Plan:
    from kgbench.engine.plans import plan_of
    from kgbench.store import open_reader

    return plan_of(config, partial(open_reader, location), **overrides)


async def run_with_progress(
    store: Store,
    plan: Plan,
    settings: Settings,
    *,
    quiet: bool,
    plan_exercises: PlanExercises | None = None,
) -> Progress:
    """Run ``plan`` with a progress display and return its final progress.

    The first Ctrl-C or SIGTERM stops the run in order, the second one at once. ``plan_exercises``
    replaces the exercises of the plan's tasks.
    """
    import asyncio

    from kgbench.engine import StopSignal, run_plan

    stop = StopSignal()

    def interrupted() -> None:
        if not stop.requested:
            typer.echo(_STOPPING[plan.batch], err=True)
        stop.request()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, interrupted)
    with progress(plan.name, None, quiet=quiet) as show:

        def watch(current: Progress) -> None:
            show(
                current.before + current.complete,
                _note(current),
                total=current.planned,
                seconds_left=current.seconds_left,
                wait=current.waiting,
            )

        return await run_plan(
            store, plan, settings, stop=stop, watch=watch, plan_exercises=plan_exercises
        )


def _note(current: Progress) -> str:
    """Return the rate, tokens and cost of a running benchmark in words."""
    from kgbench.analysis.run_totals import tokens, usd

    rate = current.rate
    parts = [f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"]
    if current.input_tokens or current.output_tokens:
        parts.append(f"{tokens(current.input_tokens + current.output_tokens)} tokens")
        parts.append("cost unknown" if current.unpriced else usd(current.cost))
    if current.awaited:
        parts.append(f"{tokens(current.awaited)} answers awaited in batches")
    if current.failed:
        parts.append(f"{current.failed} failed")
    return ", ".join(parts)
