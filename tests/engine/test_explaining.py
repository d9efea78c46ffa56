# SPDX-License-Identifier: Apache-2.0
"""``kgbench status --why``: the reason why each planned dialogue is not done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.engine import explaining, planning
from kgbench.record import reading
from kgbench.record.invalidation import invalidate
from kgbench.store import open_store
from tests.support.runs import hold, planned
from tests.support.servers import scripts

LABEL = "RdfFriendCount-turtle-1"


@pytest.fixture
def server(loopback):
    """Return a server that answers after two failures."""
    return loopback(scripts.sequence(scripts.SERVER_ERROR, scripts.SERVER_ERROR))[0]


def plan_of(server, query="", iterations=3, labels=(LABEL,)):
    """Return a plan with one model, with ``query`` in its specification."""
    spec = f"openai:m@{server.url}{query}"
    return planned(labels, spec, iterations=iterations, max_retries=0, concurrency=1)


def why(store, plan):
    """Return the reasons, as (iteration, why, changed ingredients)."""
    (info,) = reading.runs(store)
    return [
        (one.iteration, one.why, [change.ingredient for change in one.changes])
        for one in explaining.reasons(store, info, plan)
    ]


def test_failures_and_new_parts_are_told_apart(server):
    """Failed and new dialogues are distinguished, new ones by the changed part of the plan."""
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        (info,) = reading.runs(store)
        own = list(explaining.reasons(store, info, explaining.stored_plan(store, info)))
        wider = why(store, plan_of(server, iterations=4, labels=(LABEL, "RdfFriendCount-nt-1")))
        other = planned(LABEL, "baseline:oracle", iterations=1)
        model = why(store, other)

    assert [(one.iteration, one.why) for one in own] == [(0, "failed"), (1, "failed")]
    assert "HTTP 500" in own[0].detail
    assert wider.count((3, "new iteration", [])) == 1
    assert sum(reason == "new task" for _, reason, _ in wider) == 4
    assert model == [(0, "new model", [])]


def reworded(plan, exercises=planning.exercises):
    """Return the exercises of a plan with other prompts."""
    return {
        label: [replace(one, prompt_digest="0" * 64) for one in asked]
        for label, asked in exercises(plan).items()
    }


def test_what_was_changed_is_named(server, monkeypatch):
    """Changed sampling, seeds and prompts make dialogues new, and are the only reasons."""
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        warm = why(store, plan_of(server, "?temperature=0.5"))
        seeded = why(store, replace(plan_of(server), seed=99))
        monkeypatch.setattr(planning, "exercises", reworded)
        found = why(store, plan_of(server))

    for reasons, parts in ((warm, ["sampling"]), (seeded, ["case", "prompt"]), (found, ["prompt"])):
        assert reasons == [(k, "changed", parts) for k in range(3)]


def test_complete_run_has_nothing_to_explain():
    """A complete run has no open dialogues and no reasons."""
    plan = planned(LABEL, "baseline:silent", iterations=2)
    with open_store("memory:") as store:
        hold(store, plan)
        (info,) = reading.runs(store)

        assert list(explaining.reasons(store, info, explaining.stored_plan(store, info))) == []


def test_what_is_invalidated_is_told_apart(server):
    """Invalidated dialogues are neither new nor failed, and have their own reason."""
    plan = plan_of(server)
    with open_store("memory:") as store:
        hold(store, plan)
        (info,) = reading.runs(store)
        invalidate(store, info.iri, "a test", "me")
        told = why(store, plan)

    assert {reason for _, reason, _ in told} == {"invalidated"}
    assert len(told) == 3
