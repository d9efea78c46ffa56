# SPDX-License-Identifier: Apache-2.0
"""Methods, formats and conditional requests of each path."""

from __future__ import annotations

import pytest

from kgbench.serve import graph_store

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH")
PATHS = (
    *("/sparql", "/sparql/", "/store?graph=urn:nowhere", "/graph/nowhere", "/search", "/editor"),
    *("/health", "/.well-known/void", "/static/style.css", "/static/none.js"),
)


@pytest.mark.parametrize("server", ["client", "writable"])
@pytest.mark.parametrize("path", PATHS)
def test_options_name_what_can_be_done(server, path, request):
    """Allow lists exactly the methods that a path accepts."""
    asked = request.getfixturevalue(server)
    told = asked.options(path, headers={"Origin": "http://example.org"})
    named = told.headers["allow"]
    refused = {
        method for method in METHODS if asked.request(method, path).status_code in (403, 405)
    }

    assert told.status_code == 204
    assert {*METHODS, "OPTIONS"} - refused == set(named.split(", "))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/store?graph=https://w3id.org/kgbench/graph/run/1", "a graph can be sent as text/turtle"),
        ("/run/1", "descriptions can be sent as text/html"),
        ("/.well-known/void", "the statistics can be sent as text/turtle"),
    ],
)
def test_what_nobody_can_read_is_not_acceptable(client, path, words):
    """406 names the available formats."""
    response = client.get(path, headers={"Accept": "image/png"})
    assert response.status_code == 406
    assert words in response.text
    assert response.headers["vary"] == "Accept"


def test_known_graph_is_not_sent_again(client):
    """A current entity tag of a graph gives 304 in its own format only; HEAD has the same tag."""
    path = "/store?graph=https://w3id.org/kgbench/graph/run/1"
    turtle = {"Accept": "text/turtle"}
    head = client.head(path, headers=turtle)
    tag = head.headers["etag"]
    assert head.headers.get("content-length", "some") != "0"

    again = client.get(path, headers={**turtle, "If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(path, headers={"Accept": "application/trig", "If-None-Match": tag})
    assert other.status_code != 304


@pytest.mark.parametrize(
    ("query", "words"),
    [("graph=%ff", "not URL-encoded UTF-8"), ("&".join(["a="] * 200), "too many fields")],
)
def test_graph_that_cannot_be_read_is_refused(client, query, words):
    """A graph name that is not UTF-8, or among too many fields, gets 400."""
    response = client.get(f"/store?{query}")
    assert response.status_code == 400
    assert words in response.text


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_only_a_new_graph_needs_no_name(writable, method):
    """PUT and DELETE without a graph name are refused."""
    response = writable.request(method, "/store", headers={"Content-Type": "text/turtle"})
    assert response.status_code == 400
    assert "name a graph" in response.text


def test_endpoint_without_a_query(client):
    """Without a query, a browser is redirected to the editor, and unknown formats get 400."""
    led = client.get("/sparql", headers={"Accept": "text/html"})
    assert led.status_code == 303
    assert led.headers["location"] == "http://testserver/editor"
    lost = client.get("/sparql", headers={"Accept": "image/png"})
    assert lost.status_code == 400
    assert "no query" in lost.text


def test_format_in_the_request_goes_before_the_header(client):
    """A format by name or media type overrides the header; an unknown one is ignored."""
    for wanted, media in (
        ("csv", "text/csv"),
        ("text/tab-separated-values", "text/tab-separated-values"),
        ("spreadsheet", "application/sparql-results+xml"),
    ):
        params = {"query": "SELECT (1 AS ?one) {}", "format": wanted}
        response = client.get("/sparql", params=params, headers={"Accept": "application/xml"})
        assert response.headers["content-type"].partition(";")[0] == media


def test_service_of_a_writable_server_is_described(client, writable):
    """The service description states update and union default graph only where they apply."""
    texts = [
        one.get("/sparql", headers={"Accept": "text/turtle"}).text for one in (client, writable)
    ]
    assert ["SPARQL11Update" in text for text in texts] == [False, True]
    assert ["UnionDefaultGraph" in text for text in texts] == [True, False]


def test_own_failure_is_told_without_its_cause(client, monkeypatch):
    """An internal error is 500 with a generic message and the usual headers."""

    def broken(*_):
        raise LookupError("a secret of the server")

    monkeypatch.setattr(graph_store, "resolve", broken)
    response = client.get("/run/1")
    assert response.status_code == 500
    assert response.text == "the server failed on this request; its log says more\n"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("/sparql?query=ASK+%7B%7D", "application/sparql-results+xml"),
        ("/sparql", "application/n-triples"),
        ("/.well-known/void", "application/n-triples"),
        ("/.well-known/sparql-examples", "application/n-triples"),
        ("/store?default", "application/n-triples"),
        ("/run/1", "application/n-triples"),
    ],
)
def test_header_lines_are_joined(client, path, media):
    """Several lines of Accept or If-None-Match are one list."""
    accept = [("Accept", "image/png"), ("Accept", media)]
    response = client.get(path, headers=accept)
    assert response.status_code == 200
    assert response.headers["content-type"] == media
    if tag := response.headers.get("etag"):
        tags = [("If-None-Match", '"other"'), ("If-None-Match", tag)]
        assert client.get(path, headers=[*accept, *tags]).status_code == 304
