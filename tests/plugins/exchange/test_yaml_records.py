# SPDX-License-Identifier: Apache-2.0
"""Result files in YAML: the same records as in JSON, and refusals of all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.analysis.difficulty import sizes
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import ImportRefused
from kgbench.importers.archives import ResultFile, open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.plugins.exchange.yaml_records import read_elements
from kgbench.scores.selection import select
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.iris import Iris
from tests.support.archives import write_zip
from tests.support.validation import assert_conforms

YAML = r"""---
- !!python/object:LlmKgBench.api.task.TaskExecInfo
  duration: !!python/object/apply:datetime.timedelta
  - 0
  - 1
  - 143564
  info: {names: !!set {b: null}, 1: one}
  interactions:
  - !!python/tuple [prompt, 2023-12-05 10:10:53.862653, "Who?\n"]
  - !!python/tuple
    - response
    - 2023-12-05 10:10:55.006207
    - 'Anne'
  modelId: Bird--parrot--parrot-2
  reevalOriginalTime: null
  scores: &scores {f1: 1.0, recall: 1, brevity: 1.0e-05}
  startTime: 2023-12-05 10:10:53.862643
  taskData: {version: '2.0', no: yes, also: *scores}
  taskInfo: !!python/object:LlmKgBench.api.task.TaskInfo
    gitCommit: 8343345a8c17cba8f0a58ef83ce2394707731ff8
    taskId: TurtleConnectionExplainStatic
    version: '2.0'
  taskSizeInfo: !!python/object:LlmKgBench.api.task.TaskSizeInfo
    {actualSize: 1548, estimatedSize: ~, targetSize: 1000}
"""
AS_JSON = {
    "duration": "0:00:01.143564",
    "info": {"names": ["b"], "1": "one"},
    "interactions": [
        ["prompt", "2023-12-05T10:10:53.862653", "Who?\n"],
        ["response", "2023-12-05T10:10:55.006207", "Anne"],
    ],
    "modelId": "Bird--parrot--parrot-2",
    "reevalOriginalTime": None,
    "scores": {"f1": 1.0, "recall": 1, "brevity": 1e-05},
    "startTime": "2023-12-05T10:10:53.862643",
    "taskData": {
        "version": "2.0",
        "no": "yes",
        "also": {"f1": 1.0, "recall": 1, "brevity": 1e-05},
    },
    "taskInfo": {
        "gitCommit": "8343345a8c17cba8f0a58ef83ce2394707731ff8",
        "taskId": "TurtleConnectionExplainStatic",
        "version": "2.0",
    },
    "taskSizeInfo": {"actualSize": 1548, "estimatedSize": None, "targetSize": 1000},
}


def test_yaml_says_the_same_as_json() -> None:
    """A result in YAML, as Python dumps it, gives the same records as its JSON form."""
    assert list(ResultFile("f.yaml", YAML.encode()).records()) == [AS_JSON]
    (run,) = read_runs(ResultFile("f.yml", YAML.encode()), Iris())
    ((dialogue, _),) = run.items
    assert dialogue.answers == ("Anne",)


LAUGHS = "- [&a [x, x, x, x, x, x, x, x, x, x]" + "".join(
    f", &{new} [{', '.join([f'*{old}'] * 10)}]"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "- !!python/object/apply:os.system [ls]",
            r"line 1: the tag python/object/apply:os\.system",
        ),
        ("- !!python/name:os.system ''", "line 1: the tag python/name:os.system"),
        ("- !local {a: 1}", "line 1: the tag !local"),
        ("- *a", "not YAML|precedes its anchor"),
        ("- &a [*a]", "precedes its anchor or is inside"),
        (LAUGHS + "]", "too large, aliases counted|anchored values are too many"),
        ("- " + "[" * 5000, "nested too deeply"),
        ("a: 1", "a list of records was expected, found an object"),
        ("text", "found a single value"),
        ("[]", "the list of records is empty"),
        ("", "is empty"),
        ("- 1\n---\n- 2", "line 2: a second document"),
        ("- [a", "not YAML"),
        ("- {[1]: 2}", "a key is neither"),
        ("- \x00", "control characters"),
        ("- !!python/object/apply:datetime.timedelta [x]", "the time span is invalid"),
        ("- !!python/object/apply:datetime.timedelta [999999999999]", "time span is too long"),
    ],
)
def test_other_yaml_is_refused(content: str, message: str) -> None:
    """Unknown tags, aliases and other YAML are refused, and the message names the line."""
    with pytest.raises(ImportRefused, match=message) as caught:
        list(ResultFile("f.yaml", content.encode()).records())
    assert str(caught.value).startswith("f.yaml: ")


@given(st.text(max_size=60))
def test_any_yaml_is_read_or_refused(content: str) -> None:
    """Any YAML is read as values that JSON can represent, or refused."""
    try:
        found = list(read_elements([content.encode("utf-8", "replace")], "f.yaml"))
    except ImportRefused:
        return
    json.dumps(found, allow_nan=False)


def test_yaml_beside_json_is_the_same_run(tmp_path: Path) -> None:
    """If an archive holds a result as JSON and as YAML, the JSON form is read."""
    members = {"a_result.json": b"[{}]", "a_result.yaml": YAML.encode()}
    (found,) = open_results(write_zip(tmp_path / "a.zip", members))
    assert found.name == "a.zip/a_result.json"
    (alone,) = open_results(write_zip(tmp_path / "b.zip", {"b_result.yaml": YAML.encode()}))
    assert list(alone.records()) == [AS_JSON]


@pytest.mark.external
def test_the_files_of_december_2023(external_data: Path) -> None:
    """The four files are imported whole: three tasks without sizes, and one with eight sizes."""
    with EmbeddedStore(None) as store:
        counts = []
        for path in sorted((external_data / "llm-kg-bench-2023-12").iterdir()):
            for file in open_results(path):
                for run in read_runs(file, store.iris):
                    summary = load(store, run)
                    raw = list(file.records())
                    assert summary.scores == sum(len(record["scores"]) for record in raw)
                    counts.append((summary.dialogues, summary.labels))
        assert_conforms(store)
        table = sizes(store, select(store))
        labels = {
            row["task"].partition("-")[0] for row in task_scores(store, select(store)).records()
        }
    assert counts == [(140, 1), (560, 1), (10, 1), (75, 1)]
    assert {row["size"] for row in table.records()} == set(range(1000, 9000, 1000))
    assert {row["series"] for row in table.records()} == {"TurtleFriendCount"}
    assert labels == {
        *("Text2SparqlExecEvalList", "TurtleConnectionExplainStatic", "TurtleFriendCount")
    }
