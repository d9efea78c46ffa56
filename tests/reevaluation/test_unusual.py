# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of unjudgeable dialogues, runs without a first pass, unexplained differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgbench.datasets import home
from kgbench.errors import StoreError, TaskError
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.reevaluation.comparison import ReevaluationResult
from kgbench.reevaluation.passes import first_pass, reevaluate_each, select_runs
from kgbench.run_selection import Selection
from kgbench.store import open_store
from tests.support.analysis_store import GraphStore, graph, iri
from tests.support.archives import Record, as_json, record_v3
from tests.support.reevaluating import reevaluate


def judged_again(*found: Record, engine: str = "oxigraph", **options: Any) -> ReevaluationResult:
    """Return the result of re-evaluating a run of imported records."""
    with open_store("memory:") as store, executor("local:1") as pool:
        (imported,) = read_runs(ResultFile("f.json", as_json(list(found))), store.iris)
        load(store, imported)
        (run,) = reading.runs(store)
        done = reevaluate(store, run, pool, JudgeLimits(engine=engine), **options)
        kinds = [one.kind for one in reading.passes(store, run)]
        assert kinds == ["published", *["reevaluation"] * done.is_recorded]
        return done


def test_a_run_without_its_first_pass_is_named() -> None:
    """A run whose recorded pass is missing is refused by name; no later pass replaces it."""
    store: Any = GraphStore("result")
    run = reading.find_run(store, iri("run/1"))
    assert first_pass(store, run).iri == iri("pass/1")
    store.database.update(
        f"""PREFIX kgb: <https://w3id.org/kgbench/ns#>
        DELETE {{ GRAPH ?g {{ <{iri("pass/1")}> kgb:passKind "live" }} }}
        INSERT {{ GRAPH ?g {{ <{iri("pass/1")}> kgb:passKind "reevaluation" }} }}
        WHERE {{ GRAPH ?g {{ <{iri("pass/1")}> kgb:passKind "live" }} }}"""
    )
    with pytest.raises(StoreError, match="run/1 has no recorded evaluation pass"):
        first_pass(store, run)


def test_runs_are_chosen_by_what_they_hold() -> None:
    """A run is selected if one of its dialogues fits; without a selection all runs are."""
    store: Any = graph("result")
    runs = reading.runs(store)
    assert len(runs) == 2
    assert select_runs(store, runs, Selection()) == runs
    (mended,) = select_runs(store, runs, Selection(tasks=("Mend-*",)))
    assert mended.iri == iri("run/1")
    assert select_runs(store, runs, Selection(tasks=("Spell-*",))) == runs
    with pytest.raises(TaskError, match=r"no stored dialogue fits Spel-10; tasks: .*Spell-10"):
        select_runs(store, runs, Selection(tasks=("Spel-10",)))


@pytest.mark.parametrize(("engine", "explain"), [("oxigraph", False), ("rdflib", True)])
def test_differences_are_explained_where_that_is_wanted(engine: str, explain: bool) -> None:
    """A published score that no engine gives is a difference without an explanation."""
    data = {"graphFormat": "turtle", "taskUid": "u", "task": ":a :b", "optimal": ":a :b 1 ."}
    record = record_v3(
        "RdfSyntaxFixList",
        label="RdfSyntaxFixList-turtle",
        version="0.3-testing",
        parameters={"graphFormat": "turtle"},
        data=data,
        scores={"0": {"parsableSyntax": 1, "combined": 0.5}, "last": {"combined": 0.5}},
        info={},
        texts=("Mend this.", "no block"),
    )
    done = judged_again(record, engine=engine, explain=explain)
    (entry,) = done.comparison.report()["dialogues_differing"]
    assert entry["cause"] == "unexplained"
    changed = {(d["metric"], d["round"]): d["after"] for d in entry["differences"]}
    assert changed["parsableSyntax", 0] == 0.0
    assert done.passed_over == {}


def befriended(**fields: Any) -> Record:
    """Return a record whose answer can be judged."""
    most = "http://example.org/people/person-00000004"
    data = {"n": 6, "graphFormat": "turtle", "specialNodeIri": most, "specialFriends": []}
    return record_v3(data=data, texts=("Who?", most), **fields)


def test_runs_before_an_interruption_are_kept() -> None:
    """Runs are loaded together; an interruption removes only the one that is being judged."""

    def stop(count: int) -> None:
        if count == 2:
            raise KeyboardInterrupt

    with open_store("memory:") as store, executor("local:1") as pool:
        for name in ("f.json", "g.json"):
            file = ResultFile(name, as_json([befriended(label=f"RdfFriendCount-{name[0]}")]))
            (imported,) = read_runs(file, store.iris)
            load(store, imported)
        runs = reading.runs(store)
        passes = reevaluate_each(
            store, [(run, None) for run in runs], pool, JudgeLimits(), watch=stop
        )
        done = next(passes)
        with pytest.raises(KeyboardInterrupt):
            next(passes)
        first, second = (reading.passes(store, run) for run in runs)
        assert [one.iri for one in first[1:]] == [done.evaluation_pass]
        assert len(second) == 1
        known = {store.iris.catalogue, *(one.graph for one in (*runs, *first, *second))}
        assert set(store.graphs()) == known


def test_classes_without_code_are_passed_over() -> None:
    """A dialogue whose task class has no code is counted by class; the others are judged."""
    done = judged_again(
        record_v3("Unheard", label="Unheard-1", version="1.0", scores={"f1": 1.0}, info={}),
        befriended(),
    )
    assert done.passed_over == {"no code for the task class Unheard": 1}
    assert done.comparison.dialogues == 1


def test_cases_about_an_absent_graph_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the graph of a case is not installed, the case is not judged, and the reason says how."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    name = "Text2SparqlExecEvalListBeastiary"
    query = "SELECT ?o { ?s ?p ?o }"
    data = {"uid": "x", "question": "?", "refSparql": query, "refResultSet": ["1"]}
    record = record_v3(
        name,
        label=name,
        version="1.0",
        parameters={},
        data=data,
        scores={"0": {"combined": 1.0}, "last": {"combined": 1.0}},
        info={},
        texts=("Ask.", f"```sparql\n{query}\n```"),
    )
    done = judged_again(record)
    ((reason, count),) = done.passed_over.items()
    assert "datasets install beastiary --from PATH" in reason
    assert (count, done.comparison.dialogues, done.is_recorded) == (1, 0, False)
