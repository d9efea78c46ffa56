# SPDX-License-Identifier: Apache-2.0
"""Patience: with calls that fail, with providers of batches, and with judges."""

from __future__ import annotations

import asyncio
import concurrent.futures
from datetime import UTC, datetime

import pytest

from kgbench.connectors.batches import BatchStatus, Result, Undecided
from kgbench.engine import Journal
from kgbench.engine.batch_client import BatchClient, BatchesRefused, BatchNotCreated
from kgbench.engine.calls import ModelClient, RetryPolicy
from kgbench.engine.judge_queue import JudgeQueue
from kgbench.engine.rate_limiter import CallAbandoned, RateLimiter
from kgbench.errors import ProviderError, ProviderRefused, RateLimited
from kgbench.execution.judging import JudgeLimits, JudgeRequest
from kgbench.model import Case, Outcome, Reply, Request, Verdict
from kgbench.record.batches import Batch

CASE = Case("urn:case", "suite", "Class", {}, {}, "0" * 64)
REQUEST = Request(("What?",), CASE, "0")
LONG = 3_600.0  # seconds that no test sits out


class Model:
    """A connection to a model that does one thing after the other, the last for ever."""

    def __init__(self, *doings):
        self.asked = 0
        self._doings = doings

    async def ask(self, _):
        """Reply, fail, or do something else first."""
        doing = self._doings[min(self.asked, len(self._doings) - 1)]
        self.asked += 1
        if callable(doing):
            doing = await doing()
        if isinstance(doing, Exception):
            raise doing
        return doing


def line_to(model, *, retries=3, scale=0.0, deadline=60.0, stopping=None, pace=None):
    """A line to a model."""
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
    """A model that does not answer in time is asked again; a deadline is a timeout in the graph."""

    async def calling():
        line = line_to(Model(never, Reply("late")), deadline=0.01)
        once = await line.call(REQUEST, "urn:d")
        line = line_to(Model(never), deadline=0.01, retries=1)
        return once, await line.call(REQUEST, "urn:d"), line.pace.under_way

    once, never_answered, under_way = asyncio.run(calling())
    assert (once.reply.text, once.retries) == ("late", 1)
    assert (never_answered.failure, never_answered.retries) == (Outcome.TIMEOUT, 1)
    assert "no answer within 0.01 seconds" in never_answered.error
    assert under_way == 0


def test_a_call_that_is_given_up_frees_its_place():
    """Whoever cancels a call leaves the pace as it was."""

    async def calling():
        line = line_to(Model(never))
        task = asyncio.create_task(line.call(REQUEST, "urn:d"))
        await asyncio.sleep(0)
        held = line.pace.under_way
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return held, line.pace.under_way, task.cancelled()

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
    """A run that stops before or while it waits for another attempt records the failure."""

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
    """Too much though nothing else is under way: the whole model is left alone for a while."""

    async def calling():
        pace = RateLimiter(4)
        line = line_to(Model(RateLimited("slower"), Reply("now")), scale=0.01, pace=pace)
        call = await line.call(REQUEST, "urn:d")
        return call.retries, pace._paused_until

    retries, paused = asyncio.run(calling())
    assert retries == 1
    assert paused > 0.0


def test_the_knocking_ends():
    """Where everything fails, calls are not repeated more often than there are calls, and spare."""
    patience = RetryPolicy(max_retries=1_000, scale=0.0)
    patience.begun()
    waits = [patience.wait(1, 0, ProviderError("down")) for _ in range(103)]

    assert waits.index(None) == 101
    assert patience.wait(0, 1, RateLimited("slower", retry_after=7.0)) == 7.0


# --- batches --------------------------------------------------------------------------------


class Provider:
    """A provider of batches that answers each kind of question by a list, its last for ever."""

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
    """What deals with a provider, without waiting."""
    return BatchClient(provider, Journal(), giving_up or asyncio.Event(), 0.0)


def test_handing_in_ends_after_some_attempts():
    """A provider that only ever asks for time gets no batch, and it is said what it said."""
    provider = Provider(submit=[RateLimited("queue is full")])
    with pytest.raises(BatchNotCreated, match="RateLimited: queue is full"):
        asyncio.run(following(provider).submitted(BATCH, [], ()))

    assert provider.asked == {"submit": 8}


def test_what_is_undecided_is_looked_at_again():
    """Whether a batch was made may take time to know; then it is that one, and no other is made."""
    provider = Provider(submit=[DOWN], find=[Undecided(), DOWN, "found"])
    found = asyncio.run(following(provider).submitted(BATCH, [], ()))

    assert found.id == "found"
    assert provider.asked == {"submit": 1, "find": 3}


def test_a_provider_that_refuses_is_not_asked_again():
    """What waiting does not cure stops the model: looking at batches, and fetching results."""

    async def fetched(following):
        return [one async for one in following.results(BATCH, BatchStatus("ended", 2))]

    for asking, provider in (
        (lambda one: one.ended(BATCH), Provider(status=[DOWN, REFUSED])),
        (lambda one: one.found(BATCH, ()), Provider(find=[REFUSED])),
        (fetched, Provider(results=[None, REFUSED])),
    ):
        with pytest.raises(BatchesRefused, match="ProviderRefused: unknown"):
            asyncio.run(asking(following(provider)))


def test_a_provider_that_stays_away_is_given_up():
    """After an hour's worth of failures, one after the other, there is an end to looking."""
    provider = Provider(status=[DOWN] * 59 + [BatchStatus("running", 0)] + [DOWN])
    with pytest.raises(BatchesRefused, match="ProviderError: down"):
        asyncio.run(following(provider).ended(BATCH))

    assert provider.asked == {"status": 120}


def test_results_that_break_off_are_each_given_once():
    """Fetching begins anew as often as need be; what came already does not come twice."""
    provider = Provider(results=[DOWN, None, DOWN, None, None])

    async def fetched():
        return [one.name async for one in following(provider).results(BATCH, BatchStatus("x", 2))]

    assert asyncio.run(fetched()) == ["one", "two"]


def test_giving_up_ends_every_wait():
    """Once a run is given up, what would wait for the provider does not."""

    async def waiting():
        giving_up = asyncio.Event()
        giving_up.set()
        provider = Provider(status=[BatchStatus("running", 0)], find=[DOWN], submit=[DOWN])
        one = following(provider, giving_up)
        with pytest.raises(CallAbandoned):
            await one.ended(BATCH)
        with pytest.raises(CallAbandoned):
            await one.submitted(BATCH, [], ())
        return provider.asked

    assert asyncio.run(waiting()) == {"status": 1, "find": 1, "submit": 1}


# --- judges ---------------------------------------------------------------------------------


class Judges(concurrent.futures.Executor):
    """An executor whose work a test does."""

    def __init__(self):
        self.given = asyncio.Queue()

    def submit(self, *given):
        """Take a batch; what comes of it is set later."""
        future = concurrent.futures.Future()
        self.given.put_nowait((given[1], future))
        return future


@pytest.mark.parametrize("failure", [None, RuntimeError("the pool is broken")])
def test_everyone_who_waits_learns_what_became_of_a_batch(failure):
    """A verdict or an error comes to each who waits, though another of the batch waits no more."""

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
