# SPDX-License-Identifier: Apache-2.0
"""Running queries in workers: most are quick, few may be heavy, all have an end.

A job starts in a quick worker. One that is not done after the quick time must get one of the heavy
places: if one is free, its worker moves there as it is and a new one takes its seat; if none is,
the worker is killed and the job starts again when a place becomes free. Nothing of an answer is
sent before it is complete or its job has a heavy place.

So that many heavy queries do not take the quick workers one after the other, jobs have lanes by
what they cost before (:mod:`kgbench.serve.costs`): a query that was heavy waits for a heavy place
from the start; light ones may use all quick workers, unknown ones all but one, and of those with
the same new shape one is tried first, which tells what the others cost; of the queries whose shape
was heavy with other constants, one at a time is tried. The quick time is measured as
time of the processor where the system tells it, so that a light query on a busy machine stays one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from kgbench.serve import worker as talk
from kgbench.serve.costs import Cost, Costs, Key
from kgbench.serve.refusals import Refused, busy, too_slow
from kgbench.serve.seats import Seats
from kgbench.serve.settings import Limits
from kgbench.serve.workers import Frame, Gone, Worker

QUERIES, ANALYSES = "kgbench.serve.worker", "kgbench.serve.analyst"
_log = logging.getLogger("kgbench.serve")
_GRACE = 0.5  # seconds
_BUFFERED = 1 << 18  # bytes of an answer that are collected before its job counts as heavy
_TICK = 0.02  # seconds: as exactly as systems count the time of a processor
_LONGEST_QUICK = 5  # times the quick time that a job may take while it waits for the processor


class Rest:
    """The rest of a heavy answer, until its time is over; close it, read to the end or not.

    At that time its place is freed, whether its reader reads or not. ``held`` is what must not go
    before the answer has come, such as the snapshot that it is read from.
    """

    def __init__(self, pool: Pool, worker: Worker, end: float, held: object) -> None:
        self._pool, self._worker, self._end, self._held = pool, worker, end, held
        self._open = True
        # A reader that waits for a piece gets an error at the end; this ends the job of one that
        # has stopped reading.
        late = end + _GRACE - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(late, self._expire)

    def __aiter__(self) -> Rest:
        return self

    async def __anext__(self) -> bytes:
        left = self._end - time.monotonic()
        if left < 0:  # the query is slow, or its reader
            raise too_slow(self._pool.limits.seconds)
        if not self._open:
            raise StopAsyncIteration
        frame = await _frame(self._worker, left)
        if frame is None:
            raise too_slow(self._pool.limits.seconds)
        if frame.tag == talk.END:
            await self.aclose()
            raise StopAsyncIteration
        return frame.payload

    def _expire(self) -> None:
        self._pool.seats.later(self.aclose())

    async def aclose(self) -> None:
        """Free the heavy place; may be called twice."""
        self._timer.cancel()
        if self._open:
            self._open = False
            await self._pool.finish(self._worker)


class Answer:
    """The bytes of an answer: complete at once, or to be taken piece by piece."""

    def __init__(self, head: bytes, rest: Rest | None = None) -> None:
        self.head = head
        self.rest = rest

    async def whole(self) -> bytes:
        """All bytes."""
        if self.rest is None:
            return self.head
        try:
            return self.head + b"".join([piece async for piece in self.rest])
        finally:
            await self.rest.aclose()


class Pool:
    """Workers of one server that run one module; all methods belong to its event loop."""

    def __init__(self, limits: Limits, module: str = QUERIES) -> None:
        self.limits = limits
        self.isolated = False
        self.seats = Seats(module, limits.quick, limits.memory_bytes, limits.patience)
        self.costs = Costs()
        self._quick = asyncio.Semaphore(limits.quick)
        self._untried = asyncio.Semaphore(max(1, limits.quick - 1))
        self._suspects = asyncio.Semaphore(1)
        self._heavy = asyncio.Semaphore(limits.heavy)
        self._trials: dict[str, asyncio.Future[None]] = {}  # of shapes
        self._waiting = {Cost.LIGHT: 0, Cost.UNKNOWN: 0, Cost.SUSPECT: 0, Cost.HEAVY: 0}

    async def start(self) -> None:
        """Start all quick workers."""
        self.isolated = await self.seats.start()

    async def close(self) -> None:
        """Kill all workers."""
        await self.seats.close()

    async def run(self, job: dict[str, Any], key: Key | None = None, held: object = None) -> Answer:
        """The answer to ``job``; raises :class:`~kgbench.serve.refusals.Refused`.

        ``key`` is that of its cost, ``held`` is kept until the answer has come.
        """
        job = {**job, "rows": self.limits.rows, "bytes": self.limits.answer_bytes}
        expected = await self._expected(key)
        if expected is Cost.HEAVY:
            return await self._run_heavy(job, key, held)
        end = time.monotonic() + self.limits.seconds
        async with contextlib.AsyncExitStack() as places:
            if key is not None and expected is Cost.UNKNOWN:
                places.enter_context(self._trial(key.shape))
            if expected is Cost.SUSPECT:
                await places.enter_async_context(self._place(self._suspects, expected))
            if expected is not Cost.LIGHT:
                await places.enter_async_context(self._place(self._untried, expected))
            await places.enter_async_context(self._place(self._quick, expected))
            worker = await self.seats.take()
            try:
                worker.send(job)
                pieces, done = await _collect(worker, self.limits.quick_seconds)
            except BaseException as error:
                await self._failed(worker, error)
                raise
            self.costs.note(key, light=done)
            if done:
                self.seats.give_back(worker)
                return Answer(b"".join(pieces))
            if not self._heavy.locked():
                await self._heavy.acquire()
                self.seats.refill()
                worker.step_back()
                return Answer(b"".join(pieces), Rest(self, worker, end, held))
            await self.seats.replace(worker)
        return await self._run_heavy(job, None, held)

    async def _expected(self, key: Key | None) -> Cost:
        """What a query is expected to cost; while one of its shape is tried first, wait for that.

        Else those who came while their shape was unknown would wait for one of the places of
        untried queries, long after all who come later are known to be light.
        """
        end = time.monotonic() + self.limits.patience
        while key is not None and self.costs.expected(key) is Cost.UNKNOWN:
            trial = self._trials.get(key.shape)
            if trial is None:
                break
            with self._in_line(Cost.UNKNOWN):
                done, _ = await asyncio.wait({trial}, timeout=end - time.monotonic())
            if not done:
                raise busy(self.limits.patience)
        return self.costs.expected(key)

    @contextlib.contextmanager
    def _trial(self, shape: str) -> Iterator[None]:
        """Try the first query of a shape."""
        trial = self._trials[shape] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._trials[shape]
            trial.set_result(None)

    async def prepare(self, job: dict[str, Any]) -> None:
        """Have each quick worker at rest do ``job``, one after the other.

        So all others are there for requests, which stand in the same line.
        """
        prepared: set[Worker] = set()
        for _ in range(self.limits.quick):
            async with self._quick:
                worker = self.seats.take_other(prepared)
                if worker is None:
                    return
                prepared.add(worker)
                try:
                    worker.send(job)
                    _, done = await _collect(worker, self.limits.seconds)
                except BaseException as error:
                    await self._failed(worker, error)
                    raise
                if done:
                    self.seats.give_back(worker)
                else:
                    await self.seats.replace(worker)

    async def _failed(self, worker: Worker, error: BaseException) -> None:
        if isinstance(error, Refused) and worker.alive:  # it said so itself, and goes on
            self.seats.give_back(worker)
        else:
            await self.seats.replace(worker)

    async def _run_heavy(self, job: dict[str, Any], key: Key | None, held: object) -> Answer:
        """Run a job that is known not to be quick, as soon as there is a heavy place.

        One that is quick all the same, on other data than before, is known as light from then on.
        """
        await self._enter(self._heavy, Cost.HEAVY)
        worker = None
        try:
            worker = await self.seats.new()
            worker.step_back()
            end = time.monotonic() + self.limits.seconds
            worker.send(job)
            pieces, done = await _collect(worker, self.limits.quick_seconds)
        except BaseException:
            if worker is None:
                self._heavy.release()
            else:
                await self.finish(worker)
            raise
        if done:
            self.costs.note(key, light=True)
            await self.finish(worker)
            return Answer(b"".join(pieces))
        return Answer(b"".join(pieces), Rest(self, worker, end, held))

    async def finish(self, worker: Worker) -> None:
        """End a heavy job's worker and free its place."""
        self._heavy.release()
        await asyncio.shield(self.seats.end(worker))

    @contextlib.asynccontextmanager
    async def _place(self, places: asyncio.Semaphore, lane: Cost) -> AsyncIterator[None]:
        await self._enter(places, lane)
        try:
            yield
        finally:
            places.release()

    async def _enter(self, places: asyncio.Semaphore, lane: Cost) -> None:
        """Take a place, waiting for one as long as may be; 503 otherwise."""
        if not places.locked():
            await places.acquire()
            return
        with self._in_line(lane):
            try:
                await asyncio.wait_for(places.acquire(), self.limits.patience)
            except TimeoutError:
                raise busy(self.limits.patience) from None

    @contextlib.contextmanager
    def _in_line(self, lane: Cost) -> Iterator[None]:
        """Wait, unless too many do; then 503."""
        if self._waiting[lane] >= self.limits.queue:
            raise busy(self.limits.patience)
        self._waiting[lane] += 1
        try:
            yield
        finally:
            self._waiting[lane] -= 1


