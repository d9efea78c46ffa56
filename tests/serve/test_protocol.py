# SPDX-License-Identifier: Apache-2.0
"""The W3C's SPARQL 1.1 Protocol test cases, as requests with expected statuses.

Each case has its name in the manifest of the working group.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

FORM = "application/x-www-form-urlencoded"
G1, G2, G3 = (f"http://example.org/protocol/data{n}" for n in (1, 2, 3))


class Case(NamedTuple):
    """A request and its expected response; ``check`` is an ASK that must be true afterwards."""

    name: str
    method: str
    params: dict
    content_type: str | None
    body: str | bytes | None
    status: int
    types: tuple[str, ...] = ()
    boolean: bool | None = None
    check: str | None = None


def form(**fields):
    """Return a URL-encoded form; a list gives several fields of the same name."""
    return urlencode({k.replace("_", "-"): v for k, v in fields.items()}, doseq=True)


JSON_TYPES = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
)
QUERIES = [
    Case("query_get", "GET", {"query": "ASK {}"}, None, None, 200, JSON_TYPES, boolean=True),
    Case("query_post_form", "POST", {}, FORM, form(query="ASK {}"), 200, JSON_TYPES, boolean=True),
    Case("query_post_direct", "POST", {}, "application/sparql-query", "ASK {}", 200, boolean=True),
    Case(
        "query_content_type_select",
        *("GET", {"query": "SELECT (1 AS ?value) {}"}, None, None, 200),
        (*JSON_TYPES, "text/csv", "text/tab-separated-values"),
    ),
    Case("query_content_type_ask", "GET", {"query": "ASK {}"}, None, None, 200, JSON_TYPES),
    Case(
        "query_content_type_describe",
        *("GET", {"query": "DESCRIBE <http://example.org/>"}, None, None, 200),
        ("text/turtle", "application/rdf+xml", "application/n-triples"),
    ),
    Case(
        "query_content_type_construct",
        *("GET", {"query": "CONSTRUCT { <s> <p> 1 } WHERE {}"}, None, None, 200),
        ("text/turtle", "application/rdf+xml", "application/n-triples"),
    ),
    Case(
        "query_dataset_default_graph",
        *("GET", {"query": "ASK { <http://example.org/1> ?p ?o }", "default-graph-uri": G1}),
        *(None, None, 200, (), True),
    ),
    Case(
        "query_dataset_default_graphs_get",
        "GET",
        {
            "query": "ASK { <http://example.org/1> ?p ?o . <http://example.org/2> ?q ?r }",
            "default-graph-uri": [G1, G2],
        },
        *(None, None, 200, (), True),
    ),
    Case(
        "query_dataset_default_graphs_post",
        *("POST", {}, FORM),
        form(
            query="ASK { <http://example.org/1> ?p ?o . <http://example.org/2> ?q ?r }",
            default_graph_uri=[G1, G2],
        ),
        *(200, (), True),
    ),
    Case(
        "query_dataset_named_graphs_get",
        "GET",
        {"query": "ASK { GRAPH ?g { <http://example.org/2> ?p ?o } }", "named-graph-uri": [G1, G2]},
        *(None, None, 200, (), True),
    ),
    Case(
        "query_dataset_named_graphs_post",
        *("POST", {"named-graph-uri": [G1, G2]}, "application/sparql-query"),
        "ASK { GRAPH ?g { <http://example.org/1> ?p ?o } "
        "GRAPH ?h { <http://example.org/2> ?q ?r } }",
        *(200, (), True),
    ),
    Case(
        "query_dataset_full",
        "GET",
        {
            "query": "ASK { <http://example.org/3> ?p ?o . "
            "GRAPH ?g { <http://example.org/1> ?q ?r } "
            "FILTER NOT EXISTS { GRAPH ?h { <http://example.org/3> ?a ?b } } }",
            "default-graph-uri": G3,
            "named-graph-uri": [G1, G2],
        },
        *(None, None, 200, (), True),
    ),
    Case(
        "query_multiple_dataset",
        "GET",
        {
            "query": f"ASK FROM <{G2}> {{ <http://example.org/1> ?p ?o }}",
            "default-graph-uri": G1,
        },
        *(None, None, 200, (), True),
    ),
    Case("bad_query_method", "PUT", {"query": "ASK {}"}, None, None, 405),
    Case("bad_multiple_queries", "GET", {"query": ["ASK {}", "ASK { 1 ?p 2 }"]}, None, None, 400),
    Case("bad_query_wrong_media_type", "POST", {}, "text/plain", "ASK {}", 415),
    Case("bad_query_missing_form_type", "POST", {}, None, form(query="ASK {}"), 415),
    Case("bad_query_missing_direct_type", "POST", {}, None, "ASK {}", 415),
    Case(
        "bad_query_non_utf8",
        *("POST", {}, "application/sparql-query; charset=UTF-16", "ASK {}".encode("utf-16"), 415),
    ),
    Case("too_large", "POST", {}, "application/sparql-query", b"x" * 200_000, 413),
    Case("bad_query_syntax", "GET", {"query": "ASK { WHERE"}, None, None, 400),
]
INSERT = "PREFIX e: <http://example.org/> INSERT DATA { GRAPH e:u { e:%s e:p 1 } }"
UPDATES = [
    Case(
        "update_post_form",
        *("POST", {}, FORM, form(update=INSERT % "form"), 204, (), None),
        "ASK { GRAPH ?g { <http://example.org/form> ?p 1 } }",
    ),
    Case(
        "update_post_direct",
        *("POST", {}, "application/sparql-update", INSERT % "direct", 204, (), None),
        "ASK { GRAPH ?g { <http://example.org/direct> ?p 1 } }",
    ),
    Case(
        "update_dataset_default_graph",
        *("POST", {"using-graph-uri": G1}, "application/sparql-update"),
        "PREFIX e: <http://example.org/> INSERT { GRAPH e:u { ?s e:q 'one' } } WHERE { ?s ?p ?o }",
        *(204, (), None),
        "ASK { GRAPH ?g { <http://example.org/1> ?q 'one' } "
        "FILTER NOT EXISTS { GRAPH ?g { <http://example.org/2> ?q 'one' } } }",
    ),
    Case(
        "update_dataset_default_graphs",
        *("POST", {}, FORM),
        form(
            update="PREFIX e: <http://example.org/> "
            "INSERT { GRAPH e:u { ?s e:q 'two' } } WHERE { ?s ?p ?o }",
            using_graph_uri=[G1, G2],
        ),
        *(204, (), None),
        "ASK { GRAPH ?g { <http://example.org/1> ?q 'two' . <http://example.org/2> ?q 'two' } "
        "FILTER NOT EXISTS { GRAPH ?g { <http://example.org/3> ?q 'two' } } }",
    ),
    Case(
        "update_dataset_named_graphs",
        *("POST", {"using-named-graph-uri": [G1, G2]}, "application/sparql-update"),
        "PREFIX e: <http://example.org/> "
        "INSERT { GRAPH e:u { ?s e:q 'named' } } WHERE { GRAPH ?g { ?s ?p ?o } }",
        *(204, (), None),
        "ASK { GRAPH ?g { <http://example.org/1> ?q 'named' . <http://example.org/2> ?q 'named' } "
        "FILTER NOT EXISTS { GRAPH ?g { <http://example.org/3> ?q 'named' } } }",
    ),
    Case(
        "update_dataset_full",
        *("POST", {"using-graph-uri": G1, "using-named-graph-uri": G2}),
        "application/sparql-update",
        "PREFIX e: <http://example.org/> INSERT { GRAPH e:u { ?s e:in ?t } } "
        "WHERE { ?s ?p ?o . GRAPH ?g { ?t ?q ?r } }",
        *(204, (), None),
        "PREFIX e: <http://example.org/> ASK { GRAPH ?g { e:1 e:in e:2 } }",
    ),
    Case(
        "update_base_uri",
        *("POST", {}, FORM, form(update="INSERT DATA { GRAPH <g> { <relative> <p> 1 } }")),
        *(204, (), None),
        "ASK { GRAPH ?g { ?s ?p 1 FILTER(STRENDS(STR(?s), '/relative')) } }",
    ),
    Case("bad_update_get", "GET", {"update": "CLEAR ALL"}, None, None, 400),
    Case(
        "bad_multiple_updates",
        *("POST", {}, FORM, form(update=["CLEAR NAMED", "CLEAR DEFAULT"]), 400),
    ),
    Case("bad_update_wrong_media_type", "POST", {}, "text/plain", "CLEAR NAMED", 415),
    Case("bad_update_missing_form_type", "POST", {}, None, form(update="CLEAR NAMED"), 415),
    Case(
        "bad_update_non_utf8",
        *("POST", {}, "application/sparql-update; charset=UTF-16"),
        *("CLEAR NAMED".encode("utf-16"), 415),
    ),
    Case("bad_update_syntax", "POST", {}, FORM, form(update="CLEAR XYZ"), 400),
    Case(
        "bad_update_dataset_conflict",
        *("POST", {"using-named-graph-uri": G1}, FORM),
        form(update="DELETE { ?s ?p ?o } USING <http://example.org/x> WHERE { ?s ?p ?o }"),
        400,
    ),
]


def sent(client, case):
    """Return the response to the request of a case."""
    headers = {} if case.content_type is None else {"Content-Type": case.content_type}
    return client.request(
        case.method, "/sparql", params=case.params, content=case.body, headers=headers
    )


@pytest.fixture(scope="module")
def loaded(writable):
    """Return a client of a server with the three graphs of the test data."""
    for number, graph in enumerate((G1, G2, G3), start=1):
        triple = f"<http://example.org/{number}> <http://example.org/p> {number} ."
        turtle = {"Content-Type": "text/turtle"}
        writable.put("/store", params={"graph": graph}, content=triple, headers=turtle)
    return writable


@pytest.mark.parametrize("case", [*QUERIES, *UPDATES], ids=lambda case: case.name)
def test_protocol_case(loaded, case):
    """Each request of the protocol's test cases gets the expected status, type and answer."""
    response = sent(loaded, case)

    assert case.status == response.status_code, response.text
    if case.types:
        assert response.headers["content-type"].partition(";")[0] in case.types
    if case.boolean is not None:
        assert case.boolean == json.loads(response.content)["boolean"]
    if case.check is not None:
        asked = loaded.get("/sparql", params={"query": case.check})
        assert asked.json()["boolean"] is True


