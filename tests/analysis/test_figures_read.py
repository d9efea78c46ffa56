# SPDX-License-Identifier: Apache-2.0
"""Figures are legible: no text hides another at any size, and greys are distinguishable."""

from __future__ import annotations

import itertools
from dataclasses import replace

import matplotlib as mpl
import matplotlib.image
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from kgbench.analysis.compass import COLUMNS as COMPASS
from kgbench.analysis.difficulty import SIZE_COLUMNS as SIZES
from kgbench.analysis.format_preference import ALL_MODELS, ALL_TASKS
from kgbench.analysis.leaderboard import COLUMNS as BOARD
from kgbench.analysis.leaders import COLUMNS as LEADERS
from kgbench.analysis.tool_usage import SUCCESS_COLUMNS as TOOLS
from kgbench.errors import QueryError
from kgbench.plots.box_plots import COLUMNS as BOXES
from kgbench.plots.box_plots import box_plot
from kgbench.plots.compasses import compass_figure, overlay_figure
from kgbench.plots.figures import save, size_of
from kgbench.plots.preference_maps import preference_map
from kgbench.plots.size_curves import size_figure
from kgbench.plots.standings import standings_figure
from kgbench.plots.tool_points import tool_figure
from kgbench.tables import Column, Kind, Table
from tests.analysis.test_plots import many_compasses as compasses


def some_boxes(task="RdfConnectionExplainStatic-turtle"):
    """Return values of three models, few and many, near and far."""
    models = {"Model A": {1.0: 20}, "org/a-much-longer-name-of-7b": {0.0: 3, 0.97: 1, 1.0: 116}}
    models["C"] = {k / 19: 1 for k in range(20)}
    rows = [(task, "f1", m, v, n) for m, values in models.items() for v, n in values.items()]
    return Table(f"{task} (suite-1)", BOXES, tuple(rows))


def some_compasses():
    """Return axes with names in words; one model has several without results."""
    axes = ("RDF syntax", "RDF analytics", "SPARQL syntax", "SPARQL semantics", "Brevity")
    means = {"baseline:noisy?rate=0.3&seed=7": 5, "Model B": 5, "Model C": 2, "Model D": 5}
    rows = [
        (m, axis, axis, 9, 1, *((0.8, 0.1, 0.7, 0.9) if k < known else (None,) * 4))
        for m, known in means.items() for k, axis in enumerate(axes)
    ]  # fmt: skip
    return Table("Compass: Five capabilities as published (suite-1)", COMPASS, tuple(rows))


def some_marks():
    """Return marks under the names of task classes."""
    tasks = ("RdfConnectionExplainStatic", "RdfFriendCount-1", "RdfFriendCount-2",
             "RdfSyntaxFixList", "Sparql2AnswerListOrga", "Text2AnswerListOrga")  # fmt: skip
    columns = (Column("model", "Model"), *(Column(t, t, Kind.MARK) for t in (*tasks, ALL_TASKS)))
    marks = ("**TTL**", "JSON", "-", None, "TTL", "-", "**JSON**")
    rows = [(m, *marks) for m in ("Claude 3.5 Haiku", "ChatGPT 3.5 turbo", ALL_MODELS)]
    formats = {"first_format": "TTL", "second_format": "JSON", "alpha": 0.05, "strong": 0.01}
    return Table("Format preference: Turtle or JSON-LD", columns, tuple(rows), context=formats)


CLAIMED = {"estimand_label": "cases of this kind"}


def some_sizes():
    """Return curves of three models in two series, one of them on another scale."""
    rows = [
        (series, "a_metric_with_a_long_name", m, size, 9, 0.5 + k, 9, 0.1, 0.4 + k, 0.6 + k, 0.2)
        for k, series in enumerate(("TurtleFriendCount", "SyntheticDatasetGeneration"))
        for m in ("Model A", "baseline:noisy?rate=0.3&seed=7", "org/a-much-longer-name-of-7b")
        for size in (10, 20, 5000)
    ]
    return Table("Scores by problem size (suite-1)", SIZES, tuple(rows), context=CLAIMED)


def some_standings():
    """Return scores on both sides of 0, and a model that is not ranked."""
    rows = (
        (1, "baseline:noisy?rate=0.3", 0.5, 0.1, 9, 3, 0, 0, 0.0, None, True, 9, 0.4, 0.6,
         1, 1, "a"),
        (2, "B", -0.12345, 0.1, 9, 3, 0, 0, 0.0, 0.01, False, 9, -0.2, 0.6, 2, 2, "b"),
        (None, "C", 0.9, 0.1, 5, 1, 0, 0, 0.0, None, None, 9, 0.8, 1.0, None, None, None),
    )  # fmt: skip
    return Table("Leaderboard: All tasks (suite-1)", (*BOARD, *LEADERS), rows, context=CLAIMED)


