# SPDX-License-Identifier: Apache-2.0
"""Corrected means of judges, from stored verdicts."""

from __future__ import annotations

import random

import pytest

from kgbench.analysis.verdicts import Item, JudgeVerdict
from kgbench.errors import QueryError
from kgbench.plugins.judging import judged_means as means
from kgbench.plugins.judging.judged_means import judged_means
from kgbench.record.judgements import rubric
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, judged_run

LENIENT = "baseline:noisy?rate=0&seed=1"
CORRECTNESS = rubric("correctness")


@pytest.fixture(scope="module")
def store():
    """Yield a store with a run of two models, judged by a perfect judge."""
    with open_store("memory:") as opened:
        noisy = "baseline:noisy?rate=0.5&seed=3"
        of = judged_run(
            opened, "baseline:oracle", noisy, iterations=60, labels=["RdfFriendCount-turtle-1"]
        )
        ask(opened, of, "correctness", "baseline:oracle")
        yield opened


def given(name, case, executed, chosen, judge="j"):
    """Return a verdict about the answer of a model to a case."""
    item = Item(f"{name}/{case}", f"https://w3id.org/kgbench/model/{name}", "t", f"c{case}", 3)
    order = ("right", "wrong", "cannot-tell")
    return JudgeVerdict(judge, CORRECTNESS, chosen, executed, order, (item,), "a")


def drawn(seed, cases, known=1.0):
    """Return verdicts of a lenient judge on two models; only some cases have a known truth."""
    chance = random.Random(seed)
    found = []
    for case in range(cases):
        told = chance.random() < known
        for name, share in (("good", 0.7), ("bad", 0.4)):
            right = chance.random() < share
            chosen = "right" if right or chance.random() < 0.4 else "wrong"
            chosen = chosen if chance.random() < 0.9 else "cannot-tell"
            executed = ("right" if right else "wrong") if told else None
            found.append(given(name, case, executed, chosen))
    return found


def test_corrected_means_cover_the_truth(store, monkeypatch):
    """In 300 stores, 93 to 97 % of the intervals contain the model's share of right answers."""
    held = total = 0
    for seed in range(300):
        monkeypatch.setattr(means, "verdicts", lambda *_, s=seed: drawn(s, 400, 0.3))
        for row in judged_means(store, select(store)).records():
            if row["model"].endswith(("good", "bad")):
                share = 0.7 if row["model"].endswith("good") else 0.4
                held += row["low"] <= share <= row["high"]
                total += 1
                assert row["needed"] is None

    assert total == 600
    assert 0.93 <= held / total <= 0.97


def test_a_part_of_the_truth_is_hidden_to_try_it(store, monkeypatch):
    """``labelled`` hides the truth of the other cases; the known mean is still reported."""
    monkeypatch.setattr(means, "verdicts", lambda *_: drawn(1, 400))
    table = judged_means(store, select(store), labelled=100, seed=5)
    *models, together = table.records()

    assert [row["labelled"] for row in models] == [100, 100]
    assert [row["unlabelled"] for row in models] == [300, 300]
    assert together["model"] == "All models"
    assert together["clusters"] == 100
    for row in table.records():
        assert row["low"] <= row["known_mean"] <= row["high"] < row["judge_mean"] + 0.05
        assert row["high"] - row["low"] < row["labelled_high"] - row["labelled_low"]
    assert table.context["method"] == "prediction-powered"
    assert any("to" in note and table.context["estimand_label"] in note for note in table.notes)


def test_too_few_labels_are_refused_with_the_number_needed(store, monkeypatch):
    """Too few labels are refused with the number needed; all labels, or more than exist, too."""
    monkeypatch.setattr(means, "verdicts", lambda *_: drawn(1, 400))

    with pytest.raises(QueryError, match=r"10 labelled items are too few .*: label about 40"):
        judged_means(store, select(store), labelled=10)
    with pytest.raises(QueryError, match="use the labelled mean"):
        judged_means(store, select(store))
    with pytest.raises(QueryError, match="only 400 cases"):
        judged_means(store, select(store), labelled=500)


def test_a_model_without_errors_has_a_row_with_the_number_needed(store, monkeypatch):
    """If a judge never errs about a model, only that model's corrected mean is missing."""
    verdicts = [one for one in drawn(1, 400) if one.items[0].model.endswith("good")]
    verdicts += [given("bad", case, "wrong", "wrong") for case in range(400)]
    monkeypatch.setattr(means, "verdicts", lambda *_: verdicts)
    rows = judged_means(store, select(store), labelled=100).records()
    by_model = {row["model"].rpartition("/")[2]: row for row in rows}

    assert by_model["bad"]["mean"] is None
    assert by_model["bad"]["needed"] > 100
    assert by_model["bad"]["labelled_mean"] == by_model["bad"]["judge_mean"] == 0
    assert by_model["good"]["needed"] is None
    assert by_model["good"]["mean"] is not None


def test_a_rater_may_be_the_truth(store, monkeypatch):
    """The verdicts of a named rater serve as the truth, and that rater is not judged."""
    models = means.catalogue.models(store)
    person = next(iri for iri, model in models.items() if model.id == "oracle")
    verdicts = drawn(2, 300)
    verdicts += [
        given(one.items[0].model.rpartition("/")[2], one.cluster[1:], None, one.executed, person)
        for one in verdicts
        if int(one.cluster[1:]) < 120
    ]
    monkeypatch.setattr(means, "verdicts", lambda *_: verdicts)
    rows = judged_means(store, select(store), truth="baseline:oracle").records()

    assert {row["judge"] for row in rows} == {"j"}
    assert [row["clusters"] for row in rows] == [120, 120, 120]
