# SPDX-License-Identifier: Apache-2.0
"""The rate limiter finds a hidden limit, obeys configured limits, and stops on request."""

from __future__ import annotations

import asyncio
import heapq
import itertools

import pytest

from kgbench.connectors import CallAbandoned
from kgbench.engine.calls import RetryPolicy
from kgbench.engine.rate_limiter import FIRST, RateLimiter, TokenBucket
from kgbench.errors import RateLimited


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self):
        """Return the time that was set."""
        return self.now


async def work(pace, hidden, answers):
    """Make ``answers`` calls to a provider with a hidden limit; return the limits over time."""
    there = 0
    seen = []

    async def one():
        nonlocal there
        others = await pace.enter(1)
        while True:
            there += 1
            too_much = there > hidden
            await asyncio.sleep(0 if too_much else 0.001)
            there -= 1
            if not too_much:
                pace.release_answered(1, None)
                seen.append(pace.limit)
                return
            pace.release_refused(RateLimited("slower"), others)
            others = await pace.enter(1, first=True)

    await asyncio.gather(*(one() for _ in range(answers)))
    return seen


@pytest.mark.parametrize("hidden", [1, 8, 40, 1000])
def test_limit_settles_at_what_the_provider_takes(hidden):
    """The limit settles at about the provider's hidden limit, or grows to the allowed maximum."""
    late = sorted(asyncio.run(work(RateLimiter(64), hidden, 1000))[500:])

    assert late[0] >= min(hidden, 64)
    assert late[len(late) // 2] <= min(hidden + 1, 64)


def test_never_more_than_allowed():
    """The number of concurrent calls never exceeds the allowed maximum."""

    async def count():
        pace = RateLimiter(3)
        most = 0

        async def one():
            nonlocal most
            await pace.enter(1)
            most = max(most, pace.under_way)
            await asyncio.sleep(0)
            pace.release_answered(1, None)

        await asyncio.gather(*(one() for _ in range(50)))
        return most, pace.under_way

    assert asyncio.run(count()) == (3, 0)


def test_wait_of_one_call_holds_for_the_model():
    """After a refusal with a delay, no call begins before it is over; then all do."""

    async def waiting():
        clock = Clock()
        pace = RateLimiter(4, clock=clock)
        pace.release_refused(RateLimited("slower", retry_after=30.0), await pace.enter(1))
        tasks = [asyncio.create_task(pace.enter(1)) for _ in range(3)]
        await asyncio.sleep(0)
        held = pace.under_way
        clock.now += 31
        pace.limit = 4
        tasks.append(asyncio.create_task(pace.enter(1)))
        await asyncio.gather(*tasks)
        return held, pace.under_way

    assert asyncio.run(waiting()) == (0, 4)


@pytest.mark.parametrize("rate", ["requests_per_minute", "tokens_per_minute", None])
def test_stopping_ends_all_waits(rate):
    """A stopped run waits neither for its own limits nor for a provider's delay of an hour.

    A call that was cancelled before is passed over.
    """

    async def stopping():
        pace = RateLimiter(4, **({} if rate is None else {rate: 1.0}))
        others = await pace.enter(1)
        if rate is None:
            pace.release_refused(RateLimited("slower", retry_after=3600.0), others)
        gone, other = (asyncio.create_task(pace.enter(1)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        pace.close()
        with pytest.raises(CallAbandoned):
            await other
        return gone.cancelled()

    assert asyncio.run(stopping())


@pytest.mark.parametrize("admitted", [True, False])
def test_a_cancelled_call_leaves_its_place_to_the_next(admitted):
    """A call that is cancelled, while waiting or when admitted, frees its slot."""

    async def cancelling():
        pace = RateLimiter(1)
        await pace.enter(1)
        gone, next_ = (asyncio.create_task(pace.enter(1)) for _ in range(2))
        await asyncio.sleep(0)
        if admitted:
            pace.release_answered(1, None)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        if not admitted:
            pace.release_answered(1, None)
        return await next_, pace.under_way

    assert asyncio.run(cancelling()) == (0, 1)


def test_raises_that_are_survived_grow():
    """A limit that is far too low is raised in growing steps, never above the maximum."""

    async def raising():
        pace = RateLimiter(64)
        pace.release_refused(RateLimited("slower"), await pace.enter(1))
        seen = [pace.limit]
        for _ in range(2_000):
            await pace.enter(1)
            pace.release_answered(1, None)
            if pace.limit != seen[-1]:
                seen.append(pace.limit)
        return seen

    seen = asyncio.run(raising())
    steps = [after - before for before, after in itertools.pairwise(seen)]
    assert seen[0] == 1
    assert seen[-1] == 64
    assert steps[:-1] == sorted(steps[:-1])
    assert steps[-2] > 4


def test_requests_and_tokens_per_minute_are_kept():
    """A call begins when both budgets allow it; unused tokens are returned."""

    async def budgeted():
        clock = Clock()
        pace = RateLimiter(8, requests_per_minute=60, tokens_per_minute=6_000, clock=clock)
        await pace.enter(300)
        waiting = asyncio.create_task(pace.enter(100))
        await asyncio.sleep(0)
        seen = [pace.under_way]
        clock.now += 1.5  # enough for a request, not for the 200 tokens that are owed
        pace._admit()
        seen.append(pace.under_way)
        pace.release_answered(300, 50)
        await waiting
        seen.append(pace.under_way)
        pace._alarm.cancel()
        return seen

    assert asyncio.run(budgeted()) == [1, 1, 1]


@pytest.mark.parametrize("per_minute", [6, 60, 600])
def test_bucket_lets_its_rate_through(per_minute):
    """Over ten minutes the bucket passes as many units as its rate allows, and hardly more."""
    clock = Clock()
    bucket = TokenBucket(per_minute, clock)
    taken = 0
    while clock.now < 700:
        if (wait := bucket.wait()) > 0:
            clock.now += wait
        else:
            bucket.take(1)
            taken += 1

    assert 10 * per_minute <= taken <= 10 * per_minute + max(1, per_minute / 60) + 1
    owing = TokenBucket(60, clock)
    owing.take(31)  # more than the estimate of a call, which delays the next one
    assert owing.wait() == pytest.approx(31.0)


def test_start_is_modest():
    """The first limit for a provider is below the allowed maximum if that is large."""
    assert (RateLimiter(4).limit, RateLimiter(50).limit, RateLimiter(1000).limit) == (4, FIRST, 250)


def test_no_wait_without_end():
    """A delay of centuries ends the call, and delays no other call."""
    error = RateLimited("later", 99999999999.0)
    now = [0.0]
    pace = RateLimiter(4, clock=lambda: now[0])

    async def refused():
        await pace.enter(1)
        pace.release_refused(error, 1)
        return await asyncio.wait_for(pace.enter(1), 60)

    assert asyncio.run(refused()) == 0
    assert RetryPolicy(5, 1.0).wait(0, 1, error) is None


def near_server(slots, *, calls=400, patience=1e9, limit=64):
    """Return the limiter after calls to a near server, and how many of them were late.

    The server works on ``slots`` calls at once, a second each; others wait. Time is simulated.
    """
    now, late = 0.0, 0
    pace = RateLimiter(limit, near=True, clock=lambda: now)
    busy = [0.0] * slots  # when each slot is free
    under_way = []  # when a call ends, and how long it took

    async def begin():
        await pace.enter(1)
        free = min(range(slots), key=busy.__getitem__)
        busy[free] = max(busy[free], now) + 1
        took = busy[free] - now
        heapq.heappush(under_way, (now + min(took, patience), took))

    async def run():
        nonlocal now, late
        for _ in range(calls):
            while pace.under_way >= pace.limit:
                now, took = heapq.heappop(under_way)
                if took > patience:
                    late += 1
                    pace.release_late()
                else:
                    pace.release_answered(1, None)
            await begin()

    asyncio.run(run())
    return pace, late


@pytest.mark.parametrize("slots", [1, 2, 4, 16, 48])
def test_a_near_server_gets_as_many_calls_as_it_works_on(slots):
    """The limit begins with two calls and is raised while the server gains by it."""
    pace, _ = near_server(slots)

    assert slots * 0.6 <= pace.limit <= max(3, slots * 1.6)


def test_calls_that_wait_at_a_near_server_are_few():
    """Where calls wait for a slot until they are late, few are made again."""
    pace, late = near_server(2, patience=1.5)

    assert pace.limit <= 3
    assert late < 40


def test_a_late_call_halves_the_limit_of_a_near_server_only():
    """Elsewhere a late call says nothing about the number of calls."""

    async def after_a_late_call(near):
        pace = RateLimiter(16, near=near)
        pace.limit = 8
        await pace.enter(1)
        pace.release_late()
        return pace.limit

    assert [asyncio.run(after_a_late_call(near)) for near in (True, False)] == [4, 8]
