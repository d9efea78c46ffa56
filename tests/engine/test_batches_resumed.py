# SPDX-License-Identifier: Apache-2.0
"""Batches that outlive the process that submitted them are collected, and not submitted twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from kgbench.errors import ModelSpecError
from kgbench.record import batches, reading
from kgbench.record.recorder import Recorder
from kgbench.store import open_reader, open_store
from tests.support.batch_runs import ROUNDS, asked_twice, open_batches, started
from tests.support.runs import hold
from tests.support.servers.loopback import fixed
from tests.support.validation import assert_conforms


@pytest.fixture(params=["openai", "anthropic"])
def provider(request, monkeypatch):
    """Yield a function that starts a server, for each kind in turn."""
    yield from started(request.param, monkeypatch)


def test_a_batch_whose_id_was_never_learned_is_found(provider):
    """A session killed between submission and its response leaves a batch that the next finds."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        hold(store, made.plan(1))
        others = made.plan(4)
        (info,) = reading.runs(store)
        _pretend_killed(store, info, plan, made, requests=3)
        before = made.created()
        done = hold(store, others)
        states = [batch.state for batch in batches.all_batches(store, info.graph)]

    assert done.finished
    assert made.created() == before
    assert None not in states


def _pretend_killed(store, info, plan, made, requests):
    """Run a plan until its batch is submitted, then stop as if killed."""
    from kgbench.engine import batch_client

    real = batch_client.BatchClient.submitted

    async def dying(self, batch, asked, others):
        await real(self, batch, asked, others)
        raise KeyboardInterrupt

    batch_client.BatchClient.submitted = dying
    try:
        with pytest.raises(KeyboardInterrupt):
            hold(store, plan)
    finally:
        batch_client.BatchClient.submitted = real
    (left,) = batches.unended_batches(store, info.graph)
    assert left.id is None
    assert left.requests == requests == len(made.desk.batches[-1].asked)


def test_a_batch_that_never_left_is_handed_in(provider):
    """A batch that was recorded and never submitted is submitted by the next session."""
    made = provider()
    with open_store("memory:") as store:
        hold(store, made.plan(1))
        (info,) = reading.runs(store)
        (setup,) = made.plan(1).models
        number = "0199aaaa-0000-7000-8000-000000000000"
        never = batches.Batch(f"{info.iri}/batch/{number}", setup.iri, 3, info.started)
        store.write(batches.intention_blocks(Recorder(store.iris, info.id, "live"), setup, never))
        done = hold(store, made.plan(4))
        states = {batch.state for batch in batches.all_batches(store, info.graph)}

    assert done.finished
    assert batches.NOT_SUBMITTED in states
    assert [len(batch.asked) for batch in made.desk.batches] == [1, 3]


def test_answers_nobody_asks_for_now_stay_to_be_had(provider):
    """A session over a part of the plan does not close a batch with answers for the rest."""
    made = provider()
    with open_store("memory:") as store:
        plan = made.plan(4)
        hold(store, made.plan(1))
        (info,) = reading.runs(store)
        _pretend_killed(store, info, plan, made, requests=3)
        part = hold(store, made.plan(2))
        left = batches.unended_batches(store, info.graph)
        rest = hold(store, plan)
        closed = batches.unended_batches(store, info.graph)

    assert part.finished
    assert rest.finished
    assert (len(left), closed) == (1, [])
    assert made.created() == 2


def test_no_call_is_made_beside_an_open_batch(provider):
    """Without --batch a run with open batches is refused; they can be abandoned."""
    made = provider()
    with open_store("memory:") as store:
        hold(store, made.plan(1))
        (info,) = reading.runs(store)
        plan = made.plan(4)
        _pretend_killed(store, info, plan, made, requests=3)
        live = replace(plan, batch=False)
        with pytest.raises(ModelSpecError, match=r"--batch.*--abandon-batches"):
            hold(store, live)
        done = hold(store, live, abandon_batches=True)
        states = [batch.state for batch in batches.all_batches(store, info.graph)]
        assert_conforms(store)

    assert done.finished
    assert batches.ABANDONED in states


def test_killed_again_and_again_hands_in_nothing_twice(provider, tmp_path):
    """After SIGKILL at every stage, batches are collected, and each request is charged once."""
    made = provider(answer=fixed("this is no Turtle"))
    spec = made.plan().models[0].spec
    command = [sys.executable, "-m", "kgbench", "run", "--batch", "--store", str(tmp_path / "s")]
    command += ["--model", spec, "--task", ROUNDS, "--iterations", "3", "--json"]
    seen = 0
    for _ in range(6):
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        ) as process:
            deadline = time.monotonic() + 120
            while len(made.server.ledger) <= seen and time.monotonic() < deadline:
                time.sleep(0.002)
                if process.poll() is not None:
                    break
            process.send_signal(signal.SIGKILL)
        seen = len(made.server.ledger)
        if process.returncode == 0:
            break
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)

    assert done.returncode == 0, done.stderr
    assert asked_twice(made) == []
    with open_reader(str(tmp_path / "s")) as store:
        assert open_batches(store) == []
