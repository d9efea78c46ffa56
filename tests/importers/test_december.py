# SPDX-License-Identifier: Apache-2.0
"""Import of the results of December 2023: flat scores with prefixes, and sizes."""

from __future__ import annotations

import copy
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.analysis.difficulty import sizes
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import ImportRefused
from kgbench.importers import json_records
from kgbench.importers.archives import ResultFile, open_results
from kgbench.importers.llm_kg_bench import ImportedRun, read_runs
from kgbench.importers.load import load
from kgbench.importers.records import read_record
from kgbench.model import Json, Outcome
from kgbench.scores.selection import select
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.iris import Iris
from tests.support.archives import as_json, record_v2
from tests.support.validation import assert_conforms

_LAST = {"answerParse": 1.0, "f1measure": 0.5}
SIDE_BY_SIDE = {
    "0_answerParse": 1.0,
    "0_f1measure": 0.0,
    **{f"1_{name}": value for name, value in _LAST.items()},
    **_LAST,
}
_LAST_INFOS = {"sparql": "SELECT 2", "answerSet": [1]}
INFOS = {
    "0_sparql": "SELECT 1",
    "0_answerSet": [],
    **{f"1_{name}": value for name, value in _LAST_INFOS.items()},
    "multishotCount": 1,
    **_LAST_INFOS,
}
TEXTS = ("Ask.", "SELECT 1", "Wrong.", "SELECT 2", "Wrong.", "SELECT 3")


def december(task: str = "Text2SparqlExecEvalList", **others: Any) -> dict[str, Any]:
    """Return a record without a label, with sizes; two of its three answers are judged."""
    given = {"version": "1.0", "scores": SIDE_BY_SIDE, "info": INFOS, "texts": TEXTS, **others}
    size = given.pop("size", 1000)
    found = record_v2(task, **given)
    del found["taskInfo"]["taskLabel"]
    found["taskSizeInfo"] = {"targetSize": size, "estimatedSize": 989, "actualSize": 1007}
    found["duration"] = "0:00:05"
    return found


def grown(size: int, f1: float) -> dict[str, Any]:
    """Return a record of one answer about a graph of ``size`` characters."""
    return december(
        "TurtleFriendCount",
        version="3.1",
        size=size,
        scores={"f1": f1},
        info={},
        texts=("Who?", "4"),
        data={"n": size},
    )


def runs(*records: dict[str, Any]) -> list[ImportedRun]:
    """Return the runs in a file of ``records``."""
    return read_runs(ResultFile("f.json", as_json(records)), Iris())


def test_scores_side_by_side_are_those_of_rounds() -> None:
    """A round prefix assigns a score to that answer; without one it is the last judged answer's."""
    record = read_record(december(), "f.json", 0)
    assert record.flat is None
    assert record.nested == {
        "0": {"answerParse": 1.0, "f1measure": 0.0},
        "1": {"answerParse": 1.0, "f1measure": 0.5},
        "last": {"answerParse": 1.0, "f1measure": 0.5},
    }
    assert record.infos == {
        "0": {"sparql": "SELECT 1", "answerSet": []},
        "1": {"sparql": "SELECT 2", "answerSet": [1]},
        "multishotCount": 1,
    }


def test_aggregations_side_by_side_keep_their_names() -> None:
    """A score name with an aggregation prefix belongs to the whole dialogue."""
    given = {**SIDE_BY_SIDE, "max_f1measure": 0.5, "meanExt_f1measure": 0.4}
    record = read_record(december(scores=given), "f.json", 0)
    assert record.nested is not None
    assert record.nested["max"] == {"f1measure": 0.5}
    assert record.nested["meanExt"] == {"f1measure": 0.4}


def test_dialogues_side_by_side_are_in_the_store() -> None:
    """The judged answers and the dialogue have evaluations, and the stored run conforms."""
    with EmbeddedStore(None) as store:
        (run,) = read_runs(ResultFile("f.json", as_json([december()])), store.iris)
        summary = load(store, run)
        ((dialogue, found),) = run.items
        assert_conforms(store)
    assert (summary.answers, summary.scores) == (3, 6)
    assert len(dialogue.turns) == 3
    assert [evaluation.round for evaluation in found] == [0, 1, None]
    assert sorted(found[-1].scores) == [
        f"https://w3id.org/kgbench/metric/Text2SparqlExecEvalList/1.0/last_{name}"
        for name in ("answerParse", "f1measure")
    ]


