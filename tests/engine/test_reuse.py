# SPDX-License-Identifier: Apache-2.0
"""Answers of other runs are reused only on request, for identical requests, once in a run."""

from __future__ import annotations

import pytest

from kgbench.record import accounts, invalidation, reading
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
