# SPDX-License-Identifier: Apache-2.0
"""Every planned dialogue is in one column of each table: n, failed, or not judged."""

from __future__ import annotations

from collections import Counter

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.task_scores import task_scores
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.record import reading
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.vocab import KGB
from tests.support.reevaluating import reevaluate
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.store_kinds import KINDS

LABELS = ["RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"]  # of one round, and of three
ITERATIONS = 3


def late_overflow(entry):
    """Refuse every conversation after the first answer as too long."""
    later = len(entry.body["messages"]) > 1
    return scripts.Behaviour(scripts.CONTEXT if later else scripts.ANSWER)


@pytest.fixture(scope="module")
def store():
    """Yield a store whose run has models that answer, overflow early or late, or are down."""
    with pytest.MonkeyPatch.context() as patch, open_store("memory:") as opened:
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        behaviours = {
            "late": late_overflow,
            "early": scripts.always(scripts.CONTEXT),
            "down": scripts.always(scripts.SERVER_ERROR),
        }
        for name, script in behaviours.items():
            with LoopbackServer(OpenAISpeech(), script=script) as server:
                spec = f"openai:{name}@{server.url}"
                hold(opened, planned(LABELS, spec, iterations=ITERATIONS, max_retries=0))
        hold(opened, planned(LABELS, "baseline:noisy?rate=0.9&seed=1", iterations=ITERATIONS))
        yield opened


def counted(table):
    """Return n, failed and not judged by model and, if the table has one, task."""
    columns = ("n", "failed", "not_judged")
    return {
        (row["model"].split("@")[0], row.get("task")): tuple(row[name] for name in columns)
        for row in table.records()
    }


def test_no_dialogue_falls_between_columns(store):
    """The columns of tasks and leaderboard add up to the planned dialogues of each model."""
    by_task = counted(task_scores(store, select(store)))
    by_model = counted(leaderboard(store, select(store)))

    assert len(by_task) == 8
    assert {sum(counts) for counts in by_task.values()} == {ITERATIONS}
    assert {sum(counts) for counts in by_model.values()} == {ITERATIONS * len(LABELS)}
    of = {model.rpartition(":")[2]: counts for (model, _), counts in by_model.items()}
    assert (of["late"], of["early"], of["down"]) == ((6, 0, 0), (0, 6, 0), (0, 6, 0))


HELD = """
SELECT ?suite ?model (COUNT(DISTINCT ?dialogue) AS ?held) WHERE {
  GRAPH ?run { ?dialogue a kgb:Dialogue ; kgb:suite ?suite ; kgb:model ?model . }
  MINUS { GRAPH ?invalidation { ?mark kgb:invalidates ?dialogue . } }
} GROUP BY ?suite ?model"""


@pytest.mark.parametrize("kind_of_store", KINDS, indirect=True)
def test_the_columns_add_up_in_every_kind_of_store(kind_of_store):
    """Those of a model, in the leaderboard and over its tasks, are its dialogues in a suite."""
    held = {}
    for suite, model, number in kind_of_store.query(f"PREFIX kgb: <{KGB}>{HELD}"):
        held.setdefault(suite.value, {})[model.value] = int(number.value)
    for suite, dialogues in held.items():
        selection = select(kind_of_store, suite)
        for make in (leaderboard, task_scores):
            table, sums = make(kind_of_store, selection), Counter()
            for row in table.records():
                counts = row["n"], row["failed"], row["not_judged"]
                sums[table.iris["model"][row["model"]]] += sum(counts)
            assert sums == dialogues


def test_an_overflow_keeps_the_answers_before_it(store):
    """A live evaluation of such a dialogue has the scores of a re-evaluation of its answers."""
    with executor("local:1") as pool:
        found = reevaluate(store, reading.find_run(store, None), pool, JudgeLimits())
    assert found.comparison.dialogues == 12  # of the models late and noisy
    assert found.comparison.differing == []
