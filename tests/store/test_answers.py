# SPDX-License-Identifier: Apache-2.0
"""How a client treats responses of a server: refusals and malformed responses."""

from __future__ import annotations

import base64
import gc
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest

from kgbench.cli import main
from kgbench.errors import QueryError, StoreError
from kgbench.store import back_ends, open_store, registry
from tests.store.in_process import InProcess
from tests.store.scripted import JSON, Scripted, client, said

SELECT = "SELECT ?o WHERE { GRAPH ?g { ?s ?p ?o } }"
GRAPH = "urn:graph"
PASSWORD = "p4ss-of-tests"
PAIR = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
LOGIN = f"<html><body>Please log in, not as {PASSWORD}</body></html>\n"
ROWS = '{"head": {"vars": ["o"]}, "results": {"bindings": []}}'


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    """Set credentials that no message may show."""
    monkeypatch.setenv("KGBENCH_STORE_USER", "ada")
    monkeypatch.setenv("KGBENCH_STORE_PASSWORD", PASSWORD)
    gc.freeze()  # what exists already need not be searched, which would take a second
    yield
    gc.collect()  # here, because rows may be freed only by the thread that created them


@pytest.mark.parametrize("form", ["json", "tsv"])
@pytest.mark.parametrize(
    ("kind", "content"),
    [("text/html", LOGIN), (JSON, LOGIN), (JSON, "[1]"), (JSON, '{"head": {}}'), (None, "")],
)
def test_what_is_no_answer_is_refused(form, kind, content):
    """A login page, other JSON or an empty body is a quoted error, not an empty result."""
    with client([said(200, content, kind)], form) as (made, _):
        for asking in (SELECT, "ASK {}"):
            with pytest.raises(StoreError, match=r"no readable answer|is no boolean") as error:
                list(made.query(asking))
            assert PASSWORD not in str(error.value)
            assert content[:9] in str(error.value)


def test_a_graph_that_cannot_be_read_is_refused():
    """A login page instead of a graph is an error, for CONSTRUCT and for whole graphs."""
    with client([said(200, LOGIN, "text/html")]) as (made, _):
        for asking in (
            lambda: made.query("CONSTRUCT WHERE { ?s ?p ?o }"),
            lambda: made.triples("g"),
        ):
            with pytest.raises(StoreError, match="no readable answer") as error:
                list(asking())
            assert PASSWORD not in str(error.value)


XML = "application/sparql-results+xml"
HEAD = '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="o"/></head>'
ROW = "<results><result><binding name='o'><literal>&b;</literal></binding></result></results>"
TRUE = '{"head": {}, "boolean": true}'
OF_ANOTHER = [
    (JSON, TRUE),
    (XML, f"{HEAD}<boolean>true</boolean></sparql>"),
    (XML, f'<!DOCTYPE s [<!ENTITY b SYSTEM "file:///etc/hostname">]>{HEAD}{ROW}</sparql>'),
    (XML, f'<!DOCTYPE s [<!ENTITY b "lol">]>{HEAD}{ROW}</sparql>'),
    ("text/tab-separated-values", "true"),
    ("text/tab-separated-values", '?o\n"a"\t"b"\n'),
    (JSON, '{"head": {"vars": ["o"]}, "results": {"bindings": [{"x": {}}]}}'),
    (JSON, '{"head": {"vars": ["o"]}, "results": {"bindings": [{"o": {"type": "uri"'),
    (JSON, '{"head": {"vars": "o"}, "results": {"bindings": 1, "x": "XMLSchema#double"}}'),
    (JSON, '{"results": "XMLSchema#double", "a": ' + "[" * 100_000),
    (f"{JSON}; charset=iso-8859-1", ROWS.replace("[]", '[{"o": "\xe9"}]').encode("latin-1")),
]


