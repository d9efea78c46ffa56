# SPDX-License-Identifier: Apache-2.0
"""Stopping a run that asks in batches, in every moment: nothing is lost, nothing asked twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kgbench.engine import Settings, StopSignal, run_plan, run_to_continue
from kgbench.errors import ProviderRefused, StoreError
from kgbench.record import batches, reading
from kgbench.store import EmbeddedStore, open_store
from tests.batch_runs import CREATED, ROUNDS, asked_twice, open_batches, run, started
from tests.servers import scripts
from tests.servers.loopback import fixed
from tests.servers.scripts import Behaviour
from tests.validation import assert_conforms

pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
pytest.importorskip("anthropic", reason="the extra kgbench[anthropic] is not installed")


@pytest.fixture
def provider(monkeypatch):
    """Makes started servers of one kind."""
    yield from started("anthropic", monkeypatch)


def session(store, plan, stop=None, watch=None):
    """Run or continue a plan in batches, with a way to stop it."""
    settings = Settings(run=run_to_continue(store, plan), patience_scale=0.005, executor="local:1")
    return asyncio.run(run_plan(store, plan, settings, stop=stop, watch=watch))


def stopped(made, store, plan, when, *, times=1, then=scripts.ANSWER, after=scripts.ANSWER):
    """The end of a session that is told to stop at the first request that is one of ``when``.

    ``then`` is what that request meets, ``after`` what the later ones do.
    """
    stop = StopSignal()
    told = []

    def look(entry):
        if told or not when(entry):
            return Behaviour(after if told else scripts.ANSWER)
        told.append(entry)
        for _ in range(times):
            made.loop.call_soon_threadsafe(stop.request)
        return Behaviour(then)

    async def first():
        made.loop = asyncio.get_running_loop()
        settings = Settings(run=run_to_continue(store, plan), patience_scale=0.02)
        return await run_plan(store, plan, replace(settings, executor="local:1"), stop=stop)

    made.server._script = look
    done = asyncio.run(first())
    assert told
    made.server._script = scripts.always()
    return done


def handing_in(entry):
    """Whether a request hands a batch in."""
    return entry.method == "POST" and entry.path == CREATED["anthropic"]


def looking(entry):
    """Whether a request looks at a batch."""
    return entry.method == "GET"


def states(store):
    """The ends of the batches of the only run."""
    (info,) = reading.runs(store)
    return [batch.state for batch in batches.all_batches(store, info.graph)]


def test_stopped_while_answers_are_judged(provider):
    """What a batch has answered is kept, and no next round is begun: the next session does that."""
    made = provider(answer=fixed("this is no Turtle"))
    stop, seen = StopSignal(), []

    def watch(progress):
        seen.append(progress.awaited)
        if seen[-2:] == [3, 0]:  # the answers have come, and nobody has gone on yet
            stop.request()

    with open_store("memory:") as store:
        plan = made.plan(3, ROUNDS)
        first = session(store, plan, stop, watch)
        handed_in = made.created()
        second = run(store, plan)
        assert_conforms(store)

    assert (first.complete, first.interrupted, first.calls) == (0, True, 3)
    assert handed_in == 1
    assert second.finished
    assert second.calls == 6
    assert asked_twice(made) == []


def test_stopped_twice_waits_for_nothing(provider):
    """Ctrl-C again ends the session in the middle of whatever it does; the rest stays to be had."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, looking, times=2)
        left = open_batches(store)
        second = run(store, plan)

    assert (first.complete, first.interrupted) == (0, True)
    assert [batch.id for batch in left] == [made.desk.batches[0].id]
    assert second.finished
    assert made.created() == 1


def test_stopped_while_a_batch_cannot_be_handed_in(provider):
    """What surely never reached the provider is recorded as that, and nothing is awaited."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, handing_in, then=scripts.RATE_LIMIT)
        after = states(store)
        second = run(store, plan)
        assert_conforms(store)

    assert (first.complete, first.interrupted, first.awaited) == (0, True, 0)
    assert after == [batches.NOT_SUBMITTED]
    assert second.finished
    assert len(made.desk.batches) == 1


def test_stopped_while_it_is_not_known_whether_a_batch_was_handed_in(provider):
    """The provider has it and its answer was lost: the next session finds it, and asks nothing."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, handing_in, then=scripts.CUT, after=scripts.CUT)
        (left,) = open_batches(store)
        second = run(store, plan)

    assert (first.complete, first.interrupted) == (0, True)
    assert left.id is None
    assert second.finished
    assert len(made.desk.batches) == 1


def test_stopped_while_earlier_batches_are_collected(provider):
    """A session that is stopped before it has what earlier ones asked for leaves that as it was."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        for _ in range(2):
            done = stopped(made, store, plan, looking, after=scripts.SERVER_ERROR)
            assert (done.complete, done.interrupted) == (0, True)
            assert [batch.id for batch in open_batches(store)] == [made.desk.batches[0].id]
        assert run(store, plan).finished

    assert made.created() == 1


def test_what_failed_in_a_batch_of_an_earlier_session_is_asked_again(provider):
    """Of what is collected the answers count, beside results that are none, or nobody's."""
    made = provider(each=scripts.sequence("answer", scripts.SERVER_ERROR, "answer"))
    with open_store("memory:") as store:
        plan = made.plan(3)
        stopped(made, store, plan, looking)
        (batch,) = made.desk.batches
        batch.asked.append(replace(batch.asked[0], name="somebody-elses"))
        second = run(store, plan)

    assert second.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [4, 1]


