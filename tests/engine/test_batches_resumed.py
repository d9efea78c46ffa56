# SPDX-License-Identifier: Apache-2.0
"""Batches of earlier sessions are found again, however late they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest

from kgbench import clock
from kgbench.connectors.batches import earliest
from kgbench.errors import ModelSpecError
from kgbench.record import batches, reading
from kgbench.record.recorder import Recorder
from kgbench.store import open_reader, open_store
from tests.support import batch_runs
from tests.support.batch_runs import ROUNDS, asked_twice, open_batches, started
from tests.support.runs import hold
from tests.support.servers.anthropic_batches import AnthropicBatchSpeech
from tests.support.servers.batch_desk import LOOKS
from tests.support.servers.loopback import Response, fixed
from tests.support.servers.openai_batches import OpenAIBatchSpeech
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


BEHIND = 7200  # seconds


class _LateFiles(OpenAIBatchSpeech):
    """Names the files of results only some polls after the batch is completed."""

    def __init__(self, *, polls: int, **details):
        super().__init__(**details)
        self.polls = polls

    def _shown(self, batch):
        shown = super()._shown(batch)
        if batch.looks > LOOKS + self.polls:
            return shown
        return {**shown, "output_file_id": None, "error_file_id": None}


class _ShortFile(OpenAIBatchSpeech):
    """Leaves the last result out of the first downloads."""

    def __init__(self, *, short: int, **details):
        super().__init__(**details)
        self.short = short

    def _download(self, number):
        whole = super()._download(number)
        self.short -= 1
        if self.short < 0:
            return whole
        return Response(200, b"".join(whole.body.splitlines(keepends=True)[:-1]))


class _Behind:
    """Has a clock that is behind ours, and loses the response to the first creation."""

    def respond(self, entry, behaviour, answer):
        """See :class:`tests.support.servers.loopback.Speech`."""
        response = super().respond(entry, behaviour, answer)
        if entry.method == "POST" and entry.path.endswith("/batches"):
            self.desk.batches[-1].made = time.time() - BEHIND
            if len(self.desk.batches) == 1:
                return Response(500, {"error": {"message": "the reply is lost"}})
        return response


class _OpenAIBehind(_Behind, OpenAIBatchSpeech):
    """OpenAI's batches at such a server."""


class _AnthropicBehind(_Behind, AnthropicBatchSpeech):
    """Anthropic's batches at such a server."""


@pytest.fixture(params=["openai", "anthropic"])
def behind(request, monkeypatch):
    """Yield a function that starts a server whose clock is behind, for each kind in turn."""
    speech = {"openai": _OpenAIBehind, "anthropic": _AnthropicBehind}[request.param]
    spec = batch_runs.SPEECHES[request.param][1]
    monkeypatch.setitem(batch_runs.SPEECHES, request.param, (speech, spec))
    yield from started(request.param, monkeypatch)


@pytest.fixture
def starting(monkeypatch, request):
    """Yield a function that starts a server of the given kind of OpenAI's batches."""
    spec = batch_runs.SPEECHES["openai"][1]
    monkeypatch.setitem(batch_runs.SPEECHES, "openai", (request.param, spec))
    yield from started("openai", monkeypatch)


late = pytest.mark.parametrize("starting", [_LateFiles], indirect=True)


@pytest.mark.parametrize("starting", [_ShortFile], indirect=True)
@pytest.mark.parametrize(("downloads", "batches_"), [(2, 1), (99, 3)])
def test_results_that_the_provider_counts_are_fetched_again(starting, downloads, batches_):
    """A counted result that is missing in a file is submitted again only if it stays missing."""
    made = starting(short=downloads)
    with open_store("memory:") as store:
        hold(store, made.plan(3), patience_scale=0.0)

    assert made.created() == batches_


@late
def test_a_completed_batch_without_files_is_polled_on(starting):
    """A batch that is completed but names no file yet is not missing its results."""
    made = starting(polls=2)
    with open_store("memory:") as store:
        done = hold(store, made.plan(3))

    assert done.finished
    assert made.created() == 1


@late
def test_files_that_never_come_leave_the_batch_open(starting, monkeypatch):
    """After many polls the batch is left to the next session, and is never submitted again."""
    monkeypatch.setattr("kgbench.engine.batch_client._FAILURES", 5)
    made = starting(polls=10_000)
    with open_store("memory:") as store:
        plan = made.plan(3)
        first = hold(store, plan, patience_scale=0.0)
        left = [batch.id for batch in open_batches(store)]
        made.speech.polls = 0
        second = hold(store, plan, patience_scale=0.0)

    assert left == [made.desk.batches[0].id]
    assert "does not name its results" in str(first.stopped_models)
    assert second.finished
    assert made.created() == 1


def test_a_lost_batch_is_found_whatever_the_clock_of_the_server(behind):
    """A batch whose creation was answered by an error is found, though it seems hours old."""
    made = behind()
    with open_store("memory:") as store:
        done = hold(store, made.plan(3))
        (info,) = reading.runs(store)
        recorded = [batch.id for batch in batches.all_batches(store, info.graph)]

    assert done.finished
    assert made.created() == 1
    assert asked_twice(made) == []
    assert recorded == [made.desk.batches[0].id]


def test_the_age_of_a_batch_is_by_the_clock_of_the_server():
    """The search goes back as far as the server's own date is behind ours."""
    now = clock.now()
    since = now - timedelta(minutes=5)
    date = format_datetime(now - timedelta(days=400), usegmt=True)
    behind = since - timedelta(days=400)
    assert behind - timedelta(days=1) < earliest(since, {"date": date}) < behind
    assert since - timedelta(days=1) < earliest(since, {}) < since
