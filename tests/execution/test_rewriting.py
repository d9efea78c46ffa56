# SPDX-License-Identifier: Apache-2.0
"""BNODE with a text: one node for each solution and text, whatever the text is."""

from __future__ import annotations

import pytest

from kgbench.execution.engines import engine
from kgbench.execution.rewriting import with_fresh_nodes

GRAPH = "PREFIX : <urn:> :a :p 1 . :b :p 2 . :c :p 2 ."
PREFIXES = {"": "urn:"}


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ('SELECT ?n { ?x :p ?o BIND(BNODE("t") AS ?n) }', 3),
        ("SELECT ?n { ?x :p ?o BIND(BNODE(CONCAT(STR(?x), ' : ')) AS ?n) }", 3),
        ('SELECT * { ?x :p ?o BIND(BNODE("a b") AS ?n) . BIND(bnode("a b") AS ?m) }', 3),
        ('SELECT * { ?x :p ?o BIND(BNODE("a") AS ?n) BIND(BNODE("b") AS ?m) }', 6),
        ('SELECT (BNODE("t") AS ?n) (BNODE(?t) AS ?m) { ?x :p ?o BIND("t" AS ?t) }', 3),
        ('SELECT (BNODE("t") AS ?n) { SELECT DISTINCT ?o { ?x :p ?o } }', 2),
        ('SELECT (BNODE("t") AS ?n) (COUNT(*) AS ?c) { ?x :p ?o } GROUP BY ?o', 2),
        ("SELECT (BNODE() AS ?n) (BNODE() AS ?m) { ?x :p ?o }", 6),
        ("SELECT (BNODE(?o) AS ?n) (BNODE(?x) AS ?m) { ?x :p ?o }", 0),
        ('SELECT ?n { ?x :p 1 OPTIONAL { ?y :p 2 BIND(BNODE("t") AS ?n) } }', 2),
        ('SELECT ?n { { ?x :p 1 BIND(BNODE("u") AS ?n) } UNION { BIND(BNODE("u") AS ?n) } }', 2),
    ],
)
@pytest.mark.parametrize("name", ["oxigraph", "rdflib"])
def test_each_solution_has_its_nodes(name, query, nodes):
    """A text gives one node a solution; IRIs and numbers are no texts; no column is added."""
    result = engine(name).results(query, GRAPH, PREFIXES)
    cells = {cell for row in result.rows for cell in row if cell and cell.startswith("_:")}

    assert result.error is None
    assert len(cells) == nodes
    assert not any("kgbench" in name for name in result.variables)


@pytest.mark.parametrize(
    "text",
    [
        "CONSTRUCT { ?n :of ?x ; :value ?o } WHERE { ?x :p ?o BIND(BNODE(STR(?x)) AS ?n) }",
        "INSERT { ?n :of ?x ; :value ?o } WHERE { ?x :p ?o BIND(BNODE(STR(?x)) AS ?n) }",
        "INSERT { ?n :of ?x ; :value ?o } WHERE { ?x :p ?o BIND(BNODE('same') AS ?n) }",
    ],
)
@pytest.mark.parametrize("name", ["oxigraph", "rdflib"])
def test_each_solution_writes_its_nodes(name, text):
    """CONSTRUCT and updates write one node for each solution."""
    result = engine(name).changes(text, GRAPH, PREFIXES)

    assert len(result.rows) == 6
    assert len({row[1] for row in result.rows}) == 3


def test_errors_have_positions_in_the_text_of_the_answer():
    """A rewritten query has the syntax error of its own text."""
    query = 'SELECT ?n { BIND(BNODE("t") AS ?n) } ORDERED BY ?n'
    expected = engine("oxigraph").check(query.replace("BNODE", "UCASE"), {})

    assert engine("oxigraph").check(query, {}) == expected
    assert "column 43: syntax error, 'ED'" in expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (BNODE() AS ?n) { ?bnode ?p 'BNODE(1)' }  # BNODE(2)",
        "SELECT * { ?s :bnode(1) ?o }",
        "SELECT * { BIND(BNODE(1",
    ],
)
def test_other_texts_stay(query):
    """Texts, names, comments and unbalanced brackets are left alone."""
    assert with_fresh_nodes(query) == query
