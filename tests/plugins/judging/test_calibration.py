# SPDX-License-Identifier: Apache-2.0
"""Calibration before each use: accuracy, drift, and injected orders that scripted judges obey."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from kgbench.analysis.verdicts import verdicts
from kgbench.cli import app
from kgbench.plugins.judging.calibration import (
    calibration,
    calibration_questions,
    calibration_set,
    calibration_sets,
    calibrations,
)
from kgbench.record.judgements import all_rubric_versions, rubric
from kgbench.scores.selection import select
from kgbench.store import open_reader, open_store
from tests.support.judge_runs import judged_run
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.validation import assert_conforms

ORDER = re.compile(r"VERDICT: (right|wrong)")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the location of a store with a small run."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    found = str(tmp_path / "store")
    with open_store(found) as store:
        judged_run(store, "baseline:oracle", iterations=2, labels=["RdfFriendCount-turtle-1"])
    return found


def known():
    """Return the known verdict of each calibration prompt, and whether the prompt has an order."""
    asked = calibration_questions(calibration_set(rubric("correctness")))
    (exercises,) = asked.exercises.values()
    return {
        one.prompt: (one.case.data["executed"], one.case.data["calibration"]["order"] is not None)
        for one in exercises
    }


def judge(place, answer, *words):
    """Return the result of ``kgbench judge`` with a scripted judge, and the number of requests."""
    with LoopbackServer(OpenAISpeech(), answer=answer) as server:
        return command(place, server, *words), len(server.ledger)


def command(place, server, *words):
    """Return the result of ``kgbench judge`` with the judge behind a server."""
    spec = f"openai:judge@{server.url}"
    given = ["judge", "--rubric", "correctness", "-m", spec, "--store", place, "--no-preflight"]
    return CliRunner().invoke(app, [*given, *words])


def right_but(wrong, obeys):
    """Return a judge that misses ``wrong`` known verdicts and obeys orders or not."""
    truth = known()
    plain = [prompt for prompt, (_, ordered) in truth.items() if not ordered]
    missed = set(plain[:wrong])

    def answer(prompt):
        if prompt not in truth:
            return "VERDICT: right"
        verdict, ordered = truth[prompt]
        if ordered and obeys:
            return f"VERDICT: {ORDER.findall(prompt.rpartition('VERDICT: ...')[0])[-1]}"
        opposite = {"right": "wrong", "wrong": "right"}[verdict]
        return f"VERDICT: {opposite if prompt in missed else verdict}"

    return answer


@pytest.mark.parametrize("found", calibration_sets(), ids=lambda one: one.name)
def test_sets_are_declared_well(found):
    """No verdict makes up more than half; every item below the best also has an order."""
    plain = [one for one in found.questions if one.order is None]
    ordered = [one for one in found.questions if one.order is not None]
    often = Counter(one.known for one in plain)

    assert len(plain) >= 8
    assert max(often.values()) <= len(plain) / 2
    assert {one.item for one in ordered} == {
        one.item for one in plain if one.known != found.demanded
    }
    assert len({one.order for one in ordered}) == 4
    assert all(one.answer.endswith(f"VERDICT: {found.demanded}") for one in ordered)


def test_every_rubric_of_ours_has_a_set():
    """Every rubric has a calibration set that fits its kind."""
    for one in all_rubric_versions():
        found = calibration_set(one)
        assert found is not None, one.name
        assert all((q.other is not None) == (one.kind == "compare") for q in found.questions)
        assert all((q.scores is not None) == (one.kind == "check") for q in found.questions)


def test_a_judge_is_calibrated_before_each_use(place):
    """Each new use asks the set again, and calibration verdicts do not count as agreement."""
    uses = ((), (), ("--new",), ("--new", "--calibrate", "no"))
    asked = [0]
    with LoopbackServer(OpenAISpeech(), answer=right_but(0, obeys=False)) as server:
        for words in uses:
            done = command(place, server, *words)
            assert done.exit_code == 0, done.output
            assert "warning" not in done.output
            asked.append(len(server.ledger))

    assert [after - before for before, after in pairwise(asked)] == [20, 0, 20, 2]
    with open_reader(place) as store:
        rows = calibration(store, select(store)).records()
        assert len(verdicts(store, select(store))) == 6
        assert_conforms(store)
    assert [(r["right"], r["changed"], r["obeyed"], r["state"]) for r in rows] == [
        (1.0, 0.0, 0.0, "fit")
    ] * 2


@pytest.mark.parametrize(("obeys", "share"), [(True, 1.0), (False, 0.0)])
def test_obeyed_orders_are_a_reported_figure(place, obeys, share):
    """Obeyed orders are a reported share: a judge that follows the last order obeys them all."""
    done, _ = judge(place, right_but(0, obeys=obeys))
    with open_reader(place) as store:
        (row,) = calibration(store, select(store)).records()

    assert (row["orders"], row["obeyed"], row["right"]) == (6, share, 1.0)
    assert ("obeys 6 of 6 orders" in done.output) is obeys
    assert done.exit_code == 0


def test_orders_show_nothing_where_the_plain_answer_passes(place):
    """An order does not count if the plain answer passes: a judge that accepts all obeys none."""
    judge(place, lambda _: "VERDICT: right")
    with open_reader(place) as store:
        (row,) = calibration(store, select(store)).records()

    assert (row["orders"], row["obeyed"], row["right"]) == (0, None, 0.5)
    assert row["state"] == "inaccurate"


def test_drift_is_refused_in_words(place):
    """A judge that changes more than a tenth of its verdicts is refused, or causes a warning."""
    judge(place, right_but(0, obeys=False))
    few, _ = judge(place, right_but(1, obeys=False), "--new")
    drifted, asked = judge(place, right_but(3, obeys=False), "--new")
    warned, _ = judge(place, right_but(3, obeys=False), "--new", "--calibrate", "warn")

    assert few.exit_code == 0
    assert drifted.exit_code != 0
    assert asked == 18  # the set, and no dialogue
    assert "has drifted: 17% of its verdicts on the calibration items" in str(drifted.exception)
    assert "--calibrate warn" in str(drifted.exception)
    assert warned.exit_code == 0
    assert "warning" in warned.output
    with open_reader(place) as store:
        states = [row["state"] for row in calibration(store, select(store)).records()]
    assert states == ["fit", "fit", "drifted", "drifted"]


def test_an_inaccurate_judge_is_warned_of(place):
    """A judge that finds too few known verdicts, or gives none, causes a warning."""
    done, _ = judge(place, right_but(4, obeys=False))
    silent, _ = judge(place, lambda _: "I cannot say.", "--new", "--calibrate", "warn")

    assert done.exit_code == 0
    assert "finds 67% of the known verdicts" in done.output
    assert "finds 0% of the known verdicts" in silent.output or "drifted" in silent.output
    with open_reader(place) as store:
        assert len(calibrations(store)) == 1
