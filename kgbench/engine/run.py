# SPDX-License-Identifier: Apache-2.0
"""Execution of a plan: the run that it continues, and all dialogues that are not complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal

from kgbench.config.specs import WITHOUT_COST, WITHOUT_PROVIDER
from kgbench.connectors import find, replay
from kgbench.connectors.batches import Batches, open_batches
from kgbench.connectors.calls import Caller
from kgbench.engine import estimates, planning, prices, published
from kgbench.engine.batch_client import BatchClient
from kgbench.engine.batch_rounds import BatchRounds, abandon, refuse_beside
from kgbench.engine.calls import (
    CHARACTERS_PER_TOKEN,
    PASSES,
    Channel,
    Connector,
    ModelClient,
    RetryPolicy,
)
from kgbench.engine.conversation import DialogueResult, Ending
from kgbench.engine.planning import Exercise, PlannedDialogue
from kgbench.engine.preflight import first_calls
from kgbench.engine.progress import Progress, Wait, Watch
from kgbench.engine.rate_limiter import RateLimiter
from kgbench.engine.run_state import (
    RunState,
    invalidate_outdated,
    load_run_state,
    uncounted_tokens,
)
from kgbench.engine.session import Session, Settings, session
from kgbench.engine.spending import Limits, Spending
from kgbench.engine.stop_signal import StopSignal
from kgbench.errors import ProviderRefused, WriteFailed
from kgbench.model import Call, ModelSetup, Outcome, Plan, Usage
from kgbench.record.reading import DialogueState
from kgbench.store.protocol import Store
from kgbench.tool_servers.servers import ToolServers

_REFUSALS = 3  # refusals in a row after which a model is not called any more
Pay = Callable[[str, Usage, int | None], Decimal | None]

_HOLDERS = 2  # dialogues per allowed call, so that judging does not leave call slots unused


async def run_plan(
    store: Store,
    plan: Plan,
    settings: Settings,
    *,
    stop: StopSignal | None = None,
    watch: Watch | None = None,
    plan_exercises: published.PlanExercises | None = None,
) -> Progress:
    """Run every dialogue of ``plan`` that is not complete yet, and return the final counts.

    ``plan_exercises`` are the exercises; without them, those of the plan's tasks are used.

    Raises :class:`~kgbench.errors.TaskError`, :class:`~kgbench.errors.ModelSpecError` or
    :class:`~kgbench.errors.ResourceError` before anything is written, and
    :class:`~kgbench.errors.StoreError` when the store cannot be opened for writing. If a write
    fails later, no further call is made, replies under way are awaited and kept, and
    :class:`~kgbench.errors.WriteFailed` says what to do.
    """
    stop = stop or StopSignal()
    selection = plan_exercises or published.plan_exercises(
        store, plan, endpoint=settings.endpoint is not None
    )
    exercises = selection.exercises
    replay.SOURCE.set(store.location)
    before = load_run_state(store, settings)
    limits = Limits(plan.max_cost, plan.max_tokens)
    batched = {s.iri for s in plan.models if plan.batch and s.connector not in WITHOUT_COST}
    entries = prices.declared(plan.prices)
    uncounted = {} if limits == Limits() else uncounted_tokens(store, settings, before)
    spending = Spending(plan.models, entries, before.usage, uncounted, limits, batched=batched)
    spending.check_budgets(plan)
    protocols = planning.tool_protocols(plan, exercises)
    async with AsyncExitStack() as stack:
        connectors = {
            setup.iri: await stack.enter_async_context(
                find(setup.connector).open(setup, plan.call_timeout)
            )
            for setup in plan.models
            if setup.iri not in batched
        }
        providers = {
            setup.iri: await stack.enter_async_context(open_batches(setup, plan.call_timeout))
            for setup in plan.models
            if setup.iri in batched
        }
        servers = await stack.enter_async_context(
            ToolServers(plan.models, plan.judge_timeout, may_start=settings.start_tool_servers)
        )
        if settings.run is not None and settings.abandon_batches:
            await abandon(store, settings.run, plan, settings.journal)
        elif settings.run is not None:
            refuse_beside(store, settings.run, plan, batched)
        unreachable = (
            await first_calls(plan, exercises, before, connectors, settings=settings, stop=stop)
            if spending.reached is None
            else {}
        )
        able = not stop.requested and spending.reached is None
        called = [setup for setup in plan.models if able and setup.label not in unreachable]
        planned = planning.planned_dialogues
        repeated = (d for setup in called for d in planned(plan, exercises, setup))
        invalidate_outdated(store, settings, before, repeated)
        dialogues = planning.dialogue_count(plan, exercises) * len(plan.models)
        opened = await stack.enter_async_context(
            session(
                store,
                plan,
                settings,
                dialogues=dialogues,
                prices=spending.prices_to_record(plan.models),
                later_metrics=selection.later_metrics,
                judged=selection.judged,
                servers=servers,
                failed=stop.fail,
                costs={iri: p.cost for iri, p in spending.prices.items() if p is not None},
            )
        )
        progress = Progress(
            opened.recorder.run,
            dialogues,
            passed_over=selection.passed_over,
            tool_protocols=protocols,
            stopped_models=unreachable,
        )
        for line in planning.describe_protocols(protocols):
            settings.tell(line)
        settings.journal.note("session", run=progress.run, planned=dialogues)
        work = _Work(
            opened,
            plan,
            exercises,
            settings=settings,
            run_state=before,
            spending=spending,
            progress=progress,
            stop=stop,
            watch=watch or (lambda _: None),
        )
        await work.run_all(connectors, providers)
    progress.unclaimed = opened.replies.unstored()
    settings.journal.note("end", run=progress.run, complete=progress.complete, why=progress.limit)
    return progress


class _Work:
    """The dialogues of a session, held by a fixed number of workers per model."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        exercises: Mapping[str, Sequence[Exercise]],
        *,
        settings: Settings,
        run_state: RunState,
        spending: Spending,
        progress: Progress,
        stop: StopSignal,
        watch: Watch,
    ) -> None:
        self._session = session
        self._plan = plan
        self._exercises = exercises
        self._settings = settings
        self._run_state = run_state
        self._spending = spending
        self._progress = progress
        self._stop = stop
        self._watch = watch
        self._refused: dict[str, int] = {}
        self._holders = plan.concurrency * _HOLDERS  # of a model

    async def run_all(
        self, connectors: Mapping[str, Connector], providers: Mapping[str, Batches]
    ) -> None:
        """Hold all dialogues; return when none is left, or when a stop is requested.

        ``connectors`` are for models called directly, ``providers`` for models asked in batches.
        """
        setups = {setup.iri: setup for setup in self._plan.models}
        clients = {
            iri: self._client(setups[iri], connector) for iri, connector in connectors.items()
        }
        giving_up = asyncio.Event()  # of batches, which a limit that is reached does not do
        tasks = []
        for setup in self._plan.models:
            dialogues = self._todo(setup)
            if setup.iri in providers:
                client = BatchClient(
                    providers[setup.iri],
                    self._settings.journal,
                    giving_up,
                    self._settings.patience_scale,
                )
                works = [self._work_in_batches(dialogues, self._batching(setup, client))]
            else:
                works = [self._worker(dialogues, clients[setup.iri]) for _ in range(self._holders)]
            tasks += [asyncio.create_task(self._stopping_all(work)) for work in works]

        def stopping() -> None:
            for client in clients.values():
                client.stop(at_once=self._stop.failure is not None)
            if self._stop.reason is None:
                giving_up.set()

        self._stop.watch(tasks, stopping)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        self._progress.requests = sum(client.requests for client in clients.values())
        self._progress.timeouts = sum(client.timeouts for client in clients.values())
        ends = {iri: getattr(model, "restarted", None) for iri, model in connectors.items()}
        self._progress.restarts = {setups[iri].label: end for iri, end in ends.items() if end}
        unfinished = self._stop.requested and not self._progress.finished
        self._progress.limit = self._stop.reason if unfinished else None
        self._progress.interrupted = unfinished and self._stop.reason is None
        if self._stop.failure is not None:
            raise self._explained(self._stop.failure)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    async def _stopping_all(self, work: Coroutine[None, None, None]) -> None:
        """Do ``work``; if it fails, the other workers make no further calls."""
        try:
            await work
        except Exception as error:
            self._stop.fail(error)
            raise

    def _explained(self, failure: BaseException) -> BaseException:
        """Add to a failed write how many replies the log keeps, and how to continue."""
        if not isinstance(failure, WriteFailed):
            return failure
        replies = self._session.replies
        message = f"{failure}; nothing more was asked"
        if number := replies.unstored():
            message += f", and {number} replies that the store does not have are in {replies.file}"
        error = WriteFailed(f"{message}: make room, and the same command continues")
        error.__cause__ = failure
        return error

    def _client(self, setup: ModelSetup, connector: Connector) -> ModelClient:
        settings, plan = self._settings, self._plan
        same = setup.sampling.get("temperature") == 0
        free = setup.connector in WITHOUT_PROVIDER  # repeating its calls costs nothing
        caller: Caller | None = getattr(connector, "caller", None)

        def waiting(wait: Wait) -> None:
            self._progress.waits[setup.label] = wait
            self._watch(self._progress)

        return ModelClient(
            connector,
            RateLimiter(
                min(plan.concurrency, getattr(connector, "slots", None) or plan.concurrency),
                requests_per_minute=plan.requests_per_minute,
                tokens_per_minute=plan.tokens_per_minute,
                passes=0 if free else PASSES,
                near=caller is not None and caller.near,
            ),
            RetryPolicy(plan.max_retries, settings.patience_scale, same=same),
            deadline=getattr(connector, "deadline", plan.call_timeout),
            journal=settings.journal,
            stopping=self._stop.event,
            replies=None if free else self._session.replies,
            waiting=waiting,
        )

    def _todo(self, setup: ModelSetup) -> Iterator[PlannedDialogue]:
        limit, begun = self._settings.limit, 0
        for planned in planning.planned_dialogues(self._plan, self._exercises, setup):
            state = self._run_state.states.get(planned.digest)
            if state is not None and state.complete:
                self._progress.before += 1
                self._progress.invalidated += state.iri in self._run_state.invalidated
            elif state is not None and state.iri in self._run_state.closed:
                self._progress.left_open += 1
            elif setup.label not in self._progress.stopped_models:
                begun += 1
                if limit is None or begun <= limit:
                    yield planned

    def _batching(self, setup: ModelSetup, client: BatchClient) -> BatchRounds:
        session, settings = self._session, self._settings

        def awaiting(answers: int) -> None:
            self._progress.awaited += answers
            self._watch(self._progress)

        return BatchRounds(
            setup,
            client,
            store=session.store,
            recorder=session.recorder,
            writer=session.writer,
            replies=session.replies,
            retry_policy=RetryPolicy(self._plan.max_retries, settings.patience_scale),
            journal=settings.journal,
            stop=self._stop,
            awaiting=awaiting,
        )

    async def _work_in_batches(
        self, dialogues: Iterator[PlannedDialogue], rounds: BatchRounds
    ) -> None:
        """Hold the dialogues of a model round by round, until none is open and none is left."""
        await rounds.fetch_earlier()
        open_: list[PlannedDialogue] = []
        later = next(dialogues, None)
        while open_ or later is not None:
            later = self._begin_round(open_, later, dialogues, rounds)
            open_ = await self._hold_round(open_, rounds)
            await rounds.close_stored()
            if rounds.ended:
                break
            if open_:
                await rounds.submit_and_fetch()
            elif later is not None:
                await self._room()
        if rounds.refused is not None:
            self._progress.stopped_models[rounds.setup.label] = rounds.refused

    def _begin_round(
        self,
        open_: list[PlannedDialogue],
        later: PlannedDialogue | None,
        dialogues: Iterator[PlannedDialogue],
        rounds: BatchRounds,
    ) -> PlannedDialogue | None:
        """Add dialogues to the open ones; return the first of later rounds, if there is one."""
        characters = sum(len(planned.exercise.prompt) for planned in open_)
        while later is not None and rounds.room(len(open_), characters):
            begun = self._may_begin(later, *estimates.most(later.exercise))
            if not begun:
                return later if begun is None else None
            open_.append(later)
            characters += len(later.exercise.prompt)
            later = next(dialogues, None)
        return later

    async def _hold_round(
        self, dialogues: Sequence[PlannedDialogue], rounds: BatchRounds
    ) -> list[PlannedDialogue]:
        """Hold dialogues as far as their answers go, and return those that stay open."""
        left = iter(dialogues)
        open_: list[PlannedDialogue] = []

        async def holder() -> None:
            for planned in left:
                if rounds.given_up:
                    return
                result = await self._hold(planned, rounds)
                if result.ending is Ending.OPEN:
                    open_.append(planned)
                    if result.calls or result.recovered:
                        state = DialogueState(result.dialogue, complete=False)
                        self._run_state.states[planned.digest] = state

        await asyncio.gather(*(holder() for _ in range(self._holders)))
        return open_

    async def _worker(self, dialogues: Iterator[PlannedDialogue], client: ModelClient) -> None:
        for planned in dialogues:
            if self._stop.requested:
                return
            read = len(planned.exercise.prompt) // CHARACTERS_PER_TOKEN
            while (begun := self._may_begin(planned, read)) is None:
                await self._room()
            if not begun:
                return
            await self._hold(planned, client)

    def _may_begin(self, planned: PlannedDialogue, read: int, written: int = 0) -> bool | None:
        """Return whether a dialogue of about these tokens may begin; ``None`` means not yet.

        If a limit leaves no room for it although no dialogue is under way, the run stops.
        """
        if self._stop.requested:
            return False
        limit = self._spending.begin(planned.model.iri, read, written)
        if limit is not None and self._spending.under_way:
            return None
        if limit is not None:
            self._stop.limit_reached(limit)
        return limit is None

    async def _room(self) -> None:
        """Wait until a dialogue ends, which may make room for another, or the run stops."""
        if self._spending.under_way:
            await self._stop.or_else(self._spending.one_ended())

    async def _hold(self, planned: PlannedDialogue, channel: Channel) -> DialogueResult:
        session = self._session
        known = (planned, session.store, session.recorder.pass_graph)
        # In a thread, because it executes queries while replies must be read.
        if planned.digest in self._run_state.states:
            stored = await asyncio.to_thread(self._run_state.stored, *known)
        else:
            stored = self._run_state.stored(*known)
        result = await self._session.conversations.hold(planned, channel, stored)
        waits = result.ending is Ending.OPEN and isinstance(channel, BatchRounds)
        self._count(planned, result, pay=self._spending.pay if waits else self._spending.end)
        return result

    def _count(self, planned: PlannedDialogue, result: DialogueResult, pay: Pay) -> None:
        progress, model = self._progress, planned.model
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
        self._note_failure(model, result.failure)
        self._watch(progress)

    def _note_failure(self, model: ModelSetup, failure: Call | None) -> None:
        """Count a failure; stop a model that refuses several calls in a row (wrong key or name)."""
        if failure is None:
            self._refused.pop(model.iri, None)
            return
        assert failure.failure is not None
        message = failure.error or str(failure.failure)
        self._progress.failures[message] = self._progress.failures.get(message, 0) + 1
        refused = failure.failure is Outcome.PROVIDER_ERROR and message.startswith(
            ProviderRefused.__name__
        )
        self._refused[model.iri] = self._refused.get(model.iri, 0) + 1 if refused else 0
        if self._refused[model.iri] >= _REFUSALS:
            self._progress.stopped_models[model.label] = message
