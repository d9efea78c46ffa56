# SPDX-License-Identifier: Apache-2.0
"""Pool of idle worker processes: taken for a job, given back, replaced, ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from typing import Any

from kgbench.errors import StoreError
from kgbench.serve.refusals import busy
from kgbench.serve.worker_handle import Worker


class IdleWorkers:
    """At most ``count`` idle workers that run ``module``; to be used in one event loop.

    ``memory_bytes`` limits the address space of each worker. ``patience`` (seconds) is the
    Retry-After of requests that come while the server is shutting down.
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
        """Start all workers; return whether all are isolated from the network."""
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
        """Return an idle worker, or start a new one."""
        while self.idle:
            worker = self.idle.popleft()
            if worker.alive:
                return worker
            await self.end(worker)
        return await self.new()

    def take_other(self, known: set[Worker]) -> Worker | None:
        """Return an idle worker that is not in ``known``, or ``None``."""
        other = next((worker for worker in self.idle if worker.alive and worker not in known), None)
        if other is not None:
            self.idle.remove(other)
        return other

    def give_back(self, worker: Worker) -> None:
        """Return a worker to the idle ones after its job."""
        self.idle.append(worker)

    async def replace(self, worker: Worker) -> None:
        """Kill a worker and start a new one in its place, in the background."""
        await asyncio.shield(self.end(worker))
        self.refill()

    def refill(self) -> None:
        """Start a new worker in the background."""

        async def work() -> None:
            # The next job starts a worker itself, or reports why that fails.
            with contextlib.suppress(StoreError):
                worker = await self.new()
                if len(self.idle) < self._count:
                    self.idle.append(worker)
                else:
                    await self.end(worker)

        self.later(work())

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background; :meth:`close` cancels it if it is still running."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def new(self) -> Worker:
        """Start a worker; raise 503 if the server is shutting down."""
        worker = await Worker.start(self.module, self._memory_bytes)
        self.all.add(worker)
        if self._closed:
            await self.end(worker)
            raise busy(self._patience)
        return worker

    async def end(self, worker: Worker) -> None:
        """Kill a worker and forget it."""
        self.all.discard(worker)
        await worker.kill()
