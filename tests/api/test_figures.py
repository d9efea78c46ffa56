# SPDX-License-Identifier: Apache-2.0
"""Figures from Python are those of ``kgbench plot``, with the same size, title and models."""

from __future__ import annotations

import sys

import pytest
from matplotlib.text import Text
from typer.testing import CliRunner

import kgbench
from kgbench.analysis.index import FIGURES
from kgbench.cli import app
from kgbench.errors import QueryError, ResourceError
from kgbench.plots.figures import save
from tests.support import python_examples
from tests.support.analysis_store import results, small

#: No task of the page has a level; tests/analysis/test_difficulty.py draws such tasks.
DRAWN = sorted(FIGURES.keys() - {"difficulty"})
LAYOUT = {"size": "8x5cm", "title": "Of two models", "top": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of the page about Python, with its store."""
    path = tmp_path_factory.mktemp("python")
    python_examples.prepared(path)
    return path


@pytest.fixture(scope="module")
def found(folder):
    """Yield the results in the store of the page."""
    with kgbench.open(str(folder / "kgbench-results")) as opened:
        yield opened


def drawn(found, kind, **layout):
    """Return a figure of a kind: the only one, or that of the first task."""
    if kind == "boxplot":
        return next(iter(found.box_plots(**layout).values()))
    return getattr(found, kind.replace("-", "_")).figure(**layout)


@pytest.mark.parametrize("kind", DRAWN)
def test_figures_have_the_size_and_title_that_are_asked_for(found, kind):
    """Every kind has the requested width and height, and the given title, its own, or none."""
    titled = drawn(found, kind, size="8x5cm", title="Of two models")
    assert tuple(titled.get_size_inches()) == pytest.approx((8 / 2.54, 5 / 2.54))
    assert titled.get_suptitle() == "Of two models"
    assert drawn(found, kind).get_suptitle()
    bare = drawn(found, kind, title="", size=(5, 4))
    assert tuple(bare.get_size_inches()) == (5, 4)
    assert bare.get_suptitle() == ""


@pytest.mark.parametrize("kind", DRAWN)
def test_figures_show_as_many_models_as_asked_for(found, kind):
    """With ``top=1`` only the best model is named; a figure without ranks refuses it."""
    if kind == "format-preference":
        with pytest.raises(QueryError, match="ranks no models"):
            drawn(found, kind, top=1)
        return
    if kind == "tools":
        return  # no model of the page has tools; tests/analysis/test_tools.py draws this figure
    texts = drawn(found, kind, top=1).findobj(match=Text)
    told = " ".join("".join(text.get_text().split()) for text in texts)
    assert "baseline:oracle" in told
    assert "baseline:noisy" not in told
    both = "".join("".join(t.get_text().split()) for t in drawn(found, kind).findobj(match=Text))
    assert "baseline:noisy" in both


@pytest.mark.parametrize("kind", ["boxplot", "compass", "leaderboard", "sizes"])
def test_figures_are_those_of_the_command_line(folder, found, tmp_path, kind):
    """The same arguments give the same picture as ``kgbench plot``, byte for byte."""
    words = ["plot", kind, "--size", "8x5cm", "--title", "Of two models", "--top", "1"]
    words += ["--format", "svg", "--out", tmp_path, "--store", folder / "kgbench-results"]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    path = next(iter(sorted(tmp_path.glob("*.svg"))))
    figure = drawn(found, kind, **LAYOUT)
    again, _ = save(figure, tmp_path, "again", formats=["svg"], tables=[], state="")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"size": "big"}, "'big' is not a size: choose one-column"),
        ({"size": (1, 1)}, "width and height of a figure must be 1.5 to 60 inches"),
        ({"top": 0}, "cannot show 0 models"),
        ({"overlay": True}, "only a compass has an overlay"),
    ],
)
def test_layouts_that_no_figure_has_are_refused(tmp_path, layout, message):
    """An impossible size, number or overlay is refused before anything is read."""
    with pytest.raises(QueryError, match=message):
        kgbench.open(str(tmp_path / "none")).leaderboard.figure(**layout)


def test_figures_say_that_matplotlib_is_missing(monkeypatch):
    """Without matplotlib, a figure is refused with an explanation."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (results(small()).leaderboard.figure, results(small()).box_plots):
        with pytest.raises(ResourceError, match=r"pip install 'kgbench\[plots\]'"):
            draw()
