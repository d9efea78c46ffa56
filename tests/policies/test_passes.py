# SPDX-License-Identifier: Apache-2.0
"""Passes by comparison policies: judged without a model, compared, ranked and kept apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.analysis import policies as analysed
from kgbench.analysis import stored_results
from kgbench.analysis.index import ANALYSES
from kgbench.cli import app
from kgbench.errors import EvaluationError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import executor
from kgbench.importers.load import load
from kgbench.model import Outcome
from kgbench.plugins.challenges import spinach
from kgbench.plugins.challenges.published_answers import imported_run
from kgbench.policies.policy import policies
from kgbench.record import reading
from kgbench.reevaluation.passes import ReevaluationResult, reevaluate_stored
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.store.embedded import EmbeddedStore
from kgbench.tasks import catalogue
from tests.support.runs import hold, planned
from tests.support.servers.sparql_server import SparqlServer
from tests.support.validation import assert_conforms

GRAPH = "@prefix : <urn:o/> . :it :site :leipzig ; :size 5 . :sales :site :leipzig ; :size 7 . "
TASK = "Text2SparqlExecEvalListOrganizational"


def uri(value: str) -> dict[str, str]:
    """Return the binding of an IRI."""
    return {"type": "uri", "value": f"urn:{value}"}


def answer(gold: object, predicted: object, **more: object) -> dict[str, object]:
    """Return a record as SPINACH writes it."""
    return {
        "question": "Which?",
        "gold_sparql": "SELECT ?x { ?x ?p ?o }",
        "predicted_sparql": "SELECT ?x { ?x ?p ?o }",
        "gold_answer_tuple": gold,
        "predicted_answer_tuple": predicted,
        **more,
    }


PAIRS = [{"a": uri("a"), "b": uri("b")}, {"a": uri("c"), "b": uri("d")}]
MIXED = [{"a": uri("a"), "b": uri("d")}, {"a": uri("c"), "b": uri("b")}]
ALPHA = [
    answer([{"x": uri("a")}], [{"x": uri("a"), "l": uri("l")}], f1=1.0),
    answer(gold=False, predicted=False, f1=1.0),
]
BETA = [answer(PAIRS, MIXED, f1=0.9), answer(gold=False, predicted=True, f1=0.0)]


@contextmanager
def holding(folder: Path, **systems: list[dict[str, object]]) -> Iterator[EmbeddedStore]:
    """Open a store with the records of systems, as SPINACH writes them."""
    with EmbeddedStore(None) as opened:
        for name, records in systems.items():
            path = folder / f"{name}_output_test.json"
            path.write_text(json.dumps(records), "utf-8")
            load(opened, imported_run(spinach.BENCHMARK, spinach.read(path), opened.iris))
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """Return a store with the answers of two systems."""
    with holding(tmp_path, alpha=ALPHA, beta=BETA) as opened:
        yield opened


def judged(store: EmbeddedStore, policy: str, **more: object) -> list[ReevaluationResult]:
    """Judge all stored dialogues under a policy and return the results."""
    with executor("local:1") as pool:
        return reevaluate_stored(store, pool, JudgeLimits(policy=policy), **more)  # type: ignore[arg-type]


def test_a_pass_says_its_policy_and_conforms(store: EmbeddedStore) -> None:
    """Each policy makes a conforming pass of its own kind; none counts as the latest pass."""
    for name in policies():
        judged(store, name)
    assert_conforms(store)
    for run in reading.runs(store):
        kinds = [one.kind for one in reading.passes(store, run)]
        assert kinds == ["published", *["policy"] * len(policies())]
        assert reading.find_pass(store, run, "latest").kind == "published"
    assert select(store, pass_="latest").pass_graphs == select(store).pass_graphs


def test_scores_are_compared_where_the_policy_is_the_same(store: EmbeddedStore) -> None:
    """A published F1 is only compared under the policy that it follows."""
    same = judged(store, "spinach")
    found = {one["model"]: one["differences"] for run in same for one in run.comparison.differing}
    assert found.keys() == {"beta"}
    assert found["beta"][0] == {"metric": "f1", "round": 0, "before": 0.9, "after": 2 / 3}
    others = judged(store, "rows")
    assert [run.comparison.differing for run in others] == [[], []]
    assert others[0].comparison.new_metrics == {"precision", "recall", "f1", "exact"}


def test_reevaluation_revises_no_verdict_of_a_policy(store: EmbeddedStore) -> None:
    """A pass by the rule of the task class revises the published pass, not a policy's."""
    judged(store, "rows")
    with executor("local:1") as pool:
        again = reevaluate_stored(store, pool, JudgeLimits())
    published = {p.graph for run in reading.runs(store) for p in reading.passes(store, run)[:1]}
    known = {e.iri for graph in published for e in reading.pass_evaluations(store, graph)}
    revised = {
        str(row[0].value)
        for one in again
        for row in store.query(
            f"SELECT ?old {{ GRAPH <{one.evaluation_pass.replace('/pass/', '/graph/pass/')}> "
            "{ ?new <http://www.w3.org/ns/prov#wasRevisionOf> ?old } }"
        )
    }
    assert revised == known


