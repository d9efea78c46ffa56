# SPDX-License-Identifier: Apache-2.0
"""The signal that stops a run, in order at first and then immediately."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence


class StopSignal:
    """A request to stop a run.

    After the first request no dialogue is begun; a second one cancels the dialogues in flight.
    ``reason`` is set when a limit stopped the run, not a person. ``failure`` is an error that
    prevents the run from going on: no call is begun, and only calls in flight are awaited.
    """

    def __init__(self) -> None:
        self.requested = False
        self.reason: str | None = None
        self.failure: BaseException | None = None
        self.event = asyncio.Event()
        self._tasks: Sequence[asyncio.Task[None]] = ()
        self._on_request: Callable[[], None] = lambda: None

    def request(self) -> None:
        """Request a stop, as Ctrl-C does; a second request cancels the tasks."""
        if self.requested and self.reason is None:
            for task in self._tasks:
                task.cancel()
        self.reason = None
        self._begin()

    def limit_reached(self, reason: str) -> None:
        """Stop the run because a limit is reached; ``reason`` names it."""
        if not self.requested:
            self.reason = reason
            self._begin()

    def fail(self, failure: BaseException) -> None:
        """Stop the run because of an error; only the first error is kept."""
        if self.failure is None:
            self.failure, self.reason = failure, None
            self._begin()

    def watch(self, tasks: Sequence[asyncio.Task[None]], on_request: Callable[[], None]) -> None:
        """Set the tasks to cancel at a second request, and a function to call at the first."""
        self._tasks, self._on_request = tasks, on_request

    async def or_else(self, event: Coroutine[None, None, bool]) -> None:
        """Wait for ``event`` or for a request to stop, whichever comes first."""
        waiting = [asyncio.ensure_future(coroutine) for coroutine in (self.event.wait(), event)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _begin(self) -> None:
        self.requested = True
        self.event.set()
        self._on_request()
