# SPDX-License-Identifier: Apache-2.0
"""Published scores that cannot be averaged: errors, values out of range, and no numbers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.errors import QueryError
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import Summary, load
from kgbench.model import Outcome
from kgbench.scores.declared import check_selectors
from kgbench.scores.selection import select
from kgbench.scores.selectors import Selector
from kgbench.store import open_store
from kgbench.store.iris import Iris
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v3
from tests.support.commands import printed
from tests.support.validation import assert_conforms

PERSONS = partial(record_v1, info={"n_persons": 10})
OLD = partial(PERSONS, "SyntheticDatasetGeneration", version="1.0")
DECLARED = partial(PERSONS, "TurtleSampleGeneration", version="1.0")


def error(value: float) -> dict[str, float]:
    """Return published scores with a relative error, which is no good first metric."""
    return {"persons_relative_error": value, "parsable": 1.0}


@pytest.mark.parametrize("record", [OLD, partial(OLD, version="1.1"), DECLARED])
def test_an_error_is_averaged_as_agreement(record: Any) -> None:
    """The exact model leads with 1; 100 persons instead of 10 are not better but worth 0."""
    models = {"x--exact": 0.0, "x--floods": 9.0, "x--few": -0.25}
    found = [record(model=model, scores=error(value)) for model, value in models.items()]
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile("f.json", as_json(found)), store.iris)
        load(store, run)
        table = leaderboard(store, select(store))
        assert_conforms(store)
        with pytest.raises(QueryError, match=r"best at 0.*take 'persons_agreement'"):
            check_selectors(store, [Selector("*", "persons_relative_error")], Path("own.ttl"))
    scores = dict(zip(table.column("model"), table.column("score"), strict=True))
    assert scores == {"exact": 1.0, "few": 0.75, "floods": 0.0}


def imported(content: bytes, name: str = "f.json") -> tuple[Summary, list[Any]]:
    """Import a result file; return the summary and the evaluations of the first dialogue."""
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile(name, content), store.iris)
        summary = load(store, run)
        ((_, evaluations), *_) = run.items
    return summary, list(evaluations)


@pytest.mark.parametrize("value", [1.7, -3, float("nan"), float("inf"), float("-inf")])
def test_a_score_that_cannot_be_is_missing(value: float) -> None:
    """It is not averaged, the other scores stay, and the summary names dialogue and reason."""
    spoilt = record_v3(scores={"recall": 0.5, "f1": value})
    summary, (evaluation,) = imported(as_json([spoilt, record_v3()]))
    assert summary.dialogues == 2
    assert summary.scores == 3
    assert [iri.rpartition("/")[2] for iri in evaluation.scores] == ["recall"]
    (missing,) = summary.missing_scores
    word = json.dumps(float(value))
    assert f"{evaluation.dialogue}: scores.f1 is {word}" in missing
    assert missing.endswith(("from 0 to 1", word))
    assert evaluation.infos["published"]["missingScores"].keys() == {"scores.f1"}


def test_a_score_of_a_round_or_dialogue_that_cannot_be_is_missing() -> None:
    """Ranges hold for scores of rounds and for those of whole dialogues."""
    scores = {
        "0": {"combined": 7.0, "brevity": 1.0},
        "1": {"combined": 1.0},
        "max": {"combined": -1.0},
        "mean": {"combined": 0.5},
    }
    summary, evaluations = imported(as_json([dialogue_v3(scores=scores)]))
    missing = {line.split(": ")[1].split(" is ")[0] for line in summary.missing_scores}
    assert missing == {"scores.0.combined", "scores.max.combined"}
    assert [len(evaluation.scores) for evaluation in evaluations] == [1, 1, 1]


def test_a_dialogue_without_any_valid_score_was_not_judged() -> None:
    """It has the outcome of an evaluator's error instead of a score."""
    _, (evaluation,) = imported(as_json([record_v3(scores={"f1": float("nan")})]))
    assert evaluation.outcome is Outcome.EVALUATOR_ERROR


def test_numbers_that_are_none_are_read_from_yaml_and_beside_scores() -> None:
    """YAML's spellings and values of other fields are read, and kept as texts."""
    found = record_v3(info={"perplexity": float("nan")})
    content = json.dumps([found]).replace("NaN", ".nan").replace('"f1": 1.0', '"f1": -.INF')
    summary, (evaluation,) = imported(content.encode(), "f.yaml")
    assert evaluation.infos["perplexity"] == "NaN"
    assert summary.missing_scores[0].endswith("scores.f1 is -Infinity")


def test_undeclared_metrics_have_no_range() -> None:
    """A score that nobody declares is kept as published."""
    (run,) = read_runs(ResultFile("f.json", as_json([record_v3(scores={"mine": 7})])), Iris())
    assert [list(e.scores.values()) for _, found in run.items for e in found] == [[7.0]]


def test_the_command_warns_of_missing_scores(tmp_path: Path) -> None:
    """One line gives their number and the first of them."""
    path = tmp_path / "f.json"
    path.write_bytes(as_json([record_v3(scores={"recall": 0.5, "f1": 1.7})] * 2))
    lines = printed("import", "llm-kg-bench", path, "--store", tmp_path / "store").splitlines()
    assert lines[1].startswith("  warning: 2 scores are recorded as missing, not finite or outside")
    assert lines[1].endswith("is 1.7, which f1 cannot be: it is declared from 0 to 1")
