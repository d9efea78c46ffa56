# SPDX-License-Identifier: Apache-2.0
"""The W3C's Graph Store Protocol test cases, in the order and with the names of the manifest.

Each case depends on earlier ones, so they form one test. Comments mark the cases that differ from
the manifest, where it is inconsistent.
"""

from __future__ import annotations

from typing import NamedTuple

import pyoxigraph as ox

BOUNDARY = "a-line-between"
TURTLE = "text/turtle; charset=utf-8"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
PREFIXES = (
    "PREFIX foaf: <http://xmlns.com/foaf/0.1/> PREFIX v: <http://www.w3.org/2006/vcard/ns#>\n"
)
ONE = "/store/person/1.ttl"
PERSON = "<http://example.org/person/1>"
NEW = "the place that the server gave"


def card(name):
    """Return a graph about a person with a business card."""
    return f"{PREFIXES} {PERSON} a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn '{name}' ] ."


def added(more):
    """Return the graph after a statement about the person was added."""
    return card("Jane Doe").removesuffix(".") + f"; {more} ."


ALICE = f"{PREFIXES} [] a foaf:Person ; foaf:businessCard [ a v:VCard ; v:given-name 'Alice' ] ."


def file(name, text):
    """Return one file of a form."""
    disposition = f'Content-Disposition: form-data; name="{name}"; filename="{name}"'
    return f"--{BOUNDARY}\r\n{disposition}\r\nContent-Type: {TURTLE}\r\n\r\n{PREFIXES}{text}\r\n"


FILES = (
    file("lastName.ttl", f"{PERSON} foaf:familyName 'Doe' .")
    + file("firstName.ttl", f"{PERSON} foaf:givenName 'Jane' .")
    + f"--{BOUNDARY}--\r\n"
)


class Case(NamedTuple):
    """A request, the expected status, and the expected graph."""

    name: str
    method: str
    path: str
    status: int
    body: str | None = None
    media: str = TURTLE
    graph: str | None = None


CASES = [
    Case("put__initial_state", "PUT", ONE, 201, card("John Doe")),
    Case(
        "get_of_put__initial_state",
        *("GET", "/store?graph=http://testserver/store/person/1.ttl", 200),
        graph=card("John Doe"),
    ),
    # The manifest puts to person/1, which does not exist there.
    Case("put__graph_already_in_store", "PUT", ONE, 204, card("Jane Doe")),
    Case("get_of_put__graph_already_in_store", "GET", ONE, 200, graph=card("Jane Doe")),
    Case("put__default_graph", "PUT", "/store?default", 201, ALICE),
    Case("get_of_put__default_graph", "GET", "/store?default", 200, graph=ALICE),
    # The manifest's payload is Turtle, correctly declared; here it is declared as RDF/XML.
    Case("put__mismatched_payload", "PUT", ONE, 400, card("Jane"), "application/rdf+xml"),
    # The manifest deletes person/2, which does not exist there.
    Case("delete__existing_graph", "DELETE", "/store/person/2.ttl", 200),
    Case("get_of_delete__existing_graph", "GET", "/store/person/2.ttl", 404),
    Case("delete__nonexistent_graph", "DELETE", "/store/person/2.ttl", 404),
    Case("post__existing_graph", "POST", ONE, 200, f"{PREFIXES} {PERSON} foaf:name 'Jane Doe' ."),
    Case("get_of_post__existing_graph", "GET", ONE, 200, graph=added("foaf:name 'Jane Doe'")),
    # Forms with files are not supported, and nothing of them is stored.
    Case("post__multipart_formdata", "POST", ONE, 415, FILES, FORM),
    Case(
        "get_of_post__multipart_formdata",
        *("GET", ONE, 200),
        graph=added("foaf:name 'Jane Doe'"),
    ),
    Case("post__create__new_graph", "POST", "/store", 201, ALICE),
    Case("get_of_post__create__new_graph", "GET", NEW, 200, graph=ALICE),
    Case("get_of_post__after_noop", "GET", NEW, 200, graph=ALICE),
    Case("head_on_an_existing_graph", "HEAD", ONE, 200),
    Case("head_on_a_nonexisting_graph", "HEAD", "/store/person/4.ttl", 404),
]


def test_cases_of_the_graph_store_protocol(writable):
    """Each request has the expected status, and each graph the expected content."""
    put = writable.put("/store/person/2.ttl", content=ALICE, headers={"Content-Type": TURTLE})
    assert 201 == put.status_code
    assert 200 == writable.delete("/store?default").status_code
    place = NEW
    for case in CASES:
        if case.name == "get_of_post__after_noop":  # an empty graph is added to the new one
            empty = writable.post(place, content="", headers={"Content-Type": TURTLE})
            assert 200 == empty.status_code
        path = place if case.path == NEW else case.path
        headers = {"Content-Type": case.media, "Accept": "text/turtle"}
        response = writable.request(case.method, path, content=case.body, headers=headers)

        assert case.status == response.status_code, (case.name, response.text)
        if case.name == "post__create__new_graph":
            place = response.headers["location"].removeprefix("http://testserver")
        if case.graph is not None:
            assert "text/turtle" in response.headers["content-type"]
            assert canonical(case.graph) == canonical(response.content), case.name


def canonical(turtle):
    """Return a canonical form of a graph, which is the same for isomorphic graphs."""
    found = ox.Dataset(ox.parse(turtle, ox.RdfFormat.TURTLE))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(map(str, found))
