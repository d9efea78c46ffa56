# SPDX-License-Identifier: Apache-2.0
"""Large answers: HEAD requests, the editor, descriptions of many graphs, and statistics."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pyoxigraph as ox
import pytest

from kgbench.serve.endpoint import Statistics, service_description
from kgbench.serve.pool import Answer
from kgbench.vocab import BASE, SD

LONG = "a" * 9_000
ROWS = (
    "SELECT ?s ('{text}' AS ?x) {{ GRAPH ?g {{ ?s ?p ?o }} GRAPH ?h {{ ?a ?b ?c }} }} LIMIT {rows}"
)
TRIPLES = "CONSTRUCT {{ ?s <urn:p> '{text}', ?o }} {{ GRAPH ?g {{ ?s ?p ?o }} }} LIMIT {rows}"


def test_head_of_a_large_answer_keeps_no_place(client):
    """HEAD has headers without a length, and releases the only worker."""
    query = {"query": ROWS.format(text=LONG, rows=100)}
    for _ in range(2):
        head = client.head("/sparql", params=query, headers={"Accept": "text/csv"})
        assert head.status_code == 200
        assert "content-length" not in head.headers
        assert head.headers["content-type"].startswith("text/csv")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (ROWS.format(text=LONG, rows=300), "300 rows, the first 200 shown"),
        (ROWS.format(text=LONG, rows=600), "the answer is too large to show: download it"),
        (TRIPLES.format(text=LONG, rows=100), "urn:p"),
    ],
)
def test_editor_shows_what_a_page_can_hold(client, query, words):
    """The editor shows the first rows of a large answer, and offers a huge one for download."""
    for _ in range(2):
        response = client.get("/editor", params={"query": query, "run": "1"})
        assert response.status_code == 200
        assert words in response.text
        assert len(response.text) < 4_000_000


def test_known_prefixes_need_no_declaration(client):
    """The endpoint knows the prefixes that `kgbench query` knows."""
    query = "SELECT (kgb:Run AS ?x) (foaf:name AS ?y) {}"
    response = client.get("/sparql", params={"query": query, "format": "csv"})

    assert response.text.split() == [
        "x,y",
        "https://w3id.org/kgbench/ns#Run,http://xmlns.com/foaf/0.1/name",
    ]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        *((path, 200, "<form") for path in ("/search", "/search?q=%20")),
        *(
            (f"{path}?suite=nonesuch", 404, "there is no such suite here")
            for path in ("/leaderboard", "/compare")
        ),
    ],
)
def test_pages_without_content_say_so(client, path, status, words):
    """A search without words shows only the form, and a page of an unknown suite a message."""
    response = client.get(path, headers={"Accept": "text/html"})
    assert response.status_code == status
    assert words in response.text
    assert "<mark>" not in response.text


def test_service_with_countless_graphs_names_a_thousand():
    """The description of a store with many graphs names at most a thousand."""
    database = ox.Store()
    for number in range(1_001):
        database.add_graph(ox.NamedNode(f"{BASE}graph/{number}"))
    service = SimpleNamespace(
        settings=SimpleNamespace(union=True, token=None), view=SimpleNamespace(database=database)
    )
    quads = service_description(service, "http://127.0.0.1/")
    assert sum(quad.predicate.value == SD.namedGraph for quad in quads) == 1_000


def test_statistics_are_counted_once_per_snapshot():
    """Statistics are counted once per snapshot, also for simultaneous requests."""
    counted = []

    async def run(job, resource):
        counted.append(job)
        return Answer(b"<urn:s> <urn:p> <urn:o> .\n")

    service = SimpleNamespace(
        pool=SimpleNamespace(run=run),
        job=lambda view, _form, **_: view.name,
        settings=SimpleNamespace(base=BASE),
    )

    async def work():
        statistics = Statistics(service)
        one, two = SimpleNamespace(name="one"), SimpleNamespace(name="two")
        root = "http://127.0.0.1/"
        found = await asyncio.gather(statistics.void(one, root), statistics.void(one, root))
        return [*found, await statistics.void(one, root), await statistics.void(two, root)]

    found = asyncio.run(work())
    assert all(ox.NamedNode("urn:s") in {quad.subject for quad in quads} for quads in found)
    assert counted == ["one", "two"]
