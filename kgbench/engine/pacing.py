# SPDX-License-Identifier: Apache-2.0
"""How many calls to one model are under way at once, and how fast they begin.

A provider says that it was too much (429); nobody says how much would be right. But a call that is
refused tells something: so many were under way when it began, and one more was too much. That is
the limit then; it is never too low for a provider that counts parallel calls. After enough answers
it is raised again, by one, then faster, until the next refusal. A refusal of a raised limit makes
the next attempt come later. Before the first refusal, every answer raises it by one.

A wait that a provider names holds for all calls to the model. Requests and tokens per minute are
kept by two buckets that hold one second's worth.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from kgbench.errors import RateLimited
from kgbench.net.limits import LONGEST_WAIT

FIRST = 16  # calls at once before anything is known, or a quarter of the most, if that is more
PATIENT = 16  # answers, at least, before a limit is tried again
_LONGEST_WINDOW = 8  # times as many answers, at most, when raising was in vain again and again


class GivenUp(Exception):
    """The run stops, and this call has not begun."""


class Bucket:
    """Lets ``per_minute`` units through; a second's worth may come at once. Debts are paid off."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, self._rate)
        self._level = self._most
        self._clock = clock
        self._seen = clock()

    def wait(self) -> float:
        """Seconds until the next unit may be taken."""
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._seen) * self._rate)
        self._seen = now
        needed = min(1.0, self._most)
        return 0.0 if self._level >= needed - 1e-9 else (needed - self._level) / self._rate

    def take(self, units: float) -> None:
        """Take ``units``, more than there are if need be; negative ones are given back."""
        self._level -= units


class Pace:
    """The pace of one model; ``most`` calls at once, at the very most.

    Between the beginnings of two calls the event loop makes ``passes``: building a request takes
    milliseconds, in which no reply is read, and reading one takes some passes.

    ``limit`` is how many there may be now, ``under_way`` how many there are.
    """

    def __init__(
        self,
        most: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        passes: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = min(most, max(FIRST, most // 4))
        self.under_way = 0
        self.refusals = 0
        self._most = most
        self._clock = clock
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._waiting: deque[tuple[asyncio.Future[int], int]] = deque()
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False
        self._ended = False
        self._passes = passes
        self._left = 0  # passes of the event loop before the next call may begin
        self._answers = 0  # since the limit last changed
        self._step = 1
        self._window = 1
        self._raised = False

    # --- coming and going -----------------------------------------------------------------

    async def enter(self, tokens: int, *, first: bool = False) -> int:
        """Wait for a place; ``tokens`` is what the call will cost, about. ``first``: as the next.

        Returns how many other calls are under way when it begins. Raises :class:`GivenUp` when
        the run stops before a wait is over that the provider or the person has asked for.
        """
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft((place, tokens))
        else:
            self._waiting.append((place, tokens))
        self._admit()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._free()
            raise

    def answered(self, estimated: int, used: int | None) -> None:
        """A call ended with an answer that cost ``used`` tokens; frees its place."""
        if self._tokens is not None and used is not None:
            self._tokens.take(used - estimated)
        self._answers += 1
        if not self.refusals:
            self.limit = min(self._most, self.limit + 1)
        elif self._answers >= self._window * max(PATIENT, self.limit):
            self._raise()
        self._free()

    def failed(self) -> None:
        """A call ended in a failure that says nothing about the pace; frees its place."""
        self._free()

    def refused(self, error: RateLimited, others: int) -> None:
        """A call that began beside ``others`` was refused as too much; frees its place.

        A wait that the provider names holds for all calls.
        """
        if self._raised:
            self._window = min(_LONGEST_WINDOW, self._window * 2)
        self._raised = False
        self.refusals += 1
        self.limit = max(1, min(self.limit, others))
        self._answers, self._step = 0, 1
        if error.retry_after is not None and error.retry_after <= LONGEST_WAIT:
            self.pause(error.retry_after)
        self._free()

    def pause(self, seconds: float) -> None:
        """Begin no call for ``seconds`` from now."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def close(self, *, at_once: bool = False) -> None:
        """The run stops: from now on nobody waits for a pause to end, or for a minute's share.

        ``at_once``: nor for a place; no call begins any more.
        """
        self._closed = True
        self._ended = self._ended or at_once
        self._admit()

    # --- within ---------------------------------------------------------------------------

    def _raise(self) -> None:
        if self._raised:  # the last raise was survived
            self._window = 1
            self._step = max(1, min(self._step * 2, self.limit // 2))
        self.limit = min(self._most, self.limit + self._step)
        self._raised, self._answers = True, 0

    def _free(self) -> None:
        self.under_way -= 1
        self._admit()

    def _admit(self) -> None:
        if self._ended:
            self._give_up()
        while self._waiting and self.under_way < self.limit and not self._left:
            pause = self._paused_until - self._clock()
            wait = max([pause, *(b.wait() for b in (self._requests, self._tokens) if b)])
            if wait > 0 and self._closed:
                self._give_up()
                return
            if wait > 0:
                self._wake_in(wait)
                return
            place, tokens = self._waiting.popleft()
            if place.done():
                continue
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)
            place.set_result(self.under_way)
            self.under_way += 1
            if self._passes:
                self._left = self._passes
                asyncio.get_running_loop().call_soon(self._passed)

    def _passed(self) -> None:
        """Count a pass of the event loop."""
        self._left -= 1
        if self._left:
            asyncio.get_running_loop().call_soon(self._passed)
        else:
            self._admit()

    def _give_up(self) -> None:
        for place, _ in self._waiting:
            if not place.done():
                place.set_exception(GivenUp())
        self._waiting.clear()

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._admit)
