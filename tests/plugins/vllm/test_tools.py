# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools and vLLM: native calls at an address, else calls in the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgbench.errors import ModelSpecError
from kgbench.store import open_store
from tests.support.runs import hold
from tests.support.servers import scripts
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.tool_runs import (
    NATIVE,
    OUTCOMES,
    held,
    loopbacks,
    plan_of,
    scores,
)
from tests.support.validation import assert_conforms

THOUGHT = "They ask about Anne."


@pytest.fixture
def engine(monkeypatch):
    """Put a package ``vllm`` on the path whose model calls tools as scripted."""
    monkeypatch.syspath_prepend(str(Path(scripts.__file__).with_name("vllm_stand_in")))
    monkeypatch.setenv("VLLM_STAND_IN", "tools")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_a_server_calls_tools_natively(field):
    """Parallel calls of a vLLM server are executed; its reasoning is sent back unchanged."""
    with loopbacks() as start, open_store("memory:") as store:
        server = start(NATIVE, OpenAISpeech, reasoning=THOUGHT, field=field)
        done = hold(store, plan_of(f"vllm:org/model@{server.url}"))
        (dialogue,) = held(store)
        assert_conforms(store)
        last = server.ledger[-1].body

    assert done.finished
    assert dialogue.tool_protocol == "native"
    assert [u.result.outcome for t in dialogue.turns for u in t.uses] == OUTCOMES
    answered = [m for m in last["messages"] if m["role"] == "assistant"]
    assert [message[field] for message in answered] == [THOUGHT, THOUGHT]
    assert [call["id"] for call in answered[0]["tool_calls"]] == ["a", "b"]


def test_a_server_started_here_is_told_in_the_prompt(engine):
    """Without an address the calls are text, because the parser of calls depends on the model."""
    with open_store("memory:") as store:
        done = hold(store, plan_of("vllm:org/model", iterations=2))
        found = held(store)
        judged = scores(store)
        assert_conforms(store)

    assert done.finished
    assert [dialogue.tool_protocol for dialogue in found] == ["text", "text"]
    assert [len(dialogue.turns) for dialogue in found] == [4, 4]
    assert judged["toolErrors"] == [2.0, 2.0]


def test_a_server_started_here_refuses_native_calls(engine):
    """Native tool calling without an address is refused before a model is loaded."""
    plan = plan_of("vllm:org/model?toolProtocol=native")
    with open_store("memory:") as store, pytest.raises(ModelSpecError, match="no tool calling"):
        hold(store, plan)
