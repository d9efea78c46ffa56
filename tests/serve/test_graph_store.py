# SPDX-License-Identifier: Apache-2.0
"""The Graph Store Protocol: W3C test cases in sequence, and refusals of read-only servers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from kgbench.serve.admission import Refused
from kgbench.serve.graph_store import GraphStore
from kgbench.serve.settings import Settings
from kgbench.vocab import BASE, KGB

TURTLE = {"Content-Type": "text/turtle"}
PERSON = "http://example.org/rdf-graphs/person/1"
DATA = "<http://example.org/a> <http://example.org/name> 'Bob' ."
FORM = f'--x\nContent-Disposition: form-data; name="f"; filename="a.ttl"\n\n{DATA}\n--x--'
FORMED = "multipart/form-data; boundary=x"


def at(graph):
    """Return the URL parameters that name a graph."""
    return {"params": {"graph": graph}}


def test_default_graph(writable):
    """The default graph always exists, also when it was dropped; others may be empty."""
    empty = at("http://example.org/empty")  # put__empty_graph
    assert 201 == writable.put("/store", **empty, content="", headers=TURTLE).status_code
    assert 200 == writable.get("/store", **empty).status_code
    where = {"params": {"default": ""}}
    assert 200 == writable.get("/store", **where).status_code
    assert 200 == writable.delete("/store", **where).status_code
    for status in (201, 204):
        put = writable.put("/store", **where, content=DATA, headers=TURTLE)
        assert status == put.status_code
    assert 200 == writable.delete("/store", **where).status_code
    assert "Bob" not in writable.get("/store", **where).text


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        ("<a> <b>", "text/turtle", 400),
        ("<a/>", "application/rdf+xml", 400),
        (DATA, "text/html", 415),
        (DATA, "", 415),
        (DATA, "multipart/form-data", 415),
        (FORM, FORMED, 415),
        (FORM, f"{FORMED}; x*{'9' * 500}=y", 415),
        ("--x\n\n" * 200 + "--x--", FORMED, 415),
    ],
)
def test_what_is_no_graph_is_refused(writable, body, media, status):
    """An invalid payload, such as a form, is refused in words and not stored."""
    headers = {"Content-Type": media}
    sent = writable.put("/store", **at("http://example.org/x"), content=body, headers=headers)
    assert status == sent.status_code
    assert "one graph as the request body" in sent.text or status == 400
    assert 404 == writable.get("/store", **at("http://example.org/x")).status_code


def test_path_that_is_no_iri_is_no_graph():
    """A graph name that is no IRI is refused, so that it cannot end a name in an update."""
    scope = {"type": "http", "method": "PUT", "headers": [], "path": "/", "query_string": b""}
    store = GraphStore(SimpleNamespace(settings=Settings("", token="x")), object())
    scope["headers"] = [(b"authorization", b"Bearer x"), (b"content-type", b"text/turtle")]
    with pytest.raises(Refused) as refused:
        asyncio.run(store.write(Request(scope), "https://w3id.org/kgbench/a> { } } ; DROP ALL #"))

    assert 400 == refused.value.status
    assert "not an IRI" in refused.value.message


@pytest.mark.parametrize("params", [{}, {"graph": "no iri"}, {"graph": ["http://a/", "http://b/"]}])
def test_one_graph_is_named(writable, params):
    """A request that names no graph, or several, is refused."""
    assert 400 == writable.get("/store", params=params).status_code


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_reading_server_writes_nothing(client, method):
    """Without a token nothing is written, and paths of resources give 405."""
    response = client.request(method, "/store", **at("http://a/"), content=DATA, headers=TURTLE)
    assert 403 == response.status_code
    assert 405 == client.request(method, "/graph/a", content=DATA, headers=TURTLE).status_code
    assert 405 == client.request("PATCH", "/sparql").status_code


def test_stamps_grow_whatever_the_clock_says(writable, monkeypatch):
    """A graph rewritten after the clock was set back has a greater change stamp."""
    graph = "http://example.org/rdf-graphs/clock"
    query = (
        f"SELECT (MAX(?n) AS ?last) {{ GRAPH <{BASE}graph/catalogue> "
        f"{{ <{graph}> <{KGB.changeStamp}> ?n }} }}"
    )
    stamps = []
    for now in (2_000_000_000_000_000_000, 1_000_000_000_000_000_000):
        monkeypatch.setattr("kgbench.serve.graph_store.time.time_ns", lambda now=now: now)
        writable.post("/store", **at(graph), content=DATA, headers=TURTLE)
        found = writable.get("/sparql", params={"query": query}, headers={"Accept": "text/csv"})
        stamps.append(int(found.text.split()[1]))

    assert stamps[0] < stamps[1]


def test_written_graph_is_registered(writable):
    """A graph below the base is registered while it exists, so that no start removes it."""
    graph = f"{BASE}graph/registered"
    registered = f"ASK {{ GRAPH <{BASE}graph/catalogue> {{ <{graph}> <{KGB.changeStamp}> ?n }} }}"
    for method, wanted in (("PUT", True), ("POST", True), ("DELETE", False)):
        writable.request(method, "/store", **at(graph), content=DATA, headers=TURTLE)
        asked = writable.get("/sparql", params={"query": registered})
        assert wanted is asked.json()["boolean"]


@pytest.mark.parametrize(
    ("media", "text"),
    [
        ("application/ld+json", '{"urn:p":' * 2_000 + "1" + "}" * 2_000),
        ("application/n-triples", "<urn:a> <urn:b> " + "<<( <urn:a> <urn:b> " * 2_000),
    ],
)
def test_deep_nesting_is_refused(writable, media, text):
    """Deeply nested graphs and updates are refused before they reach a parser."""
    put = writable.put("/store", **at(PERSON), content=text, headers={"Content-Type": media})
    update = "INSERT DATA { <urn:a> <urn:b> " + "(" * 2_000 + ")" * 2_000 + " }"
    for response in (put, writable.post("/sparql", data={"update": update})):
        assert 400 == response.status_code
        assert "nested deeper" in response.text
