# SPDX-License-Identifier: Apache-2.0
"""The report at the end of a run, and the name of a run without a configuration."""

from __future__ import annotations

import json
import shlex

import pytest

from kgbench import config
from kgbench.cli import run
from kgbench.engine import Progress
from kgbench.engine.plans import ad_hoc_name
from tests.support.commands import printed
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import OVERLOADED, sequence

SILENT, ORACLE = "baseline:silent", "baseline:oracle"
TASK = "RdfFriendCount-turtle-1"


@pytest.fixture
def typed(tmp_path):
    """Return a function that runs a command on its own store and returns its output."""

    def typing(*words):
        return printed(*words, "--store", tmp_path / "store")

    return typing


def ad_hoc(typed, model, *more, task=TASK, iterations="2"):
    """Return the JSON report of a run of one model on one task without a configuration."""
    return json.loads(typed("run", "-m", model, "-t", task, "-n", iterations, "--json", *more))


def models_of(table):
    """Return the models in a table."""
    return [row["model"] for row in table["rows"]]


def test_a_run_ends_with_its_own_table(typed):
    """A run reports its own models; those of earlier runs only with an option."""
    ad_hoc(typed, ORACLE)
    assert models_of(ad_hoc(typed, SILENT)["leaderboard"]) == [SILENT]
    assert models_of(ad_hoc(typed, SILENT, "--whole-store")["leaderboard"]) == [ORACLE, SILENT]


def test_outcomes_warnings_and_worst_dialogues_are_told(typed):
    """Empty answers are counted with a warning; each worst dialogue has a command to show it."""
    said = typed("run", "-m", SILENT, "-m", ORACLE, "-t", TASK, "-n", "2")
    assert "answers  2 empty, 2 scored" in said or "answers  2 scored, 2 empty" in said
    assert "warning  2 of 2 answers of baseline:silent are empty" in said
    assert "answers of baseline:oracle" not in said
    lines = [line for line in said.splitlines() if line.startswith("kgbench show ")]
    assert len(lines) == 1
    words = shlex.split(lines[0], comments=True)
    assert TASK in typed(*words[1 : words.index("--store")])


def test_a_run_without_faults_has_nothing_to_warn_of(typed):
    """A run with full scores has no worst dialogues and no warnings."""
    told = ad_hoc(typed, ORACLE)
    assert told["warnings"] == told["worst"] == []
    assert told["outcomes"] == {ORACLE: {"scored": 2}}


def test_other_selections_are_other_runs_and_the_same_command_continues(typed):
    """A run without a configuration is named by models and tasks; more iterations continue it."""
    first, other = ad_hoc(typed, ORACLE), ad_hoc(typed, SILENT)
    again = ad_hoc(typed, ORACLE, iterations="3")
    elsewhere = ad_hoc(typed, ORACLE, task="RdfFriendCount-nt-1")
    assert first["run"] == again["run"]
    assert again["complete"] == 3
    assert len({one["run"] for one in (first, other, elsewhere)}) == 3
    assert first["name"].startswith(f"{ORACLE} on {TASK} (")


def test_names_tell_selections_apart_but_not_their_order():
    """The name of a run ignores the order of models, and contains no address and no key."""
    here, there = "openai:m@http://127.0.0.1:1/v1", "openai:m@http://127.0.0.1:2/v1"

    def named(*models, tasks=None):
        plan = config.quick_start(models=models or None, tasks=tasks)
        return ad_hoc_name(plan, models=models or None, tasks=tasks)

    assert named() == "quick-start"
    assert named(ORACLE, SILENT) == named(SILENT, ORACLE)
    assert named(tasks=["Rdf*", "Text*"]) == named(tasks=["Text*", "Rdf*"])
    assert named(here) != named(there)
    assert "127.0.0.1" not in named(here)
    assert len(named(tasks=["RdfFriendCount-*", "Rdf" + "*" * 300, "*"])) <= 200


def test_retries_are_counted_as_requests(typed, monkeypatch):
    """The summary says how many requests the calls took if there were more than calls."""
    script = sequence(OVERLOADED)
    monkeypatch.setattr("kgbench.engine.calls.FIRST_WAIT", 0.01)
    with LoopbackServer(OpenAISpeech(), script=script) as server:
        words = ["run", "-t", TASK, "-m", f"openai:m@{server.url}", "--no-preflight"]
        retried = typed(*words, "-n", "1")
        report = json.loads(typed(*words, "-n", "2", "--json"))

    assert "1 of 1 dialogue complete (1 now), 0 failed, 1 call (2 requests)" in retried
    assert (report["calls"], report["requests"], report["timeouts"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("complete", "rate"), [(100, "10.0/s"), (10, "1.0/s"), (3, "18.0/min"), (0, "0.0/min")]
)
def test_a_slow_run_has_a_rate_per_minute(monkeypatch, complete, rate):
    """A rate below one per second is given per minute."""
    progress = Progress("urn:run", 1000, complete=complete, began=0.0)
    monkeypatch.setattr("kgbench.engine.session.time.monotonic", lambda: 10.0)

    assert run._note(progress).split(", ")[0] == rate
