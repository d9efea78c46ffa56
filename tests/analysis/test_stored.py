# SPDX-License-Identifier: Apache-2.0
"""Analyses are stored as Data Cubes and read back exactly while nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.stored_results import basis, stored_or_computed, stored_table
from kgbench.analysis.storing import store_table
from kgbench.analysis.task_scores import task_scores
from kgbench.scores.selection import select
from kgbench.store import Block
from tests.support.analysis_store import iri, owned, small
from tests.support.validation import assert_conforms

NOW = datetime(2026, 11, 20, tzinfo=UTC)
CUBE = "PREFIX qb: <http://purl.org/linked-data/cube#> PREFIX kgb: <https://w3id.org/kgbench/ns#> "
# Integrity constraints of the Data Cube recommendation (section 11.1) that these cubes could
# violate; each query finds violations.
CONSTRAINTS = {
    "IC-1 one data set per observation": """
        ?o a qb:Observation FILTER NOT EXISTS { ?o qb:dataSet ?d }""",
    "IC-2 one structure per data set": """
        ?d a qb:DataSet FILTER NOT EXISTS { ?d qb:structure ?s }""",
    "IC-3 a measure in every structure": """
        ?s a qb:DataStructureDefinition
        FILTER NOT EXISTS { ?s qb:component/qb:measure ?m }""",
    "IC-4 dimensions have a range": """
        ?p a qb:DimensionProperty
        FILTER NOT EXISTS { ?p <http://www.w3.org/2000/01/rdf-schema#range> ?r }""",
    "IC-11 all dimensions are there": """
        ?o qb:dataSet/qb:structure/qb:component/qb:dimension ?p
        FILTER NOT EXISTS { ?o ?p ?v }""",
    "IC-12 no observation twice": """
        ?a qb:dataSet ?d ; kgb:model ?m ; qb:measureType ?t . ?b qb:dataSet ?d ; kgb:model ?m ;
        qb:measureType ?t . FILTER (?a != ?b)
        FILTER NOT EXISTS { ?a kgb:task ?x . ?b kgb:task ?y FILTER (?x != ?y) }""",
    "IC-15 the measure is there": """
        ?o qb:measureType ?t FILTER NOT EXISTS { ?o ?t ?v }""",
    "IC-16 and no other": """
        ?o qb:measureType ?t ; qb:dataSet/qb:structure/qb:component/qb:measure ?other ; ?other ?v
        FILTER (?other != ?t)""",
    "IC-17 every measure for every cell": """
        ?o qb:dataSet ?d ; kgb:model ?m . ?d qb:structure/qb:component/qb:measure ?t
        FILTER NOT EXISTS { ?p qb:dataSet ?d ; kgb:model ?m ; qb:measureType ?t }""",
}


def refuse():
    """Fail, in place of a computation that must not take place."""
    raise AssertionError("computed again")


@pytest.fixture
def kept():
    """Yield a store with leaderboard and task scores kept, and their selection."""
    with owned("analysis_scores") as store:
        chosen = select(store)
        for name, made in (("leaderboard", leaderboard), ("tasks", task_scores)):
            wanted = basis(store, chosen, ANALYSES[name], {})
            store_table(store, wanted, made(store, chosen), NOW)
        yield store, chosen


def test_second_call_reads_the_table_back(kept):
    """With unchanged stamps nothing is computed, and the table is the same to the last digit."""
    store, chosen = kept
    table, _, started = stored_or_computed(
        store, chosen, replace(ANALYSES["leaderboard"], make=refuse), {}
    )
    assert started is None
    assert table == leaderboard(small(), select(small()))


def test_anything_that_matters_makes_another_key(kept):
    """Other arguments, another pass, or a change of a graph that is read give another analysis."""
    store, chosen = kept
    assert (
        stored_table(store, basis(store, chosen, ANALYSES["leaderboard"], {"set": "swj"})) is None
    )
    assert (
        stored_table(
            store, basis(store, select(store, pass_="latest"), ANALYSES["leaderboard"], {})
        )
        is None
    )
    graph = iri("graph/pass/p1")
    store.write([Block(graph, [f"<{iri('pass/p1')}> <urn:p> <urn:o> ."])])
    assert stored_table(store, basis(store, chosen, ANALYSES["leaderboard"], {})) is None


def test_keeping_an_analysis_does_not_outdate_others(kept):
    """Writing an analysis changes no graph that analyses read."""
    store, chosen = kept
    for name in ("leaderboard", "tasks"):
        assert stored_table(store, basis(store, chosen, ANALYSES[name], {})) is not None


def test_the_same_analysis_is_kept_once(kept):
    """Keeping an analysis twice writes it once, and returns the same IRI."""
    store, chosen = kept
    wanted = basis(store, chosen, ANALYSES["leaderboard"], {})
    first = store_table(store, wanted, leaderboard(store, chosen), NOW)
    assert store_table(store, wanted, leaderboard(store, chosen), NOW) == first


def test_analysis_says_what_it_rests_on(kept):
    """The activity has the digests of its queries and the stamps of the graphs it read."""
    store, _ = kept
    found = list(
        store.query(
            CUBE + "SELECT ?read ?name WHERE { GRAPH ?g { ?a a kgb:Analysis ; "
            "kgb:analysisName ?name ; <http://www.w3.org/ns/prov#qualifiedUsage> ?usage ; "
            "<http://www.w3.org/ns/prov#used>/kgb:digest ?digest . "
            "?usage <http://www.w3.org/ns/prov#entity> ?read ; kgb:stampAtUse ?stamp } "
            "FILTER (?name = 'tasks' && ?stamp > 0) }"
        )
    )
    assert {row["read"].value for row in found} == {iri("graph/pass/p1"), iri("graph/run/r1")}


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_cubes_are_well_formed(kept, constraint):
    """No observation or structure violates the constraint."""
    store, _ = kept
    text = f"{CUBE} SELECT * WHERE {{ GRAPH ?g {{ {CONSTRAINTS[constraint]} }} }}"
    assert list(store.query(text)) == []


def test_stored_analyses_conform():
    """A store with stored analyses conforms to the shapes."""
    with owned("result") as store:
        chosen = select(store, "kgbench-1")
        for name, made in (("leaderboard", leaderboard), ("tasks", task_scores)):
            store_table(store, basis(store, chosen, ANALYSES[name], {}), made(store, chosen), NOW)
        assert_conforms(store)


def test_cube_answers_sparql(kept):
    """A query by dimensions returns a mean."""
    store, _ = kept
    asked = (
        CUBE + "SELECT ?mean WHERE { GRAPH ?g { ?o a qb:Observation ; "
        f"kgb:model <{iri('model/model-b')}> ; kgb:task <{iri('task/Mend/2.0/Mend-turtle/cc33')}> ;"
        " kgb:passChoice 'first' ; kgb:mean ?mean } }"
    )
    assert [float(row["mean"].value) for row in store.query(asked)] == [0.95]
