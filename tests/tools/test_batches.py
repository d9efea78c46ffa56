# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools in provider batches: one batch per turn, with the same dialogues."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from kgbench.record import batches, reading
from kgbench.store import open_store
from tests.support.batch_runs import SPEECHES, asked_twice, started
from tests.support.runs import Stop, hold
from tests.support.servers import scripts
from tests.support.tool_runs import (
    NATIVE,
    PROTOCOLS,
    TEXT,
    held,
    loopbacks,
    plan_of,
    said,
    scripted,
)
from tests.support.validation import assert_conforms

KINDS = {"openai": "chat", "responses": "responses", "anthropic": "anthropic"}


@pytest.fixture(params=list(SPEECHES))
def kind(request):
    """Each protocol that has batches, in turn."""
    return request.param


@pytest.fixture
def provider(kind, monkeypatch):
    """Provide a function that starts a server with batches."""
    yield from started(kind, monkeypatch)


def plan(made, spec, **rest):
    """Return a plan of two dialogues with tools in batches."""
    found = plan_of(spec.format(url=made.server.url), iterations=2)
    return replace(found, batch=True, max_retries=2, **rest)


def expected(kind):
    """Return the transcripts of the same dialogues without batches."""
    speech, spec = PROTOCOLS[KINDS[kind]]
    with loopbacks() as start, open_store("memory:") as store:
        server = start(NATIVE, speech)
        assert hold(store, plan_of(spec.format(server.url), iterations=2)).finished
        return [said(dialogue) for dialogue in held(store)]


def test_each_turn_is_a_batch(kind, provider):
    """Calls, also parallel ones, arrive in a batch, and the next batch has their results."""
    made = provider(answer=partial(scripted, NATIVE))
    with open_store("memory:") as store:
        done = hold(store, plan(made, SPEECHES[kind][1]))
        (info,) = reading.runs(store)
        kept = batches.all_batches(store, info.graph)
        found = [said(dialogue) for dialogue in held(store)]
        assert_conforms(store)

    assert done.finished
    assert [batch.requests for batch in kept] == [2, 2, 2]
    assert all(asked.body["tools"] for asked in made.desk.ledger)
    assert found == expected(kind)


def test_an_interrupted_run_collects_its_batch(kind, provider):
    """A run that stops while a batch with tool results is in progress pays nothing twice."""
    made = provider(answer=partial(scripted, NATIVE))
    stop = Stop()

    def look(entry):
        if entry.method == "GET" and len(made.desk.batches) == 2:  # the first results were sent
            stop.soon()
        return scripts.Behaviour()

    made.server._script = look
    planned = plan(made, SPEECHES[kind][1])

    with open_store("memory:") as store:
        first = hold(store, planned, stop=stop, patience_scale=0.02)
        made.server._script = scripts.always()
        second = hold(store, planned)
        found = [said(dialogue) for dialogue in held(store)]
        assert_conforms(store)

    assert first.interrupted
    assert second.finished
    assert asked_twice(made) == []
    assert [len(batch.asked) for batch in made.desk.batches] == [2, 2, 2]
    assert found == expected(kind)


def test_text_protocol_in_batches(kind, provider):
    """A model with the text protocol is asked in batches without the provider's tools."""
    made = provider(answer=partial(scripted, TEXT))
    spec = SPEECHES[kind][1] + ("&" if "?" in SPEECHES[kind][1] else "?") + "toolProtocol=text"
    with open_store("memory:") as store:
        done = hold(store, plan(made, spec))
        found = held(store)

    assert done.finished
    assert not any("tools" in asked.body for asked in made.desk.ledger)
    assert [len(dialogue.turns) for dialogue in found] == [4, 4]
