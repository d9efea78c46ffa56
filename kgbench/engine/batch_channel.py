# SPDX-License-Identifier: Apache-2.0
"""Dialogues with one model by batches of requests, round by round.

When all dialogues that are held at once wait for answers, their requests become the next batches.
When a batch ends, its dialogues continue, and their next prompts and new dialogues form the next.
A batch is recorded before it is submitted, and as ended once its answers are stored; sessions
collect the open batches of earlier ones first. So no request is submitted twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kgbench import clock
from kgbench.connectors import CallAbandoned
from kgbench.connectors.batches import MOST_CHARACTERS, MOST_REQUESTS, Batches, BatchRequest, name
from kgbench.engine.batch_client import BatchClient, BatchesRefused, BatchNotCreated
from kgbench.engine.calls import RetryPolicy, outcome
from kgbench.engine.journal import Journal
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.replies import Replies
from kgbench.engine.stop_signal import StopSignal
from kgbench.engine.writer import Writer
from kgbench.errors import ProviderError, RateLimited
from kgbench.model import Call, ModelSetup, Reply, Request
from kgbench.rdf import canonical_json, digest
from kgbench.record import Recorder, batches
from kgbench.record.batches import Batch
from kgbench.store.iris import new_id
from kgbench.store.protocol import Store

_HELD = 2  # batches' worth of dialogues, and of characters of their prompts, held at once
_KEY = 31  # hex digits of a request's digest: more do not fit into its name


class _Waiting(NamedTuple):
    """A request of a dialogue, and the future of its answer."""

    key: str
    request: Request
    dialogue: str
    answered: asyncio.Future[tuple[Reply | ProviderError, Batch]]


class BatchContext(NamedTuple):
    """The parts of a run that its batches need."""

    store: Store
    recorder: Recorder
    writer: Writer
    replies: Replies
    journal: Journal
    stop: StopSignal


@dataclass(slots=True)
class _Delivered:
    """A batch whose results have been fetched; ``answers`` counts those that are replies."""

    batch: Batch
    state: str
    answers: int


_Begin: TypeAlias = Callable[[PlannedDialogue], bool | None]
_Hold: TypeAlias = Callable[[PlannedDialogue], Awaitable[None]]


class BatchChannel:
    """The batches of one model; a :class:`~kgbench.engine.calls.Channel` for its dialogues.

    ``refused`` is the reason why the provider takes no more batches, or ``None``. ``scale``
    multiplies waits. ``report`` is called with the number of requests under way when it changes.
    """

    MOST = MOST_REQUESTS  # requests in a batch

    def __init__(
        self,
        setup: ModelSetup,
        provider: Batches,
        run: BatchContext,
        retry_policy: RetryPolicy,
        *,
        scale: float,
        report: Callable[[int], None],
    ) -> None:
        self.refused: str | None = None
        self._setup = setup
        self._run = run
        self._retry_policy = retry_policy
        self._report = report
        self._giving_up = asyncio.Event()
        self._following = BatchClient(provider, run.journal, self._giving_up, scale)
        self._earlier: dict[str, tuple[Reply, Batch]] = {}
        self._known: set[str] = set()  # ids of batches that are recorded
        self._gathered: deque[_Waiting] = deque()
        self._submitted: dict[str, list[_Waiting]] = {}  # by the IRI of their batch
        self._delivered: list[_Delivered] = []
        self._holding: set[asyncio.Task[None]] = set()
        self._follows: set[asyncio.Task[None]] = set()
        self._more = True  # whether dialogues are left to begin
        self._later: PlannedDialogue | None = None  # a dialogue that there was no room for
        self._busy = 0  # dialogues that are not waiting for an answer
        self._prompt_characters = 0  # characters of the prompts of the dialogues held
        self._quiet = asyncio.Event()
        self._again_at = 0.0  # time of the event loop before which nothing is submitted
        self._failure: BaseException | None = None

    # --- for dialogues --------------------------------------------------------------------

    async def call(self, request: Request, dialogue: str) -> Call:
        """See :class:`~kgbench.engine.calls.Channel`."""
        key = digest(canonical_json([dialogue, *request.messages]))[:_KEY]
        self._retry_policy.count_call()
        failures = refusals = 0
        while True:
            answer, batch = await self._answer(_Waiting(key, request, dialogue, _future()))
            ended = batches.end_time(batch)
            if isinstance(answer, Reply):
                retries = failures + refusals
                call = Call(batch.started, ended, answer, retries=retries, batch=batch.iri)
                self._run.replies.log_call(call, request, dialogue)
                k = len(request.messages) // 2
                self._run.journal.reply(answer, dialogue=dialogue, round=k, batch=batch.id)
                return call
            refusals += isinstance(answer, RateLimited)
            failures += not isinstance(answer, RateLimited)
            wait = self._retry_policy.wait(failures, refusals, answer)
            error = f"{type(answer).__name__}: {answer}"
            self._run.journal.note("failure", dialogue=dialogue, error=error, wait=wait)
            if wait is None or self._run.stop.requested:
                failure, retries = outcome(answer), failures + refusals - 1
                return Call(
                    batch.started, ended, None, failure, error, retries=retries, batch=batch.iri
                )
            self._again_at = max(self._again_at, asyncio.get_running_loop().time() + wait)

    async def _answer(self, waiting: _Waiting) -> tuple[Reply | ProviderError, Batch]:
        known = self._earlier.pop(waiting.key, None)
        if known is not None:
            return known
        if self._giving_up.is_set():
            raise CallAbandoned
        self._gathered.append(waiting)
        self._count_waiting()
        return await waiting.answered

    def _count_waiting(self) -> None:
        self._busy -= 1
        if self._busy == 0:
            self._quiet.set()

    def _resume(
        self, waiting: _Waiting, answer: Reply | ProviderError | CallAbandoned, batch: Batch
    ) -> None:
        """Resume a dialogue with its answer."""
        if waiting.answered.done():
            return
        self._busy += 1
        self._quiet.clear()
        if isinstance(answer, CallAbandoned):
            waiting.answered.set_exception(answer)
        else:
            waiting.answered.set_result((answer, batch))

    def give_up(self) -> None:
        """Stop waiting; submitted batches continue at the provider."""
        self._giving_up.set()
        nothing = Batch("", self._setup.iri, 0, clock.now())
        for waiting in (*self._gathered, *(w for ws in self._submitted.values() for w in ws)):
            self._resume(waiting, CallAbandoned(), nothing)
        self._gathered.clear()

    # --- the work -------------------------------------------------------------------------

    async def work(
        self,
        dialogues: Iterator[PlannedDialogue],
        begin: _Begin,
        hold: _Hold,
        room: Callable[[], Awaitable[None]],
    ) -> None:
        """Hold ``dialogues`` while ``begin`` is true; on ``None``, await ``room`` and retry."""
        try:
            await self._collect()
            while await self._step(dialogues, begin, hold):
                if not (self._holding or self._gathered or self._follows):
                    await room()
        except BatchesRefused as stopped:
            self.refused = stopped.reason
            self.give_up()
            while self._busy:
                await self._wait_until_idle()
            await self._close_delivered()
        finally:
            for task in (*self._holding, *self._follows):
                task.cancel()
            await asyncio.gather(*self._holding, *self._follows, return_exceptions=True)

    async def _step(self, dialogues: Iterator[PlannedDialogue], begin: _Begin, hold: _Hold) -> bool:
        """Begin dialogues, wait until all of them wait, submit their requests; false at the end."""
        while self._room():
            planned, self._later = self._later or next(dialogues, None), None
            if planned is None or not (begun := begin(planned)):
                self._more = planned is not None and begun is None
                self._later = planned
                break
            self._busy += 1
            self._quiet.clear()
            self._prompt_characters += len(planned.exercise.prompt)
            self._holding.add(asyncio.create_task(self._hold_one(planned, hold)))
        await self._wait_until_idle()
        await self._close_delivered()
        if self._gathered:
            await self._submit()
        elif self._follows:
            await self._await_results()
        return bool(self._holding or self._gathered or self._follows or self._more)

    def _room(self) -> bool:
        max_dialogues, max_characters = _HELD * self.MOST, _HELD * MOST_CHARACTERS
        full = len(self._holding) >= max_dialogues or self._prompt_characters >= max_characters
        self._more = self._more and not self._run.stop.requested
        return self._more and not full

    async def _hold_one(self, planned: PlannedDialogue, hold: _Hold) -> None:
        try:
            await hold(planned)
        except Exception as error:  # noqa: BLE001 - raised again in _settled
            self._failure = self._failure or error
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._holding.discard(task)  # not in a callback: _step must not count ended ones
            self._prompt_characters -= len(planned.exercise.prompt)
            self._count_waiting()

    async def _wait_until_idle(self) -> None:
        """Wait until every dialogue waits for an answer or has ended."""
        while self._busy:
            await self._quiet.wait()
            await asyncio.sleep(0)
        if self._failure is not None:
            raise self._failure

    # --- submitting --------------------------------------------------------------------

    async def _submit(self) -> None:
        """Submit the gathered requests as batches, and wait for each in a task of its own."""
        await self._pause()
        while self._gathered and not self._giving_up.is_set():
            waiting = self._next_requests()
            number = new_id()
            iri = self._run.recorder.iris.mint("batch", run=self._run.recorder.run_id, batch=number)
            batch = Batch(iri, self._setup.iri, len(waiting), clock.now())
            requests = [BatchRequest(name(batch.token, item.key), item.request) for item in waiting]
            self._submitted[batch.iri] = waiting
            self._count()
            await self._run.writer.put(
                batches.intention_blocks(self._run.recorder, self._setup, batch)
            )
            try:
                known = await self._following.submitted(batch, requests, self._known)
            except CallAbandoned:
                return  # the batch may have been submitted: the next session asks the provider
            except BatchNotCreated:
                self._gathered.extendleft(reversed(waiting))  # give_up resolves them
                await self._close_unsubmitted(batch)
                raise
            if known is None:
                await self._close_unsubmitted(batch)
                return
            self._known.add(known.id or "")
            await self._run.writer.put([batches.id_block(self._run.recorder, known)])
            for item in waiting:
                self._run.journal.note("request", dialogue=item.dialogue, batch=known.id)
            self._follow(known, self._deliver)

    async def _close_unsubmitted(self, batch: Batch) -> None:
        """Record that the provider does not have the batch, so that nothing is under way in it."""
        del self._submitted[batch.iri]
        self._count()
        await self._close(batch, batches.NOT_SUBMITTED)

    def _next_requests(self) -> list[_Waiting]:
        """Remove and return the requests of the next batch."""
        requests: list[_Waiting] = []
        characters = 0
        while self._gathered and len(requests) < self.MOST:
            size = sum(map(len, self._gathered[0].request.messages))
            if requests and characters + size > MOST_CHARACTERS:
                break
            characters += size
            requests.append(self._gathered.popleft())
        return requests

    async def _pause(self) -> None:
        seconds = self._again_at - asyncio.get_running_loop().time()
        if seconds > 0:
            await self._following.pause(seconds)

    # --- results ---------------------------------------------------------------

    def _follow(
        self, batch: Batch, deliver: Callable[[Batch], Coroutine[None, None, None]]
    ) -> None:
        self._follows.add(asyncio.create_task(deliver(batch)))

    async def _await_results(self) -> None:
        """Wait until the results of at least one batch are here."""
        done, self._follows = await asyncio.wait(self._follows, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # raises the task's exception

    async def _deliver(self, batch: Batch) -> None:
        """Wait for a batch and pass its results to the waiting dialogues."""
        by_name = {name(batch.token, w.key): w for w in self._submitted[batch.iri]}
        answers = 0
        try:
            status = await self._following.ended(batch)
            async for result in self._following.results(batch, status):
                answers += isinstance(result.outcome, Reply)
                waiting = by_name.pop(result.name, None)
                if waiting is not None:
                    self._resume(waiting, result.outcome, batch)
        except CallAbandoned:
            return
        except BatchesRefused:
            for waiting in by_name.values():
                self._resume(waiting, CallAbandoned(), batch)
            raise
        finally:
            del self._submitted[batch.iri]
            self._count()
        assert status.missing is not None
        for waiting in by_name.values():
            self._resume(waiting, status.missing, batch)
        self._delivered.append(_Delivered(batch, status.state, answers))

    async def _collect(self) -> None:
        """Collect the open batches of earlier sessions, before anything new is submitted."""
        graph = self._run.recorder.run_graph
        recorded = batches.all_batches(self._run.store, graph)
        self._known = {batch.id for batch in recorded if batch.id is not None}
        for batch in recorded:
            if batch.state is None and batch.model == self._setup.iri:
                self._follow(batch, self._collect_one)
        while self._follows:
            await self._await_results()

    async def _collect_one(self, batch: Batch) -> None:
        try:
            if batch.id is None:
                known = await self._following.find(batch, self._known)
                if known is None:
                    await self._close(batch, batches.NOT_SUBMITTED)
                    return
                await self._run.writer.put([batches.id_block(self._run.recorder, known)])
                batch = known
            status = await self._following.ended(batch)
            answers = 0
            prefix = f"{batch.token}-"
            async for result in self._following.results(batch, status):
                if isinstance(result.outcome, Reply) and result.name.startswith(prefix):
                    answers += 1
                    self._earlier[result.name.removeprefix(prefix)] = (result.outcome, batch)
        except CallAbandoned:
            return
        self._delivered.append(_Delivered(batch, status.state, answers))

    async def _close_delivered(self) -> None:
        """Record the end of the batches whose answers are all stored; the others stay open."""
        if not self._delivered:
            return
        await self._run.writer.put([])
        store, graph = self._run.store, self._run.recorder.run_graph
        for delivered in list(self._delivered):
            if batches.answers(store, graph, delivered.batch) >= delivered.answers:
                await self._close(delivered.batch, delivered.state)
                self._delivered.remove(delivered)

    async def _close(self, batch: Batch, state: str) -> None:
        graph, ended = self._run.recorder.run_graph, batches.end_time(batch)
        await self._run.writer.put([batches.end_block(graph, batch, state, ended)])
        self._run.journal.note("batch-closed", batch=batch.id, iri=batch.iri, state=state)

    def _count(self) -> None:
        self._report(sum(map(len, self._submitted.values())))


def _future() -> asyncio.Future[tuple[Reply | ProviderError, Batch]]:
    return asyncio.get_running_loop().create_future()
