# SPDX-License-Identifier: Apache-2.0
"""Tied rows, and the features of queries that engines may treat differently."""

from __future__ import annotations

import pytest

from kgbench.execution.engines import engine
from kgbench.model import Case, QueryResult
from kgbench.policies.ties import parse_ranking, reference
from kgbench.reevaluation.causes import traits
from kgbench.tasks import catalogue

GRAPH = "".join(
    f"<urn:{name}> <urn:size> {size} ; <urn:kind> <urn:k{size % 2}> .\n"
    for name, size in (("a", 1), ("b", 2), ("c", 2), ("d", 3))
)


def groups(query: str, *, ordered: bool = False) -> list[tuple[list[str], int]] | None:
    """Return the groups of a query: the names in the first column, and the number of places."""
    found = reference(query, GRAPH, {}, engine("oxigraph"), ordered).groups
    if found is None:
        return None
    cells = [([str(cell) for row in rows for cell in row], places) for rows, places in found]
    return [(sorted(c[5:-1] for c in of if c[:5] == "<urn:"), places) for of, places in cells]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?x { ?x <urn:size> ?n } ORDER BY ?n LIMIT 2", [(["a"], 1), (["b", "c"], 1)]),
        (
            "SELECT ?x ?n { ?x <urn:size> ?n } ORDER BY DESC(?n) OFFSET 1 LIMIT 1",
            [(["b", "c"], 1)],
        ),
        ("SELECT ?x { ?x <urn:size> ?n } LIMIT 3", [(["a", "b", "c", "d"], 3)]),
        (
            (
                "SELECT ?k (COUNT(?x) AS ?n) { ?x <urn:kind> ?k } GROUP BY ?k "
                "ORDER BY DESC(?n) # LIMIT 9\nLIMIT 1"
            ),
            [(["k0", "k1"], 1)],
        ),
        (
            "SELECT ?k { ?x <urn:kind> ?k } GROUP BY ?k ORDER BY DESC(COUNT(?x)) LIMIT 1",
            [(["k0", "k1"], 1)],
        ),
        ("SELECT * { ?x <urn:size> ?n } ORDER BY ?n LIMIT 1", [(["a"], 1)]),
        ("SELECT * { ?x <urn:size> ?n } ORDER BY (-?n) LIMIT 1", None),
        ("SELECT ?x { ?x <urn:size> ?n } ORDER BY ?n", None),
        ("ASK { ?x <urn:size> ?n }", None),
        ("SELECT ?x {", None),
    ],
)
def test_groups_of_a_limit(query: str, expected: object) -> None:
    """A LIMIT or OFFSET leaves each group of equal keys the places that it covers.

    Without one there are groups only if the question demands an order.
    """
    assert groups(query) == expected
    whole = "SELECT DISTINCT ?x { ?x <urn:size> ?n ; ?p ?o } ORDER BY ?n"
    assert groups(whole, ordered=True) == [(["a"], 1), (["b", "c"], 2), (["d"], 1)]


@pytest.mark.parametrize(
    "task_class", ["Text2SparqlQuestions", "Text2SparqlTools", "Text2SparqlWorld", "Rdf12World"]
)
@pytest.mark.parametrize(("tied", "f1"), [("?x", 1), ("DESC(?x)", 1), ("?n LIMIT 1 #", 2 / 3)])
def test_any_tied_row_is_right_for_task_classes(task_class: str, tied: str, f1: float) -> None:
    """While a run judges, an answer may choose among the rows that tie at a LIMIT, too."""
    query = "SELECT ?x { ?x <urn:size> ?n } ORDER BY ?n LIMIT 2"
    data = {"graph": GRAPH, "graphName": "own", "refSparql": query, "ordered": True, "tools": []}
    case = Case("urn:case", "suite", task_class, {"skill": "query"}, data, "")
    answer = f"```sparql\n{query.replace('LIMIT', f'{tied} LIMIT')}\n```"

    verdict = catalogue.module(task_class).judge(case, (answer,), engine("oxigraph"))

    assert verdict.scores["f1"] == pytest.approx(f1)
    assert "tieAtLimit" not in verdict.infos


@pytest.mark.parametrize("query", ["", "ORDER BY ?x LIMIT 1", "SELECT ?x", "ASK {} LIMIT 1", "}{"])
def test_what_is_no_select_has_no_ranking(query: str) -> None:
    """A text that is not a complete SELECT query has no ranking."""
    assert parse_ranking(query) is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT ?x { ?x ?p ?o } LIMIT 1", ["limit without order"]),
        ("SELECT ?x { ?x <urn:p>*/<urn:q> ?o }", ["property path"]),
        ("SELECT ?x { ?x ?p ?o FILTER(?x < ?o) }", ["order of terms"]),
        ("SELECT (COUNT(*) AS ?n) { ?x ?p ?o }", ["count of all"]),
        ("SELECT ?x { ?x <urn:p> ?o } ORDER BY ?o LIMIT 1", []),
    ],
)
def test_traits_of_queries(query: str, names: list[str]) -> None:
    """Exactly the traits of a query are found."""
    assert [trait.partition(":")[0] for trait in traits(query)] == names


@pytest.mark.parametrize("name", ["oxigraph", "rdflib"])
def test_results_of_each_kind(name: str) -> None:
    """Both engines answer ASK with a truth value and SELECT with rows, and refuse other forms."""
    run = engine(name)
    assert run.results("ASK { <urn:a> ?p 1 }", GRAPH, {}) == QueryResult(boolean=True)
    assert len(run.results("SELECT ?x { ?x <urn:size> 2 }", GRAPH, {}).rows) == 2
    assert run.select("ASK {}", GRAPH, {}).refused
    for query in (
        "CONSTRUCT WHERE { ?s ?p ?o }",
        "DELETE WHERE { ?s ?p ?o }",
        "ASK { SERVICE <urn:x> {} }",
    ):
        assert run.results(query, GRAPH, {}).refused
    assert run.results("ASK {", GRAPH, {}).error is not None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[("'7'", "7"), ("'-07'", "-7"), ("' +7\\n'", "7"), ("7.9", "7"), ("-7.9", "-7")],
        *[("true", "1"), ("' false '^^xsd:boolean", "0"), ("'0'^^xsd:boolean", "0")],
        *[("1e3", "1000"), ("'7'^^xsd:short", "7"), ("' 7.9 '^^xsd:float", "7")],
        *[("'INF'^^xsd:double", None), ("'x'^^xsd:integer", None), ("'x'^^xsd:boolean", None)],
        *[("'x'", None), ("'5.7'", None), ("'1e3'", None), ("'1_000'", None), ("'\u0663'", None)],
        *[("'true'", None), ("'7'@en", None), ("'2024'^^xsd:gYear", None), ("<urn:a>", None)],
        *[(f"'{n}'^^xsd:double", None) for n in ("1e999999999", "1e99999999999999999999")],
        *[("'\u00a07'", None), ("'1_0'^^xsd:decimal", None), ("'\u0663'^^xsd:double", None)],
    ],
)
def test_casts_to_derived_integers(value: str, expected: str | None) -> None:
    """A cast to a derived integer truncates like one to xsd:integer; other casts are errors."""
    query = f"SELECT (xsd:int({value}) AS ?n) {{}}"
    ((cell,),) = engine("oxigraph").results(query, GRAPH, {}).rows
    xsd = "http://www.w3.org/2001/XMLSchema#integer"
    assert cell == (None if expected is None else f'"{expected}"^^<{xsd}>')
