# SPDX-License-Identifier: Apache-2.0
"""Models of different coverage are compared on the tasks that all of them share."""

from __future__ import annotations

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.scores.selection import select
from kgbench.scores.selectors import of_common_tasks
from tests.support.analysis_store import altered, owned
from tests.support.commands import printed


def test_common_tasks_rank_models_of_different_coverage():
    """With common tasks all models are ranked on their shared tasks, which the note names."""
    of_a = "?e kgb:model <model/model-a> ; kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; ?p ?o"
    store = altered(f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} }} }}")
    chosen = select(store)
    table = leaders(store, chosen, common=True)
    assert sorted(table.column("rank")) == [1, 2]
    assert table.column("tasks") == [2, 2]
    assert table.notes[0] == (
        "Compared on the 2 tasks that all 2 models were scored on: Mend-turtle, Pick-jsonld."
    )
    narrowed = select(store, tasks="[MP]*-j*")
    alone = {r["model"]: r["score"] for r in leaders(store, narrowed).records()}
    mending = {
        r["model"]: r["score"] for r in leaders(store, select(store, tasks="Mend-*")).records()
    }
    for row in table.records():
        together = (alone[row["model"]] + mending[row["model"]]) / 2
        assert row["score"] == pytest.approx(together)


def test_models_without_a_common_task_are_refused():
    """If models share no task, the message says so and names the models that cover least."""
    of_a = "?e kgb:model <model/model-a> ; kgb:task ?t ; ?p ?o"
    keep = "?e kgb:model <model/model-a> . FILTER(?t != <task/Pick/1.0/Pick-turtle/aa11>)"
    of_b = "?e kgb:model <model/model-b> ; kgb:task <task/Pick/1.0/Pick-turtle/aa11> ; ?p ?o"
    store = altered(
        f"DELETE {{ GRAPH ?g {{ {of_a} }} }} WHERE {{ GRAPH ?g {{ {of_a} . {keep} }} }}",
        f"DELETE {{ GRAPH ?g {{ {of_b} }} }} WHERE {{ GRAPH ?g {{ {of_b} }} }}",
    )
    with pytest.raises(QueryError, match=r"no task was scored for all 2 models.*Model A \(1\)"):
        leaderboard(store, select(store), common=True)
    with pytest.raises(QueryError, match="no task was scored for all 2 models"):
        of_common_tasks(task_scores(store, select(store)))


@pytest.mark.parametrize("what", ["leaderboard", "tasks"])
def test_common_is_an_option_of_tables(what, tmp_path):
    """If all models have all tasks, ``--common`` changes no row, and names the tasks."""
    owned("analysis_scores", str(tmp_path / "s")).close()
    asked = ("analyze", what, "--store", tmp_path / "s")
    assert printed(*asked, "--common", "--format", "csv") == printed(*asked, "--format", "csv")
    assert "Compared on the 3 tasks that all 2 models were scored on" in printed(*asked, "--common")
