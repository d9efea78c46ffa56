# SPDX-License-Identifier: Apache-2.0
"""MCP servers over HTTP: the token is sent to no other server, and responses are limited."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from kgbench.connectors.declared import ToolSource
from kgbench.connectors.tool_servers import Connection
from kgbench.errors import ProviderRefused
from kgbench.store import open_store
from kgbench.tool_calls import ToolOutcome
from tests.support.runs import hold
from tests.support.servers.mcp_over_http import McpOverHttp
from tests.support.tool_runs import held, plan_of
from tests.support.validation import assert_conforms

TOKEN = "swordfish-swordfish-swordfish"
VARIABLE = "AVIARY_TOKEN"
PATIENCE = 60.0  # seconds
READ = 100 << 20  # bytes; at most 64 MiB of a response are read, plus buffers


@pytest.fixture(autouse=True)
def token(monkeypatch):
    """Set the token of the server."""
    monkeypatch.setenv(VARIABLE, TOKEN)


def used(server, seconds=PATIENCE, at="use"):
    """Return the result of one call of the server's tool, or (``at="begin"``) its tools."""

    async def through():
        connection = Connection(ToolSource(server.url, (), (VARIABLE,)), seconds)
        try:
            if at == "begin":
                return await connection.tools(("answer",))
            return await connection.use("search", {"text": "Anne"})
        finally:
            await connection.close()

    return asyncio.run(through())


def test_the_token_is_sent_and_not_shown():
    """Each request has the token, which is hidden in results."""
    with McpOverHttp() as server:
        found = used(server)

    assert {headers["authorization"] for _, headers in server.requests} == {f"Bearer {TOKEN}"}
    assert found.outcome is ToolOutcome.OK
    assert found.text == "you sent Bearer [hidden]"


@pytest.mark.parametrize("at", ["begin", "use"])
@pytest.mark.parametrize("manner", ["redirect", "login"])
def test_no_other_server_is_asked(manner, at):
    """Neither a redirect nor a login address at another origin is followed."""
    with McpOverHttp() as other, McpOverHttp(manner, at, other.url) as server:
        if at == "begin":
            with pytest.raises(ProviderRefused) as refused:
                used(server, at="begin")
            text = str(refused.value)
        else:
            found = used(server)
            assert found.outcome is ToolOutcome.ERROR
            text = found.text

    assert other.requests == []
    assert TOKEN not in text
    assert "redirects to" in text or manner == "login"


@pytest.mark.parametrize("at", ["begin", "use"])
@pytest.mark.parametrize(
    ("manner", "why"),
    [
        ("endless", "more than 64 MB"),
        ("endless-event", ""),  # by the SDK's limit for one event
        ("endless-events", "more than 64 MB"),
        ("gigabyte", "more than 64 MB"),
        ("bomb", "unpacks to more than"),
    ],
)
def test_responses_have_an_end(manner, why, at):
    """Endless, very large and highly compressed responses end at a limit."""
    with McpOverHttp(manner, at) as server:
        if at == "begin":
            with pytest.raises(ProviderRefused):
                used(server, at="begin")
        else:
            found = used(server)
            assert found.outcome is ToolOutcome.ERROR
            assert why in found.text

    assert 0 < server.sent < READ


def test_a_server_that_says_nothing_is_left():
    """A stream without events is an error after the timeout of a call."""
    with McpOverHttp("silent") as server:
        found = used(server, 3.0)

    assert found.outcome is ToolOutcome.ERROR
    assert "no result within 3 seconds" in found.text


def test_a_run_records_no_token(caplog, capsys):
    """Neither the store nor a log contains the token, whatever the server does with it."""
    caplog.set_level("DEBUG")
    with open_store("memory:") as store:
        for manner in ("good", "login", "endless-event"):
            with McpOverHttp(manner) as server:
                spec = f"baseline:searcher?mcp={quote(server.url, safe='')}&mcpVariables={VARIABLE}"
                assert hold(store, plan_of(spec), start_tool_servers=True).finished
        dialogues = held(store)
        assert_conforms(store)
        written = "\n".join(str(t) for graph in store.graphs() for t in store.triples(graph))

    uses = [use for one in dialogues for turn in one.turns for use in turn.uses if use.server]
    good = [use.result.text for use in uses if use.result.outcome is ToolOutcome.OK]
    assert good == ["you sent Bearer [hidden]"]
    assert "aviary" in written
    for text in (written, caplog.text, *capsys.readouterr()):
        assert TOKEN not in text
