# SPDX-License-Identifier: Apache-2.0
"""Every IRI below the base is dereferenceable in each format, also behind a proxy."""

from __future__ import annotations

import json
import re
import shutil

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.pages import things
from kgbench.pages.rendering import local
from kgbench.pages.things import MemoryView
from kgbench.rdf import queries
from kgbench.vocab import BASE, KGB, PREFIXES, RDFS
from tests.serve import stores
from tests.serve.conftest import asking

DIALOGUE = "/run/1/oracle/Spell-10/0-d1d1d1d1"


def paths():
    """Return the paths of all IRIs below the base in the hand-written graphs."""
    from tests.support.analysis_store import GRAPHS

    found = set()
    for quad in ox.parse(path=str(GRAPHS / "result.trig"), format=ox.RdfFormat.TRIG, base_iri=BASE):
        for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
            if isinstance(term, ox.NamedNode) and term.value.startswith(BASE):
                found.add("/" + term.value.removeprefix(BASE).partition("#")[0])
    return sorted(found)


def test_every_iri_is_dereferenceable(client):
    """Each IRI of the store returns Turtle and a page; terms return their vocabulary."""
    for path in paths():
        for accept in ("text/turtle", "text/html"):
            response = client.get(path, headers={"Accept": accept})
            assert 200 == response.status_code, (path, accept, response.text[:300])
            assert accept == response.headers["content-type"].partition(";")[0]


def test_vocabulary_terms_are_described(client):
    """The vocabulary's page has a fragment for each term, and its RDF the definitions."""
    assert 'id="Dialogue"' in client.get("/ns", headers={"Accept": "text/html"}).text
    assert "Dialogue" in client.get("/ns.ttl").text


def test_whole_vocabulary_is_described():
    """The description of the vocabulary has every statement about each term that it defines."""
    path = resources.path("ontology", "kgbench.ttl")
    database = ox.Store()
    database.bulk_load(path=str(path), format=ox.RdfFormat.TURTLE)
    vocabulary = ox.NamedNode(KGB)
    terms = {
        quad.subject
        for quad in database.quads_for_pattern(None, ox.NamedNode(RDFS.isDefinedBy), vocabulary)
    }
    assert ox.NamedNode(KGB.Dialogue) in terms
    expected = {quad for quad in database if quad.subject in {vocabulary, *terms}}
    assert set(things.describe(MemoryView(database, BASE), KGB).quads) == expected


@pytest.mark.parametrize(
    ("suffix", "media"),
    [
        *(("ttl", "text/turtle"), ("jsonld", "application/ld+json")),
        *(("nt", "application/n-triples"), ("html", "text/html")),
    ],
)
def test_suffix_chooses_the_format(client, suffix, media):
    """A suffix overrides the Accept header; an unknown suffix gives 404.

    The RDF has statements about the resource and references to it.
    """
    response = client.get(f"{DIALOGUE}.{suffix}", headers={"Accept": "image/png"})
    assert 200 == response.status_code
    assert media == response.headers["content-type"].partition(";")[0]
    assert 404 == client.get(f"{DIALOGUE}.exe").status_code
    if suffix == "nt":
        assert f"<{BASE}{DIALOGUE[1:]}> <{BASE}ns#iteration>" in response.text
        assert f"<http://purl.org/dc/terms/isPartOf> <{BASE}{DIALOGUE[1:]}>" in response.text


def test_response_names_its_alternatives(client):
    """Content-Location and Link name the document and its alternatives; ETag gives 304."""
    response = client.get(DIALOGUE, headers={"Accept": "text/turtle"})
    assert response.headers["content-location"].endswith(f"{DIALOGUE}.ttl")
    assert 'rel="alternate"; type="application/ld+json"' in response.headers["link"]
    tag = response.headers["etag"]
    again = client.get(DIALOGUE, headers={"Accept": "text/turtle", "If-None-Match": tag})
    assert 304 == again.status_code


@pytest.mark.parametrize(
    "path",
    [
        f"{DIALOGUE}.html",
        f"{DIALOGUE}.ttl",
        "/sparql?query=ASK+%7B%7D",
        "/.well-known/void",
        "/store?default",
    ],
)
@pytest.mark.parametrize(
    "changed", [{}, {"public": "https://example.org/kg/"}, {"union": False}, {"redirect": True}]
)
def test_entity_tags_name_store_and_settings(client, result_store, tmp_path, path, changed):
    """A tag of another store, or of a server with other settings, is no match."""
    tag = client.get(path).headers["etag"]
    location = result_store if changed else tmp_path / "copy"
    if not changed:
        shutil.copytree(result_store, location)
    with asking(location, **changed) as other:
        assert other.get(path, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [("void", "void:classPartition"), ("sparql-examples", "sh:SPARQLSelectExecutable")],
)
def test_browsers_see_descriptions_of_the_store(client, path, words):
    """Statistics and example queries have a page, whose own tag says that it is known."""
    accept = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    page = client.get(f"/.well-known/{path}", headers=accept)
    assert page.headers["content-type"].startswith("text/html")
    assert words in re.sub("<[^>]*>", "", page.text)
    again = {**accept, "If-None-Match": page.headers["etag"]}
    assert client.get(f"/.well-known/{path}", headers=again).status_code == 304


def test_pages_embed_json_ld(client):
    """A page contains its description as valid JSON-LD."""
    page = client.get(DIALOGUE, headers={"Accept": "text/html"}).text
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    assert any(node["@id"].endswith(DIALOGUE) for node in json.loads(found[1]))