def test_a_record_without_scores_was_not_judged() -> None:
    """Answer and dialogue without scores are evaluator errors, not ones with score 0."""
    (run,) = runs(december(scores={}, info={}, texts=("Ask.", "SELECT 1")))
    ((_, found),) = run.items
    assert [evaluation.round for evaluation in found] == [0, None]
    assert {evaluation.outcome for evaluation in found} == {Outcome.EVALUATOR_ERROR}
    assert [evaluation.scores for evaluation in found] == [{}, {}]


def test_sizes_are_those_of_the_tasks() -> None:
    """Each target size is a task with the published label, and the sizes form a series."""
    records = [grown(1000, 0.5), grown(2000, 1.0), grown(1000, 0.0)]
    with EmbeddedStore(None) as store:
        (run,) = read_runs(ResultFile("f.json", as_json(records)), store.iris)
        load(store, run)
        assert_conforms(store)
        table = sizes(store, select(store))
        names = {row["task"] for row in task_scores(store, select(store)).records()}
    assert {task.label for task in run.tasks.values()} == {"TurtleFriendCount"}
    assert {row["series"] for row in table.records()} == {"TurtleFriendCount"}
    assert [(row["size"], row["n"], row["mean"]) for row in table.records()] == [
        (1000, 2, 0.25),
        (2000, 1, 1.0),
    ]
    assert names == {"TurtleFriendCount-1000", "TurtleFriendCount-2000"}
    assert [dialogue.iteration for dialogue, _ in run.items] == [0, 0, 1]
    executions = {dialogue.iri.rpartition("/")[0] for dialogue, _ in run.items}
    assert len(executions) == 2


def test_labels_are_the_published_ones() -> None:
    """A task of one size is named without the size; two versions are named with the version."""
    other = grown(1000, 1.0)
    other["taskInfo"]["version"] = "3.0"
    with EmbeddedStore(None) as store:
        for found in runs(grown(1000, 0.5)):
            load(store, found)
        alone = {row["task"] for row in task_scores(store, select(store)).records()}
        for found in runs(other):
            load(store, found)
        both = {row["task"] for row in task_scores(store, select(store)).records()}
    assert alone == {"TurtleFriendCount"}
    assert both == {"TurtleFriendCount 3.0", "TurtleFriendCount 3.1"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(JSON, min_size=1, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]))
def test_elements_do_not_depend_on_the_chunks(
    values: list[Json], step: int, indent: int | None
) -> None:
    """The elements of an array do not depend on the size of the chunks."""
    content = json.dumps(values, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    chunks = (content[at : at + step] for at in range(0, len(content), step))
    assert list(json_records.read_elements(chunks, "f.json")) == json.loads(content)


def test_the_place_of_an_error_is_that_in_the_file() -> None:
    """The line, column and character of an error count from the beginning of the file."""
    content = b'[\n{"a": 1},\n{"a" 2}]'
    with pytest.raises(ImportRefused, match=r"line 3 column 6 \(char 17\)"):
        list(
            json_records.read_elements((content[k : k + 1] for k in range(len(content))), "f.json")
        )


def test_a_record_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record longer than the limit is refused without reading the rest of the file."""
    monkeypatch.setattr(json_records, "MAX_RECORD", 1 << 21)
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        yield b'["'
        while read < 1000:
            read += 1
            yield b"x" * (1 << 16)

    with pytest.raises(ImportRefused, match="a record has more than"):
        list(json_records.read_elements(endless(), "f.json"))
    assert read < 200


def test_memory_does_not_grow_with_the_file() -> None:
    """Reading eight times as many records needs at most twice the memory."""
    record = as_json(december(texts=["Ask.", "y" * 20_000, "Again.", "z"]))

    def needed(count: int) -> int:
        def chunks() -> Iterator[bytes]:
            yield b"[" + record
            for _ in range(count):
                yield b"," + record
            yield b"]"

        tracemalloc.start()
        for found in read_runs(ResultFile("f.json", chunks), Iris()):
            for _ in found.items:
                pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert needed(800) < 2 * needed(100)


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    """A file that loses records between its check and its import is refused."""
    path = tmp_path / "f.json"
    path.write_bytes(as_json([december(), december()]))
    (file,) = open_results(path)
    (run,) = read_runs(file, Iris())
    path.write_bytes(as_json([december()]))
    with pytest.raises(ImportRefused, match="changed during the import"):
        list(run.items)


def test_records_are_not_changed() -> None:
    """Checking a record does not change it, because its digest names the dialogue."""
    raw = december()
    before = copy.deepcopy(raw)
    read_record(raw, "f.json", 0)
    assert raw == before
