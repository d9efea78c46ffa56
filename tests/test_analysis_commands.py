# SPDX-License-Identifier: Apache-2.0
"""Every analysis and every figure, as typed, over a run of baselines."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench.analysis import leaders
from kgbench.analysis.selection import select
from kgbench.analysis.stored import basis, stored
from kgbench.cli import app
from kgbench.errors import QueryError
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
    """A store with one run."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "c.yaml").write_text(CONFIGURATION)
    store = str(folder / "store")
    done = CliRunner().invoke(app, ["run", str(folder / "c.yaml"), "--store", store])
    assert done.exit_code == 0, done.output
    return store


@pytest.fixture(scope="module")
def typed(location):
    """Runs a command on the store; gives what it printed."""

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
        ("characterization", ()),
        ("outcomes", ("--model", "*")),
    ],
)
def test_each_analysis_names_the_models(typed, name, arguments):
    """A table has rows of both models, and its JSON the same rows."""
    shown = typed("analyze", name, *arguments)
    held = json.loads(typed("analyze", name, *arguments, "--json"))

    assert "oracle" in shown
    assert held["rows"]
    assert any("oracle" in str(value) for row in held["rows"] for value in row.values())


def test_scores_are_set_against_what_is_published(typed, tmp_path):
    """Models with a record of one's own stand on the line; the shipped records know none here."""
    (tmp_path / "records.ttl").write_text(RECORDS)

    own = ("--declared", tmp_path / "records.ttl")

    known = json.loads(typed("analyze", "scaling", "--points", "--json", *own))["rows"]
    assert [one["family"] for one in known] == ["Base", "Base"]
    assert "Trends" in typed("analyze", "scaling", *own)
    with pytest.raises(QueryError, match="no model record fits"):
        typed("analyze", "scaling")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("leaderboard", "baseline:oracle"),
        ("tasks", "baseline:oracle::RdfSyntaxFixList-turtle"),
        ("compass", "baseline:oracle::R-Syn"),
        ("sizes", "baseline:oracle"),
        ("format-preference", "baseline:oracle"),
        ("dialogue", "baseline:oracle"),
        ("characterization", "baseline:oracle"),
    ],
)
def test_each_cell_is_explained(typed, name, cell):
    """A cell leads to the query behind it and to dialogues that it rests on."""
    said = typed("analyze", name, "--explain", cell)

    assert "SELECT" in said
    assert "kgbench show" in said


@pytest.mark.parametrize(
    "kind", ["boxplot", "compass", "format-preference", "leaderboard", "sizes"]
)
def test_each_figure_is_drawn_with_its_numbers(typed, tmp_path, kind):
    """An SVG stands beside a JSON file with its table, the queries behind it and the state."""
    pytest.importorskip("matplotlib")
    paths = typed("plot", kind, "--format", "svg", "--out", tmp_path).split()
    numbers = [json.loads(p.read_text()) for p in tmp_path.glob("*.json")]

    assert len(paths) == 2 * len(numbers)
    assert all(p.read_text().startswith("<?xml") for p in tmp_path.glob("*.svg"))
    assert all(one["tables"] and one["queries"] for one in numbers)


def test_a_card_is_written_in_two_forms(typed, tmp_path):
    """The card of a model is Markdown and HTML, with its figures beside it."""
    typed("analyze", "card", "baseline:oracle", "--out", tmp_path)

    assert {path.suffix for path in tmp_path.iterdir()} >= {".md", ".html"}


def test_leaders_are_kept_where_pages_look_for_them(typed, location):
    """What ``leaderboard --significance`` keeps is what pages of the leaderboard read back."""
    typed("analyze", "leaderboard", "--significance")
    with open_reader(location) as store:
        kept = stored(store, basis(store, select(store), "leaderboard", leaders.arguments()))
        assert kept == leaders.leaders(store, select(store))