@pytest.mark.parametrize("form", ["json", "tsv"])
@pytest.mark.parametrize(("kind", "content"), OF_ANOTHER)
def test_rows_of_another_shape_are_refused(form, kind, content):
    """A truth value, XML entities, other columns or half a row in a SELECT response is an error."""
    with client([said(200, content, kind)], form) as (made, _):
        with pytest.raises(StoreError, match="no readable answer"):
            list(made.query(SELECT))
        with pytest.raises(StoreError, match="no readable answer"):
            made.query(SELECT).serialize(format=ox.QueryResultsFormat.CSV)


@pytest.mark.parametrize("rows", ["[{}, {}]", '[{"o": {"type": "uri", "value": "urn:a"}}]'])
def test_rows_in_answer_to_ask_are_refused(rows):
    """A response to ASK with several cells, or with a cell that is not a literal, is an error."""
    document = f'{{"head": {{"vars": ["o"]}}, "results": {{"bindings": {rows}}}}}'
    with (
        client([said(200, document, JSON)]) as (made, _),
        pytest.raises(StoreError, match="is no boolean"),
    ):
        made.query("ASK {}")


@pytest.mark.parametrize("word", ["<!DOCTYPE", "<!doctype"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("form", ["CONSTRUCT WHERE { ?s ?p ?o }", "DESCRIBE <urn:a>", "GET"])
def test_entities_of_a_graph_are_never_unfolded(form, inside, word):
    """RDF/XML that declares entities is refused before any entity is expanded."""
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    declared = f'{word} r [<!ENTITY e0 "lol">{entities}]>'
    begin = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    node = '<r:Description r:about="urn:a"><r:value>&e11;</r:value></r:Description>'
    content = (begin + declared if inside else declared + begin) + node + "</r:RDF>"
    with (
        client([said(200, content, "application/rdf+xml")]) as (made, _),
        pytest.raises(StoreError, match=r"no readable answer.*declares entities"),
    ):
        list(made.triples(GRAPH) if form == "GET" else made.query(form))


def test_plain_rdf_xml_is_read():
    """RDF/XML without entities is read as a graph, its CDATA included."""
    content = (
        '<?xml version="1.0"?><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<r:Description r:about="urn:a"><r:value><![CDATA[<!DOCTYPE html>]]></r:value>'
        "</r:Description></r:RDF>"
    )
    with client([said(200, content, "application/rdf+xml")]) as (made, _):
        (triple,) = made.triples(GRAPH)

    assert triple.object == ox.Literal("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "command",
    [
        *(("status",), ("dialogues",), ("analyze", "leaderboard")),
        *(("store", "check"), ("run", "c.yaml")),
    ],
)
@pytest.mark.parametrize("cell", [None, "text", "bnode"])
def test_commands_end_with_words_for_rows_that_do_not_fit(command, cell, tmp_path, monkeypatch):
    """A command fails with one line if values of a row are missing or of another type."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(
        'name: c\ntasks: [RdfFriendCount-turtle-1]\nmodels: ["baseline:oracle"]\n'
    )

    def answer(asked):
        if b"query=" not in asked.body:
            return said(204)
        text = parse_qs(asked.body.decode())["query"][0]
        if text.lstrip().startswith("ASK") or "ASK {" in text:
            return said(200, TRUE, JSON)
        names = list(dict.fromkeys(re.findall(r"\?(\w+)", text)))
        value = {"type": "bnode" if cell == "bnode" else "literal", "value": "no"}
        row = {} if cell is None else dict.fromkeys(names, value)
        if "layoutVersion" in text and cell == "text":
            version = {"type": "literal", "value": str(registry.current_layout())}
            row = dict.fromkeys(names, version)
        document = {"head": {"vars": names}, "results": {"bindings": [row, row]}}
        return said(200, json.dumps(document), JSON)

    with Scripted(answer) as server:
        monkeypatch.setattr(sys, "argv", ["kgbench", *command, "--store", server.url])
        monkeypatch.setattr(
            back_ends,
            "find",
            lambda place, find=back_ends.find: replace(find(place), result_format="json"),
        )
        with pytest.raises(SystemExit) as ended:
            main()

    assert ended.value.code == 1


def test_errors_of_others_stay_as_they_are():
    """An exception of the caller is not reported as a fault of an open store."""
    with InProcess() as server, open_store(server.url):
        pass
    with (
        InProcess() as server,
        pytest.raises(KeyError, match="mine"),
        open_store(server.url),
    ):
        raise KeyError("mine")


def test_what_the_server_cut_is_refused():
    """A graph or a result that the server declares as truncated is refused."""
    graph = said(206, "<urn:a> <urn:b> <urn:c> .\n", "application/n-triples")
    with client([graph, said(206, ROWS, JSON)]) as (made, _):
        for asking in (lambda: list(made.triples(GRAPH)), lambda: made.query(SELECT)):
            with pytest.raises(StoreError, match=r"cut its answer off \(status 206\)"):
                asking()


@pytest.mark.parametrize("there", [False, True])
def test_a_graph_that_is_not_found(there):
    """404 for a graph means that it is empty; if the server has the graph, it is an error."""
    held = json.dumps({"head": {}, "boolean": there})

    def answer(asked):
        return said(404) if asked.path.startswith("/store") else said(200, held, JSON)

    with client(answer) as (made, _):
        if not there:
            assert list(made.triples(GRAPH)) == []
            return
        with pytest.raises(StoreError, match="does not have the graph urn:graph"):
            list(made.triples(GRAPH))


# --- refusals -------------------------------------------------------------------------------


def test_a_deadlock_is_tried_again():
    """A request that fails because of a deadlock is retried until it succeeds."""
    answers = [said(500, "Transaction deadlocked")] * 2 + [said(204)]
    with client(answers) as (made, server):
        made.update("INSERT DATA {}")

    assert [one.body for one in server.seen] == [b"INSERT DATA {}"] * 3


def test_a_deadlock_that_does_not_pass_is_said(monkeypatch):
    """A deadlock that persists for 20 attempts is an error with the server's message."""
    monkeypatch.setattr("kgbench.store.client.time", SimpleNamespace(sleep=lambda _: None))
    with (
        client([said(500, "Transaction  deadlocked\n again")]) as (made, server),
        pytest.raises(StoreError, match=r"status 500\): Transaction deadlocked again$"),
    ):
        made.update("INSERT DATA {}")

    assert len(server.seen) == 20


def test_a_failure_of_the_server_is_not_repeated():
    """Any other failure of the server is reported without a retry."""
    with (
        client([said(500, "disk full")]) as (made, server),
        pytest.raises(StoreError, match=r"status 500\): disk full"),
    ):
        made.update("INSERT DATA {}")

    assert len(server.seen) == 1


@pytest.mark.parametrize("read", [True, False])
def test_a_request_that_is_too_large(read):
    """A request that is too large (413) is sent once, and the error names the setting."""
    refused = [said(413, Connection="close")]
    with client(refused, read=read) as (made, server):
        with pytest.raises(StoreError, match=r"too large.*limit=BYTES"):
            made.load(GRAPH, [f'<urn:a> <urn:b> "{"x" * 20_000_000}" .'])

        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [400, 404, 500])
def test_refusals_show_no_secret(status):
    """A quoted response of the server has its secrets replaced."""
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
    """A redirect is not followed; the message has neither the token nor a password."""
    monkeypatch.delenv("KGBENCH_STORE_USER")
    monkeypatch.delenv("KGBENCH_STORE_PASSWORD")
    monkeypatch.setenv("KGBENCH_STORE_TOKEN", "t0ken-of-tests")
    moved = said(302, location="https://ada:s3cret@login.example/?next=x&token=t0ken-of-tests")
    with (
        client([moved]) as (made, _),
        pytest.raises(StoreError, match=r"login\.example.*redirects are not followed") as error,
    ):
        made.update("INSERT DATA {}")

    assert "t0ken" not in str(error.value)
    assert "s3cret" not in str(error.value)


def test_a_query_of_no_known_form_is_not_sent():
    """A text that is not a query is refused before it is sent."""
    with client([said(200, ROWS, JSON)]) as (made, server):
        with pytest.raises(QueryError, match="begins with 'INSERT'"):
            made.query("INSERT DATA {}")

        assert server.seen == []