def test_redirect_where_configured(result_store):
    """With redirects configured, a resource redirects by 303 to the requested format."""
    with asking(result_store, redirect=True) as client:
        response = client.get(DIALOGUE, headers={"Accept": "text/turtle"})
    assert 303 == response.status_code
    assert response.headers["location"].endswith(f"{DIALOGUE}.ttl")


def test_links_behind_a_proxy(result_store):
    """Below a sub-path, every local link has it as prefix, and IRIs stay unchanged."""
    with asking(result_store, public="https://example.org/bench") as client:
        page = client.get("/", headers={"Accept": "text/html"}).text
        response = client.get(DIALOGUE, headers={"Accept": "text/turtle"})
    links = re.findall(r'(?:href|action|src)="(/[^"]*)"', page)
    assert links
    assert all(link.startswith("/bench/") for link in links)
    assert response.headers["content-location"].startswith("https://example.org/bench/run/")
    assert BASE in response.text


@pytest.mark.parametrize(
    "iri", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "urn:x:y"]
)
def test_only_web_iris_become_links(iri):
    """IRIs that a browser would run or open locally are never links."""
    assert local(iri, BASE, "/") is None


def test_unknown_things_are_not_here(client):
    """An unknown path is 404, and markup in the path is escaped."""
    response = client.get("/nothing/<script>", headers={"Accept": "text/html"})
    assert 404 == response.status_code
    assert "<script>" not in response.text
    assert 414 == client.get("/" + "x" * 3_000).status_code


def test_questions_are_published_with_their_texts(client):
    """Endpoint and .well-known have each query as sh:select, with comment and target."""
    found = ox.Store()
    response = client.get("/.well-known/sparql-examples", headers={"Accept": "text/turtle"})
    assert response.headers["content-type"].startswith("text/turtle")
    found.load(response.content, ox.RdfFormat.TURTLE)
    asked = (
        "SELECT ?text ?comment ?target WHERE { GRAPH ?g { ?q a sh:SPARQLSelectExecutable ; "
        "sh:select ?text ; rdfs:comment ?comment } OPTIONAL { GRAPH ?g { ?q schema:target ?target "
        "} } } ORDER BY ?text"
    )
    prefixes = "".join(f"PREFIX {name}: <{space}> " for name, space in PREFIXES.items())
    alone = prefixes + re.sub(r"GRAPH \?g \{(.*?)\}", r"\1", asked)
    there = list(found.query(alone))
    texts = [queries.load(name).text for name in queries.names()]
    assert [row["text"].value for row in there] == sorted(texts)
    assert {row["target"].value for row in there} == {f"{client.base_url}/sparql"}
    headers = {"Accept": "application/sparql-results+json"}
    answer = client.get("/sparql", params={"query": prefixes + asked}, headers=headers)
    rows = answer.json()["results"]["bindings"]
    assert [row["text"]["value"] for row in rows] == sorted(texts)
    assert all(row["comment"]["xml:lang"] == "en" for row in rows)
    described = client.get("/sparql", headers={"Accept": "text/turtle"}).text
    assert "/.well-known/sparql-examples" in described
    assert 406 == client.get("/.well-known/sparql-examples", headers={"Accept": "a/b"}).status_code
    again = {"If-None-Match": response.headers["etag"], "Accept": "text/turtle"}
    assert 304 == client.get("/.well-known/sparql-examples", headers=again).status_code


def test_pages_have_the_places_that_publications_name(client):
    """The page of a dialogue has for each part the fragment of its published IRI."""
    text = client.get(DIALOGUE, headers={"Accept": "text/html"}).text
    for place in ("0-prompt", "0-call-0", "0-answer", "0-evaluation-1", "0-evaluation-2"):
        assert f'id="{place}"' in text, place


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Yield a client of a server whose store has too many statements about two resources."""
    node, part = f"<{BASE}thing/big>", f"<{BASE}ns#part>"
    lines = [f'{node} <{BASE}ns#reason> "{n}" .' for n in range(2_100)]
    lines += [f"<{BASE}thing/{n}> {part} {node} ." for n in range(250)]
    chain = " ".join([f"{part} ["] * 6)
    lines += [f'<{BASE}thing/deep> {chain} {part} "end" {"]" * 6} .']
    extra = ox.parse(f"<{BASE}g> {{ {' '.join(lines)} }}", format=ox.RdfFormat.TRIG)
    folder = stores.make(tmp_path_factory.mktemp("big") / "store", extra=extra)
    with asking(folder, public="https://example.org/kg/") as found:
        yield found


OF_BIG = "2,000 of 2,100 statements about the resource; only 200 of the statements that refer to it"


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("big", OF_BIG),
        ("deep", "not all statements about its blank nodes"),
        ("1", None),
    ],
)
def test_what_a_description_leaves_out_is_said(big, name, limits):
    """Page and RDF of a resource with too many statements say how many, and where all are."""
    page = big.get(f"/thing/{name}.html").text
    graph = ox.Store()
    graph.load(big.get(f"/thing/{name}.nt").content, ox.RdfFormat.N_TRIPLES)
    document = ox.NamedNode(f"https://example.org/kg/thing/{name}.nt")
    said = {quad.object.value for quad in graph.quads_for_pattern(document, None, None)}

    if limits is None:
        assert "All statements about this resource" in page
        assert said == set()
    else:
        assert f"({limits}); query the SPARQL endpoint for all." in page
        assert "All statements about this resource" not in page
        assert said == {
            f"This document is not complete: it has {limits}.",
            "https://example.org/kg/sparql",
        }
