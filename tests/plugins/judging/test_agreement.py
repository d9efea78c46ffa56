# SPDX-License-Identifier: Apache-2.0
"""Repeated verdicts become one, and the errors of a scripted judge are counted in each group."""

from __future__ import annotations

import random

import pytest

from kgbench.analysis.verdicts import JudgeVerdict, judgements
from kgbench.plugins.judging.agreement import JudgeGrouping, agreement
from kgbench.record.evaluations import Item
from kgbench.record.judgements import rubric
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, exercises, judged_run, references
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

MODELS = ("gpt-4o-mini-2024-07-18", "claude-3-5-sonnet-20241022")
LABEL = "RdfFriendCount-turtle-1"
ITERATIONS = 100


@pytest.mark.parametrize(
    ("votes", "becomes"),
    [
        (["all"], "all"),
        (["all", "part"], None),
        (["all", "all", "part"], "all"),
        (["all", "all", "part", "none", "none"], None),
        (["all", "cannot-tell", "cannot-tell"], None),
        (["all", "cannot-tell"], None),
    ],
)
def test_repeated_verdicts_are_settled_by_the_most_frequent(votes, becomes):
    """A tie and "cannot tell" settle nothing, in any order of the verdicts."""
    completeness = rubric("completeness")
    item = Item("dialogue", "model", "task", "case", 9)
    order = tuple(option.name for option in completeness.options)
    for shown in (votes, votes[::-1]):
        given = [JudgeVerdict("j", completeness, v, None, order, (item,), "a") for v in shown]
        (found,) = judgements(given)
        assert found.by_judge.get("j") == becomes


@pytest.fixture(scope="module")
def judged():
    """Return a run of two models, each right in half of 100 cases, with answers of any length."""
    right = references(LABEL, iterations=ITERATIONS)

    def answering(name):
        def answer(prompt):
            chance = random.Random(f"{name}/{prompt}")
            padding = "\n" * chance.randint(0, 200)
            said = right.get(prompt, "?") if chance.random() < 0.5 else "https://no.one/"
            return said + padding

        return answer

    with (
        pytest.MonkeyPatch.context() as patch,
        LoopbackServer(OpenAISpeech(), answer=answering(MODELS[0])) as first,
        LoopbackServer(OpenAISpeech(), answer=answering(MODELS[1])) as second,
        open_store("memory:") as store,
    ):
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        specs = [f"openai:{n}@{s.url}" for n, s in zip(MODELS, (first, second), strict=True)]
        yield store, judged_run(store, *specs, iterations=ITERATIONS, labels=[LABEL])


def shown(question):
    """Return a description of the judged answer that is the same in every test run."""
    (item,) = question.case.data["items"]
    return item["case"], MODELS[0] in item["model"]


def test_false_alarms_by_group(judged):
    """A judge that rejects each fourth right answer has that rate of false alarms."""
    store, of = judged
    questions = sorted(exercises(store, of, "correctness"), key=shown)
    right = [one.prompt for one in questions if one.case.data["executed"] == "right"]
    rejected = set(right[::4])
    accepted = set(right) - rejected

    def answer(prompt):
        return f"A reason.\nVERDICT: {'right' if prompt in accepted else 'wrong'}"

    with LoopbackServer(OpenAISpeech(), answer=answer) as server:
        assert ask(store, of, "correctness", f"openai:strict@{server.url}").finished
    rows = {
        by: agreement(store, select(store), by=by, samples=200).records() for by in JudgeGrouping
    }

    (whole,) = rows[JudgeGrouping.NOTHING]
    assert whole["items"] == 2 * ITERATIONS
    assert whole["false_alarms"] == len(rejected) / len(right)
    assert whole["misses"] == 0
    assert whole["agreement"] == pytest.approx(1 - len(rejected) / len(questions))
    assert whole["agreement_low"] < whole["agreement"] < whole["agreement_high"] < 1
    assert 0.5 < whole["kappa_low"] < whole["kappa"] < whole["kappa_high"] < 1
    assert [row["group"] for row in rows[JudgeGrouping.TASK]] == [LABEL]
    for by in (JudgeGrouping.LENGTH, JudgeGrouping.POSITION, JudgeGrouping.MODEL):
        assert len(rows[by]) == 2
        assert sum(row["items"] for row in rows[by]) == whole["items"]
