# SPDX-License-Identifier: Apache-2.0
"""Scheduling of queries in worker processes, with separate slots for quick and heavy queries.

A job starts in a quick worker. If it is not done after the quick time, it needs a heavy slot. If
one is free, the worker keeps running in it, and a new worker replaces it. Otherwise the worker is
killed, and the job starts again when a slot becomes free. No part of an answer is sent before the
answer is complete or its job has a heavy slot.

Jobs are also scheduled by their measured cost (:mod:`kgbench.serve.costs`), so that heavy queries
do not occupy all quick workers. A query that was heavy before waits for a heavy slot from the
start. Light queries may use all quick workers, unknown ones all but one. Of several queries with
the same unknown shape, one is tried first to measure the cost of the others. Of the queries whose
shape was heavy with other constants, only one is tried at a time. The quick time is CPU time if the
system reports it, so that a light query on a busy machine is not taken for a heavy one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from kgbench.serve import worker as worker_protocol
from kgbench.serve.costs import Cost, Costs, Key
from kgbench.serve.idle_workers import IdleWorkers
from kgbench.serve.refusals import Refused, busy, too_slow
from kgbench.serve.settings import Limits
from kgbench.serve.worker_handle import Frame, Worker, WorkerEnded

QUERIES, ANALYSES = "kgbench.serve.worker", "kgbench.serve.analyst"
_log = logging.getLogger("kgbench.serve")
_GRACE = 0.5  # seconds
_BUFFERED = 1 << 18  # bytes; a job with a larger answer counts as heavy
_TICK = 0.02  # seconds: the resolution of CPU times
_LONGEST_QUICK = 5  # maximum wall-clock time of a quick job, as a multiple of the quick time


class RemainingChunks:
    """The remaining chunks of a heavy answer, until its time limit; must be closed.

    At the time limit the slot is freed even if the client does not read. ``resource`` is kept alive
    until then, such as the snapshot that the answer is read from.
    """

    def __init__(self, pool: Pool, worker: Worker, end: float, resource: object) -> None:
        self._pool, self._worker, self._end, self._resource = pool, worker, end, resource
        self._open = True
        # __anext__ checks the time limit; the timer ends the job if the client stops reading and
        # never asks for the next chunk.
        late = end + _GRACE - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(late, self._expire)

    def __aiter__(self) -> RemainingChunks:
        return self

    async def __anext__(self) -> bytes:
        left = self._end - time.monotonic()
        if left < 0:  # the query or the client is too slow
            raise too_slow(self._pool.limits.seconds)
        if not self._open:
            raise StopAsyncIteration
        frame = await _frame(self._worker, left)
        if frame is None:
            raise too_slow(self._pool.limits.seconds)
        if frame.tag == worker_protocol.END:
            await self.aclose()
            raise StopAsyncIteration
        return frame.payload

    def _expire(self) -> None:
        self._pool.seats.later(self.aclose())

    async def aclose(self) -> None:
        """Free the heavy slot; may be called more than once."""
        self._timer.cancel()
        if self._open:
            self._open = False
            await self._pool.finish(self._worker)


class Answer:
    """The bytes of an answer: ``head``, and the remaining chunks of a heavy answer as ``rest``."""

    def __init__(self, head: bytes, rest: RemainingChunks | None = None) -> None:
        self.head = head
        self.rest = rest

    async def whole(self) -> bytes:
        """Read and return all bytes."""
        if self.rest is None:
            return self.head
        try:
            return self.head + b"".join([piece async for piece in self.rest])
        finally:
            await self.rest.aclose()


class Pool:
    """Workers of a server that run one module; to be used in its event loop."""

    def __init__(self, limits: Limits, module: str = QUERIES) -> None:
        self.limits = limits
        self.isolated = False
        self.seats = IdleWorkers(module, limits.quick, limits.memory_bytes, limits.patience)
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

    async def run(
        self, job: dict[str, Any], key: Key | None = None, resource: object = None
    ) -> Answer:
        """Run ``job`` and return its answer; raises :class:`~kgbench.serve.refusals.Refused`.

        ``key`` identifies its cost; ``resource`` is kept alive until the answer is complete.
        """
        job = {**job, "rows": self.limits.rows, "bytes": self.limits.answer_bytes}
        expected = await self._expected(key)
        if expected is Cost.HEAVY:
            return await self._run_heavy(job, key, resource)
        end = time.monotonic() + self.limits.seconds
        async with contextlib.AsyncExitStack() as slots:
            if key is not None and expected is Cost.UNKNOWN:
                slots.enter_context(self._trial(key.shape))
            if expected is Cost.SUSPECT:
                await slots.enter_async_context(self._slot(self._suspects, expected))
            if expected is not Cost.LIGHT:
                await slots.enter_async_context(self._slot(self._untried, expected))
            await slots.enter_async_context(self._slot(self._quick, expected))
            worker = await self.seats.take()
            try:
                worker.send(job)
                pieces, done = await _collect(worker, self.limits.quick_seconds)
            except BaseException as error:
                await self._handle_failure(worker, error)
                raise
            self.costs.note(key, light=done)
            if done:
                self.seats.give_back(worker)
                return Answer(b"".join(pieces))
            if not self._heavy.locked():
                await self._heavy.acquire()
                self.seats.refill()
                worker.step_back()
                return Answer(b"".join(pieces), RemainingChunks(self, worker, end, resource))
            await self.seats.replace(worker)
        return await self._run_heavy(job, None, resource)

    async def _expected(self, key: Key | None) -> Cost:
        """Return the expected cost of a query, after a running trial of its shape.

        Without waiting for the trial, queries that came while the shape was unknown would queue for
        the slots of unknown queries, while later ones, known to be light, overtake them.
        """
        end = time.monotonic() + self.limits.patience
        while key is not None and self.costs.expected(key) is Cost.UNKNOWN:
            trial = self._trials.get(key.shape)
            if trial is None:
                break
            with self._queued(Cost.UNKNOWN):
                done, _ = await asyncio.wait({trial}, timeout=end - time.monotonic())
            if not done:
                raise busy(self.limits.patience)
        return self.costs.expected(key)

    @contextlib.contextmanager
    def _trial(self, shape: str) -> Iterator[None]:
        """Run the first query of a shape; others of the shape wait until it ends."""
        trial = self._trials[shape] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._trials[shape]
            trial.set_result(None)

    async def prepare(self, job: dict[str, Any]) -> None:
        """Run ``job`` in each idle quick worker, one after the other.

        So the other workers stay available for requests.
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
                    await self._handle_failure(worker, error)
                    raise
                if done:
                    self.seats.give_back(worker)
                else:
                    await self.seats.replace(worker)

    async def _handle_failure(self, worker: Worker, error: BaseException) -> None:
        if isinstance(error, Refused) and worker.alive:  # the worker reported the error itself
            self.seats.give_back(worker)
        else:
            await self.seats.replace(worker)

    async def _run_heavy(self, job: dict[str, Any], key: Key | None, resource: object) -> Answer:
        """Run a job that was heavy before, when a heavy slot is free.

        If the job is quick this time, because the data have changed, it counts as light from now
        on.
        """
        await self._acquire(self._heavy, Cost.HEAVY)
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
        return Answer(b"".join(pieces), RemainingChunks(self, worker, end, resource))

    async def finish(self, worker: Worker) -> None:
        """Kill the worker of a heavy job and free its slot."""
        self._heavy.release()
        await asyncio.shield(self.seats.end(worker))

    @contextlib.asynccontextmanager
    async def _slot(self, slots: asyncio.Semaphore, lane: Cost) -> AsyncIterator[None]:
        await self._acquire(slots, lane)
        try:
            yield
        finally:
            slots.release()

    async def _acquire(self, slots: asyncio.Semaphore, lane: Cost) -> None:
        """Acquire a slot within the patience, or raise 503."""
        if not slots.locked():
            await slots.acquire()
            return
        with self._queued(lane):
            try:
                await asyncio.wait_for(slots.acquire(), self.limits.patience)
            except TimeoutError:
                raise busy(self.limits.patience) from None

    @contextlib.contextmanager
    def _queued(self, lane: Cost) -> Iterator[None]:
        """Count a waiting request; raise 503 if too many wait."""
        if self._waiting[lane] >= self.limits.queue:
            raise busy(self.limits.patience)
        self._waiting[lane] += 1
        try:
            yield
        finally:
            self._waiting[lane] -= 1


