# SPDX-License-Identifier: Apache-2.0
"""Cache of analyses for pages, computed once per snapshot by workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
from typing import Any

from kgbench.pages.snapshot import View
from kgbench.serve.pool import Pool
from kgbench.serve.refusals import Refused

_KEPT = 200
_PREPARED = 20  # results at most that are computed before a new snapshot is served


class AnalysisCache:
    """Computes analyses; concurrent requests for the same analysis share one computation."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._results: dict[str, dict[str, Any]] = {}  # by snapshot, the newest last
        self._requested: dict[str, tuple[str, dict[str, Any]]] = {}  # since the last preparation
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def get(self, view: View, analysis: str, **arguments: Any) -> Any:
        """Return the result of one of :data:`kgbench.serve.analyses.ANALYSES` on ``view``.

        Raises :class:`~kgbench.serve.refusals.Refused`: 404 if the store lacks the data, 503 if a
        limit is reached.
        """
        key = json.dumps([analysis, arguments], sort_keys=True)
        self._requested.pop(key, None)
        self._requested[key] = (analysis, arguments)
        if len(self._requested) > _PREPARED:
            del self._requested[next(iter(self._requested))]
        return await self._get(view, key, analysis, arguments)

    async def prepare(self, view: View) -> None:
        """Compute the analyses requested since the last snapshot on a new one, the latest first."""
        requested = list(reversed(self._requested.items()))
        self._requested.clear()
        for key, (analysis, arguments) in requested:
            with contextlib.suppress(Refused):  # the next request for it gets the error
                await self._get(view, key, analysis, arguments)

    async def _get(self, view: View, key: str, analysis: str, arguments: dict[str, Any]) -> Any:
        cache = self._cache(view)
        if key in cache:
            return cache[key]
        full_key = (view.name, key)
        task = self._running.get(full_key)
        if task is None:
            job = {"snapshot": view.path, "base": view.iris.base}
            work = self._run(view, key, {**job, "analysis": analysis, "arguments": arguments})
            task = self._running[full_key] = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._done(full_key, done))
        # A client that disconnects must not cancel the computation for others that wait for it.
        try:
            return await asyncio.shield(task)
        finally:
            del task  # its error would refer to itself, and so keep the snapshot

    async def _run(self, view: View, key: str, job: dict[str, Any]) -> Any:
        answer = await self._pool.run(job, view)
        data = await answer.whole()
        # In a thread, because unpickling the dialogues of a whole suite would block the event loop.
        result = await asyncio.to_thread(pickle.loads, data)
        cache = self._results.get(view.name)
        if cache is not None:  # the snapshot is still in use
            if len(cache) >= _KEPT:
                cache.clear()
            cache[key] = result
        return result

    def _cache(self, view: View) -> dict[str, Any]:
        """Return the cache of a snapshot; only the served and the prepared one have a cache."""
        if view.name not in self._results:
            while len(self._results) > 1:
                del self._results[next(iter(self._results))]
            self._results[view.name] = {}
        return self._results[view.name]

    def _done(self, full_key: tuple[str, str], task: asyncio.Task[Any]) -> None:
        del self._running[full_key]
        if not task.cancelled():
            # Retrieves the exception, so that asyncio does not log it as never retrieved; those who
            # wait get it from the task.
            task.exception()
