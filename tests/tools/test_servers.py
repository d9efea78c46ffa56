# SPDX-License-Identifier: Apache-2.0
"""Tools of MCP servers: recorded like all others, whatever a server does."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from kgbench import config
from kgbench.connectors.declared import ToolSource, tool_source
from kgbench.connectors.tool_servers import LONGEST, Connection
from kgbench.errors import ModelSpecError, ProviderRefused
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.reevaluation.tool_audit import audit
from kgbench.store import open_store
from kgbench.tool_calls import ToolOutcome
from tests.support.runs import hold
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.mcp_server import SECRET
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.tool_runs import held, plan_of, scores, scripted
from tests.support.validation import assert_conforms

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds


def command(manner, noted):
    """Return the command of a server with a given behaviour."""
    return shlex.join(
        [sys.executable, "-m", "tests.support.servers.mcp_server", manner, str(noted)]
    )


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Return the file in which servers record their starts; set the folder of this package."""
    monkeypatch.chdir(ROOT)
    return tmp_path / "starts"


@pytest.fixture
def use(noted):
    """Return a function that calls the tool of a server with a given behaviour."""

    def used(manner, calls=1, seconds=PATIENCE, variables=()):
        async def through():
            source = ToolSource(None, tuple(shlex.split(command(manner, noted))), variables)
            connection = Connection(source, seconds)
            try:
                return [await connection.use("search", {"text": "Anne"}) for _ in range(calls)]
            finally:
                await connection.close()

        return asyncio.run(through())

    return used


def plan_with(manner, noted, model="searcher"):
    """Return a plan of one baseline dialogue with the tools of a server."""
    return plan_of(f"baseline:{model}?mcp={quote(command(manner, noted), safe='')}")


@pytest.mark.parametrize(
    ("manner", "outcome", "text"),
    [
        ("good", ToolOutcome.OK, "<https://abc.def/ghi/anne> Anne"),
        ("silent", ToolOutcome.EMPTY, ""),
        ("image", ToolOutcome.OK, "(image is not shown)"),
        ("liar", ToolOutcome.ERROR, "boom"),
        ("raises", ToolOutcome.ERROR, "error: "),
        ("dies", ToolOutcome.ERROR, "ended or broke the protocol"),
        ("flood", ToolOutcome.TRUNCATED, ""),
    ],
)
def test_each_manner_gives_a_result(use, manner, outcome, text):
    """Text, nothing, an image, a lie, an error, a crash and a flood each become a result."""
    (found,) = use(manner)

    assert found.outcome is outcome
    assert text in found.text
    assert (len(found.text) == LONGEST) is (manner == "flood")


def test_a_slow_server_is_an_error(use):
    """A call beyond its time limit is an error that says so; the server still ends."""
    (found,) = use("slow", seconds=5.0)

    assert found.outcome is ToolOutcome.ERROR
    assert "no result within 5 seconds" in found.text


@pytest.mark.parametrize(("manner", "starts"), [("dies", 5), ("good", 1)])
def test_a_server_that_dies_is_started_a_few_times(use, noted, manner, starts):
    """A crashed server is restarted for a call, but only a few times."""
    found = use(manner, calls=7)

    assert len(noted.read_text().split()) == starts
    assert ("has ended 5 times" in found[-1].text) is (manner == "dies")


