# SPDX-License-Identifier: Apache-2.0
"""Every analysis and every figure on the command line, over a run of baselines."""

from __future__ import annotations

import json
import shlex

import pytest
from typer.testing import CliRunner

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.stored_results import basis, stored_table
from kgbench.cli import app
from kgbench.errors import QueryError
from kgbench.scores.selection import select
from kgbench.store import open_reader

CONFIGURATION = """
tasks: ["RdfFriendCount-*-1", "RdfSyntaxFixList-*", "RdfConnectionExplainStatic-*"]
models: ["baseline:oracle", "baseline:noisy?rate=0.6&seed=7"]
sizes: [1000, 2000]
iterations: 2
"""
RECORDS = """
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
<urn:oracle> a kgb:ModelRecord ; rdfs:label "Oracle" ; kgb:family "Base" ; kgb:matches "oracle" ;
    kgb:parameterCount 1.0e0 ; kgb:contextLength 1000 ; schema:license "Apache-2.0" ;
    dcterms:source "this test" .
<urn:noisy> a kgb:ModelRecord ; rdfs:label "Noisy" ; kgb:family "Base" ; kgb:matches "noisy" ;
    kgb:parameterCount 2.0e0 ; kgb:contextLength 2000 ; schema:license "Apache-2.0" ;
    dcterms:source "this test" .
"""


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    """Return the location of a store with one run."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "c.yaml").write_text(CONFIGURATION)
    store = str(folder / "store")
    done = CliRunner().invoke(app, ["run", str(folder / "c.yaml"), "--store", store])
    assert done.exit_code == 0, done.output
    return store


@pytest.fixture(scope="module")
def typed(location):
    """Return a function that runs a command on the store and returns its output."""

    def run(*arguments):
        done = CliRunner().invoke(
            app, [*map(str, arguments), "--store", location], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("leaderboard", ()),
        ("tasks", ("--task", "RdfFriendCount-*")),
        ("format-preference", ()),
        ("format-preference", ("--details",)),
        ("compass", ("--compass", "eswc")),
        ("sizes", ("--metric", "f1", "--task", "RdfFriendCount-*")),
        ("dialogue", ()),
        ("outcomes", ("--model", "*")),
    ],
)
def test_each_analysis_names_the_models(typed, name, arguments):
    """A table has rows of both models, and its JSON has the same rows."""
    shown = typed("analyze", name, *arguments)
    held = json.loads(typed("analyze", name, *arguments, "--json"))

    assert "oracle" in shown
    assert held["rows"]
    assert any("oracle" in str(value) for row in held["rows"] for value in row.values())


def test_scores_are_set_against_what_is_published(typed, tmp_path):
    """User-supplied records give models their points; the shipped records match none here."""
    (tmp_path / "records.ttl").write_text(RECORDS)

    own = ("--declared", tmp_path / "records.ttl")

    known = json.loads(typed("analyze", "scaling", "--points", "--json", *own))["rows"]
    assert [one["family"] for one in known] == ["Base", "Base"]
    assert "Trends" in typed("analyze", "scaling", *own)
    with pytest.raises(QueryError, match="no model record matches"):
        typed("analyze", "scaling")


def test_printed_scores_need_no_results_of_a_store(typed):
    """A leaderboard of a paper is printed; other tables of its suite say what to import."""
    paper = ("leaderboard", "--suite", "llm-kg-bench-3", "--set", "swj-published")
    rows = json.loads(typed(*paper, "--published", "--json"))["rows"]

    assert {row["source"] for row in rows} == {"published"}
    assert rows[0]["rank"] == 1
    with pytest.raises(QueryError, match="llm-kg-bench PATH` reads its published results"):
        typed(*paper)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("leaderboard", "baseline:oracle"),
        ("tasks", "baseline:oracle::RdfSyntaxFixList-turtle"),
        ("compass", "baseline:oracle::R-Syn"),
        ("sizes", "baseline:oracle"),
        ("format-preference", "baseline:oracle"),
        ("dialogue", "baseline:oracle"),
    ],
)
def test_each_cell_is_explained(typed, name, cell, location):
    """An explanation fits one screen: query, parts, and five dialogues with a command for each."""
    said = typed("analyze", name, "--explain", cell)

    assert "SELECT" in said
    assert len(said.splitlines()) <= 60
    shown = [line for line in said.splitlines() if line.startswith("kgbench show ")]
    assert 0 < len(shown) <= 5
    words = shlex.split(shown[0], comments=True)
    assert words[-2:] == ["--store", location]
    assert "baseline" in typed(*words[1:-2])


def test_all_of_a_cell_and_its_data(typed):
    """``--all`` lists every value, also as JSON and CSV; without a cell it is refused."""
    cell = ("analyze", "leaderboard", "--explain", "baseline:oracle")
    told = json.loads(typed(*cell, "--all", "--json"))
    values = told["values"]["rows"]
    assert len(values) == sum(row[2] for row in told["parts"]["rows"])
    assert values[0][-1] in typed(*cell, "--all")
    assert len(typed(*cell, "--all", "-f", "csv").splitlines()) == len(values) + 1
    assert "values" not in json.loads(typed(*cell, "--json"))
    assert CliRunner().invoke(app, ["analyze", "leaderboard", "--all"]).exit_code == 2


@pytest.mark.parametrize("name", ["leaderboard", "tasks", "compass", "sizes", "outcomes"])
def test_each_analysis_obeys_the_common_selectors(typed, name):
    """A table has only the models, tasks and runs that are selected."""
    selectors = ("--model", "baseline:oracle", "--task", "RdfFriendCount-*")
    (run,) = (one["run"] for one in json.loads(typed("status", "--json")))
    one = json.loads(typed("analyze", name, *selectors, "--run", run, "--json"))
    whole = json.loads(typed("analyze", name, "--json"))
    assert {row["model"] for row in one["rows"]} == {"baseline:oracle"}
    assert len(one["rows"]) < len(whole["rows"])
    assert one["context"]["task"] == "RdfFriendCount-*"
    assert one["context"]["run"] == run


@pytest.mark.parametrize(
    "kind", ["boxplot", "compass", "format-preference", "leaderboard", "sizes"]
)
def test_each_figure_is_drawn_with_its_numbers(typed, tmp_path, kind):
    """Each figure is an SVG beside a JSON file with its table, its queries and the state."""
    pytest.importorskip("matplotlib")
    paths = typed("plot", kind, "--format", "svg", "--out", tmp_path).split()
    numbers = [json.loads(p.read_text()) for p in tmp_path.glob("*.json")]

    assert len(paths) == 2 * len(numbers)
    assert all(p.read_text().startswith("<?xml") for p in tmp_path.glob("*.svg"))
    assert all(one["tables"] and one["queries"] for one in numbers)


def test_all_figures_are_drawn_that_the_scores_allow(typed, tmp_path):
    """``plot all`` draws each kind of figure that has something to show, and no other."""
    pytest.importorskip("matplotlib")
    typed("plot", "all", "--format", "svg", "--out", tmp_path, "--task", "RdfFriendCount-*")
    drawn = {path.stem.partition("-")[0] for path in tmp_path.glob("*.svg")}

    assert drawn == {"boxplot", "compass", "leaderboard", "sizes"}


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("boxplot", "RdfFriendCount-*"),
        ("compass", "RdfSyntaxFixList-*"),
        ("format-preference", "RdfSyntaxFixList-*"),
        ("leaderboard", "RdfFriendCount-turtle-1-1000"),
        ("sizes", "RdfFriendCount-*"),
    ],
)
def test_each_figure_shows_only_what_is_selected(typed, tmp_path, kind, task):
    """A figure has only the numbers of the selected models and tasks."""
    pytest.importorskip("matplotlib")
    selectors = ("--model", "baseline:oracle", "--task", task)
    typed("plot", kind, *selectors, "--format", "svg", "--out", tmp_path)
    whole = tmp_path / "whole"
    typed("plot", kind, "--format", "svg", "--out", whole)

    def drawn(folder):
        tables = [t for p in folder.glob("*.json") for t in json.loads(p.read_text())["tables"]]
        return tables, {row["model"] for table in tables for row in table["rows"]}

    (tables, models), (all_tables, _) = drawn(tmp_path), drawn(whole)
    assert models <= {"baseline:oracle", "All models"}
    assert "baseline:oracle" in models
    assert all(table["context"]["task"] == task for table in tables)
    assert sum(len(t["rows"]) for t in tables) < sum(len(t["rows"]) for t in all_tables)
    if kind == "leaderboard":
        assert [row["tasks"] for row in tables[0]["rows"]] == [1]


@pytest.mark.parametrize("kind", ["boxplot", "compass", "format-preference", "sizes"])
def test_each_model_has_a_figure_of_its_own(typed, tmp_path, kind):
    """``--each model`` draws one figure per model, with only this model."""
    pytest.importorskip("matplotlib")
    typed("plot", kind, "--each", "model", "--format", "svg", "--out", tmp_path)
    column = "task" if kind == "boxplot" else "model"  # boxes are tasks in this figure
    shown = [
        {row[column] for row in json.loads(p.read_text())["tables"][0]["rows"]}
        for p in tmp_path.glob("*.json")
    ]

    assert all(len(models) == 1 for models in shown)
    assert {"baseline:oracle", "baseline:noisy?rate=0.6&seed=7"} <= {
        name for models in shown for name in models
    }


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("compass", "--metric", "f1"), "No such option: --metric"),
        (("leaderboard", "--each", "model"), "No such option: --each"),
        (("leaderboard", "--model", "nobody"), "no model matches 'nobody'"),
        (("compass", "--task", "Nothing-*"), "no task label matches 'Nothing-*'"),
        (("format-preference", "--task", "*Count*"), "no model has scores on the tasks that"),
        (("leaderboard", "--overlay"), "No such option: --overlay"),
        (("boxplot", "--each", "model", "--top", "2"), "each figure shows one model"),
        (("format-preference", "--top", "2"), "No such option: --top"),
        (("compass", "--common"), "No such option: --common"),
        (("boxplot", "--name", "main"), "No such option: --name"),
        (("all", "--declared", "own.ttl"), "No such option: --declared"),
        (("boxplot", "--title", "T", "--no-title"), "it contradicts --title"),
    ],
)
def test_what_a_figure_cannot_obey_is_refused(location, tmp_path, arguments, hint):
    """An option without effect, or a selection of nothing, is refused with a hint."""
    pytest.importorskip("matplotlib")
    asked = ["plot", *arguments, "--out", str(tmp_path), "--store", location]
    done = CliRunner().invoke(app, asked)
    told = " ".join((done.output + str(done.exception)).replace("│", " ").split())

    assert done.exit_code != 0
    assert hint in told
    assert not list(tmp_path.iterdir())


def test_leaders_are_kept_where_pages_look_for_them(typed, location):
    """Pages read back what ``leaderboard --significance --keep`` stores."""
    typed("analyze", "leaderboard", "--significance", "--keep")
    with open_reader(location) as store:
        kept = stored_table(
            store,
            basis(store, select(store), leaderboard, leaderboard.arguments(significance=True)),
        )
        assert kept == leaders(store, select(store))
