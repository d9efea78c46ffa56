# SPDX-License-Identifier: Apache-2.0
"""Where answers and tool calls wait: taken in batches, by the executor, off the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import replace
from typing import NamedTuple

from kgbench.execution.judging import (
    Asked,
    JudgeLimits,
    JudgeRequest,
    Used,
    UseRequest,
    answer_batch,
)
from kgbench.model import Verdict
from kgbench.record.recorded_results import Asking

_BATCH = 32
_QUERIES = 4  # at once to an endpoint, which others use, too


class _Waiting(NamedTuple):
    request: Asked
    done: asyncio.Future[Verdict | Used]


class Desk:
    """Judges answers through a ``concurrent.futures.Executor``; what waits goes in one batch.

    ``asking`` is an endpoint, for cases that need one.
    """

    def __init__(
        self,
        executor: concurrent.futures.Executor,
        limits: JudgeLimits,
        workers: int,
        asking: Asking | None = None,
    ) -> None:
        self._executor = executor
        self._limits = limits
        self._asking = asking
        self._queries = asyncio.Semaphore(_QUERIES)
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._clerks = [asyncio.create_task(self._clerk()) for _ in range(workers + 1)]

    async def judge(self, dialogue: str, request: JudgeRequest) -> Verdict:
        """The verdict on the last answer in a dialogue (IRI); what a model wrote raises nothing.

        Raises :class:`~kgbench.errors.EvaluationError` where an endpoint does not answer.
        """
        if self._asking is not None:
            last = request.answers[-1:]
            async with self._queries:
                case = await asyncio.to_thread(
                    self._asking.with_results, dialogue, request.case, last
                )
            request = replace(request, case=case)
        verdict = await self._done(request)
        assert isinstance(verdict, Verdict)
        return verdict

    async def use(self, request: UseRequest) -> Used:
        """What a tool gives; what a model asked of it raises nothing."""
        used = await self._done(request)
        assert isinstance(used, Used)
        return used

    async def _done(self, request: Asked) -> Verdict | Used:
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(waiting)
        return await waiting.done

    async def close(self) -> None:
        """Stop; whatever still waits is given up."""
        for clerk in self._clerks:
            clerk.cancel()
        await asyncio.gather(*self._clerks, return_exceptions=True)

    async def _clerk(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < _BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            try:
                future = self._executor.submit(
                    answer_batch, [w.request for w in batch], self._limits
                )
                answers = await asyncio.wrap_future(future)
            except Exception as error:  # noqa: BLE001 - each dialogue that waits learns of it
                for waiting in batch:
                    if not waiting.done.done():
                        waiting.done.set_exception(error)
                continue
            for waiting, answer in zip(batch, answers, strict=True):
                if not waiting.done.done():
                    waiting.done.set_result(answer)
