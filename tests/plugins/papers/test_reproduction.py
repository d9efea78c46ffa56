# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of papers are reproduced, each cell beside the printed one."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench import resources
from kgbench.analysis.leaderboard import printed_rows
from kgbench.analysis.task_scores import task_scores
from kgbench.cli import app
from kgbench.errors import QueryError
from kgbench.importers import text2kgbench
from kgbench.importers.load import load
from kgbench.plugins.papers import reproduction as papers
from kgbench.plugins.papers.reproduction import AGREES, DIFFERS, NO_RESULTS, UNEXPLAINED, Published
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests import documented
from tests.support.analysis_store import iri, owned, small
from tests.support.published import imported

PAGE = documented.DOCS / "papers.md"
MINE = Published(
    name="mine-table-1",
    label="Mine",
    source="Mine, table 1",
    note=None,
    suite=iri("suite/small"),
    analysis="tasks",
    arguments={},
    keys=("task", "model"),
    tolerance=None,
    figure="boxplot",
    tasks=("Pick-*",),
)
PRINTED = [
    {"task": "Pick-turtle", "model": "model-a", "n": "3", "mean": "0.61", "sd": ""},
    {"task": "Pick-turtle", "model": "model-b", "n": "4", "mean": "0.34", "sd": ""},
    {"task": "Pick-*", "model": "Model B", "n": "", "mean": "", "sd": "7"},
    {"task": "Pick-turtle", "model": "model-c", "n": "3", "mean": "0.1", "sd": ""},
]
CAUSES = [
    {
        "table": "mine-table-1",
        "key": "Pick-turtle / model-b",
        "column": "mean",
        "within": "0.01",
        "cause": "It is truncated.",
    },
    {"table": "mine-table-1", "key": "*", "column": "n", "within": "0.5", "cause": "Too far off."},
]


@pytest.fixture
def printed(monkeypatch):
    """Install printed cells of an invented paper, with the causes of differences."""

    def rows(name):
        return {"mine-table-1": PRINTED, "differences": CAUSES}.get(name, [])

    monkeypatch.setattr(papers, "printed_rows", rows)


@pytest.mark.parametrize(
    ("text", "value", "tolerance", "same"),
    [
        ("0.94", 0.9350001, None, True),
        ("0.94", 0.94499, None, True),
        ("0.94", 0.9451, None, False),
        ("0.94", 0.9349, None, False),
        ("20", 20, None, True),
        ("20", 20.4, None, False),
        ("1.0", 0.996, 0.005, True),
        ("1.0", 0.994, 0.005, False),
        ("TTL", "**TTL**", None, True),
        ("-", "TTL", None, False),
        ("yes", True, None, True),
        ("yes", False, None, False),
        ("0.5", None, None, False),
        ("TTL", 0.5, None, False),
    ],
)
def test_values_agree_at_the_printed_digits(text, value, tolerance, same):
    """A number agrees if it rounds to the printed one, a word if it is equal."""
    assert papers.agrees(text, value, tolerance) is same


@pytest.mark.usefixtures("printed")
def test_cells_stand_beside_what_is_printed():
    """Each cell agrees, differs with or without a cause, or has no results."""
    found = papers.reproduce(small(), MINE)
    verdicts = {(c.key, c.column): (c.verdict, c.cause) for c in found.cells}
    assert verdicts == {
        ("Pick-turtle / model-a", "n"): (AGREES, None),
        ("Pick-turtle / model-a", "mean"): (AGREES, None),
        ("Pick-turtle / model-b", "n"): (DIFFERS, UNEXPLAINED),
        ("Pick-turtle / model-b", "mean"): (DIFFERS, "It is truncated."),
        ("Pick-* / Model B", "sd"): (DIFFERS, UNEXPLAINED),
        ("Pick-turtle / model-c", "n"): (NO_RESULTS, None),
        ("Pick-turtle / model-c", "mean"): (NO_RESULTS, None),
    }
    assert {row[0] for row in found.table.rows} == {"Pick-turtle", "Pick-jsonld"}
    (row,) = papers.summary([found]).records()
    counts = [row[name] for name in ("printed", "agree", "unexplained", "explained", "without")]
    assert counts == [5, 2, 2, 1, 2]
    report = papers.report([found])
    assert report.index("unexplained |") < report.index("It is truncated.")


@pytest.mark.usefixtures("printed")
def test_tables_without_results_say_so():
    """A suite that the store lacks leaves every printed cell without results."""
    found = papers.reproduce(small(), replace(MINE, suite=iri("suite/none")))
    assert found.table is None
    assert {cell.verdict for cell in found.cells} == {NO_RESULTS}
    (row,) = papers.summary([found]).records()
    assert row["note"] == "No results: import the results of this suite."


