# SPDX-License-Identifier: Apache-2.0
"""Published answers of SPINACH and GRASP are imported as a whole or not at all."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import ImportRefused
from kgbench.importers.load import load
from kgbench.plugins.challenges import grasp, spinach
from kgbench.plugins.challenges.published_answers import imported_run
from kgbench.record import reading
from kgbench.store import open_reader
from kgbench.store.embedded import EmbeddedStore
from tests.support.validation import assert_conforms

RECORD: dict[str, Any] = {
    "question": "Who?",
    "gold_sparql": "SELECT ?x {}",
    "predicted_sparql": None,
    "f1": 0,
    "predicted_answer_tuple": None,
    "gold_answer_tuple": [{"x": {"type": "literal", "value": "a", "xml:lang": "en"}}],
    "remark": "more",
}
SYSTEM = {"role": "system", "content": "You answer."}
USER = {"role": "user", "content": "Who?"}
QUESTION = '{"id": "1", "question": "Who?", "sparql": "ASK {}"}'
MODEL = {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "1"}]}


def written(path: Path, content: object) -> Path:
    """Write a JSON file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def benchmark(folder: Path) -> Path:
    """Return a GRASP folder of two runs: one complete, one with another system's queries."""
    questions = [{"id": str(k), "question": "Who?", "sparql": "ASK {}", "info": {}} for k in (1, 2)]
    folder.mkdir(parents=True)
    lines = "\n".join(json.dumps(one) for one in questions)
    (folder / "test.jsonl").write_text(lines, "utf-8")
    outputs = folder / "outputs"
    outputs.mkdir()
    said = [SYSTEM, USER, MODEL]
    runs = [
        {"id": "2", "sparql": "ASK { ?s ?p ?o }", "elapsed": 2.5, "messages": said},
        {"id": "1", "output": {"sparql": None}, "elapsed": None, "messages": said},
    ]
    (outputs / "big.jsonl").write_text("\n".join(map(json.dumps, runs)) + "\n", "utf-8")
    written(
        outputs / "big.evaluation.json",
        {"2": {"target": {"size": 1}, "prediction": {"score": 0.5}}, "1": {"target": {"size": 1}}},
    )
    written(
        outputs / "big.config.json",
        {"config": {"model": "openai/gpt", "knowledge_graphs": [{"name": "small"}]}},
    )
    (outputs / "other.jsonl").write_text(json.dumps({"id": "1", "sparql": "ASK {}"}), "utf-8")
    return folder


def test_spinach_files(tmp_path: Path) -> None:
    """System, data set and split follow from the path; unknown fields are kept."""
    path = written(tmp_path / "datasets" / "qald" / "en" / "spinach_output_dev.json", [RECORD])
    assert spinach.files(tmp_path) == spinach.files(path) == [path]
    file = spinach.read(path)
    (answer,) = file.answers
    assert (file.system, file.dataset) == ("SPINACH", "qald-en-dev")
    assert (answer.text, answer.scores, answer.uid) == ("", {"f1": 0.0}, "1")
    assert answer.infos["published"] == {"remark": "more"}
    assert answer.infos["result"] == {"error": "no result is published"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "not a list"),
        ([1], "answer 0"),
        ([{**RECORD, "question": " "}], "question is missing"),
        ([{**RECORD, "f1": "1"}], "f1 is not a number"),
        ([{**RECORD, "f1": float("nan")}], "f1 is not a number"),
        ([{**RECORD, "f1": 1.5}], "f1 is not a number from 0 to 1"),
        ([{**RECORD, "predicted_sparql": 1}], "predicted_sparql is not a string"),
        ([{**RECORD, "gold_answer_tuple": "a"}], "gold_answer_tuple is neither"),
        ([{**RECORD, "remark": "\ud800"}], "has a lone surrogate"),
        ([{**RECORD, "gold_answer_tuple": [1]}], "gold_answer_tuple: a row"),
        ([{**RECORD, "gold_answer_tuple": [{"x": {"type": "x", "value": ""}}]}], "unknown type"),
    ],
)
def test_damaged_spinach_files_are_refused(tmp_path: Path, content: object, said: str) -> None:
    """A malformed SPINACH file is refused with file, answer and field."""
    path = written(tmp_path / "spinach_output_test.json", content)
    with pytest.raises(ImportRefused, match=said):
        spinach.read(path)


def test_nothing_to_import_is_said(tmp_path: Path) -> None:
    """A folder without answers and a file that is not JSON are refused."""
    with pytest.raises(ImportRefused, match="spinach_output"):
        spinach.files(tmp_path)
    with pytest.raises(ImportRefused, match="has no runs"):
        list(grasp.read(tmp_path))
    for content in ("{", "[" * 200_000):
        (tmp_path / "spinach_output_test.json").write_text(content, "utf-8")
        with pytest.raises(ImportRefused, match="is not valid JSON"):
            spinach.read(tmp_path / "spinach_output_test.json")


