# SPDX-License-Identifier: Apache-2.0
"""Scores by level of difficulty: families, series and figures, from recorded tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgbench
from docs.reference_pages import difficulty as page_of_families
from kgbench.analysis import difficulty as computed
from kgbench.cli import plot
from kgbench.errors import QueryError
from kgbench.plots.figures import find_figure
from kgbench.tables import Table
from kgbench.tasks import catalogue
from tests.support.analysis_store import results, small
from tests.support.commands import printed as command

ORACLE, SILENT = "baseline:oracle", "baseline:silent"
TASKS = (
    *(f"ClaimCheckWorld-{names}-{level}" for names in ("natural", "opaque") for level in (1, 2)),
    "Rdf12World-query-natural-3",
    "RdfFriendCount-turtle-1",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with six dialogues of two baselines about each of a few tasks."""
    path = tmp_path_factory.mktemp("difficulty") / "store"
    tasks = [word for task in TASKS for word in ("-t", task)]
    command("run", "-m", ORACLE, "-m", SILENT, *tasks, "-n", 6, "--store", path)
    return path


def test_levels_of_each_family(store: Path) -> None:
    """A row has family, series and level; tasks without a level are left out."""
    with kgbench.open(str(store)) as opened:
        table = opened.difficulty()

    found = [
        tuple(row[name] for name in ("family", "series", "metric", "model", "level", "n", "mean"))
        for row in table.records()
    ]
    of_claims = [
        ("ClaimCheckWorld", names, "correct", model, level, 6, mean)
        for names in ("natural", "opaque")
        for model, mean in ((ORACLE, 1.0), (SILENT, 0.0))
        for level in (1, 2)
    ]
    of_queries = [
        ("Rdf12World", "natural, query", "max_f1", model, 3, 6, mean)
        for model, mean in ((ORACLE, 1.0), (SILENT, 0.0))
    ]
    assert found == of_claims + of_queries
    assert table.column("clusters") == [6] * 10
    assert all(row["ci_low"] <= row["mean"] <= row["ci_high"] for row in table.records())
    assert table.context["estimand"] == "cases"


def test_choices_are_obeyed(store: Path) -> None:
    """Tasks, models, the metric and the estimand can be chosen."""
    words = ("analyze", "difficulty", "--store", store, "--json")
    rows = json.loads(
        command(*words, "--task", "ClaimCheck*opaque*", "--model", ORACLE, "--metric", "abstaining")
    )["rows"]

    assert [(row["series"], row["metric"], row["level"], row["mean"]) for row in rows] == [
        ("opaque", "abstaining", level, 0.0) for level in (1, 2)
    ]
    single = json.loads(command(*words, "--estimand", "dialogues"))
    assert single["context"]["estimand"] == "dialogues"


@pytest.mark.parametrize("name", ["contamination", "difficulty", "sizes"])
def test_what_cannot_be_compared_is_an_empty_table(name: str) -> None:
    """If no scored task has the compared property, the table is empty and a note says why."""
    table = getattr(results(small()), name)()

    assert len(table) == 0
    assert table.notes[-1].startswith("No model was scored on ")
    assert table.reason == table.notes[-1]
    assert Table.from_json(table.as_json()) == table


@pytest.mark.parametrize("name", ["difficulty", "sizes", "tools"])
def test_an_empty_table_has_no_figure(name: str, tmp_path: Path) -> None:
    """An empty table is refused as a figure with its note, and no file is written."""
    pytest.importorskip("matplotlib")
    command("run", "-m", ORACLE, "-t", TASKS[-1], "-n", 1, "--store", tmp_path / "store")

    with pytest.raises(QueryError, match="there is nothing to draw: No "):
        command("plot", name, "--store", tmp_path / "store", "--out", tmp_path / "plots")
    assert not (tmp_path / "plots").exists()


def test_a_note_about_columns_is_no_reason_for_an_empty_figure(tmp_path: Path) -> None:
    """An empty leaderboard is refused with the reason, not with its first note."""
    pytest.importorskip("matplotlib")
    place = ("--store", tmp_path / "store")
    command("run", "-m", ORACLE, "-t", TASKS[-1], "-n", 1, *place)
    (state,) = json.loads(command("status", "--json", *place))
    command("invalidate", state["run"], "--reason", "a test", "--by", "me", *place)

    with pytest.raises(QueryError, match="nothing to draw: The selection has no scores that count"):
        command("plot", "leaderboard", *place, "--out", tmp_path / "plots")


