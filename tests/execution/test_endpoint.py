# SPDX-License-Identifier: Apache-2.0
"""Queries executed by a SPARQL endpoint: their results and the meaning of failures."""

from __future__ import annotations

import contextlib
import re
import socket

import pytest

from kgbench.errors import ConfigurationError, EvaluationError
from kgbench.execution import endpoint
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.oxigraph import OxigraphExecutor
from tests.support.servers.sparql_server import SparqlServer

GRAPH = """
@prefix : <http://example.org/> .
:ada :knows :bob , [ :name "C" ] ; :name "Ada\\"s\\n"@en , 3 .
"""
PREFIXES = {"": "http://example.org/"}
GARBAGE = b"<html>not a result</html>"
TRUTH = b'{"head": {}, "boolean": true}'


@pytest.fixture(scope="module")
def server():
    """Yield the server of an endpoint over :data:`GRAPH`."""
    with SparqlServer(GRAPH) as running:
        yield running


@pytest.fixture
def asking(server):
    """Return a client that retries almost without a pause."""
    server.failures.clear()
    server.asked.clear()
    return Endpoint(server.url, seconds=60, pause=0.001)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?o { :ada :name ?o } ORDER BY ?o",
        "SELECT ?s ?none { ?s :knows :bob }",
        "SELECT ?x { ?x foaf:name 1 }",
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    ],
)
def test_rows_are_those_of_the_engine(asking, query):
    """An endpoint gives the same rows as the engine; well-known prefixes are declared."""
    found = asking.select(query, PREFIXES)

    assert found == OxigraphExecutor().select(query, GRAPH, PREFIXES)
    assert found.error is None


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", None),
        ("DELETE WHERE { ?s ?p ?o }", None),
        ("ASK { ?s ?p ?o }", None),
        ('SELECT ("\ud800" AS ?x) {}', "surrogates"),
        ("SELECT * " + "{" * 900 + "}" * 900, "nested"),
    ],
)
def test_what_engines_refuse_is_never_sent(server, asking, query, error):
    """SERVICE, updates and ASK are refused; surrogates and deep nesting are errors."""
    found = asking.select(query, PREFIXES)
    assert found.refused if error is None else error in found.error
    assert not server.asked


def test_bad_query_is_an_error_of_the_query(asking):
    """The endpoint's message about a query is kept, and the query is not retried."""
    found = asking.select("SELECT ?x { ?x unknown:p ?y }", {})

    assert "the endpoint refuses the query" in found.error
    assert found.rows == ()
    assert not found.refused


@pytest.mark.parametrize("failure", ["stall", "drip", (504, {})])
def test_slow_query_expires(server, asking, failure):
    """A query that takes too long is expired; this is not a failure of the endpoint."""
    server.failures[:] = [failure]
    hasty = Endpoint(asking.url, seconds=0.3)

    assert hasty.select("SELECT * { ?s ?p ?o }", {}).expired


def test_passing_failures_are_waited_for(server, asking):
    """A request is retried after HTTP 429 or 503, a dropped connection or an invalid response."""
    server.failures[:] = [(429, {"Retry-After": "0"}), (503, {}), "drop", GARBAGE]

    assert len(asking.select("SELECT * { ?s :name ?o }", PREFIXES).rows) == 3
    assert len(server.asked) == 5


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        *(([failure] * 9, 60) for failure in ((502, {}), "drop", GARBAGE, TRUTH)),
        (["half", *["drop"] * 9], 3.0),  # an error response that breaks off
    ],
)
def test_endpoint_that_does_not_answer_is_an_error(server, asking, failures, seconds):
    """An endpoint that fails five times raises an error that it does not answer."""
    server.failures[:] = failures
    with pytest.raises(EvaluationError, match="does not answer"):
        Endpoint(asking.url, seconds=seconds, pause=0.001).select("SELECT * { ?s ?p ?o }", {})
    assert len(server.asked) == 5


