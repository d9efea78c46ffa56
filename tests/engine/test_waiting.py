# SPDX-License-Identifier: Apache-2.0
"""Timeouts and retries of model calls, of provider batches and of judge batches."""

from __future__ import annotations

import asyncio
import concurrent.futures
from datetime import UTC, datetime

import pytest

from kgbench.connectors import CallAbandoned
from kgbench.connectors.batches import BatchStatus, Result, Undecided
from kgbench.connectors.calls import Meaning, error_of
from kgbench.engine import Journal
from kgbench.engine.batch_client import BatchClient, BatchesRefused, BatchNotCreated
from kgbench.engine.calls import ModelClient, RetryPolicy
from kgbench.engine.queues import JudgeQueue
from kgbench.engine.rate_limiter import RateLimiter
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout, RateLimited
from kgbench.execution.judging import JudgeLimits, JudgeRequest
from kgbench.model import Case, Outcome, Reply, Request, Verdict
from kgbench.record.batches import Batch

CASE = Case("urn:case", "suite", "Class", {}, {}, "0" * 64)
REQUEST = Request(("What?",), CASE, "0")
LONG = 3_600.0  # seconds; no test waits that long


class Model:
    """A model connection that performs its steps in order and repeats the last one for ever."""

    def __init__(self, *doings):
        self.asked = 0
        self._doings = doings

    async def ask(self, _):
        """Perform the next step: reply, raise an error, or await a function first."""
        doing = self._doings[min(self.asked, len(self._doings) - 1)]
        self.asked += 1
        if callable(doing):
            doing = await doing()
        if isinstance(doing, Exception):
            raise doing
        return doing


def line_to(model, *, retries=3, scale=0.0, deadline=60.0, stopping=None, pace=None):
    """Return a client of a model."""
    return ModelClient(
        model,
        pace or RateLimiter(4),
        RetryPolicy(retries, scale),
        deadline=deadline,
        journal=Journal(),
        stopping=stopping or asyncio.Event(),
    )


async def never():
    """Wait for ever."""
    await asyncio.Event().wait()


# --- calls ----------------------------------------------------------------------------------


def test_a_call_has_its_time_and_another_attempt():
    """A call that times out is retried; after the last retry its outcome is a timeout."""

    async def calling():
        line = line_to(Model(never, Reply("late")), deadline=0.01)
        once = await line.call(REQUEST, "urn:d")
        line = line_to(Model(never), deadline=0.01, retries=1)
        return once, await line.call(REQUEST, "urn:d"), line.rate_limiter.under_way

    once, never_answered, under_way = asyncio.run(calling())
    assert (once.reply.text, once.retries) == ("late", 1)
    assert (never_answered.failure, never_answered.retries) == (Outcome.TIMEOUT, 1)
    assert "no answer within 0.01 seconds" in never_answered.error
    assert under_way == 0


def test_requests_and_timeouts_are_counted():
    """Each attempt is a request; timeouts are those of the provider and of the deadline."""

    async def calling():
        late = ProviderTimeout("HTTP 504")
        line = line_to(Model(never, late, ProviderError("HTTP 500"), Reply("here")), deadline=0.01)
        for _ in range(2):
            await line.call(REQUEST, "urn:d")
        return line.requests, line.timeouts

    assert asyncio.run(calling()) == (5, 2)


def test_a_call_that_is_given_up_frees_its_place():
    """A cancelled call frees its place in the rate limiter."""

    async def calling():
        line = line_to(Model(never))
        task = asyncio.create_task(line.call(REQUEST, "urn:d"))
        await asyncio.sleep(0)
        held = line.rate_limiter.under_way
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return held, line.rate_limiter.under_way, task.cancelled()

    assert asyncio.run(calling()) == (1, 0, True)


