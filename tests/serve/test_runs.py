# SPDX-License-Identifier: Apache-2.0
"""The page of a run: names, times, progress, outcomes, cost and worst dialogues."""

from __future__ import annotations

import pytest

from kgbench.pages import runs
from kgbench.pages.score_tables import bar, heat
from kgbench.pages.things import MemoryView, day, moment, seconds_between
from kgbench.vocab import BASE
from tests.serve import stores
from tests.support.analysis_store import GraphStore

RUN, UNDER_WAY = f"{BASE}run/1", f"{BASE}run/3"


@pytest.fixture(scope="module")
def view():
    """Return the hand-written results with an unfinished run, as a view for pages."""
    store = GraphStore("result")
    store.database.extend(stores.run_under_way())
    return MemoryView(store.database, BASE)


def test_run_shows_what_it_reached(view):
    """Scores, outcomes, tokens and cost are those of the run alone."""
    found = runs.run_page(view, RUN, reveal=False)
    assert found["facts"]["took"] == "10 min 0 s"
    assert [place["shown"] for place in found["board"].places] == ["Oracle", "Parrot"]
    assert {model: sum(n for _, n in counts) for model, _, counts in found["outcomes"]} == {
        model: total for model, total, _ in found["outcomes"]
    }
    assert found["spent"]["input_tokens"] == sum(
        one["input_tokens"] for _, one in found["spent"]["models"]
    )
    values = [scored.value for _, scored in found["worst"]]
    assert values == sorted(values)


def test_run_under_way_says_how_far_it_is(view):
    """An unfinished run shows planned, complete and open dialogues before any verdict."""
    found = runs.run_page(view, UNDER_WAY, reveal=False)
    facts = found["facts"]
    assert (found["planned"], facts["complete"], facts["open"]) == (2, 0, 1)
    assert (facts["ended"], facts["took"]) == (None, "in progress")
    assert found["worst"] == []


def test_newest_run_comes_first(view):
    """Runs are ordered by their start, not by their names."""
    assert [run["iri"] for run in runs.overview(view)["runs"]][:2] == [UNDER_WAY, RUN]


@pytest.mark.parametrize("recorded", [None, "", "yesterday", "2024-13-01T00:00:00"])
def test_what_is_no_time_is_shown_as_it_is(recorded):
    """A recorded text that is no time is shown unchanged."""
    assert moment(recorded) == day(recorded) == (recorded or "")
    assert seconds_between(recorded, "2024-12-19T06:29:39") is None


def test_times_that_cannot_be_compared_have_no_length():
    """A time with a time zone and one without have no difference."""
    assert seconds_between("2024-12-19T06:00:00", "2024-12-19T07:00:00Z") is None
    assert seconds_between("2024-12-19T06:00:00", "2024-12-19T06:01:00") == 60


@pytest.mark.parametrize("value", [None, -0.1, 1.5])
def test_scores_beyond_the_scale_have_no_bar(value):
    """A score that is not between 0 and 1 has no bar and no colour."""
    assert bar(value) is None
    assert value is None or heat(value) == "unscaled"


def test_bars_and_cells_show_the_score():
    """The length of a bar and the colour of a cell follow the score; intervals are clipped."""
    assert bar(0.25, -0.5, 0.5) == (25.0, 0.0, 50.0)
    assert [heat(value) for value in (0, 0.26, 1)] == ["heat-0", "heat-3", "heat-10"]
