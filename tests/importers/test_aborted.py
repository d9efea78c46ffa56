# SPDX-License-Identifier: Apache-2.0
"""Answers whose published evaluation was aborted have the outcome of an evaluator's error."""

from __future__ import annotations

import pytest

from kgbench.analysis.outcomes import Errors, count_errors
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.model import Outcome
from kgbench.scores.catalogue import tasks
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.store.iris import Iris
from tests.support.archives import as_json, dialogue_v3, record_v3

SCORED, ABORTED = Outcome.SCORED, Outcome.EVALUATOR_ERROR
F1 = {"f1": 1.0}


@pytest.mark.parametrize(
    ("scores", "outcomes"),
    [
        ({"0": {}, "last": {}}, [ABORTED, ABORTED]),
        ({"0": {}, "1": {}}, [ABORTED, ABORTED, ABORTED]),
        ({"last": {}}, [ABORTED]),
        ({"last": F1}, [SCORED]),
        ({"0": F1, "1": {}, "last": {}}, [SCORED, ABORTED, ABORTED]),
        ({"0": F1, "1": {}, "mean": F1}, [SCORED, ABORTED, SCORED]),
        ({"0": F1, "1": F1}, [SCORED, SCORED, SCORED]),
    ],
)
def test_rounds_without_scores(
    scores: dict[str, dict[str, float]], outcomes: list[Outcome]
) -> None:
    """A round without scores was not judged, nor was a dialogue whose last round has none."""
    file = ResultFile("f.json", as_json([dialogue_v3(scores=scores)]))
    (run,) = read_runs(file, Iris())
    ((_, found),) = run.items
    assert [evaluation.outcome for evaluation in found] == outcomes


@pytest.mark.parametrize(
    ("record", "others", "scores"),
    [
        (record_v3, {}, {}),
        (record_v3, {}, {"0": {}}),
        (dialogue_v3, {}, {}),
        (dialogue_v3, {}, {"0": {}, "1": {}}),
        (dialogue_v3, {}, {"last": {}}),
        (dialogue_v3, {"version": "0.1"}, {}),  # not declared
        (dialogue_v3, {"version": "0.1"}, {"0": {}, "1": {}}),
    ],
)
def test_every_form_without_scores_counts_once(record, others, scores):
    """A dialogue without scores is one dialogue that was not judged, whatever its task class."""
    records = [record(**others), record(**others, scores=scores)]
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile("f.json", as_json(records)), store.iris)
        load(store, run)
        ((_, counted),) = count_errors(store, select(store), tasks(store)).items()

    assert counted == Errors(not_judged=1)