@pytest.mark.parametrize(
    ("error", "others"),
    [
        (ProviderError("overloaded"), 0),
        (RateLimited("slower"), 0),
        (RateLimited("slower"), 1),
        (RateLimited("slower", retry_after=LONG), 0),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_no_call_is_repeated_once_the_run_stops(error, others, before):
    """A run that stops before or during the wait for a retry records the failure."""

    async def calling():
        stopping, pace = asyncio.Event(), RateLimiter(4)
        for _ in range(others):
            await pace.enter(1)

        async def failing():
            asyncio.get_running_loop().call_soon(stop) if not before else stop()
            return error

        def stop():
            stopping.set()
            pace.close()

        model = Model(failing)
        line = line_to(model, scale=LONG, stopping=stopping, pace=pace)
        return await line.call(REQUEST, "urn:d"), model.asked, pace.under_way - others

    call, asked, under_way = asyncio.run(calling())
    assert (call.failure, call.retries) == (Outcome.PROVIDER_ERROR, 0)
    assert str(error) in call.error
    assert (asked, under_way) == (1, 0)


def test_a_refusal_beside_nobody_lets_all_wait():
    """A rate-limit error with no other call under way pauses all calls of the model."""

    async def calling():
        pace = RateLimiter(4)
        line = line_to(Model(RateLimited("slower"), Reply("now")), scale=0.01, pace=pace)
        call = await line.call(REQUEST, "urn:d")
        return call.retries, pace._paused_until

    retries, paused = asyncio.run(calling())
    assert retries == 1
    assert paused > 0.0


def test_the_same_late_answer_is_not_waited_for_again_and_again():
    """At temperature 0, a call that times out is made once more only; other failures as usual."""
    for same, late in ((True, 1), (False, 5)):
        patience = RetryPolicy(5, scale=0.0, same=same)
        for error, most in ((ProviderTimeout("late"), late), (ProviderError("down"), 5)):
            waits = [patience.wait(failures, 0, error) for failures in range(1, 7)]
            assert waits.index(None) == most


def test_the_knocking_ends():
    """The retries are at most as many as the calls plus a fixed reserve."""
    patience = RetryPolicy(max_retries=1_000, scale=0.0)
    patience.count_call()
    waits = [patience.wait(1, 0, ProviderError("down")) for _ in range(103)]

    assert waits.index(None) == 101
    assert patience.wait(0, 1, RateLimited("slower", retry_after=7.0)) == 7.0


@pytest.mark.parametrize("said", [0.0, 0.01])
@pytest.mark.parametrize("meaning", [Meaning.RATE_LIMITED, Meaning.PROVIDER_ERROR])
def test_a_wait_of_nothing_is_no_wait_that_a_provider_asks_for(said, meaning):
    """Retries after ``Retry-After: 0`` are as far apart, and as few, as those without it."""
    patience = RetryPolicy(max_retries=1_000, scale=1.0)
    error = error_of(meaning, "slower", wait=said)
    waits = [patience.wait(0, refusals, error) for refusals in range(1, 102)]

    assert isinstance(error, RateLimited)
    assert all(wait >= 0.5 for wait in waits[:100])
    assert waits[5] >= 16.0
    assert waits[100] is None


# --- batches --------------------------------------------------------------------------------


class Provider:
    """A provider of batches that answers each method from a list and repeats the last answer."""

    def __init__(self, **answers):
        self.asked = dict.fromkeys(answers, 0)
        self._answers = answers

    def _next(self, name):
        given = self._answers[name]
        answer = given[min(self.asked[name], len(given) - 1)]
        self.asked[name] += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def submit(self, *_):
        """See Batches."""
        return self._next("submit")

    async def find(self, *_):
        """See Batches."""
        return self._next("find")

    async def status(self, _):
        """See Batches."""
        return self._next("status")

    async def results(self, *_):
        """See Batches."""
        for name in ("one", "two"):
            yield Result(name, Reply(name))
            self._next("results")


BATCH = Batch("urn:batch/0", "urn:model", 2, datetime.now(UTC), "id")
DOWN, REFUSED = ProviderError("down"), ProviderRefused("unknown")


def following(provider, giving_up=None):
    """Return a batch client that never sleeps between attempts."""
    return BatchClient(provider, Journal(), giving_up or asyncio.Event(), 0.0)


def test_handing_in_ends_after_some_attempts():
    """A submission is given up after eight attempts, with the provider's last message."""
    provider = Provider(submit=[RateLimited("queue is full")])
    with pytest.raises(BatchNotCreated, match="RateLimited: queue is full"):
        asyncio.run(following(provider).submitted(BATCH, [], ()))

    assert provider.asked == {"submit": 8}


def test_what_is_undecided_is_looked_at_again():
    """A batch whose creation is undecided is searched for again and not submitted twice."""
    provider = Provider(submit=[DOWN], find=[Undecided(), DOWN, "found"])
    found = asyncio.run(following(provider).submitted(BATCH, [], ()))

    assert found.id == "found"
    assert provider.asked == {"submit": 1, "find": 3}


def test_a_provider_that_refuses_is_not_asked_again():
    """A permanent refusal ends polling, the search for a batch and the fetching of results."""
    for asking, provider in (
        (lambda one: one.ended(BATCH), Provider(status=[DOWN, REFUSED])),
        (lambda one: one.find(BATCH, ()), Provider(find=[REFUSED])),
        (lambda one: one.results(BATCH, BatchStatus("x", 2)), Provider(results=[None, REFUSED])),
    ):
        with pytest.raises(BatchesRefused, match="ProviderRefused: unknown"):
            asyncio.run(asking(following(provider)))


def test_a_provider_that_stays_away_is_given_up():
    """Polling ends after 60 failures in a row; a successful poll resets the count."""
    provider = Provider(status=[DOWN] * 59 + [BatchStatus("running", 0)] + [DOWN])
    with pytest.raises(BatchesRefused, match="ProviderError: down"):
        asyncio.run(following(provider).ended(BATCH))

    assert provider.asked == {"status": 120}


def test_results_that_break_off_are_fetched_again():
    """Fetching restarts after each failure until all results are there."""
    provider = Provider(results=[DOWN, None, DOWN, None, None])
    found = asyncio.run(following(provider).results(BATCH, BatchStatus("x", 2)))

    assert found == {"one": Reply("one"), "two": Reply("two")}


def test_giving_up_ends_every_wait():
    """Giving up a run ends every wait for the provider."""

    async def waiting():
        giving_up = asyncio.Event()
        giving_up.set()
        provider = Provider(status=[BatchStatus("running", 0)], find=[DOWN], submit=[DOWN])
        one = following(provider, giving_up)
        with pytest.raises(CallAbandoned):
            await one.ended(BATCH)
        assert await one.submitted(BATCH, [], ()) is None
        return provider.asked

    assert asyncio.run(waiting()) == {"status": 1, "find": 0, "submit": 0}


# --- judges ---------------------------------------------------------------------------------


class Judges(concurrent.futures.Executor):
    """An executor whose futures are completed by the test."""

    def __init__(self):
        self.given = asyncio.Queue()

    def submit(self, *given):
        """Accept a batch and return its future, which the test completes later."""
        future = concurrent.futures.Future()
        self.given.put_nowait((given[1], future))
        return future


@pytest.mark.parametrize("failure", [None, RuntimeError("the pool is broken")])
def test_everyone_who_waits_learns_what_became_of_a_batch(failure):
    """Each caller gets its verdict or error, although another caller of the batch is cancelled."""

    async def judging():
        judges = Judges()
        desk = JudgeQueue(judges, JudgeLimits(), workers=0)
        waiting = [
            asyncio.create_task(desk.judge("urn:d", JudgeRequest(CASE, (text,)))) for text in "abc"
        ]
        batch, future = await judges.given.get()
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        if failure is None:
            future.set_result([Verdict({}, {"answer": one.answers[0]}) for one in batch])
        else:
            future.set_exception(failure)
        told = await asyncio.gather(*waiting[1:], return_exceptions=True)
        later = asyncio.create_task(desk.judge("urn:d", JudgeRequest(CASE, ("d",))))
        _, future = await judges.given.get()
        future.set_result([Verdict({}, {"answer": "d"})])
        last = await later
        await desk.close()
        return len(batch), told, last

    size, told, last = asyncio.run(judging())
    assert size == 3
    assert last.infos == {"answer": "d"}
    if failure is None:
        assert [one.infos["answer"] for one in told] == ["b", "c"]
    else:
        assert told == [failure, failure]
