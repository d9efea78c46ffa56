# SPDX-License-Identifier: Apache-2.0
"""That an answer was cut off and that it cannot be parsed are two facts, and both are shown."""

from __future__ import annotations

import json

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.outcomes import count_errors, outcomes
from kgbench.analysis.task_scores import task_scores
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.record import reading
from kgbench.scores.catalogue import tasks
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.commands import printed
from tests.support.reevaluating import reevaluate
from tests.support.runs import Stop, hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

LABEL = "RdfSyntaxFixList-turtle"
ROUNDS = 3


@pytest.fixture(scope="module")
def looping(tmp_path_factory):
    """Return the place of a store with one dialogue whose answers are cut off, and its server."""
    path = tmp_path_factory.mktemp("looping") / "store"
    with (
        pytest.MonkeyPatch.context() as patch,
        LoopbackServer(OpenAISpeech(), script=scripts.always(scripts.TRUNCATION)) as server,
        open_store(str(path)) as store,
    ):
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        plan = planned([LABEL], f"openai:small@{server.url}", iterations=1)
        assert hold(store, plan).finished
    return path


def test_cut_off_answers_that_do_not_parse_count_as_both(looping):
    """Tables say unreadable and truncated; a re-evaluation and its tables say the same."""
    with open_store(str(looping)) as store:
        with executor("local:1") as pool:
            found = reevaluate(store, reading.find_run(store, None), pool, JudgeLimits())
        assert found.comparison.differing == []
        for pass_ in ("first", "latest"):
            chosen = select(store, pass_=pass_)
            for make in (leaderboard, task_scores):
                (row,) = make(store, chosen).records()
                assert (row["n"], row["unreadable"]) == (1, 1.0)
            (row,) = outcomes(store, chosen).records()
            assert (row["n"], row["unparsable"], row["truncated"]) == (ROUNDS, 1.0, 1.0)


@pytest.mark.parametrize("outcome", ["truncated", "unparsable"])
def test_such_dialogues_are_found_by_either_outcome(looping, outcome):
    """`kgbench dialogues` finds them by both, and `kgbench status` gives the rate of both."""
    words = ("--store", looping, "--json")
    (found,) = json.loads(printed("dialogues", "--outcome", outcome, *words))["rows"]
    assert found["outcome"] == "truncated, unparsable"
    (state,) = json.loads(printed("status", *words))
    (rates,) = state["outcomes"].values()
    assert rates[outcome] == {"answers": ROUNDS, "rate": 1.0}


def test_a_cut_off_answer_is_no_failure(monkeypatch):
    """A dialogue that a stop leaves open after such an answer has not failed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    stop = Stop()

    def script(_):
        stop.soon()
        return scripts.Behaviour(scripts.TRUNCATION)

    with LoopbackServer(OpenAISpeech(), script=script) as server, open_store("memory:") as store:
        plan = planned([LABEL], f"openai:small@{server.url}", iterations=1)
        assert hold(store, plan, stop=stop).interrupted
        assert count_errors(store, select(store), tasks(store)) == {}
