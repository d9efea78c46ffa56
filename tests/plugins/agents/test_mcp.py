# SPDX-License-Identifier: Apache-2.0
"""The tools of a store and of a graph, called by the client of the official MCP SDK."""

from __future__ import annotations

import asyncio
import json
import socket
import sys

import pytest
from mcp import Client, StdioServerParameters
from starlette.testclient import TestClient

from kgbench.errors import TaskError
from kgbench.plugins.agents.mcp_server import LONGEST, Endpoint, GraphTools, case_of, server
from kgbench.plugins.agents.mcp_server import application_of as of_tools
from kgbench.plugins.agents.mcp_store import ROWS, StoreTools
from kgbench.serve.app import application
from kgbench.serve.service import Service
from kgbench.serve.settings import Settings
from tests.serve.conftest import LIMITS
from tests.serve.processes import serving

GRAPH = "Text2SparqlToolsOrganizational-tools"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def answered(target, *calls):
    """Return the names of the tools, and for each call its error flag and text."""

    async def asked():
        async with Client(target) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            found = [await client.call_tool(name, given) for name, given in calls]
            return names, [(one.is_error, one.content[0].text) for one in found]

    return asyncio.run(asked())


def of_store(location, *calls):
    """Return error flag and text of calls to the tools of a store, in this process."""

    async def asked():
        service = Service(Settings(location=str(location), limits=LIMITS))
        async with service.running(), Client(server(StoreTools(service))) as client:
            found = [await client.call_tool(name, given) for name, given in calls]
            return [(one.is_error, one.content[0].text) for one in found]

    return asyncio.run(asked())


def test_the_store_answers_by_tools(result_store):
    """The tools return leaderboard, dialogues, one dialogue, schema and SPARQL results."""
    board, listed, schema, rows, truth, triples = of_store(
        result_store,
        ("leaderboard", {}),
        ("search_dialogues", {"task": "Spell*"}),
        ("schema", {}),
        ("query", {"sparql": "SELECT ?s { ?s ?p ?o } LIMIT 2"}),
        ("query", {"sparql": "ASK { ?s ?p ?o }"}),
        ("query", {"sparql": "CONSTRUCT WHERE { ?s a ?c }"}),
    )

    assert board[1].startswith("**Leaderboard")
    assert "Spell-10" in listed[1]
    assert "https://w3id.org/kgbench/ns#Dialogue" in schema[1]
    assert len(rows[1].split("\n")) == 3
    assert truth == (False, "true")
    assert triples[1].endswith("not shown)") or len(triples[1].split("\n")) <= ROWS
    iri = listed[1].split("<")[1].split(">")[0]
    ((failed, shown),) = of_store(result_store, ("show_dialogue", {"dialogue": iri}))
    assert not failed
    assert json.loads(shown)["iri"] == iri


