# SPDX-License-Identifier: Apache-2.0
"""Figures show the values of their tables, for few and many models, with a file of numbers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import matplotlib.image
import pytest

from kgbench.analysis.compass import COLUMNS as COMPASS
from kgbench.analysis.difficulty import SIZE_COLUMNS as SIZES
from kgbench.analysis.format_preference import ALL_TASKS
from kgbench.analysis.leaderboard import COLUMNS as BOARD
from kgbench.analysis.leaders import COLUMNS as LEADERS
from kgbench.analysis.leaders import leaders
from kgbench.errors import QueryError
from kgbench.plots.box_plots import BOXES, bars, box_plot, distributions
from kgbench.plots.compasses import compass_figure, overlay_figure
from kgbench.plots.figures import file_name, line_style, save, size_of, state_digest, wrapped
from kgbench.plots.preference_maps import preference_map
from kgbench.plots.size_curves import SIZES as CURVES
from kgbench.plots.size_curves import size_figure
from kgbench.plots.standings import standings_figure
from kgbench.scores.selection import select
from kgbench.statistics.histogram import Histogram
from kgbench.tables import Column, Kind, Table
from tests.support.analysis_store import altered, small

MODELS = [f"model-{k:02}" for k in range(45)]


def many_compasses(count=45):
    """Return five axes for each of 45 models, one without values."""
    rows = [
        (m, axis, axis, 20, 1, None, None, None, None) if (m, axis) == (MODELS[0], "A") else
        (m, axis, axis, 20, 1, 0.5, 0.2, 0.4, 0.6)
        for m in MODELS[:count] for axis in "ABCDE"
    ]  # fmt: skip
    return Table("Many", COMPASS, tuple(rows))


def many_marks():
    """Return marks of every kind for 45 models."""
    marks = ("**TTL**", "JSON", "-", None)
    columns = (
        Column("model", "Model"),
        *(Column(t, t, Kind.MARK) for t in ("T1", "T2", ALL_TASKS)),
    )
    rows = [(m, marks[k % 4], marks[(k + 1) % 4], "-") for k, m in enumerate(MODELS)]
    formats = {"first_format": "TTL", "second_format": "JSON"}
    return Table("Many", columns, tuple(rows), context=formats)


def many_standings():
    """Return leaders and others, one model without a score."""
    rows = [
        (k + 1, m, 1 - k / 50, 0.1, 20, 1, 0, 0, 0.0, 0.5, k < 9, 12, 0.9 - k / 50,
         1.0, 1, k + 1, "a")
        for k, m in enumerate(MODELS[:-1])
    ]  # fmt: skip
    rows.append((None, MODELS[-1], None, None, 0, 0, 20, 0, None, *[None] * len(LEADERS)))
    return Table("Many", (*BOARD, *LEADERS), tuple(rows))


def many_sizes():
    """Return curves of 45 models over three sizes, some without an interval."""
    rows = [
        ("S", "f1", m, size, 20, 0.5, 9, *((0.1, 0.4, 0.6) if k else (None, None, None)), 0.2)
        for k, m in enumerate(MODELS) for size in (10, 20, 30)
    ]  # fmt: skip
    return Table("Many", SIZES, tuple(rows))


@pytest.mark.parametrize(
    ("draw", "table"),
    [
        (compass_figure, many_compasses()),
        (preference_map, many_marks()),
        (standings_figure, many_standings()),
        (size_figure, many_sizes()),
    ],
    ids=["compass", "preference", "standings", "sizes"],
)
def test_figures_hold_45_models(draw, table, tmp_path):
    """A figure of 45 models has every name, as text."""
    figure = draw(table)
    *_, drawn, beside = save(figure, tmp_path, "f", formats=["svg"], tables=[table], state="s")
    text = drawn.read_text(encoding="utf-8")
    shown = [m for m in MODELS if m in text]
    assert len(shown) >= 44
    assert beside.name == "f.json"
    assert figure.get_size_inches()[0] < 12


def test_numbers_lie_beside_the_figure(tmp_path):
    """The JSON file has the drawn table, the full queries and the state of the data."""
    store, chosen = small(), select(small())
    table = leaders(store, chosen)
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
    """A figure drawn twice is the same file: nothing in it depends on the time."""
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


def test_box_plots_number_every_value():
    """Each task has a figure with the number of dialogues at each value, and each model's mean."""
    tables = distributions(small(), select(small()))
    assert sorted(tables) == ["Mend-turtle", "Pick-jsonld", "Pick-turtle"]
    (axes,) = box_plot(tables["Pick-turtle"]).axes
    assert sum(int(text.get_text()) for text in axes.texts) == 6
    means = [line for line in axes.lines if line.get_marker() == "D"]
    assert [float(line.get_xdata()[0]) for line in means] == pytest.approx([11 / 18, 1 / 3])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Model A", "Model B"]


