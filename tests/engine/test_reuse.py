# SPDX-License-Identifier: Apache-2.0
"""What a run asks for again: answers that it may reuse, and the reasons for new dialogues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.engine import explaining, planning
from kgbench.record import accounts, invalidation, reading
from kgbench.record.invalidation import invalidate
from kgbench.store import open_store
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.validation import assert_conforms

SINGLE = "RdfFriendCount-turtle-1"
DIALOGUE = "RdfSyntaxFixList-turtle"


def held(store, server, *, name="first", label=SINGLE, iterations=3, query="", **settings):
    """Run a plan as a new run with its own name."""
    spec = f"openai:m@{server.url}{query}"
    plan = planned(label, spec, iterations=iterations, name=name)
    return hold(store, plan, **settings)


def answers(store, run):
    """Return the answers of a run's dialogues, by iteration."""
    info = reading.find_run(store, run)
    (execution,) = reading.executions(store, info.graph)
    held = reading.execution_dialogues(store, info.graph, execution, info.iri)
    return [dialogue.answers for dialogue in held]


@pytest.mark.parametrize("label", [SINGLE, DIALOGUE])
def test_identical_requests_are_not_made_again(server, label):
    """A second run takes the first one's answers, in all rounds, and names their origin."""
    with open_store("memory:") as store:
        first = held(store, server, label=label)
        asked = len(server.ledger)
        second = held(store, server, label=label, name="second", reuse_answers=True)
        info = reading.find_run(store, second.run)
        derived = list(
            store.query(
                "SELECT ?e WHERE { GRAPH ?g { ?c <https://w3id.org/kgbench/ns#reusedAnswer> ?e . "
                "?a <http://www.w3.org/ns/prov#wasGeneratedBy> ?c ; "
                "<http://www.w3.org/ns/prov#wasDerivedFrom> ?e } }"
            )
        )
        usage = accounts.usage(store, info.graph)
        assert_conforms(store)
        same = answers(store, first.run) == answers(store, second.run)

    assert second.finished
    assert same
    assert len(server.ledger) == asked
    assert second.calls == 0
    assert usage == {}
    assert len(derived) == asked


@pytest.mark.parametrize(
    "options", [{}, {"query": "?temperature=0.5", "reuse_answers": True}], ids=["default", "other"]
)
def test_a_run_makes_its_own_calls(server, options):
    """Without the option, or at another temperature, no answer is reused."""
    with open_store("memory:") as store:
        held(store, server)
        held(store, server, name="second", **options)

    assert len(server.ledger) == 6


def test_more_iterations_than_answers_ask_for_the_rest(server):
    """Each recorded answer stands for one dialogue of a run at most."""
    with open_store("memory:") as store:
        held(store, server, iterations=2)
        done = held(store, server, name="second", iterations=5, reuse_answers=True)

    assert done.finished
    assert done.calls == 3


def test_invalidated_and_cut_answers_are_not_reused(loopback):
    """An answer that was invalidated or cut off is not reused."""
    server, _ = loopback(scripts.sequence(scripts.TRUNCATION))
    with open_store("memory:") as store:
        first = held(store, server, iterations=3)
        info = reading.find_run(store, first.run)
        wrong = next(
            state.iri
            for states in reading.all_states(store, info.graph).values()
            for state in states
            if "/2-" in state.iri
        )
        invalidation.invalidate(store, wrong, "wrong", "Ada")
        done = held(store, server, name="second", iterations=3, reuse_answers=True)

    assert done.finished
    assert done.calls == 2


LABEL = "RdfFriendCount-turtle-1"


@pytest.fixture
def failing(loopback):
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


def test_failures_and_new_parts_are_told_apart(failing):
    """Failed and new dialogues are distinguished, new ones by the changed part of the plan."""
    with open_store("memory:") as store:
        hold(store, plan_of(failing))
        (info,) = reading.runs(store)
        own = list(explaining.reasons(store, info, explaining.stored_plan(store, info)))
        wider = why(store, plan_of(failing, iterations=4, labels=(LABEL, "RdfFriendCount-nt-1")))
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


def test_what_was_changed_is_named(failing, monkeypatch):
    """Changed sampling, seeds and prompts make dialogues new, and are the only reasons."""
    with open_store("memory:") as store:
        hold(store, plan_of(failing))
        warm = why(store, plan_of(failing, "?temperature=0.5"))
        seeded = why(store, replace(plan_of(failing), seed=99))
        monkeypatch.setattr(planning, "exercises", reworded)
        found = why(store, plan_of(failing))

    for reasons, parts in ((warm, ["sampling"]), (seeded, ["case", "prompt"]), (found, ["prompt"])):
        assert reasons == [(k, "changed", parts) for k in range(3)]


def test_complete_run_has_nothing_to_explain():
    """A complete run has no open dialogues and no reasons."""
    plan = planned(LABEL, "baseline:silent", iterations=2)
    with open_store("memory:") as store:
        hold(store, plan)
        (info,) = reading.runs(store)

        assert list(explaining.reasons(store, info, explaining.stored_plan(store, info))) == []


def test_what_is_invalidated_is_told_apart(failing):
    """Invalidated dialogues are neither new nor failed, and have their own reason."""
    plan = plan_of(failing)
    with open_store("memory:") as store:
        hold(store, plan)
        (info,) = reading.runs(store)
        invalidate(store, info.iri, "a test", "me")
        told = why(store, plan)

    assert {reason for _, reason, _ in told} == {"invalidated"}
    assert len(told) == 3