@pytest.mark.usefixtures("printed")
def test_command_writes_everything_and_tells_of_unexplained_cells(tmp_path, monkeypatch):
    """Tables, cells, figures and the report are written; unexplained differences exit with 1."""
    monkeypatch.setattr(papers, "published", lambda: (MINE,))
    place = str(tmp_path / "store")
    owned("analysis_scores", place).close()
    out = tmp_path / "out"
    command = ["reproduce", "mine-*", "--store", place, "--out", str(out), "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["rows"][0]["unexplained"] == 2
    written = {path.name for path in out.iterdir()}
    figures = {f"mine-table-1-Pick-{f}.{s}" for f in ("turtle", "jsonld") for s in ("svg", "json")}
    assert written == {"mine-table-1.csv", "mine-table-1-cells.csv", "index.md", *figures}
    with (out / "mine-table-1-cells.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 7


def test_unknown_names_are_refused():
    """An unknown name of a table is refused with the known ones."""
    with pytest.raises(QueryError, match="no published table is called 'x'; there are: dl4kg-"):
        papers.chosen(["x"])
    assert [one.name for one in papers.chosen(["swj-table-6"])] == ["swj-table-6"]


@pytest.mark.parametrize("one", papers.published(), ids=lambda one: one.name)
def test_declared_tables_and_printed_cells_fit(one):
    """Every declared table has its printed cells, with its keys; each row occurs once."""
    rows = printed_rows(one.name)
    if one.analysis is None:
        assert (rows, bool(one.note)) == ([], True)
        return
    assert one.analysis in papers.ANALYSES
    assert rows or "Drawn without a comparison" in (one.note or "")
    keys = [tuple(row[key] for key in one.keys) for row in rows]
    assert len(set(keys)) == len(keys)


def test_every_file_of_printed_cells_is_declared():
    """Every file of printed cells is used by a table, and causes name declared tables."""
    files = {path.stem for path in resources.path("queries", "published").glob("*.csv")}
    names = {one.name for one in papers.published()}
    assert files - {"differences"} <= names
    assert {row["table"] for row in printed_rows("differences")} <= names


# --- with the published results -----------------------------------------------------------------


@pytest.fixture(scope="module")
def everything(external_data):
    """Yield a store with the published results of all four papers."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    with open_store("memory:") as store:
        imported(external_data / "llm-kg-bench-v1", into=store)
        imported(external_data / "llm-kg-bench-v3", passwords["llm-kg-bench-v3"], into=store)
        folder = external_data / "text2kgbench"
        held = text2kgbench.read(folder)
        text2kgbench.write_catalogue(store, held)
        for run in text2kgbench.runs(folder, held, store.iris):
            load(store, run)
        yield store


@pytest.fixture(scope="module")
def made(everything):
    """Return every published table, recomputed."""
    return [papers.reproduce(everything, one) for one in papers.published()]


def test_page_shows_what_comes_out(made):
    """The counts on the page are those of the recomputed tables, for every table."""
    shown = dict(
        re.findall(r"^\| `([a-z0-9-]+)` \|.*\| (\d+ of \d+) \|", PAGE.read_text(), re.MULTILINE)
    )
    found = {
        row["name"]: f"{row['agree']} of {row['printed']}"
        for row in papers.summary(made).records()
        if row["printed"]
    }
    assert shown == found


def test_every_difference_has_a_cause(made):
    """Every differing cell of the four papers has a known cause."""
    differing = [(one.published.name, cell) for one in made for cell in one.cells if cell.cause]
    assert [pair for pair in differing if pair[1].cause == UNEXPLAINED] == []
    assert len(differing) == 15


@pytest.mark.parametrize(
    ("name", "agree"),
    [("swj-table-2", 16), ("swj-table-6", 12), ("eswc-table-3", 24), ("swj-table-4", 27)],
)
def test_tables_of_the_framework_agree_in_every_cell(made, name, agree):
    """Means, deviations, stars, preferences and aspects equal those printed."""
    (one,) = (one for one in made if one.published.name == name)
    assert (one.count(AGREES), one.count(DIFFERS)) == (agree, 0)


def test_combined_scores_have_the_published_order(made):
    """The score of table 6 uses 13 scores of 20 dialogues, and ranks models as the paper does."""
    (one,) = (one for one in made if one.published.name == "swj-table-6")
    rows = one.table.records()
    assert [row["n"] for row in rows] == [260] * 4
    ranked = [f"{row['score']:.3f}" for row in rows]
    assert ranked == ["0.941", "0.895", "0.870", "0.800"]
    assert one.table.context["test"] == "paired"


def test_scores_of_first_answers_are_those_of_the_records(everything):
    """0_combined and 0_answerParse, the paper's main scores, are reproduced for every model."""
    selection = select(everything, "llm-kg-bench-3", tasks="Text2SparqlExec*")
    for name in ("0_combined", "0_answerParse"):
        rows = task_scores(everything, selection, metric=name).records()
        assert {(row["metric"], row["n"]) for row in rows} == {(name, 20)}
        assert len(rows) == 6 * 4
