# SPDX-License-Identifier: Apache-2.0
"""What a client makes of the answers of a server: refusals, odd ones, and rounded doubles."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest

from kgbench.errors import QueryError, StoreError
from kgbench.store.back_ends import BackEnd
from kgbench.store.client import Client
from kgbench.vocab import XSD
from tests.store.scripted import JSON, Scripted, said

SELECT = "SELECT ?o WHERE { GRAPH ?g { ?s ?p ?o } }"
GRAPH = "urn:graph"
PASSWORD = "p4ss-of-tests"
PAIR = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
LOGIN = f"<html><body>Please log in, not as {PASSWORD}</body></html>\n"
EXACT = f"IF(DATATYPE($value) = <{XSD.double}>, STR($value), '')"
ROWS = '{"head": {"vars": ["o"]}, "results": {"bindings": []}}'


@contextmanager
def client(answer, form="json", exact=None, read=True):
    """A client of a server that answers so, and the server."""
    with Scripted(answer, read=read) as server:
        url = server.url
        addresses = (f"{url}/query", f"{url}/update", f"{url}/store")
        made = Client(BackEnd(url, "sparql", *addresses, 1_000_000, form, exact))
        try:
            yield made, server
        finally:
            made.close()


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    """Credentials that no message may show."""
    monkeypatch.setenv("KGBENCH_STORE_USER", "ada")
    monkeypatch.setenv("KGBENCH_STORE_PASSWORD", PASSWORD)


@pytest.mark.parametrize("form", ["json", "tsv"])
@pytest.mark.parametrize(
    ("kind", "content"),
    [("text/html", LOGIN), (JSON, LOGIN), (JSON, "[1]"), (JSON, '{"head": {}}'), (None, "")],
)
def test_what_is_no_answer_is_refused(form, kind, content):
    """A page to log in, other JSON or nothing at all is no result, least of all an empty one."""
    with client([said(200, content, kind)], form) as (made, _):
        for asking in (SELECT, "ASK {}"):
            with pytest.raises(StoreError, match=r"no readable answer|is no boolean") as error:
                list(made.query(asking))
            assert PASSWORD not in str(error.value)


def test_a_graph_that_cannot_be_read_is_refused():
    """The same holds of whole graphs: of those that a query makes, and of those of the store."""
    with client([said(200, LOGIN, "text/html")]) as (made, _):
        for asking in (
            lambda: made.query("CONSTRUCT WHERE { ?s ?p ?o }"),
            lambda: made.triples("g"),
        ):
            with pytest.raises(StoreError, match="no readable answer") as error:
                list(asking())
            assert PASSWORD not in str(error.value)


def test_a_graph_that_the_server_cut_is_refused():
    """A whole graph may be cut at a limit, too, and the server says so in the same way."""
    whole = said(200, "<urn:a> <urn:b> <urn:c> .\n", "application/n-triples", X_SQL_State="S1TAT")
    with (
        client([whole]) as (made, _),
        pytest.raises(StoreError, match=r"cut its answer off \(X-SQL-State"),
    ):
        list(made.triples(GRAPH))


@pytest.mark.parametrize("there", [False, True])
def test_a_graph_that_is_not_found(there):
    """404 says that a graph is empty; a wrong address says so, too, and must not pass for that."""
    held = json.dumps({"head": {}, "boolean": there})

    def answer(asked):
        return said(404) if asked.path.startswith("/store") else said(200, held, JSON)

    with client(answer) as (made, _):
        if not there:
            assert list(made.triples(GRAPH)) == []
            return
        with pytest.raises(StoreError, match="knows nothing of the graph urn:graph"):
            list(made.triples(GRAPH))


# --- refusals -------------------------------------------------------------------------------


def test_a_deadlock_is_tried_again():
    """A refusal for a passing reason is no refusal: the same request is sent until it is done."""
    answers = [said(500, "Virtuoso 40001 Error SR172: Transaction deadlocked")] * 2 + [said(204)]
    with client(answers) as (made, server):
        made.update("INSERT DATA {}")

    assert [one.body for one in server.seen] == [b"INSERT DATA {}"] * 3


def test_a_deadlock_that_does_not_pass_is_said(monkeypatch):
    """After many times the server's words are told."""
    monkeypatch.setattr("kgbench.store.client.time", SimpleNamespace(sleep=lambda _: None))
    with (
        client([said(500, "Transaction  deadlocked\n again")]) as (made, server),
        pytest.raises(StoreError, match=r"status 500\): Transaction deadlocked again$"),
    ):
        made.update("INSERT DATA {}")

    assert len(server.seen) == 20


