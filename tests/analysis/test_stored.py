# SPDX-License-Identifier: Apache-2.0
"""Analyses are stored as Data Cubes and read back exactly while nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyoxigraph as ox
import pytest

from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.stored_results import basis, store_table, stored_or_computed, stored_table
from kgbench.analysis.task_scores import task_scores
from kgbench.scores.selection import select
from kgbench.store import Block
from kgbench.vocab import KGB
from tests.publish.checks.cube_constraints import NAMES, normalise, violated
from tests.support.analysis_store import iri, owned, small
from tests.support.validation import assert_conforms

NOW = datetime(2026, 11, 20, tzinfo=UTC)
CUBE = "PREFIX qb: <http://purl.org/linked-data/cube#> PREFIX kgb: <https://w3id.org/kgbench/ns#> "


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
    table = stored_or_computed(store, chosen, replace(ANALYSES["leaderboard"], make=refuse), {})
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


def test_cubes_keep_the_integrity_constraints(kept):
    """They violate none of the twenty-one constraints of the Data Cube recommendation."""
    store, _ = kept
    cubes = ox.Store()
    cubes.extend(
        ox.Quad(s, p, o)
        for s, p, o in store.query("SELECT ?s ?p ?o { GRAPH ?g { ?a a ?kind . ?s ?p ?o } "
                                   f"VALUES ?kind {{ <{KGB.Analysis}> }} }}")
    )  # fmt: skip
    assert len(cubes) > 0
    normalise(cubes)
    assert [name for name in NAMES if violated(name, cubes)] == []


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
