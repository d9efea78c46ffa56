# SPDX-License-Identifier: Apache-2.0
"""Text2KGBench is imported with its faults, and as a whole or not at all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import json_files as reading_lines
from kgbench.errors import ImportRefused
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers import text2kgbench
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.store.embedded import EmbeddedStore
from tests.support import text2kg_data
from tests.support.reevaluating import reevaluate
from tests.support.validation import assert_conforms

METRICS = set(text2kg_data.NAMES)
TOP = "wikidata_tekgen"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of invented data."""
    return text2kg_data.write(tmp_path / "data")


def imported(folder: Path, store: EmbeddedStore) -> text2kgbench.ImportedData:
    """Import everything in ``folder`` into ``store``."""
    found = text2kgbench.read(folder)
    text2kgbench.write_catalogue(store, found)
    for run in text2kgbench.runs(folder, found, store.iris):
        load(store, run)
    return found


def test_faults_are_reported_and_kept(data: Path) -> None:
    """Each fault of the data is found and stored in the catalogue with its subject."""
    with EmbeddedStore(None) as store:
        found = imported(data, store)
        kept = [
            row["kind"].value
            for row in store.query(
                "SELECT ?kind WHERE { GRAPH ?g { ?problem a <http://www.w3.org/ns/dqv#"
                "QualityAnnotation> ; <http://www.w3.org/2004/02/skos/core#notation> ?kind ; "
                "<https://schema.org/about> ?about } }"
            )
        ]
    expected = {
        "dangling-concept-id": 1,
        "empty-ground-truth": 1,
        "missing-response": 1,
        "mojibake": 1,
        "relation-outside-ontology": 1,
        "test-in-training": 1,
    }
    expected["turtle-differs"] = found.problems["turtle-differs"]
    assert expected["turtle-differs"] > 1
    assert found.problems == Counter(kept) == Counter(expected)


def test_importing_twice_changes_nothing(data: Path) -> None:
    """A second import changes no triple except change stamps."""

    def content(store: EmbeddedStore) -> set[str]:
        rows = store.query("SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }")
        found = {" ".join(map(str, row)) for row in rows}
        return {line for line in found if "changeStamp" not in line}

    with EmbeddedStore(None) as store:
        imported(data, store)
        before = content(store)
        imported(data, store)
        assert content(store) == before


def test_stored_responses_are_judged_again(data: Path) -> None:
    """A re-evaluation gives the published values, and kgbench's own metrics."""
    with EmbeddedStore(None) as store:
        imported(data, store)
        (run,) = reading.runs(store)
        with executor("local") as pool:
            again = reevaluate(store, run, pool, JudgeLimits())
        report = again.comparison.report()
        assert_conforms(store)
    assert report["dialogues_compared"] == len(text2kg_data.RESPONSES)
    assert report["dialogues_differing"] == []
    assert {row["metric"] for row in report["metrics"]} == METRICS
    assert "strictConf" in report["new_metrics"]
    assert not METRICS & set(report["new_metrics"])


def test_command_line(data: Path, tmp_path: Path) -> None:
    """The command prints a summary, and --json prints it for programs."""
    arguments = ["import", "text2kgbench", str(data), "--store", str(tmp_path / "store")]
    said = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    assert "1 ontology, 4 cases" in said
    assert "1 empty-ground-truth" in said
    report = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False).stdout
    assert json.loads(report)["runs"][0]["already_there"] is True


