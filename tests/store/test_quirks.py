# SPDX-License-Identifier: Apache-2.0
"""Peculiarities of servers, each tested with a response as the server sends it."""

from __future__ import annotations

import json

import httpx2
import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.store import quirks, remote
from kgbench.store.back_ends import BackEnd
from kgbench.store.client import Client, around, form
from kgbench.store.protocol import Block
from kgbench.vocab import XSD
from tests.store.scripted import Scripted, said

JSON, XML = ox.QueryResultsFormat.JSON, ox.QueryResultsFormat.XML


def table(**row):
    """Return JSON results with one row of typed literals, given as (value, datatype)."""
    cells = {
        name: {"type": "typed-literal", "value": value, "datatype": datatype}
        for name, (value, datatype) in row.items()
    }
    return {"head": {"vars": list(row)}, "results": {"bindings": [cells]}}


def test_booleans_and_doubles_get_their_forms():
    """0 and 1, nan and inf are written as in XSD; other literals are unchanged."""
    document = table(
        a=("1", XSD.boolean),
        b=("0", XSD.boolean),
        c=("nan", XSD.double),
        d=("-inf", XSD.double),
        e=("1e+300", XSD.double),
        f=("1", XSD.integer),
        g=("no number", XSD.double),
    )
    quirks.tidy(document)
    (row,) = document["results"]["bindings"]

    assert [row[name]["value"] for name in "abcdefg"] == [
        *("true", "false", "NaN", "-INF", "1e+300", "1", "no number"),
    ]


@pytest.mark.parametrize(
    ("value", "suspect"),
    [
        *(("0.333333", True), ("1.48756e+10", True), ("345379.0", True), ("123456", True)),
        *(("0.5", True), ("100000", True), ("1", True), ("-1.0", True), ("0.00001", True)),
        *(("nan", False), ("-INF", False)),
    ],
)
def test_doubles_that_may_be_rounded_are_noticed(value, suspect):
    """Every finite double is queried again, because such a server shows 1.0000000000000002 as 1."""
    document = table(x=(value, XSD.double), y=("0.333333", XSD.decimal))

    assert quirks.rounded(document) == (["x"] if suspect else [])


def test_exact_doubles_take_the_place_of_rounded_ones():
    """Exact doubles replace the rounded ones, and the auxiliary columns are removed."""
    document = table(
        x=("0.333333", XSD.double),
        x__exact=("0.33333333333333331", XSD.string),
        y=("0.333333", XSD.decimal),
        y__exact=("0.1", XSD.string),
        z=("0.333333", XSD.double),
    )
    quirks.exact(document, ["x", "y", "z"], "__exact")

    (row,) = document["results"]["bindings"]
    assert document["head"]["vars"] == ["x", "y", "z"]
    assert set(row) == {"x", "y", "z"}
    assert float(row["x"]["value"]) == 1 / 3
    assert (row["y"]["value"], row["z"]["value"]) == ("0.333333", "0.333333")


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
    with Scripted([said(200, reply, kind)]) as server:
        addresses = (f"{server.url}/query", f"{server.url}/update", None)
        made = Client(BackEnd(server.url, "sparql", *addresses, 1_000_000, "json", None))
        try:
            rows = list(made.query("SELECT ?o { ?s ?p ?o }"))
        finally:
            made.close()

    assert [row["o"] for row in rows] == [None]


def test_plain_results_are_not_parsed_twice():
    """Results of the engine itself stay the same bytes, also with brackets in their texts."""
    for query in ("SELECT ?x {}", 'SELECT * { VALUES (?x ?y) { ("[1]" UNDEF) (<urn:a> "[") } }'):
        content = ox.Store().query(query).serialize(format=JSON)
        assert quirks.plain(content) is content


def test_truncated_answers_are_noticed():
    """A header of a limit or status 206 says that the answer is truncated."""
    assert quirks.truncation(200, {"content-type": "application/json"}) is None
    assert "status 206" in quirks.truncation(206, {})
    assert "X-SQL-State: S1TAT" in quirks.truncation(200, {"x-sql-state": "S1TAT"})


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("Virtuoso 40001 Error SR172: Transaction deadlocked", True),
        ("the service is temporarily unavailable", True),
        ("Virtuoso 37000 Error SP030: syntax error", False),
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
    with Scripted([huge] * 2) as server:
        addresses = (f"{server.url}/query", f"{server.url}/update", f"{server.url}/store")
        made = Client(BackEnd(server.url, "sparql", *addresses, 1_000_000, "json"))
        with pytest.raises(StoreError, match="no readable answer: Reached the buffer"):
            made.query("CONSTRUCT WHERE { ?s ?p ?o }")
        with pytest.raises(StoreError, match="no readable answer: Reached the buffer"):
            next(made.triples("urn:graph"))
        made.close()