async def _collect(worker: Worker, seconds: float) -> tuple[list[bytes], bool]:
    """Pieces of an answer until it is complete, enough of it is there, or the time is over.

    The time is that of the processor, and at most :data:`_LONGEST_QUICK` times as long by the
    clock; by the clock alone where the system does not tell the other.
    """
    pieces: list[bytes] = []
    size = 0
    latest = time.monotonic() + seconds * _LONGEST_QUICK
    used = worker.processor_seconds()
    left = seconds
    while size < _BUFFERED:
        end = time.monotonic() + left
        while frame := await _frame(worker, end - time.monotonic()):
            if frame.tag == talk.END:
                return pieces, True
            pieces.append(frame.payload)
            size += len(frame.payload)
            if size >= _BUFFERED:
                return pieces, False
        now = worker.processor_seconds()
        if used is None or now is None:
            break
        left = min(seconds - (now - used), latest - time.monotonic())
        if left < _TICK:
            break
    return pieces, False


async def _frame(worker: Worker, seconds: float) -> Frame | None:
    try:
        frame = await worker.frame(seconds)
    except Gone as gone:
        what = "needs more memory than it may use" if gone.memory else "ended its worker"
        raise Refused(503, f"the query {what}: ask for less") from None
    if frame is not None and frame.tag == talk.FAILED:
        raise _failure(json.loads(frame.payload))
    return frame


def _failure(said: dict[str, str]) -> Refused:
    if said["kind"] == "query":
        return Refused(400, said["message"])
    if said["kind"] == "missing":
        return Refused(404, said["message"])
    if said["kind"] == "limit":
        return Refused(503, f"{said['message']}: use LIMIT, or download the data")
    _log.error("a worker failed: %s", said["message"])
    return Refused(503, f"this failed in its process: {said['message']}")
