# SPDX-License-Identifier: Apache-2.0
"""Figures draw what their tables say, for few and for many models, and leave the numbers beside."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Selector
from kgbench.analysis.compass import COLUMNS as COMPASS
from kgbench.analysis.compass import Axis, Compass, compass, compass_table
from kgbench.analysis.format_preference import ALL_TASKS
from kgbench.analysis.leaderboard import COLUMNS as BOARD
from kgbench.analysis.leaders import COLUMNS as LEADERS
from kgbench.analysis.leaders import leaders
from kgbench.analysis.scores import ModelInfo
from kgbench.analysis.selection import select
from kgbench.analysis.sizes import COLUMNS as SIZES
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.errors import QueryError
from tests.analysis_store import small

pytest.importorskip("matplotlib")

from kgbench.plots.box_plots import box_plot, distributions
from kgbench.plots.cards import card_figures
from kgbench.plots.compasses import compass_figure
from kgbench.plots.figures import distinct, file_name, save, state_digest
from kgbench.plots.preference_maps import preference_map
from kgbench.plots.size_curves import size_figure
from kgbench.plots.standings import standings_figure

MODELS = [f"model-{k:02}" for k in range(45)]


def many_compasses(count=45):
    """Five axes for each of 45 models, one without values."""
    rows = [
        (m, axis, axis, 20, 1, None, None, None, None) if (m, axis) == (MODELS[0], "A") else
        (m, axis, axis, 20, 1, 0.5, 0.2, 0.4, 0.6)
        for m in MODELS[:count] for axis in "ABCDE"
    ]  # fmt: skip
    return Table("Many", COMPASS, tuple(rows))


def many_marks():
    """Marks of every kind for 45 models."""
    marks = ("**TTL**", "JSON", "-", None)
    columns = (
        Column("model", "Model"),
        *(Column(t, t, Kind.MARK) for t in ("T1", "T2", ALL_TASKS)),
    )
    rows = [(m, marks[k % 4], marks[(k + 1) % 4], "-") for k, m in enumerate(MODELS)]
    return Table("Many", columns, tuple(rows))


def many_standings():
    """Leaders and others, one model without a score."""
    rows = [
        (k + 1, m, 1 - k / 50, 0.1, 20, 1, 0, 0, 0.0, 0.5, k < 9, 0.9 - k / 50, 1.0, 1, k + 1, 0.5,
         k < 5)
        for k, m in enumerate(MODELS[:-1])
    ]  # fmt: skip
    rows.append((None, MODELS[-1], None, None, 0, 0, 20, 0, None, *[None] * len(LEADERS)))
    return Table("Many", (*BOARD, *LEADERS), tuple(rows))


def many_sizes():
    """Curves of 45 models over three sizes, some without an interval."""
    rows = [
        ("S", "f1", m, size, 20, 0.5, *((0.1, 0.4, 0.6) if k else (None, None, None)), 0.2)
        for k, m in enumerate(MODELS) for size in (10, 20, 30)
    ]  # fmt: skip
    return Table("Many", SIZES, tuple(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "table"),
    [
        (compass_figure, many_compasses()),
        (lambda t: preference_map(t, ("TTL", "JSON")), many_marks()),
        (standings_figure, many_standings()),
        (size_figure, many_sizes()),
    ],
    ids=["compass", "preference", "standings", "sizes"],
)
def test_figures_hold_45_models(draw, table, tmp_path):
    """With 45 models every name is there, in text that stays text."""
    figure = draw(table)
    *_, drawn, beside = save(figure, tmp_path, "f", formats=["svg"], tables=[table], state="s")
    text = drawn.read_text(encoding="utf-8")
    shown = [m for m in MODELS if m in text]
    assert len(shown) >= 44
    assert beside.name == "f.json"
    assert figure.get_size_inches()[0] < 12


def test_numbers_lie_beside_the_figure(tmp_path):
    """The JSON file has the drawn table, the queries in full and the state of the data."""
    store, chosen = small(), select(small())
    table = leaders(store, chosen, samples=50)
    state = state_digest(store, chosen)
    figure = standings_figure(table)
    files = save(
        figure, tmp_path, "board", formats=["png", "svg", "pdf"], tables=[table], state=state
    )
    assert [file.suffix for file in files] == [".png", ".svg", ".pdf", ".json"]
    about = json.loads(files[-1].read_text(encoding="utf-8"))
    assert about["tables"][0]["rows"][0]["score"] == table.rows[0][2]
    assert "SELECT" in about["queries"]["score-histograms"]
    assert about["state"] == state
    assert len(state) == 64


def test_same_numbers_same_bytes(tmp_path):
    """A figure drawn twice is the same file: nothing of it depends on when it was drawn."""
    table = many_marks()
    first, second = (
        save(
            compass_figure(many_compasses(5)),
            tmp_path / n,
            "c",
            formats=["svg"],
            tables=[table],
            state="",
        )
        for n in "ab"
    )
    assert first[0].read_bytes() == second[0].read_bytes()


def test_compass_without_scores_is_refused():
    """A compass none of whose axes has scores is refused by name."""
    with pytest.raises(QueryError, match="no model has scores on any axis of the compass 'eswc'"):
        compass_table(small(), select(small()), compass("eswc"))


def test_box_plots_draw_every_value(tmp_path):
    """Each task has a figure with one cross per dialogue and the mean of each model."""
    tables = distributions(small(), select(small()))
    assert sorted(tables) == ["Mend-turtle", "Pick-jsonld", "Pick-turtle"]
    figure = box_plot(tables["Pick-turtle"])
    (axes,) = figure.axes
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == 6
    means = [line for line in axes.lines if line.get_marker() == "o"]
    assert sorted(float(line.get_xdata()[0]) for line in means) == pytest.approx([1 / 3, 11 / 18])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Model B", "Model A"]


def test_thousands_of_one_value_are_drawn_as_few():
    """They fill the stretch that all of them would, and shares have the whole scale."""
    found = distributions(small(), select(small()))["Pick-turtle"]
    task, metric, model = found.rows[0][:3]
    many = replace(
        found, rows=((task, metric, model, 1.0, 100_000), (task, metric, model, 0.5, 50_000))
    )
    (axes,) = box_plot(many).axes
    (crosses,) = (line for line in axes.lines if line.get_marker() == "x")
    ys = {x: [y for a, y in zip(*crosses.get_data(), strict=True) if a == x] for x in (0.5, 1.0)}

    assert {len(found) for found in ys.values()} == {40}
    assert max(ys[1.0]) - min(ys[1.0]) == pytest.approx(2 * (max(ys[0.5]) - min(ys[0.5])))
    assert axes.get_xlim() == pytest.approx((-0.03, 1.03))


def test_box_plots_are_of_the_tasks_that_are_asked_for():
    """A task that shares its metric with those asked for has no figure."""
    tables = distributions(small(), select(small()), tasks="Pick-turtle")
    assert list(tables) == ["Pick-turtle"]


def test_curve_is_drawn_where_there_are_sizes():
    """A model has a curve in the panels of the series that it has, and its look in all of them."""
    rows = [
        (series, "f1", model, size, 20, 0.5, 0.1, 0.4, 0.6, 0.2)
        for series, models in (("S", ("one", "two")), ("T", ("two",)))
        for model in models
        for size in (10, 20)
    ]
    first, second = size_figure(Table("Some", SIZES, tuple(rows))).axes
    assert [axes.get_title() for axes in (first, second)] == ["S", "T"]
    assert [line.get_label() for line in first.lines] == ["one", "two"]
    (line,) = second.lines
    assert line.get_label() == "two"
    assert line.get_color() == first.lines[1].get_color()


def models():
    """The models of the small store by name, and one that it has no scores of."""
    found = {one.name: one for one in fetch.models(small()).values()}
    return found | {"Nobody": ModelInfo("urn:nobody", "Nobody", "nobody")}


@pytest.mark.parametrize(
    ("model", "glob", "kinds"),
    [
        ("Model A", "Pick-*", ["compass", "tasks"]),
        ("Model A", "No-*", ["tasks"]),  # a suite without the tasks of the compass
        ("Nobody", "Pick-*", []),
    ],
)
def test_card_has_the_figures_that_there_are_scores_for(model, glob, kinds, tmp_path):
    """A figure without anything in it is not drawn, and what is drawn is of this model."""
    axes = Compass("c", "C", (Axis("P", "Picking", (Selector(glob),)),), 1.0, population=True)
    chosen = models()[model]
    names = card_figures(small(), select(small()), chosen, axes, tmp_path)
    assert names == [f"{file_name(model, kind)}.svg" for kind in kinds]
    for name in names:
        about = json.loads((tmp_path / name).with_suffix(".json").read_text(encoding="utf-8"))
        column = "model" if "compass" in name else "task"
        assert {row[column] for row in about["tables"][0]["rows"]} == {model}


def test_lines_differ_in_more_than_colour():
    """The first 32 lines have looks of their own; neighbours differ in colour and marker."""
    looks = [tuple(distinct(k).values()) for k in range(32)]
    assert len(set(looks)) == 32
    assert file_name("box", "a b/c:d") == "box-a-b-c-d"
