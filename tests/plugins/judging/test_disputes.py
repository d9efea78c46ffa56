# SPDX-License-Identifier: Apache-2.0
"""Disputes between reviewers, and who may settle them."""

from __future__ import annotations

import pytest

from kgbench.errors import StoreError
from kgbench.plugins.judging.review_files import from_csv, import_reviews
from kgbench.record import reviews as record
from kgbench.store import open_store
from tests.plugins.judging.test_reviews import own, queued
from tests.support.judge_runs import judged_run


@pytest.fixture
def store():
    """Yield a store with two dialogues of one model."""
    with open_store("memory:") as opened:
        judged_run(opened, "baseline:oracle", labels=["RdfFriendCount-turtle-1"], iterations=2)
        yield opened


def test_disputes_end_when_they_are_settled_and_begin_again(store):
    """A verdict that is changed after an adjudication reopens the dispute."""
    queue = queued(store)
    entry = queue.entries[0]
    queue.decide(entry, "owl", "right", "", None)
    queue.decide(entry, "fox", "wrong", "", None)
    assert queue.disputed() == [entry]
    queue.decide(entry, "bee", "right", "", None, adjudicating=True)
    assert queue.disputed() == []
    queue.decide(entry, "fox", "cannot-tell", "", None)
    assert queue.disputed() == [entry] == queued(store).disputed()


def test_a_party_settles_nothing_and_an_adjudicator_judges_nothing(store):
    """Who has judged an item does not settle it, and who has settled it does not judge it."""
    queue = queued(store)
    entry = queue.entries[0]
    queue.decide(entry, "owl", "right", "", None)
    queue.decide(entry, "fox", "wrong", "", None)
    assert queue.disputed("owl") == queue.disputed("fox") == []
    assert queue.disputed("bee") == [entry]
    with pytest.raises(StoreError, match="another reviewer must settle it"):
        queue.decide(entry, "owl", "right", "", None, adjudicating=True)
    settled = queue.decide(entry, "bee", "right", "", None, adjudicating=True)
    with pytest.raises(StoreError, match="another reviewer has settled"):
        queue.decide(entry, "elk", "wrong", "", None, adjudicating=True)
    with pytest.raises(StoreError, match="you have settled"):
        queue.decide(entry, "bee", "wrong", "", None)
    assert queue.next("bee") != entry
    revised = queue.decide(entry, "bee", "wrong", "", None, adjudicating=True)
    assert revised.revises == settled.iri


def test_files_change_no_verdict_of_others(store):
    """An import is refused if it revises another's verdict, or settles a dispute of its own."""
    queue = queued(store)
    theirs = queue.decide(queue.entries[0], "owl", "right", "", None)
    for changed, message in (
        ({"revises": theirs.iri}, "revises the verdict of another reviewer"),
        ({"reviewer": "owl", "adjudicates": theirs.iri}, "its own reviewer"),
    ):
        with pytest.raises(StoreError, match=message):
            import_reviews(store, from_csv(store, own(store, **changed)))
    assert record.reviews(store) == [theirs]
