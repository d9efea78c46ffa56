# SPDX-License-Identifier: Apache-2.0
"""The queues of a run: answers to be judged in batches, and blocks to be written by one thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from kgbench.errors import StoreError, WriteFailed
from kgbench.execution.judging import (
    ExecutorRequest,
    JudgeLimits,
    JudgeRequest,
    ToolRequest,
    ToolRun,
    answer_batch,
)
from kgbench.model import Verdict
from kgbench.record.recorded_results import EndpointResults
from kgbench.store.protocol import Block, Store

_MOST_REQUESTS = 32  # requests that one call of the executor takes at most
_QUERIES = 4  # at once to an endpoint, which other users share


class _Waiting(NamedTuple):
    request: ExecutorRequest
    future: asyncio.Future[Verdict | ToolRun]


class JudgeQueue:
    """Judges answers and runs tools in a ``concurrent.futures.Executor``, off the event loop.

    Requests that wait are taken together, up to 32. There is one task more than there are
    ``workers``, so that the next batch is ready when a worker becomes free. ``asking`` queries an
    endpoint for cases that need one.
    """

    def __init__(
        self,
        executor: concurrent.futures.Executor,
        limits: JudgeLimits,
        workers: int,
        asking: EndpointResults | None = None,
    ) -> None:
        self._executor = executor
        self._limits = limits
        self._asking = asking
        self._queries = asyncio.Semaphore(_QUERIES)
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._work()) for _ in range(workers + 1)]

    async def judge(self, dialogue: str, request: JudgeRequest) -> Verdict:
        """Return the verdict on the last answer of a dialogue (IRI).

        No answer raises an error. Raises :class:`~kgbench.errors.EvaluationError` if an endpoint
        does not answer.
        """
        if self._asking is not None:
            last = request.answers[-1:]
            async with self._queries:
                case = await asyncio.to_thread(
                    self._asking.with_results, dialogue, request.case, last
                )
            request = replace(request, case=case)
        verdict = await self._submit(request)
        assert isinstance(verdict, Verdict)
        return verdict

    async def use(self, request: ToolRequest) -> ToolRun:
        """Run a tool and return its result; no arguments of a model raise an error."""
        tool_run = await self._submit(request)
        assert isinstance(tool_run, ToolRun)
        return tool_run

    async def _submit(self, request: ExecutorRequest) -> Verdict | ToolRun:
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(waiting)
        return await waiting.future

    async def close(self) -> None:
        """Stop the tasks; requests that still wait are abandoned."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < _MOST_REQUESTS and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            try:
                future = self._executor.submit(
                    answer_batch, [w.request for w in batch], self._limits
                )
                answers = await asyncio.wrap_future(future)
            except Exception as error:  # noqa: BLE001 - passed on to every dialogue of the batch
                for waiting in batch:
                    if not waiting.future.done():
                        waiting.future.set_exception(error)
                continue
            for waiting, answer in zip(batch, answers, strict=True):
                if not waiting.future.done():
                    waiting.future.set_result(answer)


_MOST_CHARACTERS = 1_000_000  # characters at which a write takes no further item


class _Item(NamedTuple):
    blocks: Sequence[Block]
    future: asyncio.Future[None] | None = None
    then: Callable[[], None] | None = None


class Writer:
    """Writes blocks in the order in which they are queued; each is atomic, durable once awaited.

    Items that queue up during a write are written together in the next one. After a failed write
    every later :meth:`put` fails with the same error, so that nothing is written out of order.
    ``failed`` is called with the first failure, in the event loop.
    """

    def __init__(
        self,
        store: Store,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._failed = failed
        self._loop = loop
        self._items: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="kgbench-writer", daemon=True)
        self._thread.start()

    def post(self, blocks: Sequence[Block], then: Callable[[], None] | None = None) -> None:
        """Queue ``blocks``; a failure is raised by the next :meth:`put` that is awaited.

        ``then`` is called once they are durable, in the thread that writes.
        """
        self._items.put(_Item(blocks, then=then))

    def put(self, blocks: Sequence[Block]) -> asyncio.Future[None]:
        """Queue ``blocks``; the future is done when they are durable."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._items.put(_Item(blocks, future))
        return future

    async def close(self) -> None:
        """Write the queued items, then end the thread."""
        self._items.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            batch, ends = self._next_batch(item)
            if self._failure is None:
                try:
                    if blocks := self._merged(batch):
                        self._store.write(blocks)
                    for item_ in batch:
                        if item_.then is not None:
                            item_.then()
                except BaseException as error:  # noqa: BLE001 - passed on to the future of each item
                    self._failure = _as_write_failure(error, self._store)
                    self._loop.call_soon_threadsafe(self._failed, self._failure)
            self._loop.call_soon_threadsafe(_resolve, batch, self._failure)
            if ends:
                return

    def _merged(self, batch: Sequence[_Item]) -> list[Block]:
        merged: dict[str, list[str]] = {}
        for item in batch:
            for graph, triples in item.blocks:
                merged.setdefault(graph, []).extend(triples)
        return [Block(graph, triples) for graph, triples in merged.items()]

    def _next_batch(self, first: _Item) -> tuple[list[_Item], bool]:
        batch, size = [first], 0
        while size < _MOST_CHARACTERS:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                return batch, False
            if item is None:
                return batch, True
            batch.append(item)
            size += sum(len(line) for block in item.blocks for line in block.triples)
        return batch, False


def _as_write_failure(error: BaseException, store: Store) -> BaseException:
    """Turn an error of the store into :class:`WriteFailed`; other errors are defects and stay."""
    if isinstance(error, WriteFailed) or not isinstance(error, OSError | StoreError):
        return error
    failed = WriteFailed(f"the store {store.location} cannot be written: {error}")
    failed.__cause__ = error
    return failed


def _resolve(batch: Sequence[_Item], failure: BaseException | None) -> None:
    for item in batch:
        if item.future is None or item.future.done():
            continue
        if failure is None:
            item.future.set_result(None)
        else:
            item.future.set_exception(failure)