@pytest.mark.parametrize("case", UPDATES, ids=lambda case: case.name)
def test_updates_are_refused_without_the_token(client, case):
    """A read-only server refuses every update."""
    assert sent(client, case).status_code in (400, 403, 415)


def test_a_wrong_token_is_challenged(writable):
    """A wrong token gets 401 with a challenge."""
    wrong = {"Authorization": "Bearer wrong"}
    response = writable.post("/sparql", data={"update": "CLEAR ALL"}, headers=wrong)
    assert 401 == response.status_code
    assert "Bearer" in response.headers["www-authenticate"]


def test_a_graph_that_is_there_is_dropped(writable):
    """A DROP is checked against the store: an existing graph is dropped, a missing one refused."""
    drop = "DROP GRAPH <https://example.org/dropped>"
    made = "INSERT DATA { GRAPH <https://example.org/dropped> { <urn:a> <urn:b> 1 } }"
    assert writable.post("/sparql", data={"update": made}).status_code == 204
    assert writable.post("/sparql", data={"update": drop}).status_code == 204
    refused = writable.post("/sparql", data={"update": drop})
    assert (refused.status_code, "does not exist" in refused.text) == (400, True)


@pytest.mark.parametrize(
    "text",
    [
        "LOAD <http://127.0.0.1:9/>",
        "CLEAR ALL;LOADSILENT<http://127.0.0.1:9/>",
        "INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    ],
)
def test_updates_reach_no_other_machine(writable, text):
    """LOAD and SERVICE in updates are refused."""
    response = writable.post("/sparql", data={"update": text})

    assert 400 == response.status_code
    assert "other machines" in response.text or "another endpoint" in response.text


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/csv", "text/csv"),
        ("text/csv;q=0.1, application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/tab-separated-values, */*;q=0.1", "text/tab-separated-values"),
        ("*/*", "application/sparql-results+json"),
        ("application/json", "application/sparql-results+json"),
        ("application/sparql-results+json;q=0, */*", "application/sparql-results+xml"),
        ("image/png", None),
    ],
)
def test_solutions_are_negotiated(client, accept, media):
    """SELECT returns the format that the client prefers; 406 names the available formats."""
    query = {"query": "SELECT ?s { GRAPH ?g { ?s ?p ?o } } LIMIT 3"}
    response = client.get("/sparql", params=query, headers={"Accept": accept})
    if media is None:
        assert (response.status_code, "sparql-results+json" in response.text) == (406, True)
        return
    assert media == response.headers["content-type"].partition(";")[0]
    assert "Accept" in response.headers["vary"]


