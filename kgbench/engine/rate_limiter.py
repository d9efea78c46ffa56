# SPDX-License-Identifier: Apache-2.0
"""Rate limits of one model: how many calls are under way at once, and how fast they begin.

A provider answers 429 when there are too many calls, but does not say how many it allows. The limit
is learnt from refusals: if a call is refused, the number of calls that were under way when it began
becomes the limit. For a provider that counts parallel calls this is never too low. After enough
answers the limit is raised again, first by one, then in growing steps, until the next refusal.
A refusal after a raise doubles the number of answers before the next raise. Before the first
refusal, every answer raises the limit by one.

A server on this machine or in a private network refuses nothing: its calls wait there, until they
run out of time. For such a **near** server the limit begins with two calls. It is doubled after as
many answers as it has calls, as long as the last raise made the server answer more calls per
second; otherwise that raise is taken back, and the next one is by half and needs twice as many
answers. A call without an answer in time halves the limit.

A wait that a provider asks for (Retry-After) holds for all calls to the model. Requests and tokens
per minute are limited by two token buckets, each with a capacity of one second.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from kgbench.connectors import CallAbandoned
from kgbench.errors import RateLimited
from kgbench.net.limits import LONGEST_WAIT

FIRST = 16  # parallel calls at the start, or a quarter of the maximum, if that is more
NEAR = 2  # the same for a near server
PATIENT = 16  # minimal number of answers before a limit is raised again
_FEWEST = 4  # answers after which the rates of a near server are compared
_GAIN = 1.1  # factor of answers per second that is worth a higher limit
_LONGEST_WINDOW = 8  # maximal factor on that number, after raises that were refused


class TokenBucket:
    """A token bucket: ``per_minute`` units, with a capacity of one second; it may go into debt."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate)
        self._level = self._capacity
        self._clock = clock
        self._seen = clock()

    def wait(self) -> float:
        """Return the seconds until the next unit may be taken."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._seen) * self._rate)
        self._seen = now
        needed = min(1.0, self._capacity)
        return 0.0 if self._level >= needed - 1e-9 else (needed - self._level) / self._rate

    def take(self, units: float) -> None:
        """Take ``units``, even more than there are; a negative number gives units back."""
        self._level -= units


class RateLimiter:
    """The rate limiter of one model; ``max_calls`` is the maximal number of parallel calls.

    The event loop runs ``passes`` iterations between the beginnings of two calls. Building a
    request takes milliseconds in which no reply is read, and reading a reply takes several
    iterations; without the gap, replies would wait while many requests are built.

    ``limit`` is the number of calls allowed now, ``under_way`` the number of current calls. Whether
    the server is ``near`` decides how the limit is found; see the module.
    """

    def __init__(
        self,
        max_calls: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        passes: int = 0,
        near: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = min(max_calls, NEAR if near else max(FIRST, max_calls // 4))
        self.under_way = 0
        self.refusals = 0
        self._max_calls = max_calls
        self._near = near
        self._changed = clock()  # when the limit last changed
        self._rate = 0.0  # answers per second under the limit before
        self._lower = self.limit  # that limit
        self._clock = clock
        self._requests = TokenBucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = TokenBucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._waiting: deque[tuple[asyncio.Future[int], int]] = deque()
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False
        self._ended = False
        self._passes = passes
        self._iterations_left = 0  # iterations of the event loop before the next call may begin
        self._answers = 0  # answers since the limit last changed
        self._step = 1
        self._window = 1
        self._raised = False

    # --- calls -----------------------------------------------------------------

    async def enter(self, tokens: int, *, first: bool = False) -> int:
        """Wait for a slot for a call of about ``tokens``; ``first`` puts it ahead of the queue.

        Returns the number of other calls under way when the call begins. Raises
        :class:`~kgbench.connectors.CallAbandoned` when the run stops during a wait that the
        provider or a configured limit requires.
        """
        slot: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft((slot, tokens))
        else:
            self._waiting.append((slot, tokens))
        self._admit()
        try:
            return await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled() and slot.exception() is None:
                self._free()
            raise

    def release_answered(self, estimated: int, tokens: int | None) -> None:
        """Free the slot of a call whose answer cost ``tokens``; this may raise the limit."""
        if self._tokens is not None and tokens is not None:
            self._tokens.take(tokens - estimated)
        self._answers += 1
        if self._near:
            if self._answers >= self._window * max(_FEWEST, self.limit):
                self._compare()
        elif not self.refusals:
            self.limit = min(self._max_calls, self.limit + 1)
        elif self._answers >= self._window * max(PATIENT, self.limit):
            self._raise()
        self._free()

    def release_failed(self) -> None:
        """Free the slot of a call that failed for a reason other than a rate limit."""
        self._free()

    def release_late(self) -> None:
        """Free the slot of a call without an answer in time, which halves a near server's limit."""
        if self._near:
            self.limit = self._lower = max(1, self.limit // 2)
            self._window = min(_LONGEST_WINDOW, self._window * 2)
            self._rate = 0.0
            self._begin_anew()
        self._free()

    def release_refused(self, error: RateLimited, others: int) -> None:
        """Free the slot of a rate-limited call, and lower the limit to ``others``.

        ``others`` is the number of calls that were under way when it began. A wait that the
        provider asks for holds for all calls.
        """
        if self._raised:
            self._window = min(_LONGEST_WINDOW, self._window * 2)
        self._raised = False
        self.refusals += 1
        self.limit = max(1, min(self.limit, others))
        self._lower = min(self._lower, self.limit)
        self._step = 1
        self._begin_anew()
        if error.retry_after is not None and error.retry_after <= LONGEST_WAIT:
            self.pause(error.retry_after)
        self._free()

    def pause(self, seconds: float) -> None:
        """Begin no call for ``seconds`` from now."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def close(self, *, at_once: bool = False) -> None:
        """Stop waiting for pauses and rate limits; such calls are abandoned.

        With ``at_once``, calls do not wait for a slot either, and no call begins any more.
        """
        self._closed = True
        self._ended = self._ended or at_once
        self._admit()

    # --- internals ------------------------------------------------------------------------

    def _raise(self) -> None:
        if self._raised:  # the last raise was not refused
            self._window = 1
            self._step = max(1, min(self._step * 2, self.limit // 2))
        self.limit = min(self._max_calls, self.limit + self._step)
        self._raised, self._answers = True, 0

    def _compare(self) -> None:
        """Raise a near server's limit, or take the last raise back if it gained nothing."""
        elapsed = self._clock() - self._changed
        rate = self._answers / elapsed if elapsed else math.inf
        if rate >= self._rate * _GAIN:
            self._rate, self._lower = rate, self.limit
            step = self.limit if self._window == 1 else max(1, self.limit // 2)
            self.limit = min(self._max_calls, self.limit + step)
        else:
            self.limit = self._lower
            self._window = min(_LONGEST_WINDOW, self._window * 2)
            self._rate = 0.0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Count answers from now, after a change of the limit."""
        self._answers, self._changed = 0, self._clock()

    def _free(self) -> None:
        self.under_way -= 1
        self._admit()

    def _admit(self) -> None:
        if self._ended:
            self._give_up()
        while self._waiting and self.under_way < self.limit and not self._iterations_left:
            pause = self._paused_until - self._clock()
            wait = max([pause, *(b.wait() for b in (self._requests, self._tokens) if b)])
            if wait > 0 and self._closed:
                self._give_up()
                return
            if wait > 0:
                self._wake_in(wait)
                return
            slot, tokens = self._waiting.popleft()
            if slot.done():
                continue
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)
            slot.set_result(self.under_way)
            self.under_way += 1
            if self._passes:
                self._iterations_left = self._passes
                asyncio.get_running_loop().call_soon(self._count_iteration)

    def _count_iteration(self) -> None:
        """Count an iteration of the event loop."""
        self._iterations_left -= 1
        if self._iterations_left:
            asyncio.get_running_loop().call_soon(self._count_iteration)
        else:
            self._admit()

    def _give_up(self) -> None:
        for slot, _ in self._waiting:
            if not slot.done():
                slot.set_exception(CallAbandoned())
        self._waiting.clear()

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._admit)
