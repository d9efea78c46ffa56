# SPDX-License-Identifier: Apache-2.0
"""Figures of the tables of a publication."""

from __future__ import annotations

import json

import pytest

from kgbench.publish import results, site
from kgbench.record import invalidation, reading
from kgbench.store import open_store
from tests.publish.conftest import command, publish

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def judged(tmp_path):
    """Return a store with two models, a second pass, and an invalid dialogue."""
    place = tmp_path / "store"
    chosen = ["-m", "baseline:oracle", "-m", "baseline:silent", "-t", "RdfFriendCount-turtle-1"]
    command("run", "--store", place, *chosen, "--iterations", "3")
    command("reevaluate", "--store", place)
    with open_store(str(place)) as store:
        (run,) = reading.runs(store)
        execution = reading.executions(store, run.graph)[0]
        dialogues = reading.execution_dialogues(store, run.graph, execution, run.iri)
        invalidation.invalidate(store, next(iter(dialogues)).iri, "a wrong key", "A. Person")
    return place


def test_figures_show_the_best_models(judged, tmp_path, monkeypatch):
    """A figure of many models shows the best and says so; its numbers have all."""
    monkeypatch.setattr(site, "figures", results.figures)
    monkeypatch.setattr(results, "_MOST_DRAWN", 1)
    out = tmp_path / "site"
    publish(judged, out)
    drawn = (out / "figures" / "kgbench-1-leaderboard.svg").read_text(encoding="utf-8")
    numbers = json.dumps(
        json.loads((out / "figures" / "kgbench-1-leaderboard.json").read_text(encoding="utf-8"))
    )
    assert "oracle" in drawn
    assert "silent" not in drawn
    assert "the 1 best models" in drawn
    assert "silent" in numbers
