# SPDX-License-Identifier: Apache-2.0
"""Turns with several tool calls, and turns that are stopped in progress."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from kgbench.store import open_store
from kgbench.tools import wording
from tests.support.runs import Stop, hold
from tests.support.servers.mcp_over_http import McpOverHttp
from tests.support.tool_runs import call, held, loopbacks, plan_of
from tests.support.validation import assert_conforms

TOGETHER = (
    wording.with_calls("", [call("search", f"id{k}", text=str(k)) for k in range(3)]),
    wording.with_calls("", [call("cancel", "end", reason="-")]),
)
ONE = (
    wording.with_calls("", [call("search", "a", text="Anne")]),
    wording.with_calls("", [call("cancel", "end", reason="-")]),
)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set the provider's key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")


def plan_with(provider, server):
    """Return a plan of one dialogue of a scripted model with the tools of a server."""
    return plan_of(f"openai:loopback@{provider.url}?mcp={quote(server.url, safe='')}")


def uses(dialogue):
    """Return the tool calls of a dialogue, turn by turn."""
    return [[use.call.id for use in turn.uses] for turn in dialogue.turns]


def test_calls_of_one_turn_are_made_together_and_recorded_in_their_order():
    """The calls of a turn run concurrently and are recorded in the order of the answer."""
    with open_store("memory:") as store, loopbacks() as start, McpOverHttp("reversed") as server:
        done = hold(store, plan_with(start(TOGETHER), server))
        (dialogue,) = held(store)
        assert_conforms(store)

    assert done.finished
    assert server.answered == ["2", "1", "0"]
    assert uses(dialogue) == [["id0", "id1", "id2"], ["end"]]
    texts = [use.result.text for use in dialogue.turns[0].uses]
    assert texts == ["you sent "] * 3


@pytest.mark.parametrize(("times", "manner"), [(1, "noticed"), (2, "held")])
def test_stopping_in_the_middle_of_a_tool_call(times, manner):
    """One Ctrl-C lets the dialogue end, a second abandons the call; nothing is paid twice."""
    with (
        open_store("memory:") as store,
        loopbacks() as start,
        McpOverHttp(manner) as server,
    ):
        provider = start(ONE)
        plan = plan_with(provider, server)

        stop = Stop()
        server.called = lambda: [stop.soon() for _ in range(times)]
        first = hold(store, plan, stop=stop)
        (half,) = held(store)
        assert_conforms(store)
        server.manner = "good"
        second = hold(store, plan)
        (dialogue,) = held(store)
        assert_conforms(store)

    asked = [entry for entry in provider.acknowledged if "tools" in entry.body]
    assert first.interrupted == (times == 2)
    assert (len(half.turns), half.turns[0].uses == ()) == ((1, True) if times == 2 else (2, False))
    assert second.finished
    assert len(asked) == 2
    assert uses(dialogue) == [["a"], ["end"]]
    assert sum(method == "tools/call" for method, _ in server.requests) == times
