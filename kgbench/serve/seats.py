# SPDX-License-Identifier: Apache-2.0
"""Worker processes at rest, ready for jobs: taken, given back, replaced, ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from typing import Any

from kgbench.errors import StoreError
from kgbench.serve.refusals import busy
from kgbench.serve.workers import Worker


class Seats:
    """At most ``count`` idle workers of one ``module``; all methods belong to one event loop.

    ``memory_bytes`` limits the address space of each, ``patience`` (seconds) is what a client is
    told to wait for when the server is ending.
    """

    def __init__(self, module: str, count: int, memory_bytes: int, patience: float) -> None:
        self.module = module
        self.idle: deque[Worker] = deque()
        self.all: set[Worker] = set()
        self._count = count
        self._memory_bytes = memory_bytes
        self._patience = patience
        self._background: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> bool:
        """Start all workers; whether all are kept from the network."""
        for _ in range(self._count):
            self.idle.append(await self.new())
        return all(worker.isolated for worker in self.idle)

    async def close(self) -> None:
        """Kill all workers."""
        self._closed = True
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for worker in list(self.all):
            await self.end(worker)

    async def take(self) -> Worker:
        """An idle worker, or a new one."""
        while self.idle:
            worker = self.idle.popleft()
            if worker.alive:
                return worker
            await self.end(worker)
        return await self.new()

    def take_other(self, known: set[Worker]) -> Worker | None:
        """An idle worker that is none of those known, if there is one."""
        found = next((one for one in self.idle if one.alive and one not in known), None)
        if found is not None:
            self.idle.remove(found)
        return found

    def give_back(self, worker: Worker) -> None:
        """Let a worker that has done its job wait for the next one."""
        self.idle.append(worker)

    async def replace(self, worker: Worker) -> None:
        """Kill a worker and have a new one started in its seat."""
        await asyncio.shield(self.end(worker))
        self.refill()

    def refill(self) -> None:
        """Have a new worker started, in the background."""

        async def work() -> None:
            with contextlib.suppress(StoreError):  # the next job starts one itself, or says why
                worker = await self.new()
                if len(self.idle) < self._count:
                    self.idle.append(worker)
                else:
                    await self.end(worker)

        self.later(work())

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have ``work`` done in the background, before these seats are closed."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def new(self) -> Worker:
        """A new worker, which is ended where the server has ended meanwhile."""
        worker = await Worker.start(self.module, self._memory_bytes)
        self.all.add(worker)
        if self._closed:
            await self.end(worker)
            raise busy(self._patience)
        return worker

    async def end(self, worker: Worker) -> None:
        """Kill a worker for good."""
        self.all.discard(worker)
        await worker.kill()
