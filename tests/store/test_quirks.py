# SPDX-License-Identifier: Apache-2.0
"""Peculiarities of servers, each tested with a response as the server sends it."""

from __future__ import annotations

import json

import httpx2
import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.store import quirks, remote
from kgbench.store.client import around, form
from kgbench.store.protocol import Block
from kgbench.vocab import XSD
from tests.store.scripted import client, said

JSON, XML = ox.QueryResultsFormat.JSON, ox.QueryResultsFormat.XML


def table(**row):
    """Return JSON results with one row of typed literals, given as (value, datatype)."""
    cells = {
        name: {"type": "typed-literal", "value": value, "datatype": datatype}
        for name, (value, datatype) in row.items()
    }
    return {"head": {"vars": list(row)}, "results": {"bindings": [cells]}}


@pytest.mark.parametrize(
    ("content", "shape", "value"),
    [
        (b'{"head": {}, "boolean": true}', JSON, True),
        (b'{"head": {}, "boolean": false}', JSON, False),
        (b" true\n", JSON, True),
        (b"False", JSON, False),
        (b"yes", XML, True),
        (json.dumps(table(r=("1", XSD.integer))).encode(), JSON, True),
        (json.dumps(table(r=("0", XSD.integer))).encode(), JSON, False),
        (b'{"head": {"vars": ["r"]}, "results": {"bindings": []}}', JSON, False),
        (json.dumps(table(r=("true", XSD.boolean), s=("0", XSD.integer))).encode(), JSON, True),
    ],
)
def test_booleans_in_every_guise(content, shape, value):
    """The response to ASK may be a boolean, a word, or a table with one cell or none."""
    assert bool(quirks.boolean(content, shape)) is value


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        ("application/sparql-results+json", "application/sparql-results+json"),
        ('Text/Turtle;q=1;CHARSET="UTF-8"', "text/turtle"),
        ("", ""),
    ],
)
def test_media_types(claimed, expected):
    """The media type is found whatever the case of the header's name and value."""
    assert quirks.media(httpx2.Headers({"content-TYPE": claimed})) == expected
    assert quirks.media({}) == ""


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("", '{"head": {"vars": ["o"]}, "results": {"bindings": [{"o": null}]}, "meta": {}}'),
        ("text/html", "\ufeff" + '{"head": {"vars": ["o"]}, "results": {"bindings": [{}]}}'),
    ],
)
def test_habits_of_servers_are_read(kind, reply):
    """Further members, null cells, a byte order mark and a wrong content type do not matter."""
    with client([said(200, reply, kind)]) as (made, _):
        rows = list(made.query("SELECT ?o { ?s ?p ?o }"))

    assert [row["o"] for row in rows] == [None]


def test_plain_results_are_not_parsed_twice():
    """Results of the engine itself stay the same bytes, also with brackets in their texts."""
    for query in ("SELECT ?x {}", 'SELECT * { VALUES (?x ?y) { ("[1]" UNDEF) (<urn:a> "[") } }'):
        content = ox.Store().query(query).serialize(format=JSON)
        assert quirks.plain(content) is content


def test_truncated_answers_are_noticed():
    """Status 206 says that the answer is truncated."""
    known = quirks.of_sender({"server": "Apache"})
    assert known.truncation(200, {"content-type": "application/json"}) is None
    assert "status 206" in known.truncation(206, {})


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("Transaction deadlocked", True),
        ("Error 40001", True),
        ("the service is temporarily unavailable", True),
        ("syntax error", False),
        ("400010", False),
    ],
)
def test_passing_refusals(text, passing):
    """A deadlock is retried, an error in the request is not."""
    assert quirks.is_passing(text) is passing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * {}", "SELECT"),
        ("# DELETE\nPREFIX insert: <urn:x#>\nBASE <urn:y> # ASK\n  ask {}", "ASK"),
        ("prefix : <urn:drop> describe <x>", "DESCRIBE"),
        ("INSERT DATA {}", "INSERT"),
        ("  # only a remark", ""),
        ("{}", ""),
    ],
)
def test_forms_of_queries(text, expected):
    """The form of a query is its first word after the prologue; comments are ignored."""
    assert form(text) == expected


def test_a_query_around_another():
    """A wrapped query can be run: the prologue stays outside, and a final comment does no harm."""
    text = "PREFIX p: <urn:p>\nSELECT ?a ?b WHERE { VALUES (?a ?b) { (1 p:x) (2 p:y) } } # end"
    wrapped = around(text, ["a", "b"], ["(STR(?b) AS ?c)"])
    rows = [[cell.value for cell in row] for row in ox.Store().query(wrapped)]

    assert rows == [["1", "urn:px", "urn:px"], ["2", "urn:py", "urn:py"]]


def test_pieces_are_bounded_and_whole():
    """A piece exceeds the limit only if it is a single triple; no triple is lost or moved."""
    lines = {g: [f"{g}{k} {'x' * (k % 700)}" for k in range(400)] for g in "abc"}
    lines["b"].append("long" * 5_000)
    mixed = [Block(g, lines[g][k : k + 7]) for k in range(0, 405, 7) for g in "abc"]
    pieces = list(remote.by_graph(mixed, 6_000))

    for g in "abc":
        assert [line for graph, some in pieces if graph == g for line in some] == lines[g]
    assert all(len(some) == 1 or sum(map(len, some)) < 6_000 for _, some in pieces)
    assert len(pieces) < 100


def test_a_term_that_no_parser_takes_is_an_unreadable_answer():
    """The engine takes terms of 16 MiB at most, and raises MemoryError for others."""
    huge = said(200, f'<urn:a> <urn:b> "{"x" * (17 << 20)}" .', "application/n-triples")
    with client([huge] * 2) as (made, _):
        with pytest.raises(StoreError, match="no readable answer: Reached the buffer"):
            made.query("CONSTRUCT WHERE { ?s ?p ?o }")
        with pytest.raises(StoreError, match="no readable answer: Reached the buffer"):
            next(made.triples("urn:graph"))