def test_a_failure_of_the_server_is_not_repeated():
    """Another failure says its reason at once."""
    with (
        client([said(500, "disk full")]) as (made, server),
        pytest.raises(StoreError, match=r"status 500\): disk full"),
    ):
        made.update("INSERT DATA {}")

    assert len(server.seen) == 1


@pytest.mark.parametrize("read", [True, False])
def test_a_request_that_is_too_large(read):
    """Whoever refuses it, also before it was received: it is said what to set, and sent once."""
    refused = [said(413, Connection="close")]
    with client(refused, read=read) as (made, server):
        with pytest.raises(StoreError, match=r"too large.*kgb:requestLimit"):
            made.load(GRAPH, [f'<urn:a> <urn:b> "{"x" * 20_000_000}" .'])

        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [400, 404, 500])
def test_refusals_show_no_secret(status):
    """A server that repeats what it was sent is quoted without it."""
    echo = f"Authorization: Basic {PAIR}, password {PASSWORD}, query {SELECT}"
    with (
        client([said(status, echo)]) as (made, _),
        pytest.raises((QueryError, StoreError), match="SELECT") as error,
    ):
        made.query(SELECT)

    assert str(error.value).count("[secret]") == 2
    assert PASSWORD not in str(error.value)
    assert PAIR not in str(error.value)


def test_redirects_show_no_secret(monkeypatch):
    """The address that we are sent to is told without a token of ours in it."""
    monkeypatch.delenv("KGBENCH_STORE_USER")
    monkeypatch.delenv("KGBENCH_STORE_PASSWORD")
    monkeypatch.setenv("KGBENCH_STORE_TOKEN", "t0ken-of-tests")
    moved = said(302, location="https://login.example/?next=x&token=t0ken-of-tests")
    with (
        client([moved]) as (made, _),
        pytest.raises(StoreError, match=r"login\.example.*redirects are not followed") as error,
    ):
        made.update("INSERT DATA {}")

    assert "t0ken" not in str(error.value)


# --- results in JSON ------------------------------------------------------------------------

VALUES = ["0.3333333333333333", "0.0005555555555555556", "1.0", "NaN", "1.7976931348623157e308"]


def rounding(store):
    """Answers queries about ``store`` as a server does that shows six digits, and 0 and 1."""

    def answer(asked):
        found = store.query(parse_qs(asked.body.decode())["query"][0])
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
    """A store with doubles in it, and other things beside them."""
    store = ox.Store()
    objects = [ox.Literal(text, datatype=ox.NamedNode(XSD.double)) for text in VALUES]
    for one in [*objects, ox.Literal(value=True), ox.Literal("0.333333"), ox.NamedNode("urn:o")]:
        quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), one, ox.NamedNode(GRAPH))
        store.add(quad)
    return store


def test_rounded_doubles_are_asked_for_once_more(numbers):
    """Where a server rounds, results and whole graphs have every digit, and all else as it was."""
    with client(rounding(numbers), exact=EXACT) as (made, server):
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
    """What holds no number, or comes from a server that rounds nothing, costs one request."""
    texts = SELECT.replace("} }", "} FILTER (isIRI(?o)) }")
    with client(rounding(numbers), exact=EXACT) as (made, server):
        assert [row["o"].value for row in made.query(texts)] == ["urn:o"]
        assert len(server.seen) == 1
    with client(rounding(numbers)) as (made, server):
        assert len(list(made.query(SELECT))) == len(VALUES) + 3
        assert len(server.seen) == 1


def test_graphs_of_a_server_that_rounds_are_warned_of(numbers, caplog):
    """What cannot be put right is said: doubles in a CONSTRUCT of one's own are rounded."""
    with client(rounding(numbers), exact=EXACT) as (made, _):
        triples = list(made.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"))

    assert len(triples) == len(VALUES) + 3
    assert "rounds the doubles" in caplog.text


def test_a_query_of_no_known_form_is_not_sent():
    """What is no query stays here, whatever the server would make of it."""
    with client([said(200, ROWS, JSON)]) as (made, server):
        with pytest.raises(QueryError, match="begins with 'INSERT'"):
            made.query("INSERT DATA {}")

        assert server.seen == []
