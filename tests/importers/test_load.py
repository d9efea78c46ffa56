# SPDX-License-Identifier: Apache-2.0
"""Imported runs in a store: complete, written once, and visible only when complete."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgbench.errors import ImportRefused, StoreError
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import ImportedRun, read_runs
from kgbench.importers.load import Summary, load, load_each
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.record.bulk import of_dialogues
from kgbench.store import EmbeddedStore, Iris, open_store
from kgbench.store.protocol import Block
from kgbench.vocab import KGB
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v2, record_v3
from tests.support.runs import dialogues_of
from tests.support.validation import assert_conforms

SCORES = f"""
SELECT ?dialogue ?round ?metric ?value WHERE {{
  GRAPH ?graph {{ ?e <{KGB.dialogue}> ?dialogue ; ?metric ?value }}
  OPTIONAL {{ GRAPH ?graph {{ ?e <{KGB.round}> ?round }} }}
  GRAPH <https://w3id.org/kgbench/graph/catalogue> {{ ?metric a <{KGB.Metric}> }}
}}"""


@pytest.fixture
def store() -> Iterator[EmbeddedStore]:
    """Return an empty store in memory."""
    with open_store("memory:") as opened:
        yield opened


def the_run(*records: dict[str, Any], suite: str | None = None) -> ImportedRun:
    """Return the only run in a file of ``records``."""
    (found,) = read_runs(ResultFile("f.json", as_json(records)), Iris(), suite)
    assert list(found.items)  # reading the items fills tasks, cases and models
    return found


STAMPED = re.compile(f"<(?:{KGB.changeStamp}|{KGB.stampAtUse})>")
COUNTED = re.compile(r"(?<=/)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(?=[0-9])")


def content(store: EmbeddedStore) -> set[str]:
    """Return every quad of a store."""
    return {f"<{graph}> {triple}" for graph in store.graphs() for triple in store.triples(graph)}


def scores(store: EmbeddedStore) -> dict[tuple[str, str, str], float]:
    """Return every score in a store by dialogue, round ("" for the whole) and metric."""
    return {
        (
            row["dialogue"].value,
            "" if row["round"] is None else row["round"].value,
            row["metric"].value,
        ): float(row["value"].value)
        for row in store.query(SCORES)
    }


RUNS = {
    "v1": [record_v1(), record_v1(model="Bird--parrot-2"), record_v1("FactExtractStatic")],
    "v2": [record_v2(), record_v2(label="Sparql2AnswerListOrgaJsonld")],
    "v3": [record_v3(), dialogue_v3(), dialogue_v3(), record_v3("Unknown", label="Unknown")],
}


@pytest.mark.parametrize("name", RUNS)
def test_every_score_is_found_again(store: EmbeddedStore, name: str) -> None:
    """A query over the store returns every score of every dialogue."""
    run = the_run(*RUNS[name])
    load(store, run)
    expected = {
        (dialogue.iri, "" if e.round is None else str(e.round), metric): value
        for dialogue, found in run.items
        for e in found
        for metric, value in e.scores.items()
    }
    assert scores(store) == expected
    assert expected


@pytest.mark.parametrize("name", RUNS)
def test_what_is_written_has_the_declared_shape(store: EmbeddedStore, name: str) -> None:
    """Runs, passes and catalogue entries of an import conform to the result shapes."""
    load(store, the_run(*RUNS[name]))
    load(store, the_run(record_v3(texts=["\ud800", "\x00"]), suite="other"))
    assert_conforms(store)


def test_a_case_of_two_versions_has_the_declared_shape(store: EmbeddedStore) -> None:
    """A case that two versions of its task class have judged is one case with both versions."""
    load(store, the_run(record_v3(version="4.3")))
    later = the_run(record_v3())
    load(store, later)
    ((iri, case),) = later.cases.items()

    assert reading.case(store, iri) == case
    assert sum(f"<{iri}> <{KGB.taskClass}>" in quad for quad in content(store)) == 2
    assert_conforms(store)


def test_undeclared_classes_are_described_once(store: EmbeddedStore) -> None:
    """Runs with other scores and settings of an undeclared class describe the class alike."""
    for scores, size in (({"f1": 1}, 1), ({"combinedF1": 1}, 2), ({"mean": {"f1": 1}}, 3)):
        record = record_v3("Unknown", label="Unknown", parameters={"size": size}, scores=scores)
        load(store, the_run(record))
    assert_conforms(store)


@pytest.mark.parametrize("scores", [{}, {"f1": math.nan}, {"0": {}, "mean": {}}])
def test_a_class_without_scores_is_described(store: EmbeddedStore, scores: Any) -> None:
    """A class without a known score is described; the first score makes its main metric."""
    load(store, the_run(record_v3("Unknown", label="Unknown", scores=scores)))
    assert_conforms(store)
    assert [row["className"].value for row in queries.run(store, "list-tasks")] == ["Unknown"]
    load(store, the_run(record_v3("Unknown", label="Unknown", scores={"f1": 1})))
    assert_conforms(store)
    (row, *_) = queries.run(store, "list-tasks")
    assert row["mainMetric"].value.endswith("/Unknown/4.4/f1")


ODD = [
    {"size": True},
    {"size": -3},
    {"not a name": "x", "": 1, "half": "\ud800"},
]


@pytest.mark.parametrize("given", ODD)
def test_odd_parameters_are_kept(store: EmbeddedStore, given: dict[str, Any]) -> None:
    """Parameters that no task class could declare are kept as parameters only."""
    run = the_run(record_v3("Unknown", label="Unknown", parameters=given))
    load(store, run)
    ((iri, task),) = run.tasks.items()

    assert reading.task(store, iri).parameters == task.parameters == given
    assert_conforms(store)


def test_dialogues_are_read_back_as_they_were(store: EmbeddedStore) -> None:
    """Dialogues, texts, cases and tasks are read back from the store as they were imported."""
    run = the_run(*RUNS["v3"])
    load(store, run)
    info = reading.find_run(store, run.run_id)
    found = {dialogue.iri: dialogue for dialogue in dialogues_of(store, info)}
    assert len(found) == len(run.items)
    for dialogue, _ in run.items:
        back = found[dialogue.iri]
        assert replace(back, turns=()) == replace(dialogue, turns=())
        assert [(t.prompt, t.answer, t.feedback) for t in back.turns] == [
            (t.prompt, t.answer, t.feedback) for t in dialogue.turns
        ]
    for iri, case in run.cases.items():
        assert reading.case(store, iri) == case
    for iri, task in run.tasks.items():
        assert reading.task(store, iri) == task


@pytest.mark.parametrize("text", ["a\tb\x00\x01", "\ud800 lone \udfff", "x" * 10_000_000, "\r\n "])
def test_hostile_texts_come_back_exactly(store: EmbeddedStore, text: str) -> None:
    """Binary noise, NUL, lone surrogates and ten megabytes of text are read back unchanged."""
    run = the_run(record_v3(texts=["ask", text]))
    load(store, run)
    ((dialogue, _),) = run.items
    graph = store.iris.mint("runGraph", run=run.run_id)
    ((turn,),) = of_dialogues(store, graph, [dialogue.iri]).values()
    assert turn.answer == text


def test_published_pass_names_the_framework(store: EmbeddedStore) -> None:
    """The first pass of an imported run is the published one and names the framework."""
    run = the_run(*RUNS["v3"])
    load(store, run)
    info = reading.find_run(store, None)
    (published,) = reading.passes(store, info)
    assert published.kind == "published"
    assert (info.label, info.suite.rpartition("/")[2]) == ("f", "llm-kg-bench-3")
    agents = store.query(
        "SELECT ?label ?commit WHERE { GRAPH ?g { "
        f"<{published.iri}> <http://www.w3.org/ns/prov#wasAssociatedWith> ?agent }} "
        f"GRAPH ?c {{ ?agent <{KGB.commit}> ?commit ; "
        "<http://www.w3.org/2000/01/rdf-schema#label> ?label } }"
    )
    assert [(row["label"].value, row["commit"].value) for row in agents] == [
        (run.software.name, run.software.commit)
    ]


def test_a_state_of_code_that_is_no_commit_is_kept(store: EmbeddedStore) -> None:
    """A revision that is not a commit becomes part of the software's version."""
    record = record_v3()
    record["taskInfo"]["gitCommit"] = "v1.2+local"
    run = the_run(record)
    load(store, run)
    assert (run.software.version, run.software.commit) == ("3 (v1.2+local)", None)
    assert_conforms(store)


