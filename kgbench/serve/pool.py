# SPDX-License-Identifier: Apache-2.0
"""A pool of worker processes that run jobs within limits of time, memory, rows and bytes.

A job takes a place, of which there are as many as workers. Where none is free, the oldest job that
has had its assured time is ended for it; if there is none in time, the new job is refused as busy.
No part of an answer is sent before it is complete, or larger than a buffer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from kgbench.children.answering import ChildEnded, ChildTimeout, Limit
from kgbench.children.child import Child
from kgbench.errors import StoreError
from kgbench.serve import worker as protocol
from kgbench.serve.admission import Refused, busy, displaced, too_slow
from kgbench.serve.settings import Limits

_BUFFERED = 1 << 18  # bytes of an answer that are collected before they are sent
_GRACE = 0.5  # seconds
_MODULE = "kgbench.serve.worker"
_T = TypeVar("_T")
_log = logging.getLogger("kgbench.serve")


class RemainingChunks:
    """The remaining chunks of a large answer, until its time limit; must be closed.

    At the time limit the place is freed even if the client does not read. ``resource`` is kept
    alive until then, such as the snapshot that the answer is read from.
    """

    def __init__(
        self, pool: Pool, child: Child, end: float, seconds: float, resource: object
    ) -> None:
        self._pool, self._child, self._end, self._seconds = pool, child, end, seconds
        self._resource = resource
        self._open, self._receiving, self._late = True, False, False
        pool.running[child] = pool.running[child]._replace(end=self._expire)
        # The timer ends the job if the client stops reading and never asks for the next chunk.
        late = end + _GRACE - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(late, self._expire)

    def __aiter__(self) -> RemainingChunks:
        return self

    async def __anext__(self) -> bytes:
        if not self._open:
            if self._late:
                raise too_slow(self._seconds)
            raise StopAsyncIteration
        self._receiving, complete = True, True
        try:
            data, complete = await self._pool.receive(self._child, self._end, self._seconds)
        finally:
            self._receiving = False
            if complete:  # or failed
                self._close()
        if complete and not data:
            raise StopAsyncIteration
        return data

    def _close(self, *, unfinished: bool = False) -> None:
        self._timer.cancel()
        self._open = False
        self._pool.leave(self._child, unfinished=unfinished)

    def _expire(self) -> None:
        self._late = True
        if self._receiving:
            self._child.kill()
        else:
            self._close(unfinished=True)

    def close(self) -> None:
        """End the job, unless it is complete, and free its place; may be called more than once."""
        if self._open:
            self._close(unfinished=True)


class Answer:
    """The bytes of an answer: ``head``, and the remaining chunks of a large answer as ``rest``."""

    def __init__(self, head: bytes, rest: RemainingChunks | None = None) -> None:
        self.head = head
        self.rest = rest

    async def beginning(self, size: int) -> tuple[bytes, bool]:
        """Return the first bytes, at least ``size`` if there are more, and whether that is all."""
        if self.rest is None:
            return self.head, True
        data = bytearray(self.head)
        try:
            async for piece in self.rest:
                data += piece
                if len(data) > size:
                    return bytes(data), False
        finally:
            self.rest.close()
        return bytes(data), True

    async def whole(self) -> bytes:
        """Read and return all bytes."""
        return (await self.beginning(1 << 62))[0]


class Running(NamedTuple):
    """A job that has a worker: when it began, and how it is ended before its time limit."""

    began: float
    end: Callable[[], None]


class Pool:
    """At most ``number`` workers of a server; to be used in its event loop.

    ``niceness`` lowers their priority below that of the server itself, which answers look-ups.
    """

    def __init__(self, limits: Limits, number: int, niceness: int) -> None:
        self.limits = limits
        self.isolated = True
        self._number = number
        self._setup = {"memory_bytes": limits.memory_bytes, "niceness": niceness}
        self._places = asyncio.Semaphore(number)
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self.running: dict[Child, Running] = {}  # the oldest first
        self._receiving: dict[Child, asyncio.Future[tuple[bytes, bool]]] = {}
        # As many as places; they stay until the end, because workers end with their thread.
        self._threads = ThreadPoolExecutor(number, "kgbench-worker")
        self._background: set[asyncio.Future[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Start all workers; without this, they are started when they are needed.

        Raises :class:`~kgbench.errors.StoreError` if that is not possible.
        """
        await asyncio.gather(*(self._in_thread(self._new) for _ in range(self._number)))

    async def close(self) -> None:
        """Kill all workers."""
        self._closed = True
        for child in list(self._all):
            child.kill()
        await asyncio.gather(*self._background, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)
        for child in list(self._all):
            self._end(child)

    async def run(
        self, job: Mapping[str, Any], resource: object = None, seconds: float | None = None
    ) -> Answer:
        """Run ``job`` and return its answer; raises :class:`~kgbench.serve.admission.Refused`.

        It may take ``seconds`` (by default, those of the limits), including the transfer.
        ``resource`` is kept alive until the answer is complete.
        """
        limits = self.limits
        seconds = seconds or limits.seconds
        try:
            async with asyncio.timeout(limits.patience):
                await self._place()
        except TimeoutError:
            raise busy(limits.patience) from None
        try:
            while (child := self._taken()) is None:
                await asyncio.shield(self._in_thread(self._new))
        except BaseException:
            self._places.release()
            raise
        began = time.monotonic()
        end = began + seconds
        self.running[child] = Running(began, child.kill)
        try:
            child.send(pickle.dumps({**job, "rows": limits.rows, "bytes": limits.answer_bytes}))
            head, complete = await self.receive(child, end, seconds)
        except BaseException:
            self.leave(child)
            raise
        if complete:
            self.leave(child)
            return Answer(head)
        return Answer(head, RemainingChunks(self, child, end, seconds, resource))

    async def receive(self, child: Child, end: float, seconds: float) -> tuple[bytes, bool]:
        """Return the next bytes of an answer, and whether it is complete.

        Raises :class:`~kgbench.serve.admission.Refused`. If the caller is cancelled, the worker
        ends.
        """
        receiving = self._in_thread(_receive, child, end, seconds)
        self._receiving[child] = receiving
        try:
            return await asyncio.shield(receiving)
        except asyncio.CancelledError:
            child.kill()
            raise
        except Refused:
            if child in self.running:
                raise
            raise displaced(self.limits.assured_seconds) from None
        finally:
            del receiving  # its error would refer to itself, and so keep the snapshot

    def leave(self, child: Child, *, unfinished: bool = False) -> None:
        """Give back a worker after its job; one that is gone or ``unfinished`` is replaced."""
        self.running.pop(child, None)
        receiving = self._receiving.pop(child, None)
        if receiving is not None and not receiving.done():  # a thread uses it, but not for long
            receiving.add_done_callback(lambda _: self.leave(child, unfinished=True))
            return
        if child.alive and not unfinished:
            self._idle.append(child)
            self._places.release()
            return
        if self._closed:
            self._end(child)
            return

        async def replace() -> None:
            try:
                await self._in_thread(self._end, child)
                if not self._idle:
                    await self._in_thread(self._new)
            except (StoreError, Refused):
                return  # the next job starts a worker itself, or reports why that fails
            finally:
                self._places.release()

        task = asyncio.ensure_future(replace())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _place(self) -> None:
        """Wait for a place, which a job that has had its assured time leaves if none is free."""
        if not self._places.locked():
            await self._places.acquire()
            return
        displacing = asyncio.create_task(self._displace())
        try:
            await self._places.acquire()
        finally:
            displacing.cancel()

    async def _displace(self) -> None:
        """End the oldest job as soon as it has had its assured time."""
        while True:
            oldest = next(iter(self.running), None)
            began = time.monotonic() if oldest is None else self.running[oldest].began
            left = began + self.limits.assured_seconds - time.monotonic()
            if oldest is not None and left <= 0:
                self.running.pop(oldest).end()
                return
            await asyncio.sleep(left)

    def _taken(self) -> Child | None:
        """Return an idle worker, if any."""
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            self._end(child)
        return None

    def _new(self) -> None:
        """Start an idle worker, unless the server is shutting down; runs in a thread."""
        child = Child(_MODULE)
        self._all.add(child)
        try:
            ready = child.set_up(self._setup)
        except ChildEnded as ended:
            self._all.discard(child)
            raise StoreError(f"no worker could be started: {ended}") from None
        if self._closed:
            self._end(child)
            raise busy(self.limits.patience)
        self.isolated = self.isolated and ready["isolated"]
        self._idle.append(child)

    def _end(self, child: Child) -> None:
        self._all.discard(child)
        child.end()

    def _in_thread(self, work: Callable[..., _T], *arguments: Any) -> asyncio.Future[_T]:
        """Run ``work`` in a thread, also if who waits for it is cancelled."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        # Retrieves an error that nobody waits for, so that asyncio does not log it.
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return running


def _receive(child: Child, end: float, seconds: float) -> tuple[bytes, bool]:
    """Collect the next bytes of an answer; runs in a thread."""
    pieces: list[bytes] = []
    size = 0
    while size < _BUFFERED:
        try:
            frame = child.receive(end)
        except ChildTimeout:
            child.end()
            raise too_slow(seconds) from None
        except ChildEnded as ended:
            child.end()
            memory = ended.limit is Limit.MEMORY
            reason = "exceeded the memory limit" if memory else "ended its worker process"
            raise Refused(503, f"the request {reason}: request less data") from None
        tag, data = frame[:1], frame[1:]
        if tag == protocol.END:
            return b"".join(pieces), True
        if tag == protocol.FAILED:
            failure = json.loads(data)
            if failure["defect"] is not None:
                _log.error("a worker failed: %s", failure["defect"])
            raise Refused(failure["status"], failure["message"], failure["headers"])
        pieces.append(data)
        size += len(data)
    return b"".join(pieces), False
