# SPDX-License-Identifier: Apache-2.0
"""Scores are the same however many passes, metrics and dialogues one query names."""

from __future__ import annotations

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.outcomes import outcomes
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import worst_dialogues
from kgbench.record import invalidation, reading
from kgbench.scores import catalogue
from kgbench.scores.reading import Score, histograms, score_rows
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.runs import hold, planned

TASKS = ["RdfFriendCount-*-1", "RdfSyntaxFixList-*"]
MODELS = ["baseline:oracle", "baseline:noisy?rate=0.5&seed=3"]
ANALYSES = (leaderboard, leaders, task_scores, outcomes)


@pytest.fixture(scope="module")
def store():
    """Yield a store with two runs of one suite, one with an invalidated dialogue."""
    with open_store("memory:") as opened:
        for _ in range(2):
            hold(opened, planned(TASKS, *MODELS, iterations=2), run=None)
        run, _ = reading.runs(opened)
        states = reading.all_states(opened, run.graph).values()
        first = min(state.iri for group in states for state in group)
        invalidation.invalidate(opened, first, "the server was misconfigured", "Ada")
        yield opened


def read(store):
    """Return tables, single scores and the worst dialogues."""
    chosen = select(store)
    rows = score_rows(store, chosen, catalogue.metrics(store))
    tables = [make(store, chosen).as_json() for make in ANALYSES]
    return tables, sorted(rows, key=repr), worst_dialogues(store, chosen, 5)


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "_FEW_METRICS", "_FEW_VALUES"])
def test_limits_of_queries_change_nothing(store, monkeypatch, limit):
    """Tables are the same if passes are read one by one, or all metrics, or all values."""
    known = read(store)
    monkeypatch.setattr(f"kgbench.scores.reading.{limit}", 0)
    assert read(store) == known


def test_values_of_a_round_are_those_of_its_rows(store):
    """Histograms of a round have the values that single scores of that round have."""
    chosen, metrics = select(store), list(catalogue.metrics(store))
    rows = list(score_rows(store, chosen, metrics))
    for round_ in (0, 1, 7):
        scores = [Score(task, m, round_) for task in catalogue.tasks(store) for m in metrics]
        values = sorted(
            (model, score.metric, value)
            for model, by_score in histograms(store, chosen, scores).items()
            for score, read_ in by_score.items()
            for value in read_.values()
        )
        expected = sorted((r.model, r.metric, r.value) for r in rows if r.round == round_)
        assert values == expected
        assert bool(values) == (round_ < 7)


def test_only_wanted_metrics_are_read(store, monkeypatch):
    """Where a query reads all metrics, the others are left out."""
    monkeypatch.setattr("kgbench.scores.reading._FEW_METRICS", 0)
    (one,) = (
        iri for iri in catalogue.metrics(store) if iri.endswith("FixList/0.3-testing/contentF1")
    )
    assert {row.metric for row in score_rows(store, select(store), [one])} == {one}
