# SPDX-License-Identifier: Apache-2.0
"""Panels: declared rules combine verdicts."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from kgbench.analysis.panels import panels
from kgbench.cli import app
from kgbench.errors import TaskError
from kgbench.judges.aggregation import SAMPLES, NoVerdictReason, rule, rules
from kgbench.judges.rubrics import rubric
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, judged_run

# Its errors are random and differ between runs; of sixteen answers it leaves some right.
NOISY = "baseline:noisy?rate=0.3&seed=3"
UNREADABLE = "baseline:silent"
FEW, TIE, SHARE, UNSURE = (
    NoVerdictReason.FEW,
    NoVerdictReason.TIE,
    NoVerdictReason.SHARE,
    NoVerdictReason.CANNOT_TELL,
)


@pytest.mark.parametrize(
    ("name", "votes", "becomes"),
    [
        ("plurality", ["all"], "all"),
        ("plurality", ["all", "part"], TIE),
        ("plurality", ["all", "all", "part", "none", "none"], TIE),
        ("plurality", ["all", "cannot-tell", "cannot-tell"], UNSURE),
        ("plurality", [], FEW),
        ("majority", ["all", "all", "part"], "all"),
        ("majority", ["all", "cannot-tell", "cannot-tell", "all"], "all"),
        ("majority", ["all", "cannot-tell"], UNSURE),
        ("majority", ["all"], FEW),
        ("majority", ["all", "all", "part", "none"], SHARE),
        ("majority", ["all", "part"], TIE),
        ("absolute-majority", ["all", "all", "cannot-tell"], "all"),
        ("absolute-majority", ["all", "all", "cannot-tell", "part"], SHARE),
        ("absolute-majority", ["cannot-tell", "cannot-tell", "part"], UNSURE),
        ("unanimity", ["all", "all"], "all"),
        ("unanimity", ["all", "all", "cannot-tell"], SHARE),
        ("unanimity", ["all", "all", "part"], SHARE),
        ("unanimity", ["cannot-tell", "cannot-tell"], UNSURE),
        ("median", ["all", "none", "part"], "part"),
        ("median", ["all", "none"], "none"),
        ("median", ["all", "all", "part", "part"], "part"),
        ("median", ["all", "cannot-tell", "cannot-tell"], FEW),
        ("median-or-nothing", ["all", "part"], TIE),
        ("median-or-nothing", ["all", "none", "part", "part"], "part"),
    ],
)
def test_rules_settle_verdicts(name, votes, becomes):
    """A rule gives an option, or a reason for none, in any order of the verdicts."""
    completeness = rubric("completeness")
    expected = (None, becomes) if isinstance(becomes, NoVerdictReason) else (becomes, None)
    assert rule(name).combine(votes, completeness) == expected
    assert rule(name).combine(votes[::-1], completeness) == expected


def test_rules_are_declared():
    """Each rule has a definition; an unknown rule is refused with the nearest name."""
    assert SAMPLES in rules()
    assert all(one.definition for one in rules().values())
    with pytest.raises(TaskError, match=r"'majorty'.*majority.*unanimity"):
        rule("majorty")


@pytest.fixture(scope="module")
def store():
    """Yield a store with two models judged by the oracle, a noisy judge and a silent one."""
    with open_store("memory:") as opened:
        of = judged_run(opened, "baseline:oracle", NOISY, iterations=8)
        ask(opened, of, "correctness", "baseline:oracle", NOISY, UNREADABLE)
        yield opened


def rows(table):
    """Return the rows of a table as dictionaries."""
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def test_shares_of_a_panel_add_up(store):
    """Every item of a row is decided or has a reason; unreadable judges are not members."""
    for name in rules():
        for row in rows(panels(store, select(store), rule=name)):
            reasons = ("decided", "ties", "no_majority", "cannot_tell", "few")
            assert sum(row[one] for one in reasons) == pytest.approx(1)
            assert row["judges"] <= 2
            assert row["value"] is None or 0 <= row["value"] <= 1


def test_unanimous_judges_that_know_agree_with_execution(store):
    """A unanimous verdict is right if the oracle is a member, because it equals execution."""
    row = rows(panels(store, select(store), rule="unanimity"))[0]

    assert (row["model"], row["members"]) == ("all models", "all")
    assert 0 < row["decided"] <= row["unanimous"] <= 1
    assert row["agreement"] == 1
    assert row["value"] == row["executed"]


def test_each_model_has_a_panel(store):
    """Verdicts are combined over all models and for each, by all judges; people stand apart."""
    found = rows(panels(store, select(store), rule="plurality"))
    assert len({row["model"] for row in found}) == len(found) == 3
    assert {(row["members"], row["judges"]) for row in found} == {("all", 2)}


def test_command(tmp_path):
    """The command prints a panel and refuses an undeclared rule."""
    place = ["--store", str(tmp_path / "store")]

    def kgbench(*words):
        return CliRunner().invoke(app, [*words, *place])

    task = ("--task", "RdfFriendCount-turtle-1")
    kgbench("run", "-m", "baseline:oracle", *task, "-n", "4")
    assert "kgbench judge" in kgbench("analyze", "panels").output
    kgbench("judge", "--rubric", "correctness", "-m", "baseline:oracle", "-m", NOISY)
    done = kgbench("analyze", "panels", "--rule", "unanimity")
    assert done.exit_code == 0, done.output
    assert "prevents it" in done.output
    refused = kgbench("analyze", "panels", "--rule", "majorty")
    assert isinstance(refused.exception, TaskError)
