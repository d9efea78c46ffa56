# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools over each protocol: recorded, continued and judged again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.engine.tool_turns import ToolTurns
from kgbench.errors import ModelSpecError
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.store import open_store
from kgbench.tool_calls import TOOL_RESULTS
from tests.support.prices import price_table
from tests.support.runs import hold
from tests.support.servers import scripts
from tests.support.tool_runs import (
    FOUND,
    NATIVE,
    OUTCOMES,
    PROTOCOLS,
    TEXT,
    held,
    loopbacks,
    plan_of,
    said,
    scores,
)
from tests.support.validation import assert_conforms

OWN = "?toolProtocol=native"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set every provider's key."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-loopback")


@pytest.fixture
def loopback():
    """Yield a function that starts a server with a scripted model."""
    with loopbacks() as start:
        yield start


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_native_calls_over_each_protocol(loopback, protocol):
    """Parallel, unknown and invalid calls work in each protocol, are recorded, and conform."""
    speech, spec = PROTOCOLS[protocol]
    server = loopback(NATIVE, speech)
    with open_store("memory:") as store:
        done = hold(store, plan_of(spec.format(server.url)))
        (dialogue,) = held(store)
        found = scores(store)
        assert_conforms(store)

    assert done.finished
    assert len(server.acknowledged) == 3
    assert [t.feedback for t in dialogue.turns] == [None, TOOL_RESULTS, TOOL_RESULTS]
    assert [u.result.outcome for t in dialogue.turns for u in t.uses] == OUTCOMES
    assert [u.result.fault for u in dialogue.turns[1].uses] == ["unknown-tool", "arguments", None]
    assert FOUND in dialogue.turns[1].prompt
    assert dialogue.judged == (2,)
    assert found["f1"] == [1.0]
    assert found["toolCalls"] == [5.0]
    assert found["toolErrors"] == [2.0]


def test_chat_messages_keep_their_structure(loopback):
    """A server gets calls and results in the chat protocol, with unchanged arguments."""
    server = loopback(NATIVE)
    with open_store("memory:") as store:
        hold(store, plan_of(f"openai:loopback@{server.url}"))
    first, *_, last = [entry.body for entry in server.ledger]
    roles = [message["role"] for message in last["messages"]]

    assert [tool["function"]["name"] for tool in first["tools"]][:2] == ["search", "describe"]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool", "tool", "tool"]
    assert last["messages"][1]["content"] == "Two at once."
    assert [c["id"] for c in last["messages"][1]["tool_calls"]] == ["a", "b"]
    assert last["messages"][3]["tool_call_id"] == "b"
    assert FOUND in last["messages"][3]["content"]


def test_text_protocol(loopback):
    """A model without tool calling sends JSON; an invalid call is an error that counts."""
    server = loopback(TEXT)
    with open_store("memory:") as store:
        done = hold(store, plan_of(f"openai:loopback@{server.url}?toolProtocol=text"))
        (dialogue,) = held(store)
        found = scores(store)
        assert_conforms(store)

    assert done.finished
    assert "tools" not in server.ledger[0].body
    faults = [use.result.fault for turn in dialogue.turns for use in turn.uses]
    assert faults == [None, "malformed", "malformed", None]
    assert found["f1"] == [1.0]
    assert found["toolErrors"] == [2.0]


def test_spent_budget_ends_a_dialogue(loopback):
    """After its last call a model is told so; another call is refused and ends the dialogue."""
    server = loopback(NATIVE[:1])
    with open_store("memory:") as store:
        done = hold(store, plan_of(f"openai:loopback@{server.url}", budgetCalls=3))
        (dialogue,) = held(store)
        found = scores(store)
        assert_conforms(store)

    assert done.finished
    outcomes = [use.result.outcome for turn in dialogue.turns for use in turn.uses]
    assert outcomes == ["ok", "ok", "ok", "over-budget", "over-budget", "over-budget"]
    assert dialogue.turns[-1].prompt.endswith("No tool call is left: answer or give up now.")
    assert found["outOfBudget"] == [1.0]
    assert found["f1"] == [0.0]