def test_unknown_aggregations_are_metrics_of_their_own(store: EmbeddedStore) -> None:
    """An unknown aggregation becomes a metric of its own, without aggregation and base."""
    run = the_run(dialogue_v3(scores={"0": {"charm": 1}, "median": {"charm": 1}}))
    median = run.undeclared_metrics[
        "https://w3id.org/kgbench/metric/RdfSyntaxFixList/0.3-testing/median_charm"
    ]
    assert (median.name, median.aggregation, median.base) == ("median_charm", None, None)
    load(store, run)
    assert_conforms(store)


def test_importing_twice_changes_nothing(store: EmbeddedStore) -> None:
    """A second import of the same results is reported as such and changes no quad."""
    run = the_run(*RUNS["v3"])
    first = load(store, run)
    before = content(store)
    second = load(store, the_run(*RUNS["v3"]))
    assert (first.already_there, second.already_there) == (False, True)
    assert content(store) == before
    assert (second.dialogues, second.scores) == (first.dialogues, first.scores)


def test_summary_counts(store: EmbeddedStore) -> None:
    """Progress counts dialogues; the summary also answers, labels, cases, models and scores."""
    seen: list[int] = []
    found = load(store, the_run(*RUNS["v3"]), seen.append)
    assert sum(seen) == 4
    assert found == Summary(
        source="f.json",
        run=found.run,
        suite="llm-kg-bench-3",
        generation=3,
        dialogues=4,
        answers=6,
        labels=3,
        cases=3,
        models=("parrot-2",),
        scores=2 * 2 + 2 * 12,
        already_there=False,
    )
    assert json.loads(json.dumps(found.as_json()))["dialogues"] == 4


