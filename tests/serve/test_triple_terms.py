# SPDX-License-Identifier: Apache-2.0
"""Triple terms of RDF 1.2 are served in all formats but JSON-LD, which cannot express them."""

from __future__ import annotations

import pytest

from kgbench.vocab import BASE

THING = f"{BASE}example/reified"
GRAPH = f"{BASE}graph/reified"
CONSTRUCT = f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}"
PATHS = [f"/sparql?query={CONSTRUCT}", f"/store?graph={GRAPH}", "/example/reified"]


@pytest.fixture(scope="module")
def reifying(writable):
    """Return a client of a store with a triple term."""
    statement = f"<{THING}> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>>"
    update = f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {statement} }} }}"
    assert writable.post("/sparql", data={"update": update}).status_code == 204
    return writable


@pytest.mark.parametrize("path", PATHS)
def test_json_ld_is_refused(reifying, path):
    """The refusal says which format to request instead."""
    response = reifying.get(path, headers={"Accept": "application/ld+json"})
    assert response.status_code == 406
    assert response.text.endswith(
        "JSON-LD cannot express: request another format, such as text/turtle\n"
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accept", ["text/turtle", "application/n-triples", "application/rdf+xml"])
def test_other_formats_are_served(reifying, path, accept):
    """Turtle, N-Triples and RDF/XML of RDF 1.2 express triple terms."""
    response = reifying.get(path, headers={"Accept": accept})
    assert response.status_code == 200
    assert "urn:p" in response.text or 'xmlns="urn:"' in response.text


def test_the_page_is_shown(reifying):
    """The page of a resource leaves triple terms out of its embedded JSON-LD."""
    response = reifying.get("/example/reified", headers={"Accept": "text/html"})
    assert response.status_code == 200
    assert "urn:p" in response.text
