# SPDX-License-Identifier: Apache-2.0
"""Running a plan: which run it belongs to, and every dialogue that is still to do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from kgbench.connectors import find, replay
from kgbench.connectors.batches import Batches, open_batches
from kgbench.engine import estimating, planning, prices, published
from kgbench.engine.abandoning import abandon, refuse_beside
from kgbench.engine.batching import Batching, Outgoing
from kgbench.engine.calls import CHARACTERS_PER_TOKEN, Channel, Connector, Line, Patience
from kgbench.engine.conversation import Conversed, Ending, Stored
from kgbench.engine.pacing import Pace
from kgbench.engine.planning import Exercise, Planned
from kgbench.engine.prices import WITHOUT_PROVIDER
from kgbench.engine.progress import Progress, Watch
from kgbench.engine.session import Session, Settings, session
from kgbench.engine.spending import Limits, Spending
from kgbench.engine.stopping import Stop
from kgbench.errors import ProviderRefused
from kgbench.model import Call, ModelSetup, Outcome, Plan
from kgbench.record import accounts, invalidation, reading
from kgbench.record.reading import DialogueState, RunInfo
from kgbench.store.protocol import Store

_REFUSALS = 3  # refusals in a row after which a model is not asked any more
_HOLDERS = 2  # dialogues held for each call there may be, so that judging keeps no model waiting


def run_to_continue(store: Store, plan: Plan) -> RunInfo | None:
    """The newest live run of a plan's name and suite, which the same command continues."""
    suite = store.iris.mint("suite", suite=plan.suite)
    for run in reading.runs(store):
        if run.label == plan.name and run.suite == suite:
            kinds = {one.kind for one in reading.passes(store, run)}
            if "live" in kinds:
                return run
    return None


async def run_plan(
    store: Store,
    plan: Plan,
    settings: Settings,
    *,
    stop: Stop | None = None,
    watch: Watch | None = None,
) -> Progress:
    """Run every dialogue of ``plan`` that is not complete yet, and return the final counts.

    Raises :class:`~kgbench.errors.TaskError`, :class:`~kgbench.errors.ModelSpecError` or
    :class:`~kgbench.errors.ResourceError` before anything is written, and
    :class:`~kgbench.errors.StoreError` when the store cannot be written.
    """
    asked = published.exercises(store, plan, endpoint=settings.endpoint is not None)
    replay.SOURCE.set(store.location)
    found = _found(store, settings)
    limits = Limits(plan.max_cost, plan.max_tokens)
    batched = {s.iri for s in plan.models if plan.batch and s.connector not in WITHOUT_PROVIDER}
    entries = prices.declared(plan.prices)
    spending = Spending(plan.models, entries, found.usage, limits, batched=batched)
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
        if settings.run is not None and settings.abandon_batches:
            await abandon(store, settings.run, plan, settings.journal)
        elif settings.run is not None:
            refuse_beside(store, settings.run, plan, batched)
        dialogues = planning.dialogue_count(plan, asked) * len(plan.models)
        opened = await stack.enter_async_context(
            session(store, plan, settings, dialogues=dialogues, prices=spending.taken(plan.models))
        )
        progress = Progress(opened.recorder.run, dialogues)
        settings.journal.note("session", run=progress.run, planned=dialogues)
        work = _Work(
            opened,
            plan,
            asked,
            settings=settings,
            found=found,
            spending=spending,
            progress=progress,
            stop=stop or Stop(),
            watch=watch or (lambda _: None),
        )
        await work.through(connectors, providers)
    settings.journal.note("end", run=progress.run, complete=progress.complete, why=progress.limit)
    return progress


@dataclass(frozen=True, slots=True)
class _Found:
    """What a run's graph had when the session began.

    ``states`` are the dialogues that stand for their identity, ``closed`` those of them (by IRI)
    that are not asked again as they are, ``invalid`` how many of an identity do not count.
    """

    states: Mapping[str, DialogueState]
    closed: Collection[str]
    invalid: Mapping[str, int]
    usage: Mapping[str, accounts.Usage]


def _found(store: Store, settings: Settings) -> _Found:
    if settings.run is None:
        return _Found({}, (), {}, {})
    graph = settings.run.graph
    states = reading.all_states(store, graph)
    wrong = invalidation.invalid(store, graph)
    invalid = {d: sum(one.iri in wrong for one in found) for d, found in states.items()}
    standing = {
        digest: found[-1]
        for digest, found in states.items()
        if not (settings.redo_invalidated and found[-1].iri in wrong)
    }
    failed = () if settings.retry_errors else accounts.failed_dialogues(store, graph)
    return _Found(standing, {*wrong, *failed}, invalid, accounts.usage(store, graph))


