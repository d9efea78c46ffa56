# SPDX-License-Identifier: Apache-2.0
"""Tasks of an installed data set run from the first prompt to the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import home
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.store import open_reader
from kgbench.tasks import catalogue
from tests.support import text2kg_data
from tests.support.validation import assert_conforms

CONFIGURATION = """\
suite: text2kgbench
tasks: [{tasks}]
models: ["baseline:oracle", "baseline:noisy", "baseline:silent"]
iterations: 2
"""


def measured(
    data: Path, place: Path, monkeypatch: pytest.MonkeyPatch, tasks: str = '"Text2KG*"'
) -> dict[str, dict[str, Any]]:
    """Install the data and run tasks with the baselines; return the leaderboard by model."""
    monkeypatch.setenv(home.VARIABLE, str(place / "home"))
    (place / "run.yaml").write_text(CONFIGURATION.format(tasks=tasks), encoding="utf-8")
    for arguments in (
        ["datasets", "install", "text2kgbench", "--from", str(data), "--json"],
        ["run", str(place / "run.yaml"), "--store", str(place / "store"), "--json"],
        ["analyze", "leaderboard", "--store", str(place / "store"), "--json"],
    ):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    return {row["model"]: row for row in rows}


def test_invented_data_run_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the task are asked, judged and ranked without a published wording."""
    data = text2kg_data.write(tmp_path / "data")
    tasks = '"Text2KG-*-revised", "Text2KGRdf*", "*-sample"'
    found = measured(data, tmp_path, monkeypatch, tasks)
    assert found["baseline:oracle"]["score"] == 1.0
    assert found["baseline:silent"]["score"] == 0.0
    with open_reader(str(tmp_path / "store")) as store:
        assert_conforms(store)


@pytest.mark.parametrize("name", ["Text2KG", "Text2KGRdf"])
@pytest.mark.parametrize("piece", ["spans(a, b)\n", "x(", "a, ", "<e:a> <e:b> <e:c> .\n", "\ud800"])
def test_an_answer_that_repeats_itself_is_judged(name: str, piece: str) -> None:
    """An answer that repeats 100 kB of the same text is judged in the child process."""
    task = catalogue.labelled_tasks()[f"{name}-sample"]
    (case,) = catalogue.module(name).cases(task, "s", 0, 1)
    answer = piece * (100_000 // len(piece))
    (verdict,) = judge_batch([JudgeRequest(case, (answer,))], JudgeLimits(seconds=20))
    assert verdict.outcome in {Outcome.SCORED, Outcome.UNPARSABLE}
    assert verdict.scores["f1"] == 0.0


@pytest.mark.external
def test_all_ontologies_run_end_to_end(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every ontology of both collections is measured with the baselines in both forms."""
    found = measured(external_data / "text2kgbench", tmp_path, monkeypatch)
    # 29 ontologies, 10 of them also with invented sentences, in three forms; the sample in two
    assert {row["tasks"] for row in found.values()} == {3 * (29 + 10) + 2}
    assert {row["failed"] for row in found.values()} == {0}
    assert found["baseline:oracle"]["score"] > 0.9
    assert found["baseline:silent"]["score"] == 0.0
