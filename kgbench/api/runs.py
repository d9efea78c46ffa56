# SPDX-License-Identifier: Apache-2.0
"""Running and re-evaluation from Python, also within an event loop such as that of a notebook."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from kgbench.analysis.outcomes import by_fact
from kgbench.analysis.passes import changes
from kgbench.analysis.run_results import RunResults
from kgbench.analysis.worst import ScoredDialogue
from kgbench.api.connection import Connection
from kgbench.characters import one_line
from kgbench.connectors import keys
from kgbench.connectors.declared import TRUST_REMOTE_CODE, require
from kgbench.engine import Progress, Settings, StopSignal, run_plan
from kgbench.engine.plans import continued, plan_of
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor as make_executor
from kgbench.model import Json, Plan
from kgbench.record import reading
from kgbench.reevaluation.comparison import merge_comparisons, report
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.store.protocol import Store
from kgbench.tables import Table
from kgbench.tables.rendering import as_html

_log = logging.getLogger("kgbench.api")


@dataclass(frozen=True, slots=True)
class Run:
    """Results of a run: leaderboard, outcomes, warnings and failures.

    ``planned``, ``complete``, ``invalidated`` and ``failed`` count dialogues; invalidated ones are
    not complete. ``outcomes`` counts the answers of each model (its name) by outcome; one
    that was cut off and cannot be parsed counts under both. ``warnings``
    are about models with many unusable answers.
    ``worst`` are the dialogues with the lowest scores. ``limit`` is the limit that stopped the run,
    if any. ``failures`` counts error messages of connectors.
    """

    iri: str
    name: str
    planned: int
    complete: int
    failed: int
    interrupted: bool
    limit: str | None
    failures: Mapping[str, int]
    leaderboard: Table
    outcomes: Mapping[str, Mapping[str, int]]
    warnings: tuple[str, ...]
    worst: tuple[ScoredDialogue, ...]
    invalidated: int = 0

    @property
    def finished(self) -> bool:
        """Whether every planned dialogue is complete; it may have been invalidated since."""
        return self.complete + self.invalidated == self.planned

    def _repr_html_(self) -> str:
        """Return the run as HTML for a notebook; recorded text is escaped."""
        progress = (
            f"{self.complete:,} of {self.planned:,} dialogues complete, {self.failed:,} failed"
        )
        lines = [f"{self.name}: {progress}", *self.warnings]
        paragraphs = "".join(f"<p>{escape(one_line(line))}</p>" for line in lines)
        return paragraphs + as_html(self.leaderboard)


def run_benchmark(
    connection: Connection,
    config: str | Path | None,
    overrides: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    run: str | None,
    new: bool,
    secrets: Sequence[str],
    trust_remote_code: bool,
    watch: Callable[[Progress], None] | None,
) -> Run:
    """Run a configuration, or continue the run called ``run``.

    ``overrides`` are arguments of :func:`~kgbench.engine.plans.plan_of`. ``settings`` are fields of
    :class:`~kgbench.engine.Settings`, except that ``preflight`` is a boolean. The
    values of ``secrets`` (variables) may be sent where models say.
    """
    plan = plan_of(config, connection.reader, **overrides)
    first_calls = _say if settings["preflight"] else None
    given = {TRUST_REMOTE_CODE} if trust_remote_code else ()
    with keys.allowed(*secrets):
        require(plan.models, given)
        with connection.owned() as store:
            existing = continued(store, plan, run, new=new)
            options = Settings(**{**settings, "run": existing, "preflight": first_calls})
            return _results(store, run_in_thread(store, plan, options, watch))


def _results(store: Store, progress: Progress) -> Run:
    """Return the results of the run after a session."""
    run = reading.find_run(store, progress.run)
    results = RunResults(store, run)
    return Run(
        iri=progress.run,
        name=run.label,
        planned=progress.planned,
        complete=progress.valid,
        failed=progress.failed,
        interrupted=progress.interrupted,
        limit=progress.limit,
        failures=dict(progress.failures),
        leaderboard=results.table,
        outcomes={model: dict(by_fact(found)) for model, found in results.endings.items()},
        warnings=tuple(results.warnings),
        worst=tuple(results.worst()),
        invalidated=progress.invalidated,
    )


def run_in_thread(
    store: Store, plan: Plan, settings: Settings, watch: Callable[[Progress], None] | None
) -> Progress:
    """Run a plan in a separate event loop in a thread, so that the caller may be in another loop.

    A :class:`KeyboardInterrupt` stops the run in order; a second one abandons the calls in
    progress, like Ctrl-C on the command line.
    """
    stop = StopSignal()
    loop = asyncio.new_event_loop()

    def work() -> Progress:
        try:
            return loop.run_until_complete(run_plan(store, plan, settings, stop=stop, watch=watch))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    with ThreadPoolExecutor(1, thread_name_prefix="kgbench-run") as executor:
        return _wait(executor.submit(work), lambda: loop.call_soon_threadsafe(stop.request))


def _wait(work: Future[Progress], interrupt: Callable[[], object]) -> Progress:
    while True:
        try:
            return work.result()
        except KeyboardInterrupt:
            if work.done():
                raise
            _log.warning("finishing the calls in progress; another interrupt abandons them")
            with suppress(RuntimeError):  # the loop ended in the meantime
                interrupt()


def _say(line: str) -> None:
    """Log a message of the preflight calls."""
    _log.info("%s", line)


@dataclass(frozen=True, slots=True)
class Reevaluation:
    """New evaluation passes and their comparison with earlier ones.

    ``passes`` are the IRIs of the new passes; a run of which nothing can be judged gets none.
    ``table`` has the numbers of compared and changed values per task and metric. ``report`` is the
    report of ``kgbench reevaluate --json``, with each differing dialogue and the cause.
    """

    passes: tuple[str, ...]
    table: Table
    report: Mapping[str, Json]

    def _repr_html_(self) -> str:
        """Return the table as HTML for a notebook."""
        return as_html(self.table)


def judge_again(
    connection: Connection, executor: str, limits: JudgeLimits, **options: Any
) -> Reevaluation:
    """Judge stored dialogues again; see :func:`kgbench.reevaluation.passes.reevaluate_stored`."""
    with connection.owned() as owned, make_executor(executor) as pool:
        results = reevaluate_stored(owned, pool, limits, **options)
    passes = tuple(result.evaluation_pass for result in results if result.is_recorded)
    return Reevaluation(passes, changes(merge_comparisons(results)), report(results))
