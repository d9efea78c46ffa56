# SPDX-License-Identifier: Apache-2.0
"""A run can be stopped at any time without losing or repeating a request."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from kgbench.engine import StopSignal
from kgbench.errors import ProviderRefused, StoreError
from kgbench.record import batches, reading
from kgbench.store import EmbeddedStore, open_store
from kgbench.store.back_ends import REPLY_LOG
from tests.connectors import SPEECHES
from tests.engine.test_replies import kgbench, words
from tests.support.batch_runs import CREATED, ONE, ROUNDS, asked_twice, open_batches, started
from tests.support.runs import Stop, hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.scripts import Behaviour
from tests.support.validation import assert_conforms


@pytest.fixture
def provider(monkeypatch):
    """Yield a function that starts servers of one kind."""
    yield from started("anthropic", monkeypatch)


def stopped(made, store, plan, when, *, times=1, then=scripts.ANSWER, after=scripts.ANSWER):
    """Run a session that is stopped at the first request for which ``when`` holds; return it.

    ``then`` is the behaviour for that request, ``after`` for later ones.
    """
    stop = Stop()
    told = []

    def look(entry):
        if told or not when(entry):
            return Behaviour(after if told else scripts.ANSWER)
        told.append(entry)
        for _ in range(times):
            stop.soon()
        return Behaviour(then)

    made.server._script = look
    done = hold(store, plan, stop=stop, patience_scale=0.02)
    assert told
    made.server._script = scripts.always()
    return done


def handing_in(entry):
    """Return whether a request submits a batch."""
    return entry.method == "POST" and entry.path == CREATED["anthropic"]


def looking(entry):
    """Return whether a request polls a batch."""
    return entry.method == "GET"


def states(store):
    """Return the final states of the batches of the only run."""
    (info,) = reading.runs(store)
    return [batch.state for batch in batches.all_batches(store, info.graph)]


def test_stopped_while_answers_are_judged(provider):
    """The answers of a batch are fetched again by the next session, which goes on with them."""
    made = provider(answer=fixed("this is no Turtle"))
    stop, seen = StopSignal(), []

    def watch(progress):
        seen.append(progress.awaited)
        if seen[-2:] == [3, 0]:  # the answers have arrived, and no dialogue has continued yet
            stop.request()

    with open_store("memory:") as store:
        plan = made.plan(3, ROUNDS)
        first = hold(store, plan, stop=stop, watch=watch)
        handed_in = made.created()
        second = hold(store, plan)
        assert_conforms(store)

    assert (first.complete, first.interrupted, first.calls) == (0, True, 0)
    assert handed_in == 1
    assert second.finished
    assert second.calls == 9
    assert made.created() == 3
    assert asked_twice(made) == []


@pytest.mark.parametrize("times", [1, 2])
def test_stopping_leaves_batches_to_the_next_session(provider, times):
    """Ctrl-C, once or twice, does not wait for an open batch; the same command collects it."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, looking, times=times)
        left = open_batches(store)
        second = hold(store, plan)
        assert_conforms(store)

    assert (first.complete, first.interrupted) == (0, True)
    assert [batch.id for batch in left] == [made.desk.batches[0].id]
    assert second.finished
    assert made.created() == 1


def test_stopped_while_a_batch_cannot_be_handed_in(provider):
    """A batch that the provider rejected is recorded as not submitted, and is not awaited."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, handing_in, then=scripts.RATE_LIMIT)
        after = states(store)
        second = hold(store, plan)
        assert_conforms(store)

    assert (first.complete, first.interrupted, first.awaited) == (0, True, 0)
    assert after == [batches.NOT_SUBMITTED]
    assert second.finished
    assert len(made.desk.batches) == 1


def test_stopped_while_it_is_not_known_whether_a_batch_was_handed_in(provider):
    """If the response to a submission was lost, the next session finds the batch."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        first = stopped(made, store, plan, handing_in, then=scripts.CUT, after=scripts.CUT)
        (left,) = open_batches(store)
        second = hold(store, plan)

    assert (first.complete, first.interrupted) == (0, True)
    assert left.id is None
    assert second.finished
    assert len(made.desk.batches) == 1