def test_line_separators_in_strings_of_grasp_are_kept(tmp_path: Path) -> None:
    """Only line feeds end a record: U+2028 and U+0085 may stand unescaped in JSON strings."""
    folder = benchmark(tmp_path / "set")
    run = {"id": "1", "sparql": "ASK {} # \u2028\u0085"}
    (folder / "outputs" / "big.jsonl").write_text(json.dumps(run, ensure_ascii=False), "utf-8")
    (answer,) = next(iter(grasp.read(folder))).answers
    assert answer.text == run["sparql"]


@pytest.mark.parametrize("below", ["", "outputs"])
def test_grasp_runs(tmp_path: Path, below: str) -> None:
    """Runs are found from the folder or their outputs, with graph, model, prompt and time."""
    folder = benchmark(tmp_path / "kg" / "set")
    big, other = grasp.read(folder / below)
    assert (big.system, big.dataset, other.system) == ("big", "small-set", "other")
    second, first = big.answers
    reply = second.turns[-1].calls[-1].reply
    assert reply is not None
    assert (second.uid, reply.model) == ("2", "openai/gpt")
    assert second.ended - grasp.BENCHMARK.day == timedelta(seconds=2.5)
    assert second.turns[0].prompt == "You answer.\n\nWho?"
    assert reply.text.startswith("I look.")
    assert (second.scores, first.scores, other.answers[0].scores) == ({"f1": 0.5}, {"f1": 0.0}, {})
    assert (first.text, "note" in first.infos) == ("", True)
    assert other.answers[0].data["graphName"] == "small"


def test_the_graph_of_grasp_runs_without_configuration(tmp_path: Path) -> None:
    """Without a configuration, the parent folder or the caller names the graph."""
    folder = benchmark(tmp_path / "kg" / "set")
    (folder / "outputs" / "big.config.json").unlink()
    assert {file.dataset for file in grasp.read(tmp_path)} == {"kg-set"}
    assert {file.dataset for file in grasp.read(tmp_path, "ck25")} == {"ck25-set"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("outputs/big.jsonl", '{"id": "9"}', "no question '9'"),
        ("outputs/big.jsonl", '{"id": "1", "sparql": 3}', "sparql is not a string"),
        ("outputs/big.jsonl", "[]", "big.jsonl:1: the line is not a JSON object"),
        ("outputs/big.jsonl", "{", "big.jsonl:1"),
        ("outputs/big.jsonl", "\n{}", "big.jsonl:2: id is missing"),
        ("outputs/big.jsonl", '{"id": null}', "big.jsonl:1: id is missing"),
        ("outputs/big.jsonl", '{"id": 1}\n\n{"id": "1"}', "3: id '1' is repeated from line 1"),
        ("outputs/big.jsonl", '{"id": "1", "elapsed": 1e300}', "big.jsonl:1: elapsed is too long"),
        ("outputs/big.jsonl", "[" * 200_000, "big.jsonl:1: the line is not valid JSON"),
        ("outputs/big.config.json", "[" * 200_000, "big.config.json is not valid JSON"),
        ("outputs/big.evaluation.json", "[]", "is not an object"),
        ("outputs/big.evaluation.json", '{"2": {"prediction": {"score": "x"}}}', "not a number"),
        ("test.jsonl", '{"id": "1", "question": 1}', "question or sparql"),
        ("test.jsonl", QUESTION.replace('"id": "1", ', ""), "test.jsonl:1: id is missing"),
        ("test.jsonl", f"{QUESTION}\n{QUESTION}", "test.jsonl:2: id '1' is repeated from line 1"),
    ],
)
def test_damaged_grasp_runs_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    """A malformed GRASP run is refused with file and line."""
    folder = benchmark(tmp_path / "set")
    (folder / name).write_text(content, "utf-8")
    with pytest.raises(ImportRefused, match=said):
        list(grasp.read(folder))


def test_imports_conform_and_are_idempotent(tmp_path: Path) -> None:
    """Imported answers conform to the shapes, and importing again changes nothing."""
    folder = benchmark(tmp_path / "set")
    path = written(tmp_path / "spinach_output_test.json", [RECORD, RECORD])
    with EmbeddedStore(None) as store:
        for known in (False, True):
            for of, file in (
                (spinach.BENCHMARK, spinach.read(path)),
                *((grasp.BENCHMARK, one) for one in grasp.read(folder)),
            ):
                assert load(store, imported_run(of, file, store.iris)).already_there is known
        assert_conforms(store)
        assert len(reading.runs(store)) == 3


def test_the_commands(tmp_path: Path) -> None:
    """Both commands import, print a summary, and print the same as JSON."""
    folder = benchmark(tmp_path / "set")
    path = written(tmp_path / "spinach_output_test.json", [RECORD])
    store = ["--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, ["import", "spinach", str(path), *store])
    assert done.exit_code == 0, done.output
    assert "1 dialogue, 1 score, 1 without an answer (suite spinach)" in done.output
    done = CliRunner().invoke(app, ["import", "grasp", str(folder), *store, "--json"])
    assert [run["dialogues"] for run in json.loads(done.output)["runs"]] == [2, 1]
    with open_reader(str(tmp_path / "store")) as opened:
        assert len(reading.runs(opened)) == 3