async def _collect(worker: Worker, seconds: float) -> tuple[list[bytes], bool]:
    """Read an answer until it is complete, exceeds the buffer, or the quick time is over.

    Returns the chunks and whether the answer is complete. ``seconds`` are CPU time, and at most
    :data:`_LONGEST_QUICK` times as much wall-clock time; only wall-clock time if the system does
    not report CPU times.
    """
    pieces: list[bytes] = []
    size = 0
    latest = time.monotonic() + seconds * _LONGEST_QUICK
    used = worker.processor_seconds()
    left = seconds
    while size < _BUFFERED:
        end = time.monotonic() + left
        while frame := await _frame(worker, end - time.monotonic()):
            if frame.tag == worker_protocol.END:
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
    except WorkerEnded as gone:
        reason = "exceeded the memory limit" if gone.memory else "ended its worker process"
        raise Refused(503, f"the query {reason}: request less data") from None
    if frame is not None and frame.tag == worker_protocol.FAILED:
        raise _refusal(json.loads(frame.payload))
    return frame


def _refusal(error: dict[str, str]) -> Refused:
    if error["kind"] == "query":
        return Refused(400, error["message"])
    if error["kind"] == "missing":
        return Refused(404, error["message"])
    if error["kind"] == "format":
        return Refused(406, error["message"], {"Vary": "Accept"})
    if error["kind"] == "limit":
        return Refused(503, f"{error['message']}: use LIMIT, or download the data")
    _log.error("a worker failed: %s", error["message"])
    return Refused(503, "the worker process failed on this request; the server's log says more")