def test_endpoint_that_takes_no_connection_says_nothing_about_the_query():
    """A timeout while connecting is a failure of the endpoint, not an expired query."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # fills the backlog of the socket
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(full.getsockname())
        asking = Endpoint(f"http://127.0.0.1:{full.getsockname()[1]}/", seconds=0.1, pause=0.001)
        with pytest.raises(EvaluationError, match=r"does not answer .*timed out"):
            asking.select("SELECT * { ?s ?p ?o }", {})


ROW = '{"x": {"type": "literal", "value": "1"}, "y": null}'
FOUND = f'"bindings": [{ROW}]'
NAMES = '"head": {"vars": ["x", "y"], "link": []}'
XML = (
    '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/>'
    '<variable name="y"/></head><results><result><binding name="x"><literal>1</literal></binding>'
    "</result></results></sparql>"
)


@pytest.mark.parametrize(
    ("reply", "boolean"),
    [
        (f'{{{NAMES}, "results": {{{FOUND}}}, "meta": {{"query-time-ms": 3}}}}', None),
        (f'{{{NAMES}, "results": {{{FOUND}}}, "meta": {{"a": {{"b": [{{}}]}}}}}}', None),
        (f'{{{NAMES}, "results": {{"distinct": false, {FOUND}, "ordered": true}}}}', None),
        (f'{{"results": {{{FOUND}}}, {NAMES}}}', None),
        (f'\ufeff{{{NAMES}, "results": {{{FOUND}}}}}', None),
        (XML, None),
        (f"\ufeff{XML}", None),
        ('{"head": {}, "boolean": true, "meta": {}}', True),
        ("false", False),
    ],
)
def test_habits_of_servers_are_read(server, asking, reply, boolean):
    """Further members, null cells, byte order marks, XML instead of JSON and words are read."""
    server.failures[:] = [reply.encode()]
    if boolean is not None:
        assert asking.results("ASK {}", {}).boolean is boolean
        return
    found = asking.select("SELECT * {}", {})
    assert (found.variables, found.rows) == (("x", "y"), (('"1"', None),))
    assert len(server.asked) == 1


def test_blank_nodes_of_any_name_are_read(server, asking):
    """Virtuoso names blank nodes in a form that is no label; equal names are the same node."""
    names = ("nodeID://b10", "a b", "nodeID://b10")
    cells = [f'{{"x": {{"type": "bnode", "value": "{name}"}}}}' for name in names]
    table = f'{{"bindings": [{", ".join(cells)}]}}'
    server.failures[:] = [f'{{"head": {{"vars": ["x"]}}, "results": {table}}}'.encode()]

    first, second, third = (row[0] for row in asking.select("SELECT * {}", {}).rows)
    assert first == third != second
    assert first.startswith("_:")


@pytest.mark.parametrize(
    "cut",
    [
        (206, {}),
        (200, {"X-SQL-State": "S1TAT", "X-SQL-Message": "Returning incomplete results"}),
        (200, {"x-sparql-maxrows": "10000"}),
        (200, {"X-Exec-Partial": "true"}),
    ],
)
def test_partial_results_are_refused(server, asking, cut):
    """A result that the endpoint cut off has no rows, as if the query took too long."""
    server.failures[:] = [cut]
    found = asking.select("SELECT * {}", {})

    assert "cut its answer off" in found.error
    assert found.expired
    assert not found.rows
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (f'{{{NAMES}, "results": {{"bindings": []}}, "error": "timed out"}}', "timed out"),
        ('{"exception": "Operation timed out.", "status": "ERROR"}', "Operation timed out"),
        (f'{{{NAMES}, "results": {{"bindings": [{ROW}]}}, "results": {{}}}}', "twice"),
        (
            f'{{{NAMES}, "results": {{{FOUND}}}, "meta": {{"result-size-total": 1234}}}}',
            "1 of 1,234 rows",
        ),
        ('{"status": "ready"}', 'begins \'{"status": "ready"}\''),
        ("<html><body>Please log in</body></html>", "begins '<html><body>Please log in"),
    ],
)
def test_reply_that_cannot_be_read_is_quoted(server, asking, reply, reason):
    """The message has the reply's beginning; a member that tells of an error is no empty result."""
    server.failures[:] = [reply.encode()] * 9

    with pytest.raises(EvaluationError, match=re.escape(reason)):
        asking.select("SELECT * {}", {})


@pytest.mark.parametrize("status", [401, 403, 404, 405, 307])
def test_endpoint_that_refuses_is_an_error_at_once(server, asking, status):
    """A permanent HTTP error, or a redirection, is raised at once: nothing else is requested."""
    server.failures[:] = [(status, {"Location": server.url})] * 9
    with pytest.raises(EvaluationError, match=f"HTTP {status}"):
        asking.select("SELECT * { ?s ?p ?o }", {})
    assert len(server.asked) == 1


def test_results_have_a_limit(asking, monkeypatch):
    """A response larger than the limit is an error of the query."""
    monkeypatch.setattr(endpoint, "MOST_BYTES", 20)

    assert "more than" in asking.select("SELECT * { ?s ?p ?o }", {}).error


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "example.org/sparql",
        "http://",
        "http://a:b@example.org/",
        "http://e/ x",
    ],
)
def test_unusable_address_is_refused(url):
    """Only http and https addresses without a password are accepted."""
    with pytest.raises(ConfigurationError, match="--endpoint"):
        Endpoint(url)