TRUTH = "ground_truth/ont_1_bridge_ground_truth.jsonl"
ONTOLOGY = "ontologies/1_bridge_ontology.json"
RESPONSES = "baselines/Parrot-1B/llm_responses/ont_1_bridge_llm_responses.jsonl"
VALUES = "baselines/Parrot-1B/eval_metrics/ont_1_bridge_llm_stats.jsonl"
NO_RELATIONS = json.dumps({**text2kg_data.ONTOLOGY, "relations": []}).encode()
ODD_ID = json.dumps({**text2kg_data.ONTOLOGY, "id": "a> <b"}).encode()
HUGE = b'{"id": "a", "precision": 1%s}' % (b"0" * 400)
ENDLESS = b'{"id": "a", "precision": "inf"}'
TOO_GOOD = b'{"id": "a", "precision": 1.25}'
HALF = rb'{"id": "a", "sent": "\ud800", "triples": []}'
HALF_LABEL = rb'{"id": "a", "title": "\udfff"}'
NO_FACTS = b'{"id": "a", "response": "b", "triples": null}'
NO_LABEL = json.dumps({**text2kg_data.ONTOLOGY, "concepts": [{"qid": "Q1", "label": 7}]}).encode()
NO_TRIPLES = b'{"id": "a", "sent": "b", "triples": [7]}'
LISTS = "baselines/test_train_sent_similarity/ont_1_bridge_test_train_similarity.json"
WITHOUT_OBJECT = b'{"id": "a", "sent": "b", "triples": [{"sub": "c", "rel": "d"}]}'