@pytest.mark.parametrize("dies_after", [1, 2])
def test_nothing_is_paid_twice(loopback, dies_after):
    """A run whose server fails between call and answer continues with the recorded results."""
    whole, broken = loopback(NATIVE), None
    broken = loopback(NATIVE, script=scripts.sequence(*["answer"] * dies_after, "server-error"))
    with open_store("memory:") as store:
        hold(store, plan_of(f"openai:loopback@{whole.url}"))
        (expected,) = held(store)
    with open_store("memory:") as store:
        plan = plan_of(f"openai:loopback@{broken.url}")
        first = hold(store, plan)
        second = hold(store, plan)
        (dialogue,) = held(store)
        assert_conforms(store)

    assert (first.failed, second.complete) == (1, 1)
    assert len(broken.acknowledged) == 3
    assert said(dialogue) == said(expected)


def test_a_run_that_dies_while_tools_work(loopback, monkeypatch):
    """An answer whose tools were not yet executed is not asked again: its tools are executed."""
    whole, broken = loopback(NATIVE), loopback(NATIVE)
    with open_store("memory:") as store:
        hold(store, plan_of(f"openai:loopback@{whole.url}"))
        (expected,) = held(store)
    with open_store("memory:") as store:
        plan = plan_of(f"openai:loopback@{broken.url}")
        with monkeypatch.context() as patch:
            patch.setattr(ToolTurns, "_execute", _dies)
            with pytest.raises(OSError, match="killed"):
                hold(store, plan)
        assert len(broken.acknowledged) == 1
        second = hold(store, plan)
        (dialogue,) = held(store)
        assert_conforms(store)

    assert second.complete == 1
    assert len(broken.acknowledged) == 3
    assert said(dialogue) == said(expected)


async def _dies(*_):
    raise OSError("killed")


def test_judging_again_changes_nothing(loopback):
    """A re-evaluation judges the last answer with the tool results, with the same scores."""
    server = loopback(NATIVE)
    with open_store("memory:") as store:
        hold(store, plan_of(f"openai:loopback@{server.url}", iterations=2))
        with executor("local:1") as pool:
            (done,) = reevaluate_stored(store, pool, JudgeLimits())
        assert_conforms(store)

    assert done.comparison.dialogues == 2
    assert not done.comparison.differing


def test_dollars_are_limited(loopback, tmp_path):
    """The cost of a dialogue, by declared prices, ends its budget, and the model is told."""
    server = loopback(NATIVE[:1])
    (tmp_path / "prices.ttl").write_text(price_table("loopback", read="9000.0", written="9000.0"))
    with open_store("memory:") as store:
        plan = plan_of(f"openai:loopback@{server.url}", budgetDollars=0.5)
        done = hold(store, replace(plan, prices=tmp_path / "prices.ttl"))
        (dialogue,) = held(store)
        found = scores(store)
        assert_conforms(store)

    assert done.finished
    assert "0.5000 of 0.5 US dollars" in dialogue.turns[0].prompt
    assert dialogue.turns[1].prompt.endswith(
        "The budget of US dollars is spent: answer or give up now."
    )
    assert [use.result.outcome for use in dialogue.turns[1].uses] == ["over-budget"] * 2
    assert found["outOfBudget"] == [1.0]


def test_dollars_need_a_price(loopback):
    """Without a known price, a limit of dollars is refused before any request."""
    server = loopback(NATIVE)
    plan = plan_of(f"openai:loopback@{server.url}", budgetDollars=0.5)
    with (
        open_store("memory:") as store,
        pytest.raises(ModelSpecError, match="no price is known for openai:loopback"),
    ):
        hold(store, plan)
    assert server.ledger == []


def test_the_plan_chooses_the_protocol(loopback):
    """The plan's protocol holds for models without their own; it is reported and recorded."""
    servers = [loopback(TEXT), loopback(NATIVE)]
    specs = [f"openai:loopback@{s.url}{o}" for s, o in zip(servers, ("", OWN), strict=True)]
    plan = replace(plan_of(*specs), tool_protocol="text")
    with open_store("memory:") as store:
        done = hold(store, plan)
        found = held(store)

    assert done.finished
    assert ["tools" in server.ledger[0].body for server in servers] == [False, True]
    assert {name: len(labels) for name, labels in done.tool_protocols.items()} == {
        "text": 1,
        "native": 1,
    }
    assert sorted(d.tool_protocol for d in found) == ["native", "text"]
    with open_store("memory:") as store, pytest.raises(ModelSpecError, match="toolProtocol=text"):
        hold(store, replace(plan_of("baseline:oracle"), tool_protocol="native"))