def test_ranks_and_cells(store: EmbeddedStore) -> None:
    """Systems change ranks between policies, and the differing cells have reasons."""
    for name in ("rows", "text2sparql-2025"):
        judged(store, name)
    table = analysed.ranks(store, select(store))
    assert [(r["model"], r["rows"], r["text2sparql-2025_rank"]) for r in table.records()] == [
        ("alpha", 1.0, 2),
        ("beta", 0.0, 1),
    ]
    assert [row["text2sparql-2025"] for row in table.records()] == pytest.approx([1 / 3, 0.5])
    cells = analysed.differing_cells(store, select(store)).records()
    assert [(row["model"], row["rows"], row["text2sparql-2025"]) for row in cells] == [
        ("alpha", 1.0, 0.0),
        ("beta", 0.0, 1.0),
        ("alpha", 1.0, pytest.approx(2 / 3)),
    ]
    assert "rows: 0 of 2 expected rows found, 2 given" in str(cells[1]["reasons"])


def test_a_model_without_all_verdicts_has_no_rank(store: EmbeddedStore) -> None:
    """A model that was not judged under the policy has no rank, and a note says what is missing."""
    run = next(run for run in reading.runs(store) if "alpha" in run.label)
    judged(store, "rows", run=run.iri)
    table = analysed.ranks(store, select(store))
    assert [(row["model"], row["rows_rank"]) for row in table.records()] == [("alpha", 1)]
    assert analysed.ranks(EmbeddedStore(None), select(store)).notes[0].startswith("These")


def test_a_kept_table_is_made_anew_after_another_pass(store: EmbeddedStore) -> None:
    """A stored table is recomputed after another pass by a policy."""
    judged(store, "rows")
    before = stored_results.basis(store, select(store), ANALYSES["policies"], {})
    other = stored_results.basis(store, select(store), ANALYSES["tasks"], {})
    judged(store, "spinach")
    assert stored_results.basis(store, select(store), ANALYSES["policies"], {}).key != before.key
    assert stored_results.basis(store, select(store), ANALYSES["tasks"], {}).key == other.key


def test_own_dialogues_of_several_answers() -> None:
    """Dialogues about kgbench's organisation graph are judged; the reference is right."""
    plan = planned(TASK, "baseline:oracle", "baseline:noisy?rate=0.7&seed=3", iterations=4)
    with open_store("memory:") as store:
        hold(store, plan)
        for name in ("rows", "llm-kg-bench", "grasp"):
            judged(store, name)
        assert_conforms(store)
        rows = analysed.ranks(store, select(store)).records()
    assert rows[0]["model"] == "baseline:oracle"
    assert [rows[0][name] for name in ("rows", "llm-kg-bench", "grasp")] == [1.0, 1.0, 1.0]
    assert all(rows[1]["n"] == 4 and rows[1][f"{name}_rank"] == 2 for name in ("rows", "grasp"))


