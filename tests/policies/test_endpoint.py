# SPDX-License-Identifier: Apache-2.0
"""Passes by comparison policies whose queries are executed by an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgbench.errors import EvaluationError
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.load import load
from kgbench.plugins.challenges import spinach
from kgbench.plugins.challenges.published_answers import imported_run
from kgbench.record import reading
from kgbench.reevaluation.passes import ReevaluationResult, reevaluate_stored
from kgbench.store.embedded import EmbeddedStore
from tests.support.servers.sparql_server import SparqlServer

GRAPH = """@prefix : <urn:o/> .
:it :size 5 . :sales :size 7 . :stock :size 7 .
"""
SIZES = "SELECT ?d { ?d <urn:o/size> ?n } ORDER BY DESC(?n) LIMIT 1"


def record(gold: str, predicted: str) -> dict[str, object]:
    """Return an answer with both queries, whose recorded results are empty."""
    return {
        "question": gold,
        "gold_sparql": gold,
        "predicted_sparql": predicted,
        "gold_answer_tuple": [],
        "predicted_answer_tuple": [],
    }


RECORDS = [
    record("ASK { ?d <urn:o/size> 5 }", "ASK { ?d <urn:o/size> 7 }"),
    record(SIZES, "SELECT ?x { VALUES ?x { <urn:o/stock> } }"),
    record(SIZES, "SELECT ?x { VALUES ?x { <urn:o/sales> } }"),
    record("SELECT ?d { ?d <urn:o/size> 5 }", "SELECT ?d { ?d unknown:p 5 }"),
    record("SELECT ?d { ?d <urn:o/size> 5 }", "DELETE WHERE { ?s ?p ?o }"),
    record("SELECT ?d { ?d unknown:p 5 }", "SELECT ?d { ?d <urn:o/size> 5 }"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[SparqlServer]:
    """Yield the server of an endpoint over :data:`GRAPH`."""
    with SparqlServer(GRAPH) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """Return a store with the answers of one system."""
    path = tmp_path / "alpha_output_test.json"
    path.write_text(json.dumps(RECORDS), "utf-8")
    with EmbeddedStore(None) as opened:
        load(opened, imported_run(spinach.BENCHMARK, spinach.read(path), opened.iris))
        yield opened


def judged(store: EmbeddedStore, policy: str, endpoint: str) -> ReevaluationResult:
    """Judge all stored dialogues under a policy, with an endpoint, and return the result."""
    with executor("local:1") as pool:
        (done,) = reevaluate_stored(store, pool, JudgeLimits(policy=policy), endpoint=endpoint)
    return done


def test_an_endpoint_gives_typed_results(store: EmbeddedStore, server: SparqlServer) -> None:
    """Truth values are judged, tied rows are both right, and a failed query is wrong."""
    done = judged(store, "rows", server.url)

    (run,) = reading.runs(store)
    graph = reading.find_pass(store, run, done.evaluation_pass).graph
    found = {}
    for dialogue, rounds in reading.pass_scores(store, graph).items():
        scores = [v for m, v in rounds[0].scores.items() if m.endswith("/exact")]
        found[dialogue.rpartition("/")[2].partition("-")[0]] = scores
    assert found == {"0": [1.0], "1": [1.0], "2": [1.0], "3": [0.0], "4": [0.0], "5": []}
    assert not any("DELETE" in query for query in server.asked)


def test_an_endpoint_that_does_not_answer_leaves_no_pass(store: EmbeddedStore) -> None:
    """If the endpoint does not answer, the message names it and the store is unchanged."""
    with SparqlServer(GRAPH) as gone:
        address = gone.url
        gone.failures[:] = [(404, {})]
        with pytest.raises(EvaluationError, match="HTTP 404"):
            judged(store, "rows", address)
    (run,) = reading.runs(store)
    assert [one.kind for one in reading.passes(store, run)] == ["published"]