def test_the_best_models_have_the_least_where_less_is_better():
    """A figure of the best model shows the one with the lower mean of a metric of errors."""
    less = altered(
        "DELETE { GRAPH ?g { ?m kgb:higherIsBetter true } } INSERT { GRAPH ?g { ?m "
        "kgb:higherIsBetter false } } WHERE { GRAPH ?g { ?m kgb:higherIsBetter true } }"
    )
    for store, best in ((small(), "Model A"), (less, "Model B")):
        table = distributions(store, select(store))["Pick-turtle"]
        assert next(iter(BOXES.ranked(table))) == best
        rows = [("S", "f1", m, 10, 3, mean, *[None] * 5) for m, mean in (("one", 1), ("two", 0))]
        curves = Table("Some", SIZES, tuple(rows), context=table.context)
        assert CURVES.ranked(curves)[0] == ("one" if best == "Model A" else "two")


@pytest.mark.parametrize(("least", "left"), [(0.3, 0.0), (0.72, 0.7), (0.99, 0.9)])
def test_box_plots_of_shares_end_at_1(least, left):
    """The axis of shares ends at 1; it begins at 0, or near high scores with a remark."""
    found = distributions(small(), select(small()))["Pick-turtle"]
    task, metric, model = found.rows[0][:3]
    rows = ((task, metric, model, 1.0, 100_000), (task, metric, model, least, 50_000))
    (axes,) = box_plot(replace(found, rows=rows)).axes
    room = 0.03 * (1 - left)
    assert axes.get_xlim() == pytest.approx((left - room, 1 + room))
    assert ("axis from" in axes.get_xlabel()) == (left > 0)
    assert sorted(text.get_text() for text in axes.texts) == ["100,000", "50,000"]


@pytest.mark.parametrize("values", [[0.0, 0.5, 1.0], [k / 99 for k in range(100)], [-5.0, 3.0]])
def test_bars_lose_no_dialogue_and_do_not_overlap(values):
    """Near values share a bar at their mean; all are counted, and bars do not overlap."""
    found = bars(Histogram.of(values), 0.04)
    assert sum(count for _, count in found) == len(values)
    places = [place for place, _ in found]
    assert all(b - a > 0.02 for a, b in itertools.pairwise(places))


def test_compasses_stand_in_order_and_show_missing_axes(tmp_path):
    """The best mean comes first; a model without an axis comes last, labelled "no results"."""
    rows = [
        (model, axis, f"axis in words {axis}", 5, 1, mean, 0.1, mean, mean)
        for model, means in (("low", (0.2, 0.3)), ("gap", (1.0, None)), ("high", (0.9, 0.8)))
        for axis, mean in zip("AB", means, strict=True)
    ]
    figure = compass_figure(Table("Some", COMPASS, tuple(rows)))
    assert [axes.get_title() for axes in figure.axes] == ["high", "low", "gap"]
    words = [" ".join(text.get_text().split()) for text in figure.axes[2].texts]
    assert "axis in words B (no results)" in words
    assert "axis in words A" in words
    assert not any("no results" in text.get_text() for text in figure.axes[0].texts)


def test_overlays_hold_as_many_models_as_can_be_told_apart():
    """An overlay has a line for each model, named in the legend; a ninth model is refused."""
    figure = overlay_figure(many_compasses(8))
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == set(MODELS[:8])
    lines = [line for line in axes.lines if line.get_marker() not in ("None", None)]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 8
    with pytest.raises(QueryError, match="9 models cannot be distinguished in one compass"):
        overlay_figure(many_compasses(9))


