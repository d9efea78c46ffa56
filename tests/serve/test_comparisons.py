# SPDX-License-Identifier: Apache-2.0
"""Comparisons of models: first the cases with the largest differences, then means by task."""

from __future__ import annotations

import pytest

from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.scores import catalogue
from kgbench.scores.reading import score_rows
from kgbench.scores.selection import select
from kgbench.serve import analyses
from kgbench.serve.analyses import side_by_side, summary
from kgbench.store import open_store
from kgbench.tables import Column, Table
from kgbench.vocab import BASE
from tests.serve.conftest import asking
from tests.support.runs import hold, planned


@pytest.fixture(scope="module")
def models(scores_view):
    """Return the names of the models in the store."""
    return sorted(one.name for one in catalogue.models(scores_view).values())


def test_cases_furthest_apart_come_first(scores_view, models):
    """Cases are ordered by the difference of their scores; equal ones are left out."""
    found = side_by_side(scores_view, None, models[:2])
    spreads = [case["spread"] for case in found["cases"]]
    assert spreads
    assert spreads == sorted(spreads, reverse=True)
    assert min(spreads) > 0
    assert found["disagreeing"] <= found["compared"]
    for case in found["cases"]:
        values = [score for _, score in case["scores"]]
        assert max(values) - min(values) == case["spread"]
        assert len(values) == 2


def test_the_result_comes_first_in_words(scores_view, models):
    """Means and difference of the tests, over all tasks, stand in a sentence."""
    found = side_by_side(scores_view, None, models[:2])
    (said,), (tests,) = found["summaries"], found["tests"]

    assert tests.records()[-1]["task"] == "All tasks"
    assert f"a difference of {tests.records()[-1]['difference']:+.3f}" in said


@pytest.mark.parametrize(
    ("row", "end"),
    [
        ((0.9, 0.5, 0.4, 0.3, 0.5, 1e-6, None), "hardly due to chance (p < 0.0001)."),
        ((0.9, 0.8, 0.1, -0.1, 0.3, 0.25, None), "may be due to chance (p = 0.2500)."),
        ((0.9, 0.8, 0.1, None, None, 1.0, "one case"), "+0.100. No claim: one case."),
        ((None, 0.8, None, None, None, None, None), "no common score."),
    ],
)
def test_the_sentence_claims_what_the_test_allows(row, end):
    """A difference is called chance, no chance, or nothing."""
    names = ("mean_a", "mean_b", "difference", "ci_low", "ci_high", "p", "no_claim")
    table = Table("", tuple(Column(name, name) for name in names), (row,))
    assert summary(table, "A", "B").endswith(end)


def test_scores_lead_to_the_dialogues_they_come_from(scores_view, models):
    """Each score of a case is that of the linked dialogue."""
    found = side_by_side(scores_view, None, models[:2])
    known = {
        row.dialogue: row.value
        for row in score_rows(scores_view, select(scores_view), catalogue.metrics(scores_view))
        if row.metric in {task.main_metric for task in catalogue.tasks(scores_view).values()}
    }
    for case in found["cases"]:
        for dialogue, score in case["scores"]:
            assert known[dialogue] == score


def test_more_than_two_models_are_compared_on_what_all_have(scores_view, models):
    """With a third model, each case has three scores, and the first model is tested with each."""
    found = side_by_side(scores_view, None, [models[0], models[1], models[0]])
    assert [name for _, name in found["sides"]] == [models[0], models[1], models[0]]
    assert all(len(case["scores"]) == 3 for case in found["cases"])
    assert len(found["tests"]) == 2


def test_means_are_those_of_the_pairs(scores_view, models):
    """If all dialogues are paired, a mean equals that in the table of scores by task."""
    found = side_by_side(scores_view, None, models[:2])
    table = task_scores(scores_view, select(scores_view))
    known = {(r["task"], r["model"]): (r["mean"], r["n"]) for r in table.records()}
    seen = 0
    for row in found["tasks"]:
        for name, (mean, _) in zip(models[:2], row["means"], strict=True):
            expected, n = known[row["task"], name]
            if n == row["n"]:
                assert mean == pytest.approx(expected)
                seen += 1
    assert seen


def test_few_cases_are_shown_of_many(scores_view, models, monkeypatch):
    """The page states the number of differing cases and shows those with the largest difference."""
    whole = side_by_side(scores_view, None, models[:2])
    monkeypatch.setattr(analyses, "_MOST_CASES", 1)
    short = side_by_side(scores_view, None, models[:2])
    assert short["cases"] == whole["cases"][:1]
    assert short["disagreeing"] == whole["disagreeing"]


def test_unknown_names_are_refused(scores_view, models):
    """An unknown name is refused with a message."""
    with pytest.raises(QueryError, match="no model, run or pass"):
        side_by_side(scores_view, None, [models[0], "nobody"])


def test_page_compares_what_its_address_names(client):
    """The form has both sides selected, and the tests are below the cases."""
    headers = {"Accept": "text/html"}
    text = client.get("/compare?suite=kgbench-1&a=Oracle&b=Oracle", headers=headers).text
    assert "Cases with different scores" in text
    assert "0 of 1 shared cases" in text
    assert text.count('<option value="Oracle" selected>') == 2
    first, then, last = "Cases with different scores", "Task by task", "Tests"
    assert text.index(first) < text.index(then) < text.index(last)


def test_pages_read_the_suite_that_their_models_share(tmp_path):
    """Without a suite in the address, comparison, list and analysis have that of the models."""
    with open_store(str(tmp_path / "store")) as store:
        hold(store, planned("RdfFriendCount-nt-1", "baseline:oracle", "baseline:noisy"))
        later = planned("RdfFriendCount-nt-1", "baseline:silent", suite="later")
        hold(store, later, run=None)
    with asking(tmp_path / "store") as client:
        for address, chosen in (
            ("compare?a=baseline:oracle&b=baseline:noisy", 'aria-current="true">kgbench 1<'),
            ("compare?a=baseline:oracle&b=baseline:silent", 'aria-current="true">suite/later<'),
            ("dialogues?model=*oracle", '<option value="kgbench-1" selected>'),
            ("analysis/tasks?model=baseline:noisy", '<option value="kgbench-1" selected>'),
            ("analysis/tasks", f'<option value="{BASE}suite/later" selected>'),
        ):
            assert chosen in client.get(f"/{address}", headers={"Accept": "text/html"}).text
