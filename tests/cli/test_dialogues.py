# SPDX-License-Identifier: Apache-2.0
"""``kgbench dialogues``: dialogues by model, task, outcome, score and text."""

from __future__ import annotations

import json
import shlex

import pytest

from kgbench.analysis.dialogue_search import SORTS, find_dialogues
from kgbench.cli.dialogues import Sort
from kgbench.scores.selection import select
from tests.support.analysis_store import graph
from tests.support.commands import printed

ORACLE, SILENT = "baseline:oracle", "baseline:silent"


def records(**wanted):
    """Return the dialogues found in the small store of scores."""
    store = graph("analysis_scores")
    models, tasks = wanted.pop("models", "*"), wanted.pop("tasks", "*")
    return find_dialogues(store, select(store, tasks=tasks, models=models), **wanted).records()


def test_dialogues_are_sorted_by_score_and_limited():
    """The lowest scores come first, dialogues without a score last; a limit cuts the end."""
    found = records()
    scores = [row["score"] for row in found]
    scored = [score for score in scores if score is not None]
    assert scored == sorted(scored)
    assert scores == [*scored, *[None] * (len(scores) - len(scored))]
    assert records(limit=2) == found[:2]
    assert len({row["dialogue"] for row in found}) == len(found)


def test_scores_below_a_limit():
    """Only lower scores are listed, and none is missed."""
    below = records(below=0.5)
    assert below
    assert all(row["score"] < 0.5 for row in below)
    assert below == [r for r in records() if r["score"] is not None and r["score"] < 0.5]


def test_an_outcome_of_any_answer_counts():
    """A dialogue is found by the outcome of any answer, with the selectors of all analyses."""
    found = records(outcome="timeout", models="model-b", tasks="Mend-*")
    assert [row["dialogue"] for row in found] == ["run/r1/model-b/Mend-turtle/1-d1"]
    assert records(outcome="refused") == []


@pytest.mark.parametrize("sort", ["task", "model", "outcome"])
def test_other_orders(sort):
    """Sorting by a name puts equal names together."""
    names = [row[sort] for row in records(sort=sort)]
    assert names == sorted(names)


def test_each_order_can_be_typed():
    """The command line accepts exactly the declared orders."""
    assert {str(one) for one in Sort} == set(SORTS)


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Return a function that runs a command on a store with a run of two models."""
    store = str(tmp_path_factory.mktemp("dialogues") / "store")

    def run(*words):
        return printed(*words, "--store", store)

    run("run", "-m", ORACLE, "-m", SILENT, "-t", "RdfFriendCount-turtle-*", "-n", "2")
    return run


def test_each_line_shows_its_dialogue(typed):
    """Each dialogue is listed as a command that can be run as it is."""
    said = typed("dialogues", "--below", "0.5", "--outcome", "empty", "--limit", "3")
    title, *lines, note = said.splitlines()
    assert title == "Dialogues found: 4 (kgbench-1)"
    assert len(lines) == 3
    assert note == "1 more dialogues: raise the limit to see them."
    words = shlex.split(lines[0], comments=True)
    assert words[:2] == ["kgbench", "show"]
    assert "baseline-silent" in typed(*words[1 : words.index("--store")])


def test_text_is_found_in_answers_whatever_its_case(typed):
    """The search covers answers, whatever their case, but not the shared prompts."""
    found = json.loads(typed("dialogues", "--search", "PERSON-0", "--json"))["rows"]
    assert {row["model"] for row in found} == {ORACLE}
    assert len(found) == 4
    assert typed("dialogues", "--search", "no such text").splitlines() == [
        "Dialogues found: 0 (kgbench-1)"
    ]


def test_dialogues_of_one_run_and_model_as_csv(typed):
    """``dialogues`` has the selectors and formats of all analyses."""
    (run,) = (one["run"] for one in json.loads(typed("status", "--json")))
    lines = typed("dialogues", "--run", run, "--model", SILENT, "-f", "csv").splitlines()
    assert lines[0] == "score,metric,outcome,task,model,iteration,dialogue"
    assert len(lines) == 5
