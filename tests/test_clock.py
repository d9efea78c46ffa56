# SPDX-License-Identifier: Apache-2.0
"""The time does not go back, and nothing recorded ends before it began."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kgbench import clock
from kgbench.store import open_store
from kgbench.vocab import PROV
from tests.support.runs import hold, planned

SET_BACK = f"""
SELECT ?activity WHERE {{ GRAPH ?graph {{
    ?activity <{PROV.startedAtTime}> ?started ; <{PROV.endedAtTime}> ?ended
    FILTER (?ended < ?started)
}} }}
"""
ENDED = f"SELECT ?activity WHERE {{ GRAPH ?graph {{ ?activity <{PROV.endedAtTime}> ?ended }} }}"


@pytest.fixture
def going_back(monkeypatch):
    """Set the clock of the computer back by a second each time it is read."""
    times = (datetime.now(UTC) - timedelta(seconds=number) for number in range(100_000))

    class SetBack(datetime):
        @classmethod
        def now(cls, tz):
            return next(times).astimezone(tz)

    monkeypatch.setattr(clock, "datetime", SetBack)


@pytest.mark.usefixtures("going_back")
def test_the_time_does_not_go_back():
    """A time is never before an earlier one, and a later one is right again."""
    first = clock.now()

    assert clock.now() == first
    assert first.tzinfo is UTC


@pytest.mark.usefixtures("going_back")
def test_nothing_ends_before_it_began():
    """The activities of a run have consistent times, although the clock goes back all the time."""
    plan = planned("RdfFriendCount-turtle-1", "baseline:oracle", "baseline:silent", iterations=2)
    with open_store("memory:") as store:
        hold(store, plan)

        assert len(list(store.query(ENDED))) > 4
        assert list(store.query(SET_BACK)) == []