@pytest.mark.parametrize(
    "media",
    [
        *("text/turtle", "application/n-triples", "application/n-quads", "application/trig"),
        *("application/ld+json", "application/rdf+xml"),
    ],
)
def test_graphs_are_negotiated(client, media):
    """CONSTRUCT returns every RDF format, and the response can be parsed."""
    import pyoxigraph as ox

    query = {"query": "CONSTRUCT { ?s a ?o } { GRAPH ?g { ?s a ?o } } LIMIT 5"}
    response = client.get("/sparql", params=query, headers={"Accept": media})

    assert media == response.headers["content-type"].partition(";")[0]
    assert len(list(ox.parse(response.content, ox.RdfFormat.from_media_type(media)))) >= 1


def test_error_has_its_position(client):
    """400 states where the parser stopped; an undeclared prefix is named."""
    response = client.get("/sparql", params={"query": "SELECT * {\n ?s ?p }"})

    assert 400 == response.status_code
    assert "line 2, column 8: syntax error" in response.text

    response = client.get("/sparql", params={"query": "SELECT * { ?s foaff:x ?o . ?o ?p 1 }"})
    assert "line 1, column 15: prefix foaff: is not declared: did you mean foaf?" in response.text


def test_an_answer_has_its_tag_and_head(client):
    """HEAD has the headers of GET; the same query on the same data gets 304, another does not."""
    query = {"query": "SELECT * { GRAPH ?g { ?s a ?o } } LIMIT 3"}
    head, got = client.head("/sparql", params=query), client.get("/sparql", params=query)
    assert (head.content, got.status_code) == (b"", 200)
    for name in ("content-length", "etag"):
        assert head.headers[name] == got.headers[name]
    known = {"If-None-Match": got.headers["etag"]}
    assert 304 == client.get("/sparql", params=query, headers=known).status_code
    assert 200 == client.get("/sparql", params={"query": "ASK {}"}, headers=known).status_code
    assert "etag" not in client.get("/sparql", params={"query": "SELECT (NOW() AS ?n) {}"}).headers


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/sparql", ["sd:Service", "sd:UnionDefaultGraph", "graph/catalogue"]),
        ("/.well-known/void", ["void:classPartition", "void:sparqlEndpoint"]),
    ],
)
def test_the_server_describes_itself(client, path, words):
    """Without a query the endpoint is described; VoID has a partition for each class."""
    response = client.get(path, headers={"Accept": "text/turtle"})
    assert 200 == response.status_code
    assert [word for word in words if word not in response.text] == []