class Cut(Exception):
    """Interrupts an import."""


@pytest.mark.parametrize("where", ["bulk_load", "write"])
def test_interrupted_import_leaves_nothing_visible(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """An import that is killed before its last write shows nothing; the next one repairs it."""
    run = the_run(*RUNS["v3"])
    before = content(store)
    original = store.bulk_load

    def cut(blocks: Sequence[Block]) -> None:
        if where == "bulk_load":
            original(list(blocks)[:3])
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(store, where, cut)
        patch.setattr(store, "drop", lambda _: None)  # a killed process removes nothing
        with pytest.raises(Cut):
            load(store, run)
    assert reading.runs(store) == []
    catalogue = f"<{store.iris.catalogue}>"
    assert {quad for quad in content(store) if quad.startswith(catalogue)} == before
    assert content(store) > before
    assert not load(store, run).already_there

    with open_store("memory:") as fresh:
        load(fresh, run)
        held, expected = (
            {COUNTED.sub("", quad) for quad in content(one) if not STAMPED.search(quad)}
            for one in (store, fresh)
        )
        assert held == expected


@pytest.mark.parametrize("at", [0, 1, 2])
def test_failing_run_is_removed_and_earlier_ones_are_kept(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """If the last run fails at some dialogue, those loaded with it are visible, and it is not."""
    first, second, last = (the_run(*records) for records in RUNS.values())
    items = list(last.items)

    def cut() -> Iterator[Any]:
        yield from items[:at]
        raise Cut

    loads: list[object] = []
    original = store.bulk_load
    with monkeypatch.context() as patch:
        patch.setattr(store, "bulk_load", lambda blocks: loads.append(original(blocks)))
        found: list[Summary] = []
        with pytest.raises(Cut):
            found.extend(load_each(store, [first, second, replace(last, items=cut())]))
    assert len(loads) == 1
    kept = content(store)
    assert_conforms(store)

    with open_store("memory:") as fresh:
        assert [load(fresh, run) for run in (first, second)] == found
        assert len(kept) == len(content(fresh))
    assert not load(store, last).already_there
    assert load(store, second).already_there


def test_same_run_twice_is_loaded_once(store: EmbeddedStore) -> None:
    """A run that comes twice is not loaded together with itself."""
    run, other = the_run(*RUNS["v3"]), the_run(*RUNS["v2"])
    found = list(load_each(store, [run, other, run]))

    assert [summary.already_there for summary in found] == [False, False, True]
    with open_store("memory:") as fresh:
        assert [load(fresh, each).run for each in (run, other)] == [each.run for each in found[:2]]
        assert len(content(store)) == len(content(fresh))


def test_missing_pass_is_written_again(store: EmbeddedStore) -> None:
    """If only the published pass is missing, only the pass is written again."""
    run = the_run(*RUNS["v3"])
    load(store, run)
    expected = scores(store)
    store.drop([store.iris.mint("passGraph", **{"pass": run.pass_id})])
    assert scores(store) == {}
    assert not load(store, run).already_there
    assert scores(store) == expected


def test_results_are_in_one_suite_only(store: EmbeddedStore) -> None:
    """Results that the store has in one suite are refused in another."""
    load(store, the_run(*RUNS["v3"]))
    before = content(store)
    with pytest.raises(ImportRefused, match="in another suite than mine"):
        load(store, the_run(*RUNS["v3"], suite="mine"))
    assert content(store) == before


def test_known_models_keep_their_description(store: EmbeddedStore) -> None:
    """A known model is not described again; only its new spelling is added."""
    model = "<https://w3id.org/kgbench/model/parrot-2>"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    store.write(
        [Block(store.iris.catalogue, [f"{model} a <{KGB.Model}> .", f'{model} {label} "mine" .'])]
    )
    load(store, the_run(record_v3()))
    found = [quad for quad in content(store) if f" {model} " in quad]
    assert sum(label in quad for quad in found) == 1
    assert any('"Bird--parrot--parrot-2"' in quad for quad in found)


def test_import_survives_closing(tmp_path: Path) -> None:
    """An import is still there after reopening the store, and a closed store refuses writes."""
    run = the_run(*RUNS["v3"])
    with open_store(str(tmp_path / "store")) as opened:
        load(opened, run)
        expected = scores(opened)
    with pytest.raises(StoreError):
        load(opened, run)
    with open_store(str(tmp_path / "store")) as again:
        assert scores(again) == expected
        assert load(again, run).already_there