@pytest.mark.parametrize(
    ("text", "f1", "outcome"),
    [
        ("```sparql\nSELECT ?d { ?d <urn:o/site> ?s }\n```", 1.0, Outcome.SCORED),
        ("```sparql\nSELECT ?d { ?d <urn:o/size> 5 }\n```", 2 / 3, Outcome.SCORED),
        ("```sparql\nSELECT ?d { SERVICE <urn:x> { ?d ?p ?o } }\n```", 0.0, Outcome.SCORED),
        ("I do not know", 0.0, Outcome.UNPARSABLE),
        (" ", 0.0, Outcome.EMPTY),
    ],
)
def test_judging_children_hand_back_typed_rows(text: str, f1: float, outcome: Outcome) -> None:
    """A child process executes both queries and returns scores, reason and typed result."""
    data = {
        "question": "Which departments?",
        "refSparql": "SELECT ?x { ?x <urn:o/site> ?s }",
        "refResultSet": [],
        "graph": GRAPH,
    }
    case = catalogue.make_case("own", TASK, {}, data, "one")
    (verdict,) = judge_batch([JudgeRequest(case, (text,))], JudgeLimits(policy="rows"))
    assert (verdict.scores["f1"], verdict.outcome) == (pytest.approx(f1), outcome)
    if f1 == 1.0:
        assert verdict.infos["result"]["results"]["bindings"][0]["d"]["type"] == "uri"
        assert verdict.infos["reason"] == "2 of 2 expected rows found, 2 given"


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    """An unknown policy is refused with the nearest name, and variants refuse an endpoint."""
    with open_store(str(tmp_path / "store")):
        pass
    for words, said in (
        (["--policy", "spinch"], "spinach"),
        (["--variants", "1", "--endpoint", "http://127.0.0.1:9/"], "omit --endpoint"),
    ):
        done = CliRunner().invoke(
            app, ["reevaluate", *words, "--store", str(tmp_path / "store")], env={"COLUMNS": "200"}
        )
        assert done.exit_code != 0
        assert said in done.output


SERVED = """@prefix : <urn:o/> .
:it :size 5 . :sales :size 7 . :stock :size 7 .
"""
SIZES = "SELECT ?d { ?d <urn:o/size> ?n } ORDER BY DESC(?n) LIMIT 1"


def record(gold: str, predicted: str) -> dict[str, object]:
    """Return an answer with both queries, whose recorded results are empty."""
    return answer([], [], question=gold, gold_sparql=gold, predicted_sparql=predicted)


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
    """Yield the server of an endpoint over :data:`SERVED`."""
    with SparqlServer(SERVED) as running:
        yield running


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """Return a store with the answers of one system, which an endpoint executes."""
    with holding(tmp_path, alpha=RECORDS) as opened:
        yield opened


def test_an_endpoint_gives_typed_results(asking: EmbeddedStore, server: SparqlServer) -> None:
    """Truth values are judged, tied rows are both right, and a failed query is wrong."""
    (done,) = judged(asking, "rows", endpoint=server.url)

    (run,) = reading.runs(asking)
    graph = reading.find_pass(asking, run, done.evaluation_pass).graph
    found = {}
    for dialogue, rounds in reading.pass_scores(asking, graph).items():
        scores = [v for m, v in rounds[0].scores.items() if m.endswith("/exact")]
        found[dialogue.rpartition("/")[2].partition("-")[0]] = scores
    assert found == {"0": [1.0], "1": [1.0], "2": [1.0], "3": [0.0], "4": [0.0], "5": []}
    assert not any("DELETE" in query for query in server.asked)


def test_an_endpoint_that_does_not_answer_leaves_no_pass(asking: EmbeddedStore) -> None:
    """If the endpoint does not answer, the message names it and the store is unchanged."""
    with SparqlServer(SERVED) as gone:
        address = gone.url
        gone.failures[:] = [(404, {})]
        with pytest.raises(EvaluationError, match="HTTP 404"):
            judged(asking, "rows", endpoint=address)
    (run,) = reading.runs(asking)
    assert [one.kind for one in reading.passes(asking, run)] == ["published"]
