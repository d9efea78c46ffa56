# SPDX-License-Identifier: Apache-2.0
"""Stopping a run: in order, and then at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence


class Stop:
    """Asked once: no dialogue is begun any more. Asked again: those in flight are given up.

    ``reason`` says why, where it was not a person who asked. ``failure`` is what makes going on
    pointless: then no call is begun any more, and only those in flight are waited for.
    """

    def __init__(self) -> None:
        self.requested = False
        self.reason: str | None = None
        self.failure: BaseException | None = None
        self.event = asyncio.Event()
        self._tasks: Sequence[asyncio.Task[None]] = ()
        self._told: Callable[[], None] = lambda: None

    def request(self) -> None:
        """What Ctrl-C does."""
        if self.requested and self.reason is None:
            for task in self._tasks:
                task.cancel()
        self.reason = None
        self._begin()

    def limit_reached(self, reason: str) -> None:
        """A limit that the run was given is reached."""
        if not self.requested:
            self.reason = reason
            self._begin()

    def failed(self, failure: BaseException) -> None:
        """Something failed that the run needs; the first of several failures counts."""
        if self.failure is None:
            self.failure, self.reason = failure, None
            self._begin()

    def watch(self, tasks: Sequence[asyncio.Task[None]], told: Callable[[], None]) -> None:
        """The tasks to cancel at the second request, and whom to tell of the first."""
        self._tasks, self._told = tasks, told

    async def or_else(self, event: Coroutine[None, None, bool]) -> None:
        """Wait until there is a request to stop, or else for ``event``."""
        waiting = [asyncio.ensure_future(each) for each in (self.event.wait(), event)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def _begin(self) -> None:
        self.requested = True
        self.event.set()
        self._told()