def test_a_result_that_nobody_asked_for_is_nobodys(provider):
    """A provider that gives more results than there were requests disturbs none of them."""
    made = provider()

    def look(entry):
        for batch in made.desk.batches:
            if len(batch.asked) == 3:
                batch.asked.append(replace(batch.asked[0], name="somebody-elses"))
        return Behaviour()

    made.server._script = look
    with open_store("memory:") as store:
        done = session(store, made.plan(3))

    assert len(made.desk.batches[0].asked) == 4
    assert (done.complete, done.calls) == (3, 3)


def test_a_refused_model_awaits_nothing(provider):
    """A batch that the provider refuses is not under way, and who was in it is left open."""
    made = provider(script=scripts.always(scripts.UNAUTHORISED))
    seen = []
    with open_store("memory:") as store:
        done = session(store, made.plan(3), watch=lambda progress: seen.append(progress.awaited))

    assert max(seen) == 3
    assert (done.awaited, done.complete, done.failed) == (0, 0, 0)
    assert ProviderRefused.__name__ in str(done.stopped_models)


def test_what_earlier_rounds_cost_is_counted_when_results_are_refused(provider):
    """Results that the provider will not give leave dialogues open; what they had is counted."""
    made = provider(answer=fixed("this is no Turtle"))

    def look(entry):
        second = len(made.desk.batches) == 2 and entry.method == "GET"
        return Behaviour(scripts.UNAUTHORISED if second else scripts.ANSWER)

    made.server._script = look
    with open_store("memory:") as store:
        plan = made.plan(3, ROUNDS)
        first = session(store, plan)
        made.server._script = scripts.always()
        second = run(store, plan)

    assert "401" in str(first.stopped_models)
    assert (first.complete, first.calls) == (0, 3)
    assert first.input_tokens > 0
    assert second.finished
    assert second.calls == 6
    assert asked_twice(made) == []


class Full(EmbeddedStore):
    """A store in memory that cannot be written from the moment when it is told."""

    full = False

    def write(self, blocks):
        """Write, or refuse."""
        if self.full:
            raise StoreError("no space left")
        super().write(blocks)


def test_a_store_that_is_full_loses_no_batch(provider):
    """When answers cannot be written the run ends with words, and the same batch is collected."""
    made = provider()
    with Full(None) as store:
        plan = made.plan(4)

        def watch(progress):
            store.full = store.full or len(made.desk.batches) == 1

        with pytest.raises(StoreError, match="no space left"):
            session(store, plan, watch=watch)
        store.full = False
        second = run(store, plan)
        assert_conforms(store)

    assert second.finished
    assert len(made.desk.batches) == 1
    assert asked_twice(made) == []


def test_batches_are_given_up_one_by_one(provider):
    """Open batches of the models of a plan are given up, whatever their provider says to that."""
    made, other = provider(), provider()
    with open_store("memory:") as store:
        plan, others = made.plan(2), other.plan(2)
        second = replace(others.models[0], iri=f"{others.models[0].iri}-2", label="second")
        others = replace(others, models=(second,))
        both = replace(plan, models=(*plan.models, second))
        # Whenever the session is stopped, this batch is under way: nobody gets to see its end.
        other.server._script = lambda entry: Behaviour(
            scripts.SERVER_ERROR if looking(entry) else scripts.ANSWER
        )
        stopped(made, store, both, looking)
        other.server._script = scripts.always()
        assert len(open_batches(store)) == 2
        live = replace(plan, batch=False)
        settings = Settings(
            run=run_to_continue(store, plan), abandon_batches=True, executor="local:1"
        )
        made.server._script = lambda entry: Behaviour(
            scripts.SERVER_ERROR if entry.path.endswith("/cancel") else scripts.ANSWER
        )
        asyncio.run(run_plan(store, live, settings))
        (left,) = open_batches(store)
        asyncio.run(run_plan(store, replace(others, batch=False), settings))
        after = states(store)

    assert left.model == second.iri
    assert not made.desk.batches[0].cancelled
    assert other.desk.batches[0].cancelled
    assert after == [batches.ABANDONED] * 2


def test_a_limit_is_no_second_request():
    """A limit that is reached when the run stops anyway changes nothing; Ctrl-C after one does."""

    async def told():
        stop = StopSignal()
        waiting = asyncio.create_task(asyncio.Event().wait())
        calls = []
        stop.watch([waiting], lambda: calls.append(stop.reason))
        stop.limit_reached("--max-cost 1")
        stop.limit_reached("--max-tokens 1")
        stop.request()
        await asyncio.sleep(0)
        kept = not waiting.done()
        stop.limit_reached("--max-cost 2")
        stop.request()
        await asyncio.gather(waiting, return_exceptions=True)
        return calls, kept, waiting.cancelled(), stop.reason

    assert asyncio.run(told()) == (["--max-cost 1", None, None], True, True, None)