def test_hostile_calls_are_answered_in_words(result_store):
    """SERVICE, updates, unknown tools and invalid arguments give errors with the reason."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.0)
        port = listener.getsockname()[1]
        found = of_store(
            result_store,
            (
                "query",
                {"sparql": f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"},
            ),
            ("query", {"sparql": "DELETE WHERE { ?s ?p ?o }"}),
            ("query", {"sparql": "SELECT"}),
            ("query", {"sparql": "(" * 200_000}),
            ("query", {"sparql": 7}),
            ("query", {}),
            ("drop", {}),
            ("leaderboard", {"suite": "none"}),
            ("leaderboard", {"model": "[" * 400}),
            ("search_dialogues", {"outcome": "good"}),
            ("show_dialogue", {"dialogue": "<> } DROP ALL"}),
        )
        with pytest.raises(BlockingIOError):
            listener.accept()

    assert all(failed for failed, _ in found)
    assert all(text.startswith("error: ") and len(text) < 2_000 for _, text in found)
    words = ("SERVICE", "changes data", "error", "tokens", "type string", "needs the argument")
    assert all(word in text for word, (_, text) in zip(words, found, strict=False))


def test_long_answers_are_cut(result_store):
    """A result has limited rows and characters, and says that there are more."""
    cross, wide = of_store(
        result_store,
        ("query", {"sparql": "SELECT * { ?a ?b ?c . ?d ?e ?f }"}),
        ("query", {"sparql": f"SELECT ('{'x' * 70_000}' AS ?x) {{}}"}),
    )

    assert len(cross[1].split("\n")) <= ROWS + 2
    assert cross[1].endswith("not shown)")
    assert len(wide[1]) <= LONGEST


def test_a_graph_answers_by_tools(tmp_path):
    """A task's graph has the tools that models get, and so has a file's graph."""
    (tmp_path / "foxes.ttl").write_text(
        '<http://example.org/fox> <http://example.org/name> "Fox" .'
    )
    for name, text, iri in (
        (GRAPH, "Anne", "https://abc.def/ghi/anne"),
        (str(tmp_path / "foxes.ttl"), "fox", "http://example.org/fox"),
    ):
        offered = GraphTools(case_of(name), name, LIMITS)

        async def asked(offered=offered, text=text):
            async with offered.running(), Client(server(offered)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                found = await client.call_tool("search", {"text": text})
                refused = await client.call_tool(
                    "query", {"sparql": "SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }"}
                )
                return names, found.content[0].text, refused.is_error

        names, found, refused = asyncio.run(asked())
        assert names == ["search", "describe", "schema", "query"]
        assert iri in found
        assert refused


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RdfFriendCount-turtle-1", "has no tools"),
        ("nothing", "neither the label of a task"),
        ("missing.ttl", "cannot be read"),
    ],
)
def test_graphs_that_cannot_be_served(name, message):
    """A task without tools, an unknown name and a missing file are refused with a message."""
    with pytest.raises(TaskError, match=message):
        case_of(name)


@pytest.fixture(scope="module")
def over_http(result_store):
    """Yield a client of a server with the tools of a store and its pages."""
    settings = Settings(
        location=str(result_store), limits=LIMITS, hosts=frozenset({"localhost", "testserver"})
    )
    app = application(settings, lambda service: Endpoint(StoreTools(service), settings))
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.mark.parametrize(
    ("method", "changed", "sent", "status"),
    [
        ("POST", {}, json.dumps(PING), 200),
        ("POST", {"Origin": "http://testserver"}, json.dumps(PING), 200),
        ("POST", {"Origin": "http://localhost:3000"}, json.dumps(PING), 403),
        ("POST", {"Origin": "http://203.0.113.7"}, json.dumps(PING), 403),
        ("POST", {"Sec-Fetch-Site": "cross-site"}, json.dumps(PING), 403),
        ("POST", {"Host": "203.0.113.7"}, json.dumps(PING), 421),
        ("POST", {"Origin": "https://evil.example"}, json.dumps(PING), 403),
        ("POST", {"Origin": "null"}, json.dumps(PING), 403),
        ("POST", {"Host": "evil.example"}, json.dumps(PING), 421),
        ("POST", {"Content-Type": "text/plain"}, json.dumps(PING), 400),
        ("POST", {}, "[" * 5_000, 400),
        ("POST", {}, "{", 400),
        ("POST", {}, "x" * 200_000, 413),
        ("GET", {}, None, 405),
        ("DELETE", {}, None, 405),
    ],
)
def test_requests_are_those_of_own_clients(over_http, method, changed, sent, status):
    """Foreign origins and hosts, other methods, and deep or long bodies are refused."""
    found = over_http.request(method, "/mcp", headers={**HEADERS, **changed}, content=sent)

    assert found.status_code == status
    assert over_http.get("/health").status_code == 200


def test_a_server_of_a_graph_has_nothing_else():
    """A server of a graph's tools has no pages and no endpoint."""
    offered = GraphTools(case_of(GRAPH), GRAPH, LIMITS)
    with TestClient(of_tools(offered, Settings("memory:", limits=LIMITS))) as client:
        assert client.post("/mcp", headers=HEADERS, json=PING).status_code == 200
        assert client.get("/sparql").status_code == 404


@pytest.mark.servers
def test_the_command_serves_over_http(result_store):
    """The SDK's client uses the tools of ``kgbench mcp`` at its address."""
    with serving(result_store, command="mcp") as server_process:
        names, ((failed, text),) = answered(f"{server_process.url}mcp", ("leaderboard", {}))

    assert "search_dialogues" in names
    assert not failed
    assert text.startswith("**Leaderboard")


@pytest.mark.servers
@pytest.mark.parametrize("graph", [True, False])
def test_the_command_serves_over_stdio(result_store, graph):
    """The SDK's client starts ``kgbench mcp --stdio`` and uses its tools."""
    what = ["--graph", GRAPH] if graph else ["--store", str(result_store)]
    given = ["-m", "kgbench", "mcp", "--stdio", *what]
    target = StdioServerParameters(command=sys.executable, args=given)
    names, ((failed, text), (wrong, _)) = answered(target, ("schema", {}), ("schema", {"x": 1}))

    assert "query" in names
    assert not failed
    assert text
    assert wrong