def test_only_the_reason_of_a_table_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note is not taken for the reason because of its first word."""
    opened = results(small())
    note = "No correction for the number of tests."
    table = Table("Leaderboard", (), (), (note,)).explained("no judge is here")
    assert table.explained("another") == table
    monkeypatch.setattr(opened, "leaderboard", lambda **_: table)
    with pytest.raises(QueryError, match="nothing to draw: no judge is here"):
        list(plot._tables(find_figure("leaderboard"), opened, {}))


def test_series_are_what_tells_tasks_apart() -> None:
    """Texts always separate series, numbers only if they differ; without either there is one."""
    tell = computed._series

    assert tell({"a": {"level": 1}, "b": {"level": 2}}) == {"a": "all", "b": "all"}
    assert tell(
        {
            "a": {"level": 1, "names": "natural", "size": 1, "share": 0.5},
            "b": {"level": 2, "names": "natural", "size": 2, "share": 0.5},
        }
    ) == {"a": "natural, size 1", "b": "natural, size 2"}


def test_every_family_of_worlds_has_levels() -> None:
    """Each class about generated worlds declares the parameter that the analysis reads."""
    families = {name: each for name, each in catalogue.task_classes().items() if "World" in name}

    assert len(families) >= 15
    for name, declared in families.items():
        assert computed.LEVEL in declared.parameters, name
        assert len({task.parameters[computed.LEVEL] for task in declared.tasks}) >= 4, name


def test_a_figure_for_each_family(store: Path, tmp_path: Path) -> None:
    """Each family has a figure with a panel for each series, and a file with its numbers."""
    pytest.importorskip("matplotlib")
    said = command("plot", "difficulty", "--store", store, "--format", "svg", "--out", tmp_path)

    assert {Path(line).name for line in said.splitlines()} == {
        f"difficulty-{family}.{kind}"
        for family in ("ClaimCheckWorld", "Rdf12World")
        for kind in ("svg", "json")
    }
    numbers = json.loads((tmp_path / "difficulty-ClaimCheckWorld.json").read_text())
    (table,) = numbers["tables"]
    assert {row["family"] for row in table["rows"]} == {"ClaimCheckWorld"}
    with kgbench.open(str(store)) as opened:
        both = opened.difficulty.figure(size=(7.0, 6.0))
        one = opened.select(tasks="ClaimCheckWorld-*").difficulty.figure(top=1)
    assert [axes.get_title() for axes in one.axes] == [
        "natural: mean correct", "opaque: mean correct",
    ]  # fmt: skip
    assert [axes.get_title().partition(":")[0] for axes in both.axes] == [
        "ClaimCheckWorld, natural", "ClaimCheckWorld, opaque", "Rdf12World, natural, query",
    ]  # fmt: skip
    for axes in one.axes:
        assert axes.get_xlabel() == "level"
        assert all(float(tick).is_integer() for tick in axes.get_xticks())
        assert axes.get_ylim() == pytest.approx((-0.03, 1.03))
        curve = next(line for line in axes.lines if line.get_label() == ORACLE)
        assert (list(curve.get_xdata()), list(curve.get_ydata())) == ([1, 2], [1.0, 1.0])


def test_the_page_of_the_site_has_all_levels() -> None:
    """Each family has all its levels on the page: the oracle scores best, silence nothing."""
    table, shown = page_of_families.table(), page_of_families.families()

    assert len(shown) >= 15
    for family in shown:
        declared = catalogue.task_class(family).tasks
        levels = {task.parameters[computed.LEVEL] for task in declared}
        assert set(table.where("family", family).column("level")) == levels
        assert f"(difficulty-{family}.svg)" in page_of_families.page()
    assert set(table.where("model", ORACLE).column("mean")) == {1.0}
    assert set(table.where("model", SILENT).column("mean")) == {0.0}


def test_the_site_has_a_figure_of_each_family() -> None:
    """The figures are drawn from the numbers of the page, each as an SVG."""
    pytest.importorskip("matplotlib")
    drawn = page_of_families.figures()

    assert list(drawn) == [
        f"reference/difficulty-{family}.svg" for family in page_of_families.families()
    ]
    assert all(text.startswith("<?xml") and "oracle" in text for text in drawn.values())