def test_unranked_models_stand_below_a_line():
    """Models that were not scored on all tasks stand below a line, with their coverage."""
    rows = (
        (1, "all", 0.5, 0.1, 20, 3, 0, 0, 0.0, None, True, 9, 0.4, 0.6, 1, 1, "a"),
        (None, "some", 0.9, 0.1, 5, 1, 0, 0, 0.0, None, None, 9, 0.8, 1.0, *[None] * 3),
    )
    (axes,) = standings_figure(Table("Some", (*BOARD, *LEADERS), rows)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all", "some (1 of 3 tasks)"]
    first, second = axes.get_yticks()
    assert any(
        first < line.get_ydata()[0] < second for line in axes.lines if line.get_linestyle() == "--"
    )
    assert axes.get_xlim() == (0.0, 1.0)
    assert "1 a" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    ("text", "edges"),
    [("one-column", (3.35, None)), ("6x4", (6, 4)), ("16x9cm", (16 / 2.54, 9 / 2.54)),
     ("85x60.5mm", (8.5 / 2.54, 6.05 / 2.54)), ("slide", (13.333, 7.5))],
)  # fmt: skip
def test_sizes_are_named_or_measured(text, edges):
    """A size is a name, or width and height in inches, centimetres or millimetres."""
    found = size_of(text)
    assert (found.width, found.height) == pytest.approx(edges) if edges[1] else found.height is None


@pytest.mark.parametrize(
    "text", ["big", "6", "6x", "1000x2", "0x0", "6x4px", "6 x 4", (1, 1), (6, float("nan"))]
)
def test_other_sizes_are_refused(text):
    """A size that is invalid or does not fit a page is refused with the choices."""
    with pytest.raises(QueryError, match=r"is not a size|width and height of a figure"):
        size_of(text)


@pytest.mark.parametrize("name", ["one-column", "two-columns", "slide", "12x8cm"])
def test_files_have_the_size_that_was_asked_for(name, tmp_path):
    """A file has the requested width and height, and nothing lies outside."""
    size = size_of(name)
    for number, draw in enumerate((compass_figure, standings_figure, size_figure)):
        table = (many_compasses(4), _few(many_standings()), _few(many_sizes()))[number]
        figure = draw(table, size)
        (path, _) = save(figure, tmp_path, f"{number}", formats=["png"], tables=[], state="")
        high, wide, *_ = matplotlib.image.imread(path).shape
        assert wide / 200 == pytest.approx(size.width, abs=0.02)
        if size.height is not None:
            assert high / 200 == pytest.approx(size.height, abs=0.02)


def _few(table):
    """Return the rows of the first three models."""
    place = table.names.index("model")
    return replace(table, rows=tuple(row for row in table.rows if row[place] in MODELS[:3]))


@pytest.mark.parametrize(
    ("name", "lines"),
    [("RdfConnectionExplainStatic", ["RdfConnection", "ExplainStatic"]),
     ("one two three four", ["one two three", "four"]), ("short", ["short"])],
)  # fmt: skip
def test_long_names_break_between_words(name, lines):
    """A long name continues on another line, broken between words."""
    assert wrapped(name, 14).split("\n") == lines


def test_curve_is_drawn_where_there_are_sizes():
    """A model has a curve in the panels of its series, with one style in all of them."""
    rows = [
        (series, "f1", model, size, 20, 0.5, 9, 0.1, 0.4, 0.6, 0.2)
        for series, models in (("S", ("one", "two")), ("T", ("two",)))
        for model in models
        for size in (10, 20)
    ]
    first, second = size_figure(Table("Some", SIZES, tuple(rows))).axes
    assert [axes.get_title() for axes in (first, second)] == ["S: mean f1", "T: mean f1"]
    assert [label for line in first.lines if (label := line.get_label())[0] != "_"] == [
        "one",
        "two",
    ]
    (line,) = (line for line in second.lines if line.get_label() == "two")
    assert line.get_label() == "two"
    assert line.get_color() == first.lines[-1].get_color()


def test_lines_differ_in_more_than_colour():
    """The first 32 lines have distinct styles; neighbours differ in colour and marker."""
    looks = [tuple(line_style(k).values()) for k in range(32)]
    assert len(set(looks)) == 32
    assert file_name("box", "a b/c:d") == "box-a-b-c-d"
