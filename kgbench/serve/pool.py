# SPDX-License-Identifier: Apache-2.0
"""Running queries in workers: most are quick, few may be heavy, all have an end.

A job starts in a quick worker. One that is not done after the quick time must get one of the heavy
places: if one is free, its worker moves there as it is and a new one takes its seat; if none is,
the worker is killed and the job starts again when a place becomes free. So quick queries always
find a worker, however many heavy ones are sent. Nothing of an answer is sent before it is complete
or its job has a heavy place.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from kgbench.errors import StoreError
from kgbench.serve import worker as talk
from kgbench.serve.refusals import Refused, busy, too_slow
from kgbench.serve.settings import Limits
from kgbench.serve.workers import Frame, Gone, Worker

QUERIES, ANALYSES = "kgbench.serve.worker", "kgbench.serve.analyst"
_log = logging.getLogger("kgbench.serve")
_GRACE = 0.5  # seconds
_BUFFERED = 1 << 18  # bytes of an answer that are collected before its job counts as heavy


class Rest:
    """The rest of a heavy answer, until its time is over; close it, read to the end or not.

    At that time its place is freed, whether its reader reads or not.
    """

    def __init__(self, pool: Pool, worker: Worker, end: float) -> None:
        self._pool, self._worker, self._end = pool, worker, end
        self._open = True
        # Who waits for a piece is told at the end; this is for who does not even ask.
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
        self._pool.later(self.aclose())

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
        self._module = module
        self.isolated = False
        self._idle: deque[Worker] = deque()
        self._all: set[Worker] = set()
        self._quick = asyncio.Semaphore(limits.quick)
        self._heavy = asyncio.Semaphore(limits.heavy)
        self._waiting = 0
        self._seats: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Start all quick workers."""
        for _ in range(self.limits.quick):
            self._idle.append(await self._new())
        self.isolated = all(worker.isolated for worker in self._idle)

    async def close(self) -> None:
        """Kill all workers."""
        self._closed = True
        for task in list(self._seats):
            task.cancel()
        await asyncio.gather(*self._seats, return_exceptions=True)
        for worker in list(self._all):
            await self._end(worker)

    async def run(self, job: dict[str, Any]) -> Answer:
        """The answer to ``job``; raises :class:`~kgbench.serve.refusals.Refused`."""
        job = {**job, "rows": self.limits.rows, "bytes": self.limits.answer_bytes}
        end = time.monotonic() + self.limits.seconds
        async with self._place(self._quick):
            worker = await self._take()
            try:
                worker.send(job)
                pieces, done = await _collect(worker, self.limits.quick_seconds)
            except BaseException as error:
                if isinstance(error, Refused) and worker.alive:  # it said so itself, and goes on
                    self._idle.append(worker)
                else:
                    await self._replace(worker)
                raise
            if done:
                self._idle.append(worker)
                return Answer(b"".join(pieces))
            if not self._heavy.locked():
                await self._heavy.acquire()
                self._seat()
                worker.step_back()
                return Answer(b"".join(pieces), Rest(self, worker, end))
            await self._replace(worker)
        return await self._again(job)

    async def _again(self, job: dict[str, Any]) -> Answer:
        """Run a job that was too slow to be quick, as soon as there is a heavy place."""
        await self._enter(self._heavy)
        try:
            worker = await self._new()
        except BaseException:
            self._heavy.release()
            raise
        worker.step_back()
        worker.send(job)
        return Answer(b"", Rest(self, worker, time.monotonic() + self.limits.seconds))

    async def finish(self, worker: Worker) -> None:
        """End a heavy job's worker and free its place."""
        self._heavy.release()
        await asyncio.shield(self._end(worker))

    @contextlib.asynccontextmanager
    async def _place(self, places: asyncio.Semaphore) -> AsyncIterator[None]:
        await self._enter(places)
        try:
            yield
        finally:
            places.release()

    async def _enter(self, places: asyncio.Semaphore) -> None:
        """Take a place, waiting for one as long as may be; 503 otherwise."""
        if not places.locked():
            await places.acquire()
            return
        if self._waiting >= self.limits.queue:
            raise busy(self.limits.patience)
        self._waiting += 1
        try:
            await asyncio.wait_for(places.acquire(), self.limits.patience)
        except TimeoutError:
            raise busy(self.limits.patience) from None
        finally:
            self._waiting -= 1

    async def _take(self) -> Worker:
        while self._idle:
            worker = self._idle.popleft()
            if worker.alive:
                return worker
            await self._end(worker)
        return await self._new()

    async def _replace(self, worker: Worker) -> None:
        """Kill a worker and have a new one started in its seat."""
        await asyncio.shield(self._end(worker))
        self._seat()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have ``work`` done in the background, before this pool is closed."""
        task = asyncio.create_task(work)
        self._seats.add(task)
        task.add_done_callback(self._seats.discard)

    def _seat(self) -> None:
        async def work() -> None:
            with contextlib.suppress(StoreError):  # the next job starts one itself, or says why
                worker = await self._new()
                if len(self._idle) < self.limits.quick:
                    self._idle.append(worker)
                else:
                    await self._end(worker)

        self.later(work())

    async def _new(self) -> Worker:
        worker = await Worker.start(self._module, self.limits.memory_bytes)
        self._all.add(worker)
        if self._closed:
            await self._end(worker)
            raise busy(self.limits.patience)
        return worker

    async def _end(self, worker: Worker) -> None:
        self._all.discard(worker)
        await worker.kill()


async def _collect(worker: Worker, seconds: float) -> tuple[list[bytes], bool]:
    """Pieces of an answer until it is complete, enough of it is there, or the time is over."""
    pieces: list[bytes] = []
    size = 0
    end = time.monotonic() + seconds
    while size < _BUFFERED and (frame := await _frame(worker, end - time.monotonic())):
        if frame.tag == talk.END:
            return pieces, True
        pieces.append(frame.payload)
        size += len(frame.payload)
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
