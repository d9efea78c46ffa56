# SPDX-License-Identifier: Apache-2.0
"""Analyses for pages: in processes that can be killed, once per snapshot."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

from kgbench.serve.following import View
from kgbench.serve.pool import Pool

_KEPT = 200


class Computing:
    """Results of analyses by snapshot, name and arguments; who asks for the same waits for it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._of = ""
        self._found: dict[str, Any] = {}
        self._coming: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def get(self, view: View, analysis: str, **arguments: Any) -> Any:
        """The result of one of :data:`kgbench.serve.analyses.ANALYSES` on ``view``.

        Raises :class:`~kgbench.serve.refusals.Refused`: 404 where the store lacks what is asked
        for, 503 where a limit is reached.
        """
        if self._of != view.name:
            self._of = view.name
            self._found.clear()
        key = json.dumps([analysis, arguments], sort_keys=True)
        if key in self._found:
            return self._found[key]
        whole = (view.name, key)
        task = self._coming.get(whole)
        if task is None:
            job = {"snapshot": view.path, "base": view.iris.base}
            work = self._run(view, key, {**job, "analysis": analysis, "arguments": arguments})
            task = self._coming[whole] = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._done(whole, done))
        # One who goes away does not take the result from those who wait with them.
        return await asyncio.shield(task)

    async def _run(self, view: View, key: str, job: dict[str, Any]) -> Any:
        answer = await self._pool.run(job, held=view)
        data = await answer.whole()
        # In a thread: the dialogues of a whole suite take a while.
        found = await asyncio.to_thread(pickle.loads, data)
        if self._of == view.name:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = found
        return found

    def _done(self, whole: tuple[str, str], task: asyncio.Task[Any]) -> None:
        del self._coming[whole]
        if not task.cancelled():
            task.exception()  # whoever waits is told; nobody may be left to wait