def some_tools(cost=0.0123):
    """Return three models in three conditions; some have no known cost."""
    rows = [
        (f"Text2SparqlToolsOrganizational-{condition}", model, "f1", 14, 0.25 * k + 0.1 * j, 3,
         4.5 * j, 2345.0 * k, cost and cost * k, None, None)
        for j, condition in enumerate(("schema", "tools", "tools-and-schema"))
        for k, model in enumerate(("Model A", "baseline:random-walker?seed=1", "org/long-name-7b"))
    ]  # fmt: skip
    return Table("Success with tools (suite-1)", TOOLS, tuple(rows))


def beyond(axes):
    """Yield the tick labels outside the visible axes, which are not drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        room = (high - low) / 1000
        for tick in axis.get_major_ticks():
            if not axes.axison or not low - room <= tick.get_loc() <= high + room:
                yield from (tick.label1, tick.label2)


def texts(figure):
    """Return the boxes and contents of all texts of a drawn figure."""
    FigureCanvasAgg(figure).draw()
    hidden = {id(label) for axes in figure.axes for label in beyond(axes)}
    shown = [
        text
        for text in figure.findobj(match=Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]
    return [(" ".join(t.get_text().split()), t.get_window_extent()) for t in shown]


@pytest.mark.parametrize("size", [None, "one-column", "slide", "12x9cm"])
@pytest.mark.parametrize(
    ("draw", "table"),
    [
        (box_plot, some_boxes()),
        (compass_figure, some_compasses()),
        (overlay_figure, some_compasses()),
        (preference_map, some_marks()),
        (standings_figure, some_standings()),
        (size_figure, some_sizes()),
        (tool_figure, some_tools()),
        (tool_figure, some_tools(cost=None)),
    ],
    ids=["boxplot", "compass", "overlay", "preference", "standings", "sizes", "tools", "tokens"],
)
def test_no_text_hides_another(draw, table, size):
    """Every text lies inside the canvas, and no two overlap by more than a tenth of a line."""
    figure = draw(table, None if size is None else size_of(size))
    found = texts(figure)
    width, height = figure.bbox.width, figure.bbox.height
    for text, box in found:
        assert box.x0 >= -1 and box.x1 <= width + 1, text  # noqa: PT018
        assert box.y0 >= -1 and box.y1 <= height + 1, text  # noqa: PT018
    for (one, a), (other, b) in itertools.combinations(found, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(across, down) <= 0.1 * min(a.height, b.height), (one, other)


def test_compasses_that_could_not_be_read_are_refused():
    """A canvas too small for the number of compasses is refused with advice."""
    with pytest.raises(QueryError, match=r"45 compasses cannot be read in .* choose fewer"):
        compass_figure(compasses(45), size_of("8x8cm"))
    assert compass_figure(compasses(2), size_of("12x8cm")).axes


def test_preferences_explain_only_marks_that_are_there():
    """The legend has only the marks of the map; pooled values stand behind a line."""
    table = some_marks()
    figure = preference_map(table)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "better with TTL, p < 0.01",
        "better with TTL, p < 0.05",
        "better with JSON, p < 0.01",
        "better with JSON, p < 0.05",
        "\u2013 no difference shown",
    ]
    assert len(figure.axes[0].lines) == 2
    rows = tuple((row[0], *["-"] * (len(row) - 1)) for row in table.rows[:2])
    plain = preference_map(replace(table, rows=rows))
    assert [text.get_text() for text in plain.legends[0].get_texts()] == [
        "\u2013 no difference shown"
    ]
    assert len(plain.axes[0].lines) == 1


def test_lines_of_an_overlay_differ_in_grey():
    """Neighbouring lines in one compass have different dashes, for readers without colour."""
    lines = overlay_figure(compasses(8)).axes[0].lines
    dashes = [line.get_linestyle() for line in lines if line.get_marker() not in ("None", None)]
    assert all(a != b for a, b in itertools.pairwise(dashes))


@pytest.mark.parametrize("name", ["costs $5 or $7", "a$x_", "$\\frac{$"])
def test_names_are_no_formulae(name, tmp_path):
    """Dollar signs in a name are drawn literally."""
    rows = tuple((name, *row[1:]) for row in compasses(1).rows)
    figure = compass_figure(Table(name, COMPASS, rows))
    svg, _ = save(figure, tmp_path, "c", formats=["svg"], tables=[], state="")
    assert svg.read_text(encoding="utf-8").count(f">{name}</text>") == 2


def test_users_save_figures_in_the_style(tmp_path):
    """A figure saved by a user has kgbench's style: fonts embedded, text as text."""
    with mpl.rc_context({"pdf.fonttype": 3, "svg.fonttype": "path", "savefig.dpi": 30}):
        compass_figure(compasses(2)).savefig(tmp_path / "c.pdf")
        compass_figure(compasses(2)).savefig(tmp_path / "c.svg")
        compass_figure(compasses(2)).savefig(tmp_path / "c.png")
    assert b"/Type3" not in (tmp_path / "c.pdf").read_bytes()
    assert ">model-01</text>" in (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert mpl.image.imread(tmp_path / "c.png").shape[1] == 1400
