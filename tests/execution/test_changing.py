# SPDX-License-Identifier: Apache-2.0
"""Changes made by updates and CONSTRUCT queries in both engines, and texts that are refused."""

from __future__ import annotations

import pytest

from kgbench.execution import graph_changes
from kgbench.execution.engines import engine
from kgbench.policies.blank_nodes import compare_rows

GRAPH = '@prefix e: <http://e/> . e:a e:b 1 ; e:c "x"@en . e:d e:b 2 .'
PREFIXES = {"e": "http://e/"}
ONE, TWO = (f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>' for n in (1, 2))
A, B, C, D, G = (f"<http://e/{name}>" for name in "abcdg")
NOWHERE = "<http://127.0.0.1:9/>"


@pytest.fixture(params=["oxigraph", "rdflib"])
def executor(request):
    """Return the executor of each engine in turn."""
    return engine(request.param)


WRITTEN = {
    "DELETE { ?s e:b ?o } INSERT { ?s e:c ?o } WHERE { ?s e:b ?o FILTER(?o > 1) }": {
        ("-", D, B, TWO, None),
        ("+", D, C, TWO, None),
    },
    "DELETE { ?s e:b ?o } INSERT { ?s e:b ?o } WHERE { ?s e:b ?o }": set(),
    "INSERT DATA { e:a e:b 1 }": set(),
    "INSERT { GRAPH e:g { ?s e:b _:n } } WHERE { ?s e:c ?o }": {("+", A, B, "_:n", G)},
    "CLEAR ALL ; INSERT DATA { e:d e:b 2 }": {
        ("-", A, B, ONE, None),
        ("-", A, C, '"x"@en', None),
    },
    "CONSTRUCT { ?s e:d [ e:c ?o ] } WHERE { ?s e:b ?o FILTER(?o > 1) }": {
        ("+", D, D, "_:n", None),
        ("+", "_:n", C, TWO, None),
    },
    "CONSTRUCT WHERE { ?s e:c ?o }": {("+", A, C, '"x"@en', None)},
}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written(executor, text):
    """Each removed or added triple is listed once with its graph; the graph itself is unchanged."""
    signs = {"-": graph_changes.REMOVED, "+": graph_changes.ADDED}
    expected = {(signs[sign], *row) for sign, *row in WRITTEN[text]}
    for _ in range(2):
        found = executor.changes(text, GRAPH, PREFIXES)
        assert found.error is None
        assert len(found.rows) == len(expected)
        if expected:
            assert compare_rows(expected, found.rows).agreement.f1 == 1
    assert len(executor.select("SELECT * { ?s ?p ?o }", GRAPH, {}).rows) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("SELECT * {}", "ASK {}", "DESCRIBE e:a", "", "PREFIX e: <http://e/>"),
        f"LOAD {NOWHERE}",
        f"CLEAR ALL ; LOAD SILENT {NOWHERE} INTO GRAPH e:g",
        f"INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE {NOWHERE} {{ ?s ?p ?o }} }}",
        f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ SERVICE SILENT {NOWHERE} {{ ?s ?p ?o }} }}",
    ],
)
def test_what_is_never_executed(executor, text):
    """Other forms of query, LOAD and SERVICE are refused with a reason."""
    found = executor.changes(text, GRAPH, PREFIXES)

    assert found.refused
    assert found.error
    assert not found.rows


def test_errors_are_told(executor):
    """A syntax error or an undeclared prefix yields a message and is not a refusal."""
    for text in ("INSERT DATA { e:a", "INSERT { ?s x:y ?o } WHERE { ?s ?p ?o }"):
        found = executor.changes(text, GRAPH, PREFIXES)
        assert found.error
        assert not found.refused
    assert executor.check("INSERT DATA { e:a", PREFIXES, update=True)
    assert executor.check("SELECT * {}", PREFIXES, update=True)
    assert executor.check("INSERT DATA { e:a e:b 1 }", PREFIXES)
    assert executor.check("INSERT DATA { <urn:a> <urn:b> 1 }", PREFIXES, update=True) is None


def test_the_default_engine_says_what_is_wrong_with_an_update():
    """Errors name line and column or the undeclared prefix; SERVICE is not a syntax error."""
    executor = engine("oxigraph")
    asks = f"INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE {NOWHERE} {{ ?s ?p ?o }} }}"

    assert "line 2, column 5" in executor.check("INSERT DATA {\n e:a", PREFIXES, update=True)
    assert executor.check("DELETE WHERE { ?s x:y ?o }", PREFIXES, update=True) == (
        "the prefix 'x:' is not declared"
    )
    assert executor.check(asks, PREFIXES, update=True) is None
    assert executor.check(f"LOAD {NOWHERE}", PREFIXES, update=True) == graph_changes.LOADS
    assert executor.check("DROP GRAPH e:nothing", PREFIXES, update=True) is None
    assert executor.changes("DROP GRAPH e:nothing", GRAPH, PREFIXES).error
    assert executor.check("\ud800", {}, update=True)


@pytest.mark.parametrize("head", ["INSERT", "CONSTRUCT"])
def test_too_much_is_no_result(monkeypatch, head):
    """More triples than the limit are an error without rows."""
    monkeypatch.setattr(graph_changes, "MOST", 4)
    values = " ".join(map(str, range(9)))
    found = engine("oxigraph").changes(
        f"{head} {{ e:a e:b ?v }} WHERE {{ VALUES ?v {{ {values} }} }}", GRAPH, PREFIXES
    )

    assert "more than" in found.error
    assert not found.rows
