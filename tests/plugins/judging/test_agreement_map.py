# SPDX-License-Identifier: Apache-2.0
"""The figure of agreement: its cells, and the command that draws it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.plots.figures import SIZES
from kgbench.plugins.judging.agreement import agreement
from kgbench.plugins.judging.agreement_map import agreement_map
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


def test_the_command_draws_them(place, tmp_path):
    """The command writes the figure and its numbers, and refuses options that do not apply."""

    def plot(*words):
        return CliRunner().invoke(
            app, ["plot", "agreement", "--store", place, "-o", str(tmp_path), *words]
        )

    assert plot().exit_code == 0
    assert (tmp_path / "agreement.png").stat().st_size > 5_000
    assert (tmp_path / "agreement.json").exists()
    for words in (("--metric", "f1"), ("--each", "model"), ("--top", "3")):
        assert f"No such option: {words[0]}" in plot(*words).output
