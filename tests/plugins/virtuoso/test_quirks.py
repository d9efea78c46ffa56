# SPDX-License-Identifier: Apache-2.0
"""Peculiarities of Virtuoso, each tested with responses as it sends them."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.errors import StoreError
from kgbench.plugins.virtuoso.quirks import Virtuoso, exact, rounded, tidy
from kgbench.store import back_ends, quirks
from kgbench.vocab import BASE, XSD
from tests.store.scripted import JSON, client, said
from tests.store.test_answers import GRAPH, ROWS, SELECT
from tests.store.test_quirks import table
from tests.support.validation import report

VALUES = ["0.3333333333333333", "0.0005555555555555556", "1.0", "NaN", "1.7976931348623157e308"]
SERVER = "Virtuoso/07.20.3240 (Linux) x86_64-pc-linux-gnu"


def test_it_is_a_declared_kind_of_server():
    """A location ending in /sparql has its addresses, without whole graphs; it conforms."""
    found = back_ends.find("http://h:8890/sparql")

    assert (found.kind, found.query, found.update, found.data) == (
        *("virtuoso", "http://h:8890/sparql", "http://h:8890/sparql-auth", None),
    )
    turtle = resources.text("store", "virtuoso.ttl")
    assert report(ox.parse(turtle, ox.RdfFormat.TURTLE, base_iri=BASE), "stores") == []


@pytest.mark.parametrize(
    ("headers", "is_known"),
    [
        ({"Server": SERVER}, True),
        ({"Server": "nginx", "X-SQL-State": "S1TAT"}, True),
        ({"Server": "nginx", "X-Other": "Virtuoso"}, False),
        ({}, False),
    ],
    ids=["its name", "how it truncates, behind a proxy", "another server", "no headers"],
)
def test_it_is_recognised_by_what_it_says(headers, is_known):
    """Its quirks are found by its name or by its headers, and by the kind of the location."""
    assert isinstance(quirks.of_sender(headers), Virtuoso) is is_known
    assert isinstance(quirks.of_kind("virtuoso"), Virtuoso)


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
    tidy(document)
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

    assert rounded(document) == (["x"] if suspect else [])


def test_exact_doubles_take_the_place_of_rounded_ones():
    """Exact doubles replace the rounded ones, and the auxiliary columns are removed."""
    document = table(
        x=("0.333333", XSD.double),
        x__exact=("0.33333333333333331", XSD.string),
        y=("0.333333", XSD.decimal),
        y__exact=("0.1", XSD.string),
        z=("0.333333", XSD.double),
    )
    exact(document, ["x", "y", "z"])

    (row,) = document["results"]["bindings"]
    assert document["head"]["vars"] == ["x", "y", "z"]
    assert set(row) == {"x", "y", "z"}
    assert float(row["x"]["value"]) == 1 / 3
    assert (row["y"]["value"], row["z"]["value"]) == ("0.333333", "0.333333")


def rounding(store):
    """Return responses with six-digit doubles and booleans as 0 and 1."""

    def answer(asked):
        query = parse_qs(asked.body.decode())["query"][0]
        found = store.query(re.sub(r"bif:sprintf\('%.17g', (\?o)\)", r"STR(\1)", query))
        if isinstance(found, ox.QueryTriples):
            return said(200, found.serialize(format=ox.RdfFormat.TURTLE), "text/turtle")
        document = json.loads(found.serialize(format=ox.QueryResultsFormat.JSON))
        for row in document["results"]["bindings"]:
            for cell in row.values():
                kind = cell.get("datatype")
                if kind == XSD.double:
                    cell["value"] = f"{float(cell['value']):.6g}"
                elif kind == XSD.boolean:
                    cell["value"] = str(int(cell["value"] == "true"))
        return said(200, json.dumps(document), JSON)

    return answer


@pytest.fixture
def numbers():
    """Return a store with doubles and other terms."""
    store = ox.Store()
    objects = [ox.Literal(text, datatype=ox.NamedNode(XSD.double)) for text in VALUES]
    for one in [*objects, ox.Literal(value=True), ox.Literal("0.333333"), ox.NamedNode("urn:o")]:
        quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), one, ox.NamedNode(GRAPH))
        store.add(quad)
    return store


def test_rounded_doubles_are_asked_for_once_more(numbers):
    """Rounded doubles are queried again, so that rows and graphs have all digits."""
    with client(rounding(numbers), kind="virtuoso") as (made, server):
        found = [row["o"] for row in made.query(SELECT)]
        asked = len(server.seen)
        listed = [triple.object for triple in made.triples(GRAPH)]

    assert asked == 2
    for objects in (found, listed):
        doubles = [
            o.value for o in objects if getattr(o, "datatype", None) == ox.NamedNode(XSD.double)
        ]
        assert sorted(map(repr, map(float, doubles))) == sorted(
            repr(float(text)) for text in VALUES
        )
        others = {str(o) for o in objects} - {str(o) for o in objects if XSD.double in str(o)}
        assert others == {f'"true"^^<{XSD.boolean}>', '"0.333333"', "<urn:o>"}


def test_plain_results_are_asked_for_once(numbers):
    """Results without numbers, or of a server that does not round, need one request."""
    texts = SELECT.replace("} }", "} FILTER (isIRI(?o)) }")
    with client(rounding(numbers), kind="virtuoso") as (made, server):
        assert [row["o"].value for row in made.query(texts)] == ["urn:o"]
        assert len(server.seen) == 1
    with client(rounding(numbers)) as (made, server):
        assert len(list(made.query(SELECT))) == len(VALUES) + 3
        assert len(server.seen) == 1


def test_graphs_of_a_server_that_rounds_are_warned_of(numbers, caplog):
    """A warning says that doubles in the graph of a CONSTRUCT query are rounded."""
    with client(rounding(numbers), kind="virtuoso") as (made, _):
        triples = list(made.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"))

    assert len(triples) == len(VALUES) + 3
    assert "rounds the doubles" in caplog.text


@pytest.mark.parametrize("mark", ["X-SPARQL-MaxRows", "X-SQL-State", "X-Exec-Partial"])
def test_what_the_server_cut_is_refused(mark):
    """A graph or a result that the server declares as truncated is refused."""
    cut = {mark.replace("-", "_"): "S1TAT"}
    graph = said(200, "<urn:a> <urn:b> <urn:c> .\n", "application/n-triples", **cut)
    answers = [graph, said(200, ROWS, JSON, **cut)]
    with client(answers) as (made, _):
        for asking in (lambda: list(made.triples(GRAPH)), lambda: made.query(SELECT)):
            with pytest.raises(StoreError, match=rf"cut its answer off \({mark}"):
                asking()


def test_doubles_are_exact_whatever_its_location_says(numbers):
    """A server of another declared kind that says that it is Virtuoso is treated as Virtuoso."""

    def named(asked):
        return rounding(numbers)(asked).replace(b"\r\n", f"\r\nServer: {SERVER}\r\n".encode(), 1)

    with client(named) as (made, _):
        found = [row["o"] for row in made.query(SELECT)]

    doubles = [o.value for o in found if getattr(o, "datatype", None) == ox.NamedNode(XSD.double)]
    assert sorted(map(repr, map(float, doubles))) == sorted(repr(float(text)) for text in VALUES)