def test_stopped_while_earlier_batches_are_collected(provider):
    """Stopping a session while it collects earlier batches leaves them open."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        for _ in range(2):
            done = stopped(made, store, plan, looking, after=scripts.SERVER_ERROR)
            assert (done.complete, done.interrupted) == (0, True)
            assert [batch.id for batch in open_batches(store)] == [made.desk.batches[0].id]
        assert hold(store, plan).finished

    assert made.created() == 1


def test_what_failed_in_a_batch_of_an_earlier_session_is_asked_again(provider):
    """A failed request of a collected batch is asked again; foreign results are ignored."""
    made = provider(each=scripts.sequence("answer", scripts.SERVER_ERROR, "answer"))
    with open_store("memory:") as store:
        plan = made.plan(3)
        stopped(made, store, plan, looking)
        (batch,) = made.desk.batches
        batch.asked.append(replace(batch.asked[0], name="somebody-elses"))
        second = hold(store, plan)

    assert second.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [4, 1]


def test_a_refused_model_awaits_nothing(provider):
    """A batch that the provider refuses is not awaited, and its dialogues stay open."""
    made = provider(script=scripts.always(scripts.UNAUTHORISED))
    seen = []
    with open_store("memory:") as store:
        done = hold(store, made.plan(3), watch=lambda progress: seen.append(progress.awaited))

    assert max(seen) == 3
    assert (done.awaited, done.complete, done.failed) == (0, 0, 0)
    assert ProviderRefused.__name__ in str(done.stopped_models)


def test_what_earlier_rounds_cost_is_counted_when_results_are_refused(provider):
    """If results are refused, dialogues stay open, and their earlier rounds are counted."""
    made = provider(answer=fixed("this is no Turtle"))

    def look(entry):
        second = len(made.desk.batches) == 2 and entry.method == "GET"
        return Behaviour(scripts.UNAUTHORISED if second else scripts.ANSWER)

    made.server._script = look
    with open_store("memory:") as store:
        plan = made.plan(3, ROUNDS)
        first = hold(store, plan)
        made.server._script = scripts.always()
        second = hold(store, plan)

    assert "401" in str(first.stopped_models)
    assert (first.complete, first.calls) == (0, 3)
    assert first.input_tokens > 0
    assert second.finished
    assert second.calls == 6
    assert asked_twice(made) == []


class Full(EmbeddedStore):
    """A store in memory that refuses writes while ``full`` is set."""

    full = False

    def write(self, blocks):
        """Write, or refuse."""
        if self.full:
            raise StoreError("no space left")
        super().write(blocks)


def test_a_store_that_is_full_loses_no_batch(provider):
    """If answers cannot be written, the run fails, and the same batch is collected later."""
    made = provider()
    with Full(None) as store:
        plan = made.plan(4)

        def watch(progress):
            store.full = store.full or len(made.desk.batches) == 1

        with pytest.raises(StoreError, match="no space left"):
            hold(store, plan, watch=watch)
        store.full = False
        second = hold(store, plan)
        assert_conforms(store)

    assert second.finished
    assert len(made.desk.batches) == 1
    assert asked_twice(made) == []


def test_batches_are_given_up_one_by_one(provider):
    """Open batches of a plan's models are abandoned, even if the provider fails to cancel."""
    made, other = provider(), provider()
    with open_store("memory:") as store:
        plan, others = made.plan(2), other.plan(2)
        second = replace(others.models[0], iri=f"{others.models[0].iri}-2", label="second")
        others = replace(others, models=(second,))
        both = replace(plan, models=(*plan.models, second))
        # Whenever the session is stopped, this batch is open, because polling it fails.
        other.server._script = lambda entry: Behaviour(
            scripts.SERVER_ERROR if looking(entry) else scripts.ANSWER
        )
        stopped(made, store, both, looking)
        other.server._script = scripts.always()
        assert len(open_batches(store)) == 2
        live = replace(plan, batch=False)
        made.server._script = lambda entry: Behaviour(
            scripts.SERVER_ERROR if entry.path.endswith("/cancel") else scripts.ANSWER
        )
        hold(store, live, abandon_batches=True)
        (left,) = open_batches(store)
        hold(store, replace(others, batch=False), abandon_batches=True)
        after = states(store)

    assert left.model == second.iri
    assert not made.desk.batches[0].cancelled
    assert other.desk.batches[0].cancelled
    assert after == [batches.ABANDONED] * 2


def test_a_limit_is_no_second_request():
    """A reached limit does not count as a second stop request; another Ctrl-C does."""

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


def test_a_batch_is_not_handed_in_after_the_stop(provider, monkeypatch):
    """A stop while the intention to submit a batch is written prevents the submission."""
    made = provider()
    stop = StopSignal()
    written = batches.intention_blocks

    def stopping(*about):
        stop.request()
        return written(*about)

    monkeypatch.setattr(batches, "intention_blocks", stopping)
    with open_store("memory:") as store:
        done = hold(store, made.plan(3), stop=stop)
        assert states(store) == [batches.NOT_SUBMITTED]

    assert (done.interrupted, made.created()) == (True, 0)


@pytest.mark.parametrize("name", ["openai", "vllm", "anthropic", "google"])
def test_no_dialogue_begins_after_the_stop(name):
    """Calls in progress are finished; dialogues that wait for a slot send no first request."""
    stop = Stop()

    def script(entry):
        if entry.number == 0:  # a second request would abandon the calls in progress
            stop.soon()
        return Behaviour()

    with open_store("memory:") as store, LoopbackServer(SPEECHES[name](), script=script) as server:
        plan = planned(ONE, f"{name}:m@{server.url}", iterations=12, concurrency=3)
        done = hold(store, plan, stop=stop)
        sent = len(server.ledger)

    assert done.interrupted
    assert done.complete == sent <= 3


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_is_under_way(tmp_path, loopback, kind):
    """After Ctrl-C or SIGTERM answers under way are received and stored, and no call begins."""
    server, spec = loopback(scripts.always(delay=0.5))
    place = tmp_path / "store"
    words_ = [one for one in words(place, spec, "--concurrency", "1") if one != "--json"]
    command = [sys.executable, "-m", "kgbench", *words_]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        server.requests(1)
        os.killpg(process.pid, kind)  # as a terminal does
        told, said = process.communicate(timeout=60)
    asked_before = len(server.ledger)
    done = kgbench(*words(place, spec))

    assert "Traceback" not in said
    assert process.returncode == 130
    assert "Repeat the command to continue" in told
    assert asked_before < 4
    assert json.loads(done.stdout)["recovered"] == 0
    assert len(server.ledger) == len(server.acknowledged) == 4
    assert not (place / REPLY_LOG).exists()
