# SPDX-License-Identifier: Apache-2.0
"""Conversations too long for a model: counted in its row, and asked again on request."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.run_results import RunResults
from kgbench.cli import app
from kgbench.engine import StopSignal
from kgbench.record import reading
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import Behaviour, always
from tests.support.validation import assert_conforms

ONE, ROUNDS = "RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"


@pytest.fixture
def server(monkeypatch):
    """Yield a server whose context is too small for every conversation."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    with LoopbackServer(OpenAISpeech(), script=always(scripts.CONTEXT)) as running:
        yield running


def plan_of(server, tasks=ONE, models=("small",), iterations=3):
    """Return a plan of models at a server."""
    specs = [f"openai:{name}@{server.url}" for name in models]
    return planned(tasks, *specs, iterations=iterations)


def rows(store):
    """Return n, failed and not judged of each model in the leaderboard."""
    table = leaderboard(store, select(store))
    columns = ("model", "n", "failed", "not_judged")
    return [tuple(row) for row in zip(*map(table.column, columns), strict=True)]


@pytest.mark.parametrize("task", [ONE, ROUNDS])
def test_a_model_that_only_overflows_has_a_row(server, task):
    """Its dialogues count as failed: n, failed and not judged add up to all dialogues."""
    with open_store("memory:") as store:
        done = hold(store, plan_of(server, task))
        found = rows(store)
        notes = leaderboard(store, select(store)).notes

    assert done.finished
    assert found == [("small", 0, 3, 0)]
    assert any("3 dialogues" in note for note in notes)


def test_a_model_that_overflows_at_times_adds_up(server):
    """Dialogues with a score and without one are each in one column."""
    server._script = lambda entry: Behaviour(scripts.CONTEXT if entry.number else scripts.ANSWER)
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        assert rows(store) == [("small", 1, 2, 0)]


def test_refused_dialogues_are_in_the_mean(server):
    """A refusal is an answer without success, not a missing one."""
    server._script = always(scripts.REFUSAL)
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        assert rows(store) == [("small", 3, 0, 0)]


def test_the_advice_asks_again_once_the_cause_is_mended(server):
    """With ``--retry-errors`` overflowed dialogues are invalidated and repeated."""
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        (info,) = reading.runs(store)
        warnings = " ".join(RunResults(store, info).warnings)
        server._script = always()
        as_before = hold(store, plan_of(server))
        left_open = hold(store, plan_of(server), retry_errors=False)
        asked = len(server.ledger)
        again = hold(store, plan_of(server), retry_errors=True)
        once_more = hold(store, plan_of(server), retry_errors=True)
        assert_conforms(store)
        found = rows(store)

    assert "the same command with --retry-errors asks again" in warnings
    assert (as_before.complete, left_open.complete, asked) == (0, 0, 3)
    assert (again.complete, again.before, again.finished) == (3, 0, True)
    assert (once_more.complete, once_more.before) == (0, 3)
    assert found == [("small", 3, 0, 0)]


def test_only_planned_dialogues_are_invalidated(server):
    """A session with fewer models or tasks leaves the results of the others as they are."""
    with open_store("memory:") as store:
        hold(store, plan_of(server, [ONE, ROUNDS], ("one", "two")))
        (info,) = reading.runs(store)
        server._script = always()
        hold(store, plan_of(server, ONE, ("one",)), retry_errors=True, run=info)
        assert len(reading.invalid(store, info.graph)) == 3
        assert sorted(rows(store)) == [("one", 3, 3, 0), ("two", 0, 6, 0)]


def test_a_server_that_cannot_be_called_invalidates_nothing(server):
    """Results are given up only when the model can be asked again."""
    with open_store("memory:") as store:
        hold(store, plan_of(server))
        (info,) = reading.runs(store)
        server._script = always(scripts.UNAUTHORISED)
        with pytest.raises(Exception, match="the first call failed"):
            hold(store, plan_of(server), retry_errors=True, preflight=lambda _: None)
        assert not reading.invalid(store, info.graph)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_session_that_asks_nothing_invalidates_nothing(server, stopped):
    """A run that was stopped before, or has used up its limit, keeps the results."""
    stop = StopSignal()
    with open_store("memory:") as store:
        plan = plan_of(server)
        hold(store, plan)
        (info,) = reading.runs(store)
        if stopped:
            stop.request()
        limit = None if stopped else 1
        server._script = always()
        hold(store, replace(plan, iterations=4, max_tokens=None), retry_errors=False)
        done = hold(store, replace(plan, max_tokens=limit), retry_errors=True, stop=stop, run=info)
        assert done.complete == 0
        assert not reading.invalid(store, info.graph)


def test_the_command_says_which_models_have_no_row(server, tmp_path):
    """A model whose first call failed has no row, and is named below the table."""
    server._script = lambda entry: Behaviour(
        scripts.UNAUTHORISED if entry.body["model"] == "wrong" else scripts.ANSWER
    )
    words = ["run", "--store", str(tmp_path / "store"), "-t", ONE, "-n", "1"]
    words += [word for name in ("wrong", "right") for word in ("-m", f"openai:{name}@{server.url}")]
    done = CliRunner().invoke(app, words)
    shown = CliRunner().invoke(app, [*words, "--json", "--no-preflight"])

    assert done.exit_code == 3
    assert "No row, because no dialogue has ended or failed: wrong." in done.output
    assert json.loads(shown.stdout)["without_row"] == []


def test_a_dry_run_counts_what_is_asked_again(server, tmp_path):
    """The estimate with ``--retry-errors`` includes overflowed dialogues."""
    words = ["run", "--store", str(tmp_path / "store"), "-t", ONE, "-n", "2", "--no-preflight"]
    words += ["-m", f"openai:small@{server.url}"]
    CliRunner().invoke(app, words)

    def to_do(*options):
        shown = CliRunner().invoke(app, [*words, "--dry-run", "--json", *options])
        return json.loads(shown.stdout)["dialogues_to_do"]

    assert (to_do(), to_do("--retry-errors")) == (0, 2)
