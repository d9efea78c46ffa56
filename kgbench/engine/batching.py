# SPDX-License-Identifier: Apache-2.0
"""Asking one model in batches, round by round.

As many dialogues as there is room for are held at once. Each waits for its answer; when all of
them wait, what they ask for becomes the next batches. When a batch has ended its dialogues go on,
and their next prompts, with new dialogues where there is room, are in the next one.

Nothing is asked twice: a batch is recorded before it is handed in, and recorded as ended once all
of its answers are stored. What a session finds unended it collects before it asks for anything.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from kgbench.connectors.batches import MOST_CHARACTERS, MOST_REQUESTS, Asked, Batches, name
from kgbench.engine.calls import Patience, outcome
from kgbench.engine.following import Following, NotMade, Stopped
from kgbench.engine.journal import Journal
from kgbench.engine.pacing import GivenUp
from kgbench.engine.planning import Planned
from kgbench.engine.replies import Replies
from kgbench.engine.stopping import Stop
from kgbench.engine.writer import Writer
from kgbench.errors import ProviderError, RateLimited
from kgbench.model import Call, ModelSetup, Reply, Request
from kgbench.rdf import canonical_json, digest
from kgbench.record import Recorder, batches
from kgbench.record.batches import Batch
from kgbench.store.iris import new_id
from kgbench.store.protocol import Store

_HELD = 2  # times as many dialogues, and characters of their prompts, as fill a batch
_KEY = 31  # hex digits of a request's digest, as many as its name has room for


class _Waiting(NamedTuple):
    """A dialogue that waits for an answer."""

    key: str
    request: Request
    dialogue: str
    answered: asyncio.Future[tuple[Reply | ProviderError, Batch]]


class Outgoing(NamedTuple):
    """What batches need of the run that they belong to."""

    store: Store
    recorder: Recorder
    writer: Writer
    replies: Replies
    journal: Journal
    stop: Stop


@dataclass(slots=True)
class _Delivered:
    """A batch whose results have come, with how many of them are answers."""

    batch: Batch
    state: str
    answers: int


_Begin: TypeAlias = Callable[[Planned], bool | None]
_Hold: TypeAlias = Callable[[Planned], Awaitable[None]]


class Batching:
    """The batches of one model; a :class:`~kgbench.engine.calls.Channel` for its dialogues.

    ``refused`` says why the model is asked no more, where that is so. ``scale`` shortens waits in
    tests. ``told`` hears how many requests are under way, whenever that has changed.
    """

    MOST = MOST_REQUESTS  # in a batch

    def __init__(
        self,
        setup: ModelSetup,
        provider: Batches,
        run: Outgoing,
        patience: Patience,
        *,
        scale: float,
        told: Callable[[int], None],
    ) -> None:
        self.refused: str | None = None
        self._setup = setup
        self._run = run
        self._patience = patience
        self._told = told
        self._giving_up = asyncio.Event()
        self._following = Following(provider, run.journal, self._giving_up, scale)
        self._earlier: dict[str, tuple[Reply, Batch]] = {}
        self._known: set[str] = set()  # ids of batches that are recorded
        self._gathered: deque[_Waiting] = deque()
        self._under_way: dict[str, list[_Waiting]] = {}  # by the IRI of their batch
        self._delivered: list[_Delivered] = []
        self._holding: set[asyncio.Task[None]] = set()
        self._follows: set[asyncio.Task[None]] = set()
        self._more = True  # dialogues are left to begin
        self._later: Planned | None = None  # one that there was no room for
        self._busy = 0  # dialogues that do not wait for an answer
        self._held = 0  # characters of what is held
        self._quiet = asyncio.Event()
        self._again_at = 0.0  # loop time before which nothing is handed in
        self._failure: BaseException | None = None

    # --- for dialogues --------------------------------------------------------------------

    async def arrived(self, request: Request, dialogue: str) -> None:
        """None: the provider keeps what batches bring."""

    async def call(self, request: Request, dialogue: str) -> Call:
        """See :class:`~kgbench.engine.calls.Channel`."""
        key = digest(canonical_json([dialogue, *request.messages]))[:_KEY]
        self._patience.begun()
        failures = refusals = 0
        while True:
            got, batch = await self._answer(_Waiting(key, request, dialogue, _future()))
            now = batches.now_after(batch)
            if isinstance(got, Reply):
                retries = failures + refusals
                made = Call(batch.started, now, got, retries=retries, batch=batch.iri)
                self._run.replies.received(made, request, dialogue)
                k = len(request.messages) // 2
                self._run.journal.reply(got, dialogue=dialogue, round=k, batch=batch.id)
                return made
            refusals += isinstance(got, RateLimited)
            failures += not isinstance(got, RateLimited)
            wait = self._patience.wait(failures, refusals, got)
            error = f"{type(got).__name__}: {got}"
            self._run.journal.note("failure", dialogue=dialogue, error=error, wait=wait)
            if wait is None or self._run.stop.requested:
                failure, retries = outcome(got), failures + refusals - 1
                return Call(
                    batch.started, now, None, failure, error, retries=retries, batch=batch.iri
                )
            self._again_at = max(self._again_at, asyncio.get_running_loop().time() + wait)

    async def _answer(self, waiting: _Waiting) -> tuple[Reply | ProviderError, Batch]:
        known = self._earlier.pop(waiting.key, None)
        if known is not None:
            return known
        if self._giving_up.is_set():
            raise GivenUp
        self._gathered.append(waiting)
        self._rests()
        return await waiting.answered

    def _rests(self) -> None:
        self._busy -= 1
        if self._busy == 0:
            self._quiet.set()

    def _tell(self, waiting: _Waiting, got: Reply | ProviderError | GivenUp, batch: Batch) -> None:
        """Let a dialogue go on."""
        if waiting.answered.done():
            return
        self._busy += 1
        self._quiet.clear()
        if isinstance(got, GivenUp):
            waiting.answered.set_exception(got)
        else:
            waiting.answered.set_result((got, batch))

    def give_up(self) -> None:
        """Wait for nothing any more; what is handed in goes on at the provider."""
        self._giving_up.set()
        nothing = Batch("", self._setup.iri, 0, datetime.now(UTC))
        for waiting in (*self._gathered, *(w for ws in self._under_way.values() for w in ws)):
            self._tell(waiting, GivenUp(), nothing)
        self._gathered.clear()

    # --- the work -------------------------------------------------------------------------

    async def work(
        self,
        todo: Iterator[Planned],
        begin: _Begin,
        hold: _Hold,
        room: Callable[[], Awaitable[None]],
    ) -> None:
        """Hold ``todo`` as long as ``begin`` says true; at ``None``, ask again after ``room``."""
        try:
            await self._collect()
            while await self._step(todo, begin, hold):
                if not (self._holding or self._gathered or self._follows):
                    await room()
        except Stopped as stopped:
            self.refused = stopped.why
            self.give_up()
            while self._busy:
                await self._settled()
            await self._close_delivered()
        finally:
            for task in (*self._holding, *self._follows):
                task.cancel()
            await asyncio.gather(*self._holding, *self._follows, return_exceptions=True)

    async def _step(self, todo: Iterator[Planned], begin: _Begin, hold: _Hold) -> bool:
        """Begin what can be begun, wait until all wait, hand in what is asked; false at the end."""
        while self._room():
            planned, self._later = self._later or next(todo, None), None
            if planned is None or not (begun := begin(planned)):
                self._more = planned is not None and begun is None
                self._later = planned
                break
            self._busy += 1
            self._quiet.clear()
            self._held += len(planned.exercise.prompt)
            self._holding.add(asyncio.create_task(self._one(planned, hold)))
        await self._settled()
        await self._close_delivered()
        if self._gathered:
            await self._hand_in()
        elif self._follows:
            await self._any_news()
        return bool(self._holding or self._gathered or self._follows or self._more)

    def _room(self) -> bool:
        most, characters = _HELD * self.MOST, _HELD * MOST_CHARACTERS
        full = len(self._holding) >= most or self._held >= characters
        self._more = self._more and not self._run.stop.requested
        return self._more and not full

    async def _one(self, planned: Planned, hold: _Hold) -> None:
        try:
            await hold(planned)
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for all
            self._failure = self._failure or error
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._holding.discard(task)  # now: nobody waits for what has ended, not even to end
            self._held -= len(planned.exercise.prompt)
            self._rests()

    async def _settled(self) -> None:
        """Wait until every dialogue waits for an answer or has ended."""
        while self._busy:
            await self._quiet.wait()
            await asyncio.sleep(0)
        if self._failure is not None:
            raise self._failure

    # --- handing in -----------------------------------------------------------------------

    async def _hand_in(self) -> None:
        """Make batches of what is gathered, and follow each."""
        await self._pause()
        while self._gathered and not self._giving_up.is_set():
            waiting = self._portion()
            number = new_id()
            iri = self._run.recorder.iris.mint("batch", run=self._run.recorder.run_id, batch=number)
            batch = Batch(iri, self._setup.iri, len(waiting), datetime.now(UTC))
            asked = [Asked(name(batch.token, one.key), one.request) for one in waiting]
            self._under_way[batch.iri] = waiting
            self._count()
            await self._run.writer.put(batches.intended(self._run.recorder, self._setup, batch))
            try:
                known = await self._following.submitted(batch, asked, self._known)
            except GivenUp:
                return  # perhaps it is handed in: the next session finds out
            except NotMade:
                self._gathered.extendleft(reversed(waiting))  # who is given up now
                await self._never_left(batch)
                raise
            if known is None:
                await self._never_left(batch)
                return
            self._known.add(known.id or "")
            await self._run.writer.put([batches.known(self._run.recorder, known)])
            for one in waiting:
                self._run.journal.note("request", dialogue=one.dialogue, batch=known.id)
            self._follow(known, self._deliver)

    async def _never_left(self, batch: Batch) -> None:
        """Record that the provider has no such batch: nothing is under way in it."""
        del self._under_way[batch.iri]
        self._count()
        await self._close(batch, batches.NOT_SUBMITTED)

    def _portion(self) -> list[_Waiting]:
        """The requests of the next batch."""
        taken: list[_Waiting] = []
        characters = 0
        while self._gathered and len(taken) < self.MOST:
            size = sum(map(len, self._gathered[0].request.messages))
            if taken and characters + size > MOST_CHARACTERS:
                break
            characters += size
            taken.append(self._gathered.popleft())
        return taken

    async def _pause(self) -> None:
        seconds = self._again_at - asyncio.get_running_loop().time()
        if seconds > 0:
            await self._following.pause(seconds)

    # --- what comes back ------------------------------------------------------------------

    def _follow(
        self, batch: Batch, deliver: Callable[[Batch], Coroutine[None, None, None]]
    ) -> None:
        self._follows.add(asyncio.create_task(deliver(batch)))

    async def _any_news(self) -> None:
        """Wait until a batch has come back."""
        done, self._follows = await asyncio.wait(self._follows, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # raises what it did

    async def _deliver(self, batch: Batch) -> None:
        """Wait for a batch and give its results to those who wait for them."""
        by_name = {name(batch.token, w.key): w for w in self._under_way[batch.iri]}
        answers = 0
        try:
            standing = await self._following.ended(batch)
            async for result in self._following.results(batch, standing):
                answers += isinstance(result.outcome, Reply)
                waiting = by_name.pop(result.name, None)
                if waiting is not None:
                    self._tell(waiting, result.outcome, batch)
        except GivenUp:
            return
        except Stopped:
            for waiting in by_name.values():
                self._tell(waiting, GivenUp(), batch)
            raise
        finally:
            del self._under_way[batch.iri]
            self._count()
        assert standing.missing is not None
        for waiting in by_name.values():
            self._tell(waiting, standing.missing, batch)
        self._delivered.append(_Delivered(batch, standing.state, answers))

    async def _collect(self) -> None:
        """The results of what earlier sessions handed in; nothing is asked before they are here."""
        graph = self._run.recorder.run_graph
        recorded = batches.all_of(self._run.store, graph)
        self._known = {batch.id for batch in recorded if batch.id is not None}
        for batch in recorded:
            if batch.state is None and batch.model == self._setup.iri:
                self._follow(batch, self._collected)
        while self._follows:
            await self._any_news()

    async def _collected(self, batch: Batch) -> None:
        try:
            if batch.id is None:
                known = await self._following.found(batch, self._known)
                if known is None:
                    await self._close(batch, batches.NOT_SUBMITTED)
                    return
                await self._run.writer.put([batches.known(self._run.recorder, known)])
                batch = known
            standing = await self._following.ended(batch)
            answers = 0
            prefix = f"{batch.token}-"
            async for result in self._following.results(batch, standing):
                if isinstance(result.outcome, Reply) and result.name.startswith(prefix):
                    answers += 1
                    self._earlier[result.name.removeprefix(prefix)] = (result.outcome, batch)
        except GivenUp:
            return
        self._delivered.append(_Delivered(batch, standing.state, answers))

    async def _close_delivered(self) -> None:
        """Record the end of batches of which all answers are stored; others stay open."""
        if not self._delivered:
            return
        await self._run.writer.put([])
        store, graph = self._run.store, self._run.recorder.run_graph
        for one in list(self._delivered):
            if batches.answers(store, graph, one.batch) >= one.answers:
                await self._close(one.batch, one.state)
                self._delivered.remove(one)

    async def _close(self, batch: Batch, state: str) -> None:
        graph, now = self._run.recorder.run_graph, batches.now_after(batch)
        await self._run.writer.put([batches.ended(graph, batch, state, now)])
        self._run.journal.note("batch-closed", batch=batch.id, iri=batch.iri, state=state)

    def _count(self) -> None:
        self._told(sum(map(len, self._under_way.values())))


def _future() -> asyncio.Future[tuple[Reply | ProviderError, Batch]]:
    return asyncio.get_running_loop().create_future()
