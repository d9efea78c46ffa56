# SPDX-License-Identifier: Apache-2.0
"""``kgbench run``: plan, run or continue a benchmark."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.analysis.run_totals import tokens, usd
from kgbench.cli import completing, options
from kgbench.cli.groups import Limits, grouped
from kgbench.cli.progress import progress
from kgbench.cli.run_report import report

if TYPE_CHECKING:
    from kgbench.engine import Progress, Settings
    from kgbench.engine.published import Asked
    from kgbench.model import Plan
    from kgbench.store.protocol import Store


_STOPPING = {
    False: "Finishing the calls under way; Ctrl-C again gives them up.",
    True: "Stopping; batches go on at their provider, and the same command collects them.",
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


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("run")(run)


@grouped
def run(
    *,
    config: options.Configuration = None,
    model: options.ModelSpecs = None,
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
            callback=_suite,
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
    limits: Limits,
    tool_protocol: options.ToolProtocol = None,
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
    fsync: Annotated[
        bool,
        typer.Option("--fsync", help="Bring replies to the disk itself as they come."),
    ] = False,
    abandon_batches: Annotated[
        bool,
        typer.Option("--abandon-batches", help="Give up the batches that the run has under way."),
    ] = False,
    engine: options.Engine = "oxigraph",
    endpoint: options.Endpoint = None,
    executor: options.Executor = "local",
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    store: options.Store = None,
    preflight: options.Preflight = True,
    start_tool_servers: Annotated[
        bool,
        typer.Option(
            "--start-tool-servers",
            help="Start the commands that models name as MCP servers (their option mcp).",
        ),
    ] = False,
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
    whole_store: Annotated[
        bool,
        typer.Option(
            "--whole-store", help="End with the leaderboard of all runs in the store, not this one."
        ),
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Run a benchmark, or continue it: what is stored already is not asked again.

    Without CONFIG this is the quick start: the baseline models on all tasks. With the --suite of
    published results that the store has, it asks each of their cases once (or -n dialogues per
    label). A run without CONFIG is named after its --model and --task. The same command continues
    the newest run of the same name; --new begins another.
    """
    if run_id is not None and not (config or model or task or suite):
        raise typer.BadParameter(
            "this says which run goes on, not with what: name the configuration that it was begun "
            "with, or its --model and --task",
            param_hint="--run",
        )
    from kgbench.engine import Journal, Settings
    from kgbench.engine.plans import continued
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import begin
    from kgbench.execution.pools import executor as make_executor
    from kgbench.store import open_store

    wanted: dict[str, Any] = {
        "tasks": task,
        "models": model,
        "iterations": iterations,
        "suite": suite,
        **limits.chosen(),
        "tool_protocol": None if tool_protocol is None else str(tool_protocol),
    }
    if dry_run:
        from kgbench.cli.dry_run import say

        run_name = None if new else run_id or ""
        plan = _plan(config, store, wanted)
        say(plan, store, run_name, endpoint=endpoint is not None, json_=json_)
        return
    with make_executor(executor) as judges:
        begin(judges, JudgeLimits(engine=engine))  # they start while the configuration is read
        plan = _plan(config, store, wanted)
        for passed_over in () if json_ else plan.passed_over:
            typer.echo(f"passed over: {passed_over}")
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
                start_tool_servers=start_tool_servers,
                fsync=fsync,
                tell=lambda line: typer.echo(line, err=True),
                journal=journal,
            )
            import asyncio  # 20 ms, which no other command needs

            try:
                done = asyncio.run(hold(opened, plan, settings, quiet=json_ or verbose))
            finally:
                journal.close()
            report(
                opened, plan, done, options.typed_store(store), whole_store=whole_store, json_=json_
            )
    if done.interrupted:
        raise typer.Exit(130)
    if not done.finished:
        raise typer.Exit(3)


def _plan(config: Path | None, location: str | None, wanted: dict[str, Any]) -> Plan:
    from kgbench.engine.plans import plan_of
    from kgbench.store import open_reader

    return plan_of(config, partial(open_reader, location), **wanted)


async def hold(
    store: Store, plan: Plan, settings: Settings, *, quiet: bool, given: Asked | None = None
) -> Progress:
    """Run ``plan`` with a line of progress; Ctrl-C and SIGTERM stop it in order, then at once.

    ``given`` are the exercises to ask instead of those of the plan's tasks.
    """
    import asyncio

    from kgbench.engine import Stop, run_plan

    stop = Stop()

    def interrupted() -> None:
        if not stop.requested:
            typer.echo(_STOPPING[plan.batch], err=True)
        stop.request()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, interrupted)
    with progress(plan.name, None, quiet=quiet) as shown:

        def watch(seen: Progress) -> None:
            shown(
                seen.before + seen.complete,
                _note(seen),
                total=seen.planned,
                left=seen.seconds_left,
                wait=seen.waiting,
            )

        return await run_plan(store, plan, settings, stop=stop, watch=watch, given=given)


def _note(seen: Progress) -> str:
    """Rate, tokens and cost of a run that is under way."""
    parts = [f"{seen.rate:.1f}/s"]
    if seen.input_tokens or seen.output_tokens:
        parts.append(f"{tokens(seen.input_tokens + seen.output_tokens)} tokens")
        parts.append("cost unknown" if seen.unpriced else usd(seen.cost))
    if seen.awaited:
        parts.append(f"{tokens(seen.awaited)} answers awaited in batches")
    if seen.failed:
        parts.append(f"{seen.failed} failed")
    return ", ".join(parts)