# a file, its replacement (None removes it), and the expected message
DAMAGE = {
    "missing file": (TRUTH, None, "ground_truth.jsonl cannot be read"),
    "truncated line": (TRUTH, b'{"id": "a", "sent', "jsonl:1: the line is not valid JSON"),
    "wrong encoding": (TRUTH, "{}".encode("utf-16"), "byte 0 is not UTF-8"),
    "no object": (TRUTH, b"[]", "jsonl:1: the line is not a JSON object"),
    "fact without object": (TRUTH, WITHOUT_OBJECT, "jsonl:1: obj is missing"),
    "no relations": (ONTOLOGY, NO_RELATIONS, "declares no relations"),
    "no ontology": (ONTOLOGY, b'{"title": "x"}', "is not an ontology"),
    "no facts": (RESPONSES, NO_FACTS, "triples is not a list of triples"),
    "odd id": (ONTOLOGY, ODD_ID, "not allowed in IRIs"),
    "huge number": (VALUES, HUGE, "precision is missing or not a number"),
    "no number": (
        VALUES,
        b'{"id": "a", "precision": "high"}',
        "precision is missing or not a number",
    ),
    "number without end": (VALUES, ENDLESS, "precision is not finite"),
    "number above the range": (VALUES, TOO_GOOD, "precision is 1.25, not from 0 to 1"),
    "half a character": (TRUTH, HALF, "jsonl:1: sent has a lone surrogate"),
    "half a label": (ONTOLOGY, HALF_LABEL, "ontology.json has a lone surrogate"),
    "label of no text": (ONTOLOGY, NO_LABEL, "is not an ontology: 7 is missing or misplaced"),
    "triples of no objects": (TRUTH, NO_TRIPLES, "jsonl:1: triples is not a list of objects"),
    "lists of no ids": (LISTS, b'{"a": [1]}', "is not an object of lists of sentence ids"),
    "broken Turtle": ("ontologies/owl/ont_1_bridge.ttl", b"<a> <b", "is not valid Turtle"),
    "nothing said": (RESPONSES, b'{"id": "a"}', "jsonl:1: response is missing or not a string"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_data_are_refused_whole(data: Path, tmp_path: Path, kind: str) -> None:
    """Damaged data is refused with one message that names the file, and nothing is written."""
    name, content, message = DAMAGE[kind]
    if content is None:
        (data / TOP / name).unlink()
    else:
        (data / TOP / name).write_bytes(content)
    with pytest.raises(ImportRefused, match=message):
        text2kgbench.read(data)
    arguments = ["import", "text2kgbench", str(data), "--store", str(tmp_path / "store")]
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert not (tmp_path / "store").exists()


def lines(*records: dict[str, Any]) -> str:
    """Return records as JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def response(number: int, text: str) -> dict[str, Any]:
    """Return a stored response to a test sentence."""
    return {"id": f"ont_1_bridge_test_{number}", "response": text, "triples": []}


def test_odd_sets_of_responses(data: Path) -> None:
    """Unexpected responses are faults, the last of repeated ones counts, and prompts are kept."""
    given = [response(k, f"said {k}") for k in (1, 2, 3, 4, 4, 9)]
    given[4]["response"] = "said again"
    top = data / TOP
    (top / RESPONSES).write_text(lines(*given))
    folder = (top / RESPONSES).parent
    (folder / "notes.jsonl").write_text("not read")
    (folder / "ont_7_tunnel_llm_responses.jsonl").write_text(
        lines({**response(1, "x"), "id": "other"})
    )
    (folder / "1_bridge.jsonl").write_text(lines(response(1, "not read")))
    (folder.parent / "eval_metrics/ont_averages.jsonl").write_text("not read")
    (folder.parent / "unseen/llm_responses").mkdir(parents=True)
    (folder.parent / "unseen/llm_responses/ont_1_bridge_llm.jsonl").write_text(lines(given[0]))
    (top / "baselines/prompts").mkdir()
    prompt = {"id": "ont_1_bridge_test_1", "prompt": "What is said of bridges?"}
    (top / "baselines/prompts/ont_1_bridge_prompts.jsonl").write_text(lines(prompt))
    (top / "ontologies/owl/ont_1_bridge.ttl").unlink()

    with EmbeddedStore(None) as store:
        found = imported(data, store)
        (run,) = text2kgbench.runs(data, found, store.iris)
        assert_conforms(store)
        about = store.query(
            "SELECT ?about WHERE { GRAPH ?g { ?p <http://www.w3.org/2004/02/skos/core#notation> "
            "'unread-file' ; <https://schema.org/about> ?about } }"
        )
        assert {row["about"].value.rpartition("/")[2] for row in about} == {TOP}

    said = "baselines/Parrot-1B/llm_responses"
    assert [(p.subject, p.details) for p in found.unread[TOP]] == [
        (f"{said}/1_bridge.jsonl", f"{Path(RESPONSES).name} is read for the same ontology"),
        (
            f"{said}/notes.jsonl",
            "its name is not NUMBER_ONTOLOGY.jsonl or NUMBER_ONTOLOGY_*.jsonl",
        ),
        (f"{said}/ont_7_tunnel_llm_responses.jsonl", "there is no ontology 'tunnel'"),
    ]
    assert found.problems["unread-file"] == 3
    told = {
        kind: [problem.subject.rpartition("_")[2] for problem in found.parts[0].problems
               if problem.kind == kind]
        for kind in ("missing-response", "duplicate-response", "metrics-missing")
    }  # fmt: skip
    assert told == {
        "missing-response": [],
        "duplicate-response": ["4"],
        "metrics-missing": ["4", "4", "9"],
    }
    unknown = [p.subject for p in found.parts[0].problems if p.kind == "unknown-response-id"]
    assert unknown == ["ont_1_bridge_test_9", "ont_1_bridge_test_1"]  # no sentence is unseen
    texts = [dialogue.answers[0] for dialogue, _ in run.items]
    assert texts == ["said 1", "said 2", "said 3", "said again"]
    assert [len(evaluations) for _, evaluations in run.items] == [1, 1, 1, 0]
    prompts = [dialogue.turns[0].prompt for dialogue, _ in run.items]
    assert prompts == ["What is said of bridges?", *[text2kgbench.NO_PROMPT] * 3]


def test_lines_without_end_are_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line or file that exceeds its limit is refused before it is parsed."""
    monkeypatch.setattr(reading_lines, "MOST", 2_000)
    (data / TOP / TRUTH).write_text('{"id": "' + "x" * 3_000)
    with pytest.raises(ImportRefused, match=r"jsonl:1: the line has more than 2000 bytes"):
        text2kgbench.read(data)
    (data / TOP / ONTOLOGY).write_text("[" * 3_000)
    with pytest.raises(ImportRefused, match=r"ontology\.json has more than 2000 bytes"):
        text2kgbench.read(data)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    """A folder without Text2KGBench data is refused with that reason."""
    with pytest.raises(ImportRefused, match="holds no Text2KGBench data"):
        text2kgbench.read(tmp_path)
