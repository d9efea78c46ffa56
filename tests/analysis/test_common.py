# SPDX-License-Identifier: Apache-2.0
"""Models of different coverage are compared on the tasks that all of them share."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.task_scores import task_scores
from kgbench.cli import build_app
from kgbench.errors import QueryError
from kgbench.scores.selection import select
from kgbench.scores.selectors import of_common_tasks
from tests.support.analysis_store import altered, owned

app = build_app(["analyze", "plot"])


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


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Return a function that runs a command on the small store; it returns output and exit code."""
    location = str(tmp_path_factory.mktemp("store") / "s")
    owned("analysis_scores", location).close()

    def run(*arguments):
        found = CliRunner().invoke(app, [*arguments, "--store", location])
        return found.stdout + found.stderr, found.exit_code

    return run


@pytest.mark.parametrize("what", ["leaderboard", "tasks"])
def test_common_is_an_option_of_tables(typed, what):
    """If all models have all tasks, ``--common`` changes no row, and names the tasks."""
    plain, _ = typed("analyze", what, "--format", "csv")
    common, _ = typed("analyze", what, "--common", "--format", "csv")
    assert list(csv.reader(io.StringIO(common))) == list(csv.reader(io.StringIO(plain)))
    shown, code = typed("analyze", what, "--common")
    assert code == 0
    assert "Compared on the 3 tasks that all 2 models were scored on" in shown


def test_figures_show_as_many_models_as_asked(typed, tmp_path):
    """``--top`` keeps the best models of a figure and of its numbers."""
    pytest.importorskip("matplotlib")
    for kind in ("leaderboard", "boxplot"):
        _, code = typed("plot", kind, "--top", "1", "--no-title", "--out", str(tmp_path))
        assert code == 0
    beside = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")]
    shown = [{row["model"] for row in figure["tables"][0]["rows"]} for figure in beside]
    assert [len(models) for models in shown] == [1] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("leaderboard", "--overlay"), "No such option: --overlay"),
        (("boxplot", "--each", "model", "--top", "2"), "each figure shows one model"),
        (("format-preference", "--top", "2"), "No such option: --top"),
        (("compass", "--common"), "No such option: --common"),
        (("boxplot", "--name", "main"), "No such option: --name"),
        (("all", "--declared", "own.ttl"), "No such option: --declared"),
        (("boxplot", "--title", "T", "--no-title"), "it contradicts --title"),
    ],
)
def test_figures_refuse_what_they_cannot_obey(typed, arguments, message):
    """A figure refuses an option that it does not support."""
    pytest.importorskip("matplotlib")
    shown, code = typed("plot", *arguments)
    assert code == 2
    assert message in " ".join(shown.replace("│", " ").split())
