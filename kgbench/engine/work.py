# SPDX-License-Identifier: Apache-2.0
"""Execution of a plan: all dialogues of a run that are not complete, held by a few workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import TypeAlias

from kgbench.config.specs import WITHOUT_PROVIDER
from kgbench.connectors import Connector, find, replay
from kgbench.connectors.batches import Batches, open_batches
from kgbench.connectors.calls import Caller
from kgbench.connectors.tool_servers import ToolServers
from kgbench.engine import planning
from kgbench.engine.batch_client import BatchClient
from kgbench.engine.batch_rounds import BatchRounds, abandon, refuse_beside
from kgbench.engine.calls import PASSES, Channel, ModelClient, RetryPolicy
from kgbench.engine.conversation import Conversation, DialogueResult, Ending
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.preflight import first_calls, most
from kgbench.engine.rate_limiter import RateLimiter
from kgbench.engine.run import Run, invalidate_outdated
from kgbench.engine.session import Progress, Settings, StopSignal, Wait, Watch
from kgbench.engine.spending import CHARACTERS_PER_TOKEN
from kgbench.errors import ProviderRefused, WriteFailed
from kgbench.model import Call, ModelSetup, Outcome, Plan, Usage
from kgbench.store.protocol import Store

_REFUSALS = 3  # refusals in a row after which a model is not called any more
_HOLDERS = 2  # dialogues per allowed call, so that judging does not leave call slots unused

_Pay: TypeAlias = Callable[[str, Usage, int | None], Decimal | None]


async def run_plan(
    store: Store,
    plan: Plan,
    settings: Settings,
    *,
    stop: StopSignal | None = None,
    watch: Watch | None = None,
    plan_exercises: planning.PlanExercises | None = None,
) -> Progress:
    """Run every dialogue of ``plan`` that is not complete yet, and return the final counts.

    ``plan_exercises`` are the exercises; without them, those of the plan's tasks are used.

    Raises :class:`~kgbench.errors.TaskError`, :class:`~kgbench.errors.ModelSpecError` or
    :class:`~kgbench.errors.ResourceError` before anything is written, and
    :class:`~kgbench.errors.StoreError` when the store cannot be opened for writing. If a write
    fails later, no further call is made, replies under way are awaited and kept, and
    :class:`~kgbench.errors.WriteFailed` says what to do.
    """
    selection = plan_exercises or planning.plan_exercises(
        store, plan, endpoint=settings.endpoint is not None
    )
    replay.SOURCE.set(store.location)
    stop = stop or StopSignal()
    run = Run(store, plan, settings, selection, stop=stop, watch=watch or (lambda _: None))
    progress = run.progress
    async with AsyncExitStack() as stack:
        connectors: dict[str, Connector] = {}
        providers: dict[str, Batches] = {}
        for setup in plan.models:
            if setup.iri in run.batched:
                opened = open_batches(setup, plan.call_timeout)
                providers[setup.iri] = await stack.enter_async_context(opened)
            else:
                direct = find(setup.connector).open(setup, plan.call_timeout)
                connectors[setup.iri] = await stack.enter_async_context(direct)
        run.servers = await stack.enter_async_context(
            ToolServers(plan.models, plan.judge_timeout, may_start=settings.start_tool_servers)
        )
        if settings.run is not None and settings.abandon_batches:
            await abandon(store, settings.run, plan, run.journal)
        elif settings.run is not None:
            refuse_beside(store, settings.run, plan, run.batched)
        if run.spending.reached is None:
            progress.stopped_models = await first_calls(run, connectors)
        if not stop.requested and run.spending.reached is None:
            called = [setup for setup in plan.models if setup.label not in progress.stopped_models]
            planned = planning.planned_dialogues
            repeated = (d for setup in called for d in planned(plan, run.exercises, setup))
            invalidate_outdated(store, settings, run.state, repeated)
        await stack.enter_async_context(run.opened())
        for line in planning.describe_protocols(progress.tool_protocols):
            settings.tell(line)
        run.journal.note("session", run=progress.run, planned=progress.planned)
        await _Work(run).run_all(connectors, providers)
    progress.unclaimed = run.replies.unstored()
    run.journal.note("end", run=progress.run, complete=progress.complete, why=progress.limit)
    return progress


class _Work:
    """The dialogues of a session, held by a fixed number of workers per model."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._refused: dict[str, int] = {}
        self._holders = run.plan.concurrency * _HOLDERS  # of a model

    async def run_all(
        self, connectors: Mapping[str, Connector], providers: Mapping[str, Batches]
    ) -> None:
        """Hold all dialogues; return when none is left, or when a stop is requested.

        ``connectors`` are for models called directly, ``providers`` for models asked in batches.
        """
        run, stop = self._run, self._run.stop
        giving_up = asyncio.Event()  # of batches, which a limit that is reached does not do
        clients: list[ModelClient] = []
        tasks = []
        for setup in run.plan.models:
            dialogues = run.dialogues(setup)
            if setup.iri in providers:
                scale = run.settings.patience_scale
                batches = BatchClient(providers[setup.iri], run.journal, giving_up, scale)
                works = [self._work_in_batches(dialogues, BatchRounds(run, setup, batches))]
            else:
                clients.append(client := self._client(setup, connectors[setup.iri]))
                works = [self._worker(dialogues, client) for _ in range(self._holders)]
            tasks += [asyncio.create_task(self._stopping_all(work)) for work in works]

        def stopping() -> None:
            for client in clients:
                client.stop(at_once=stop.failure is not None)
            if stop.reason is None:
                giving_up.set()

        stop.watch(tasks, stopping)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        self._sum_up(clients, connectors)
        if stop.failure is not None:
            raise self._explained(stop.failure)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    def _sum_up(self, clients: Sequence[ModelClient], connectors: Mapping[str, Connector]) -> None:
        run, progress, stop = self._run, self._run.progress, self._run.stop
        progress.requests = sum(client.requests for client in clients)
        progress.timeouts = sum(client.timeouts for client in clients)
        for setup in run.plan.models:
            if end := getattr(connectors.get(setup.iri), "restarted", None):
                progress.restarts[setup.label] = end
        unfinished = stop.requested and not progress.finished
        progress.limit = stop.reason if unfinished else None
        progress.interrupted = unfinished and stop.reason is None

    async def _stopping_all(self, work: Coroutine[None, None, None]) -> None:
        """Do ``work``; if it fails, the other workers make no further calls."""
        try:
            await work
        except Exception as error:
            self._run.stop.fail(error)
            raise

    def _explained(self, failure: BaseException) -> BaseException:
        """Add to a failed write how many replies the log keeps, and how to continue."""
        if not isinstance(failure, WriteFailed):
            return failure
        replies = self._run.replies
        message = f"{failure}; nothing more was asked"
        if number := replies.unstored():
            message += f", and {number} replies that the store does not have are in {replies.file}"
        error = WriteFailed(f"{message}: make room, and the same command continues")
        error.__cause__ = failure
        return error

    # --- call by call ---------------------------------------------------------------------------

    def _client(self, setup: ModelSetup, connector: Connector) -> ModelClient:
        run, plan = self._run, self._run.plan
        same = setup.sampling.get("temperature") == 0
        free = setup.connector in WITHOUT_PROVIDER  # repeating its calls costs nothing
        caller: Caller | None = getattr(connector, "caller", None)

        def waiting(wait: Wait) -> None:
            run.progress.waits[setup.label] = wait
            run.watch(run.progress)

        return ModelClient(
            connector,
            RateLimiter(
                min(plan.concurrency, getattr(connector, "slots", None) or plan.concurrency),
                requests_per_minute=plan.requests_per_minute,
                tokens_per_minute=plan.tokens_per_minute,
                passes=0 if free else PASSES,
                near=caller is not None and caller.near,
            ),
            RetryPolicy(plan.max_retries, run.settings.patience_scale, same=same),
            deadline=getattr(connector, "deadline", plan.call_timeout),
            journal=run.journal,
            stopping=run.stop.event,
            replies=None if free else run.replies,
            waiting=waiting,
        )

    async def _worker(self, dialogues: Iterator[PlannedDialogue], client: ModelClient) -> None:
        run = self._run
        for planned in dialogues:
            if run.stop.requested:
                return
            read = len(planned.exercise.prompt) // CHARACTERS_PER_TOKEN
            while (begun := run.may_begin(planned, read)) is None:
                await run.room()
            if not begun:
                return
            await self._hold(Conversation(run, planned, await run.stored(planned)), client)

    # --- in batches -----------------------------------------------------------------------------

    async def _work_in_batches(
        self, dialogues: Iterator[PlannedDialogue], rounds: BatchRounds
    ) -> None:
        """Hold the dialogues of a model round by round, until none is open and none is left."""
        await rounds.fetch_earlier()
        open_: list[Conversation] = []
        later = next(dialogues, None)
        while open_ or later is not None:
            later = await self._begin_round(open_, later, dialogues, rounds)
            open_ = await self._hold_round(open_, rounds)
            await rounds.close_stored()
            if rounds.ended:
                break
            if open_:
                await rounds.submit_and_fetch()
            elif later is not None:
                await self._run.room()
        if rounds.refused is not None:
            self._run.progress.stopped_models[rounds.setup.label] = rounds.refused

    async def _begin_round(
        self,
        open_: list[Conversation],
        later: PlannedDialogue | None,
        dialogues: Iterator[PlannedDialogue],
        rounds: BatchRounds,
    ) -> PlannedDialogue | None:
        """Add dialogues to the open ones; return the first of later rounds, if there is one."""
        characters = sum(len(dialogue.planned.exercise.prompt) for dialogue in open_)
        while later is not None and rounds.room(len(open_), characters):
            begun = self._run.may_begin(later, *most(later.exercise))
            if not begun:
                return later if begun is None else None
            open_.append(Conversation(self._run, later, await self._run.stored(later)))
            characters += len(later.exercise.prompt)
            later = next(dialogues, None)
        return later

    async def _hold_round(
        self, dialogues: Sequence[Conversation], rounds: BatchRounds
    ) -> list[Conversation]:
        """Hold dialogues as far as their answers go, and return those that stay open."""
        left = iter(dialogues)
        open_: list[Conversation] = []

        async def holder() -> None:
            for dialogue in left:
                if rounds.given_up:
                    return
                if await self._hold(dialogue, rounds) is Ending.OPEN:
                    open_.append(dialogue)

        await asyncio.gather(*(holder() for _ in range(self._holders)))
        return open_

    # --- one dialogue ---------------------------------------------------------------------------

    async def _hold(self, dialogue: Conversation, channel: Channel) -> Ending:
        spending = self._run.spending
        result = await dialogue.hold(channel)
        waits = result.ending is Ending.OPEN and isinstance(channel, BatchRounds)
        self._count(dialogue.planned.model, result, spending.pay if waits else spending.end)
        return result.ending

    def _count(self, model: ModelSetup, result: DialogueResult, pay: _Pay) -> None:
        progress = self._run.progress
        cost = pay(model.iri, result.usage, result.uncounted)
        if cost is None:
            progress.unpriced.add(model.label)
        else:
            progress.cost += cost
        progress.calls += result.calls
        progress.recovered += result.recovered
        progress.input_tokens += result.usage.input or 0
        progress.output_tokens += result.usage.output or 0
        progress.complete += result.ending is Ending.COMPLETE
        progress.failed += result.ending is Ending.FAILED
        if result.calls or result.failure:
            self._note_failure(model, result.failure)
        self._run.watch(progress)

    def _note_failure(self, model: ModelSetup, failure: Call | None) -> None:
        """Count a failure; stop a model that refuses several calls in a row (wrong key or name)."""
        if failure is None:
            self._refused.pop(model.iri, None)
            return
        assert failure.failure is not None
        progress, message = self._run.progress, failure.error or str(failure.failure)
        progress.failures[message] = progress.failures.get(message, 0) + 1
        refused = failure.failure is Outcome.PROVIDER_ERROR and message.startswith(
            ProviderRefused.__name__
        )
        self._refused[model.iri] = self._refused.get(model.iri, 0) + 1 if refused else 0
        if self._refused[model.iri] >= _REFUSALS:
            progress.stopped_models[model.label] = message
