# SPDX-License-Identifier: Apache-2.0
"""Figures of judges: the cells of the agreement and confusion maps."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from kgbench.analysis.confusion import confusion
from kgbench.analysis.judge_agreement import agreement
from kgbench.cli import app
from kgbench.plots.figures import SIZES
from kgbench.plots.judge_maps import agreement_map, confusion_map
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, judged_run

NOISY = "baseline:noisy?rate=0.5&seed=3"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a store with a run that two judges judged by one rubric, and one by another."""
    found = str(tmp_path_factory.mktemp("judged") / "store")
    with open_store(found) as store:
        labels = ["RdfFriendCount-turtle-1"]
        of = judged_run(store, "baseline:oracle", NOISY, iterations=6, labels=labels)
        ask(store, of, "correctness", "baseline:oracle", "baseline:noisy?rate=0&seed=1")
        ask(store, of, "failure", "baseline:oracle")
    return found


def texts(figure):
    """Return the texts of each panel by its title."""
    return {one.get_title(loc="left"): [t.get_text() for t in one.texts] for one in figure.axes}


def names(axes):
    """Return the names of rows and columns."""
    return [
        [label.get_text() for label in of]
        for of in (axes.get_yticklabels(), axes.get_xticklabels())
    ]


@pytest.mark.parametrize("size", [None, *SIZES.values()])
def test_agreement_of_judges(place, size):
    """Judges are rows and, by number, columns beside execution; no judge is compared to itself."""
    with open_store(place) as store:
        figure = agreement_map(agreement(store, select(store), samples=20), size)

    equal, same = "100%\n1.00", "\u2013"
    assert texts(figure)["correctness"] == [equal, same, equal, equal, equal, same]
    down, across = names(figure.axes[0])
    assert [name.replace("\n", " ") for name in down] == [
        "baseline:noisy?rate=0&seed=1 (1)",
        "baseline:oracle (2)",
    ]
    assert across == ["execution", "(1)", "(2)"]


@pytest.mark.parametrize("size", [None, *SIZES.values()])
def test_confusion_of_judges(place, size):
    """Each judge has a panel against execution, with shares of rows and numbers of items."""
    with open_store(place) as store:
        figure = confusion_map(confusion(store, select(store)), size)
    found = {title.replace("\n", " "): cells for title, cells in texts(figure).items()}

    assert set(found) >= {"correctness: baseline:oracle against execution"}
    cells = found["correctness: baseline:oracle against execution"]
    assert [cell.split("\n")[0] for cell in cells] == ["100%", "0%", "0%", "0%", "100%", "0%"]
    assert sum(int(cell.split("\n")[1]) for cell in cells) == 12
    assert len(found) == 2  # execution implies no failure, so that rubric has no panel


@pytest.mark.parametrize("kind", ["agreement", "confusion"])
def test_the_command_draws_them(place, tmp_path, kind):
    """The command writes the figure and its numbers, and refuses options that do not apply."""

    def plot(*words):
        return CliRunner().invoke(
            app, ["plot", kind, "--store", place, "-o", str(tmp_path), *words]
        )

    assert plot().exit_code == 0
    assert (tmp_path / f"{kind}.png").stat().st_size > 5_000
    assert (tmp_path / f"{kind}.json").exists()
    for words in (("--metric", "f1"), ("--each", "model"), ("--top", "3")):
        assert f"No such option: {words[0]}" in plot(*words).output
