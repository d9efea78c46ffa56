# SPDX-License-Identifier: Apache-2.0
"""Answers whose queries ran on an endpoint are judged by recorded results, or not at all."""

from __future__ import annotations

import json

import pytest

from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.record.recorded_results import EndpointResults
from kgbench.store import EmbeddedStore
from kgbench.tasks import catalogue
from kgbench.vocab import KGB, OUTCOME
from tests.support.archives import as_json, record_v3
from tests.support.reevaluating import reevaluate
from tests.support.validation import assert_conforms

LABEL = "SparqlSyntaxFixingListLcQuad"
QUERY = "SELECT ?who WHERE { ?who ?knows ?whom }"
FOUND = ["http://example.org/ada"]
RIGHT = {"answerParse": 1, "combined": 1.0, "f1measure": 1.0, "precision": 1.0, "recall": 1.0}


def dialogue(infos):
    """Return a record of a corrected query with these infos of its answer."""
    return record_v3(
        LABEL,
        label=LABEL,
        version=catalogue.task_class(LABEL).version,
        parameters={},
        data={"uid": "mine", "refSparql": QUERY, "refResultSet": FOUND},
        scores={"0": RIGHT, "last": RIGHT},
        info={"0": {"sparql": QUERY} | infos},
        texts=["Mend this.", f"```sparql\n{QUERY}\n```"],
    )


@pytest.fixture(scope="module")
def again():
    """Yield a store with the second pass over dialogues with and without recorded results."""
    records = [dialogue({"answerSet": FOUND}), dialogue({})]
    with EmbeddedStore(None) as store:
        (imported,) = read_runs(ResultFile("f.json", as_json(records)), store.iris)
        load(store, imported)
        (run,) = reading.runs(store)
        with executor("local") as pool:
            yield store, imported, reevaluate(store, run, pool, JudgeLimits())


def test_what_has_no_recorded_result_is_not_judged(again):
    """An answer without a recorded result has no score; the report says why and what to do."""
    store, imported, found = again
    (_, _), (without, _) = imported.items
    entries = found.comparison.report()["dialogues_differing"]
    (entry,) = [one for one in entries if one["dialogue"] == without.iri]
    graph = found.evaluation_pass.replace("/pass/", "/graph/pass/")
    rows = store.query(
        f"SELECT ?o ?i WHERE {{ GRAPH <{graph}> {{ ?e <{KGB.dialogue}> <{without.iri}> ; "
        f"<{KGB.round}> 0 ; <{KGB.outcome}> ?o ; <{KGB.infos}> ?i }} }}"
    )
    ((outcome, infos),) = [(row["o"].value, json.loads(row["i"].value)) for row in rows]

    assert outcome == OUTCOME["evaluator-error"]
    assert entry["cause"] == f"not judged: {infos['message']}"
    assert "no recorded result of this query" in infos["message"]
    assert "'kgbench reevaluate --endpoint URL' asks one" in infos["message"]
    assert reading.pass_scores(store, graph)[without.iri][0].scores == {}
    assert_conforms(store)


def test_what_has_a_recorded_result_is_judged_by_it(again):
    """A recorded result gives the published scores without an endpoint, and whether it is exact."""
    store, imported, found = again
    (recorded, evaluations), _ = imported.items
    graph = found.evaluation_pass.replace("/pass/", "/graph/pass/")

    scores = dict(reading.pass_scores(store, graph)[recorded.iri][0].scores)
    (exact,) = [name for name in scores if name.endswith("/exact")]

    assert scores.pop(exact) == 1.0
    assert scores == evaluations[0].scores


def test_cases_with_a_graph_are_not_asked_about():
    """The endpoint is not asked about a case that has a graph."""
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    (case,) = catalogue.module(task.task_class).cases(task, "kgbench-1", 0, 1)

    def never(*_):
        raise AssertionError("asked")

    assert (
        EndpointResults(never).with_results("a dialogue", case, [f"```sparql\n{QUERY}\n```"])
        is case
    )