@pytest.mark.parametrize("manner", ["dead", "mute", "endless-line", "nothing", "long-list"])
def test_a_server_that_cannot_be_used(noted, manner):
    """A server without a usable list of tools is refused, and its process ends."""

    async def listed():
        source = ToolSource(None, tuple(shlex.split(command(manner, noted))))
        connection = Connection(source, 6.0 if manner == "mute" else PATIENCE)
        try:
            await connection.tools(("answer",))
        finally:
            await connection.close()

    with pytest.raises(ProviderRefused, match="tool server"):
        asyncio.run(listed())
    (pid,) = map(int, noted.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_secrets_reach_the_server_and_nobody_else(use, monkeypatch):
    """A named variable reaches the server and is hidden in results; other variables do not."""
    monkeypatch.setenv(SECRET, "swordfish-swordfish")
    monkeypatch.setenv("OTHER_PASSWORD", "never")
    (echoed,) = use("echo", variables=(SECRET,))
    (told,) = use("environment", variables=(SECRET,))

    assert echoed.text == "the password is [hidden]"
    assert SECRET in told.text
    assert "OTHER_PASSWORD" not in told.text


@pytest.mark.parametrize("manner", ["key-at-the-cut", "refuses"])
def test_secrets_are_hidden_before_texts_are_cut(use, monkeypatch, manner):
    """A limit on the length of results and errors leaves no part of a key at the cut."""
    monkeypatch.setenv(SECRET, "swordfish-swordfish-swordfish-swordfish-swordfish-swordfish")
    (found,) = use(manner, variables=(SECRET,))

    assert "sword" not in found.text
    assert "[hid" in found.text
    assert len(found.text) <= LONGEST


def test_secrets_in_names_and_descriptions_are_hidden(noted, monkeypatch):
    """A server that tells its key in its name and in its tools puts it neither in prompt nor store.

    A tool whose name contains the key is not offered.
    """
    monkeypatch.setenv(SECRET, "swordfish-swordfish")
    mcp = quote(command("tells", noted), safe="")
    plan = replace(
        plan_of(f"baseline:searcher?mcp={mcp}&mcpVariables={SECRET}"), tool_protocol="text"
    )
    with open_store("memory:") as store:
        hold(store, plan, start_tool_servers=True)
        (dialogue,) = held(store)
        told = store.query('ASK { GRAPH ?g { ?s ?p ?o FILTER CONTAINS(STR(?o), "swordfish") } }')
        named = store.query('ASK { GRAPH ?g { ?s ?p ?o FILTER CONTAINS(STR(?s), "swordfish") } }')

    (server,) = {use.server for turn in dialogue.turns for use in turn.uses if use.server}
    assert (server.name, server.version) == ("aviary [hidden]", "1.2 [hidden]")
    assert "* search: Find with [hidden]." in dialogue.turns[0].prompt
    assert "* by-" not in dialogue.turns[0].prompt
    assert not told
    assert not named


def test_dialogues_with_a_server_are_recorded(noted):
    """Calls of a server's tool name the server, conform, are read back, and are not audited."""
    with open_store("memory:") as store, executor("local:1") as pool:
        done = hold(store, plan_with("good", noted), start_tool_servers=True)
        (dialogue,) = held(store)
        found = scores(store)
        assert_conforms(store)
        audited = audit(store, pool, JudgeLimits())

    assert done.finished
    uses = [use for turn in dialogue.turns for use in turn.uses]
    assert [(u.call.name, u.server and u.server.name) for u in uses] == [
        ("schema", None), ("search", "aviary"), ("cancel", None),
    ]  # fmt: skip
    assert uses[1].server.version == "1.2"
    assert len(uses[1].server.digest) == 64
    assert uses[0].result.fault == "unknown-tool"  # the task's own tools are not offered
    assert '"search"' not in dialogue.turns[0].prompt
    assert "* search: Find." in dialogue.turns[0].prompt
    assert "bad name" not in dialogue.turns[0].prompt
    assert found["toolCalls"] == [2.0]
    assert audited.calls == 0


def test_recorded_results_are_not_asked_again(noted, monkeypatch):
    """A run whose provider fails after a tool call continues with the recorded result."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    steps = (
        '{"tool": "search", "arguments": {"text": "Anne"}}',
        '{"tool": "cancel", "arguments": {"reason": "-"}}',
    )
    script = scripts.sequence("answer", "server-error")
    answer = partial(scripted, steps)
    loopback = LoopbackServer(OpenAISpeech(), script=script, answer=answer)
    with open_store("memory:") as store, loopback as server:
        spec = f"openai:loopback@{server.url}?toolProtocol=text&mcp="
        plan = plan_of(spec + quote(command("good", noted), safe=""))
        first = hold(store, plan, start_tool_servers=True)
        second = hold(store, plan, start_tool_servers=True)
        (dialogue,) = held(store)

    assert (first.failed, second.complete) == (1, 1)
    assert len(noted.read_text().split()) == 2  # once a session
    assert noted.with_name(f"{noted.name}.calls").read_text().split() == ["search"]
    assert [use.call.name for turn in dialogue.turns for use in turn.uses] == ["search", "cancel"]


def test_a_dead_server_is_a_recorded_failure(noted):
    """A server that cannot start is a failure of the dialogue, which a later run continues."""
    with open_store("memory:") as store:
        plan = plan_with("dead", noted)
        done = hold(store, plan, start_tool_servers=True)
        (dialogue,) = held(store)
        assert_conforms(store)

    assert (done.failed, done.complete) == (1, 0)
    assert "the tool server" in dialogue.turns[0].calls[0].error
    assert dialogue.turns[0].answer is None


def test_nothing_is_started_unasked(noted):
    """A command in a configuration is started only with ``--start-tool-servers``."""
    with (
        open_store("memory:") as store,
        pytest.raises(ModelSpecError, match="--start-tool-servers"),
    ):
        hold(store, plan_with("good", noted), start_tool_servers=False)
    assert not noted.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("mcp=http://me:secret@127.0.0.1/mcp", "holds an API key"),
        ("mcp=http://127.0.0.1/mcp%3Fapi_key%3Dx", "holds a password or key"),
        ("mcp=http:///mcp", "without a host"),
        ("mcp='", "no command"),
        ("mcpVariables=A", "which is not given"),
        ("mcp=http://127.0.0.1/&mcpVariables=A,B", "one token"),
        ("mcp=x&mcpVariables=a-b", "no variable can have"),
    ],
)
def test_sources_that_cannot_be(options, message):
    """An invalid server is refused when the plan is read, without showing a secret."""
    with pytest.raises(ModelSpecError, match=message) as refused:
        tool_source(config.model_setup(f"baseline:searcher?{options}"))
    assert "secret" not in str(refused.value)
