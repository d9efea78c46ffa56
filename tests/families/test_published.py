# SPDX-License-Identifier: Apache-2.0
"""The families of 2023: their contract, and a comparison with published scores."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kgbench.execution.engines import engine
from kgbench.importers.published import case_data, note_corrected_graph
from kgbench.importers.records import read_record
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.judging import PlainExecutor
from tests.support.families import only_case

EXECUTOR = PlainExecutor()


@pytest.mark.parametrize("name", ["TurtleConnectionExplainStatic", "TurtleFriendCount"])
def test_first_versions_keep_the_contract(name: str) -> None:
    """The Turtle-only versions fulfil the contract for cases, prompts and references."""
    task_class, module = catalogue.task_class(name), catalogue.module(name)
    task = catalogue.make_task(name, "old", {})
    for case in module.cases(task, checks.SUITE, 0, 3):
        judge = checks.judge_here(module, EXECUTOR)
        assert list(checks.faults_of_case(task, case)) == []
        assert list(checks.faults_of_prompt(module, case)) == []
        assert list(checks.faults_of_reference(task_class, module, case, judge)) == []


def test_the_first_version_had_no_precision_for_nothing() -> None:
    """In the first version, the precision of an answer without an IRI is 0, later 1."""
    case = only_case("TurtleConnectionExplainStatic")
    scores = (
        catalogue.module("TurtleConnectionExplainStatic")
        .judge(case, ["I do not know."], EXECUTOR)
        .scores
    )
    assert scores["textHttpPrecision"] == scores["textShortPrecision"] == 0.0


CLASSES = {
    "TurtleConnectionExplainStatic": "TurtleConnectionExplainStatic",
    "TurtleErrorsStatic": "TurtleErrorsStatic",
    "TurtleFriendCount": "TurtleFriendCount",
    "SyntheticDatasetGeneration": "TurtleSampleGeneration",
}


@pytest.fixture(scope="module")
def shares(external_data: Path) -> dict[tuple[str, bool], tuple[int, int]]:
    """Return the reproduced scores by task and by whether the answer parses as a whole."""
    right: Counter[tuple[str, bool]] = Counter()
    total: Counter[tuple[str, bool]] = Counter()
    executor = engine("oxigraph")
    for path in sorted((external_data / "llm-kg-bench-v1").glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        records = [read_record(each, path.name, k) for k, each in enumerate(raw)]
        corrected: dict[str, str] = {}
        for record in records:
            note_corrected_graph(record, corrected)
        for record in records:
            name = CLASSES.get(record.task_class)
            if name is None or record.flat is None:
                continue
            judge = catalogue.module(name)
            data = case_data(record, corrected)
            case = catalogue.make_case("llm-kg-bench-1", judge.NAME, {}, data)
            verdict = judge.judge(case, [each.answer for each in record.exchanges], executor)
            key = (record.task_class, verdict.infos.get("syntaxError") is None)
            for name, value in record.flat.items():
                total[key] += 1
                right[key] += abs(verdict.scores[name] - value) < 1e-9
    return {key: (right[key], count) for key, count in total.items()}


def test_published_scores_of_2023(shares: dict[tuple[str, bool], tuple[int, int]]) -> None:
    """Scores of friends and connections are exact, of samples if they parse; others nearly."""
    assert shares["TurtleConnectionExplainStatic", True] == (520, 520)
    assert shares["TurtleFriendCount", True] == (1600, 1600)
    assert shares["SyntheticDatasetGeneration", True] == (708, 708)
    for key, least in (
        (("SyntheticDatasetGeneration", False), 0.99),
        (("TurtleErrorsStatic", True), 0.90),
        (("TurtleErrorsStatic", False), 0.55),
    ):
        right, total = shares[key]
        assert right / total >= least, (key, right, total)