class _Work:
    """The dialogues of a session, held by a fixed number of workers per model."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        asked: Mapping[str, Sequence[Exercise]],
        *,
        settings: Settings,
        found: _Found,
        spending: Spending,
        progress: Progress,
        stop: Stop,
        watch: Watch,
    ) -> None:
        self._session = session
        self._plan = plan
        self._asked = asked
        self._settings = settings
        self._found = found
        self._spending = spending
        self._progress = progress
        self._stop = stop
        self._watch = watch
        self._refused: dict[str, int] = {}
        self._awaited: dict[str, int] = {}

    async def through(
        self, connectors: Mapping[str, Connector], providers: Mapping[str, Batches]
    ) -> None:
        """Hold all dialogues; returns when there is none left, or when asked to stop.

        ``connectors`` are those of models that are asked call by call, ``providers`` of the others.
        """
        lines = {iri: self._line(connector) for iri, connector in connectors.items()}
        setups = {setup.iri: setup for setup in self._plan.models}
        batching = {iri: self._batching(setups[iri], one) for iri, one in providers.items()}
        tasks = []
        for setup in self._plan.models:
            todo = self._todo(setup)
            if setup.iri in batching:
                tasks.append(asyncio.create_task(self._in_batches(setup, todo, batching)))
                continue
            tasks += [
                asyncio.create_task(self._worker(todo, lines[setup.iri]))
                for _ in range(self._plan.concurrency * _HOLDERS)
            ]

        def stopping() -> None:
            for line in lines.values():
                line.pace.close()
            for one in batching.values() if self._stop.reason is None else ():
                one.give_up()

        self._stop.watch(tasks, stopping)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        unfinished = self._stop.requested and not self._progress.finished
        self._progress.limit = self._stop.reason if unfinished else None
        self._progress.interrupted = unfinished and self._stop.reason is None
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    def _line(self, connector: Connector) -> Line:
        settings, plan = self._settings, self._plan
        return Line(
            connector,
            Pace(
                plan.concurrency,
                requests_per_minute=plan.requests_per_minute,
                tokens_per_minute=plan.tokens_per_minute,
            ),
            Patience(plan.max_retries, settings.patience_scale),
            deadline=plan.call_timeout,
            journal=settings.journal,
            stopping=self._stop.event,
        )

    def _todo(self, setup: ModelSetup) -> Iterator[Planned]:
        for planned in planning.planned(self._plan, self._asked, setup):
            state = self._found.states.get(planned.digest)
            if state is not None and state.complete:
                self._progress.before += 1
            elif state is not None and state.iri in self._found.closed:
                self._progress.left_open += 1
            elif setup.label not in self._progress.stopped_models:
                yield planned

    def _batching(self, setup: ModelSetup, provider: Batches) -> Batching:
        session, settings = self._session, self._settings

        def told(awaited: int) -> None:
            self._awaited[setup.iri] = awaited
            self._progress.awaited = sum(self._awaited.values())
            self._watch(self._progress)

        run = Outgoing(
            session.store, session.recorder, session.writer, settings.journal, self._stop
        )
        patience = Patience(self._plan.max_retries, settings.patience_scale)
        return Batching(setup, provider, run, patience, scale=settings.patience_scale, told=told)

    async def _in_batches(
        self, setup: ModelSetup, todo: Iterator[Planned], batching: Mapping[str, Batching]
    ) -> None:
        channel = batching[setup.iri]

        async def hold(planned: Planned) -> None:
            await self._hold(planned, channel)

        await channel.work(todo, lambda one: self._begun(one, *estimating.most(one.exercise)), hold)
        if channel.refused is not None:
            self._progress.stopped_models[setup.label] = channel.refused

    async def _worker(self, todo: Iterator[Planned], line: Line) -> None:
        for planned in todo:
            if self._stop.requested:
                return
            if not self._begun(planned, len(planned.exercise.prompt) // CHARACTERS_PER_TOKEN):
                return
            await self._hold(planned, line)

    def _begun(self, planned: Planned, read: int, written: int = 0) -> bool:
        """Whether a dialogue of about so many tokens may begin; else the run stops."""
        limit = self._spending.begin(planned.model.iri, read, written)
        if limit is not None:
            self._stop.limit_reached(limit)
        return limit is None

    async def _hold(self, planned: Planned, channel: Channel) -> None:
        held = await self._session.conversations.hold(planned, channel, self._stored(planned))
        self._count(planned, held)

    def _stored(self, planned: Planned) -> Stored:
        state = self._found.states.get(planned.digest)
        again = self._found.invalid.get(planned.digest, 0)
        if state is None:
            return Stored(again=again)
        store, graph = self._session.store, self._session.recorder.run_graph
        return Stored(
            reading.stored_turns(store, graph, state.iri),
            reading.call_counts(store, graph, state.iri),
            again,
        )

    def _count(self, planned: Planned, held: Conversed) -> None:
        progress, model = self._progress, planned.model
        cost = self._spending.end(model.iri, held.usage, held.uncounted)
        if cost is None:
            progress.unpriced.add(model.label)
        else:
            progress.cost += cost
        progress.calls += held.calls
        progress.input_tokens += held.usage.input or 0
        progress.output_tokens += held.usage.output or 0
        progress.complete += held.ending is Ending.COMPLETE
        progress.failed += held.ending is Ending.FAILED
        self._note_failure(model, held.failure)
        self._watch(progress)

    def _note_failure(self, model: ModelSetup, failure: Call | None) -> None:
        """A model that refuses several calls in a row (a wrong key or name) is asked no more."""
        if failure is None:
            self._refused.pop(model.iri, None)
            return
        assert failure.failure is not None
        said = failure.error or str(failure.failure)
        self._progress.failures[said] = self._progress.failures.get(said, 0) + 1
        refused = failure.failure is Outcome.PROVIDER_ERROR and said.startswith(
            ProviderRefused.__name__
        )
        self._refused[model.iri] = self._refused.get(model.iri, 0) + 1 if refused else 0
        if self._refused[model.iri] >= _REFUSALS:
            self._progress.stopped_models[model.label] = said
