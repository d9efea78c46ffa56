# SPDX-License-Identifier: Apache-2.0
"""A queue of answers to judge and tools to run, done in batches by an executor."""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import replace
from typing import NamedTuple

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

_BATCH = 32  # requests that one call of the executor takes at most
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
            while len(batch) < _BATCH and not self._waiting.empty():
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
