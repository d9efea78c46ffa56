# SPDX-License-Identifier: Apache-2.0
"""Invalidated results stay, are excluded from all counts, and are asked again only on request."""

from __future__ import annotations

import pytest

from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.outcomes import count_errors
from kgbench.errors import StoreError
from kgbench.record import invalidation, reading
from kgbench.scores.catalogue import metrics, tasks
from kgbench.scores.reading import Score, histograms
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.runs import hold, planned
from tests.support.validation import assert_conforms

LABEL = "RdfFriendCount-turtle-1"


def plan():
    """Return the plan of a good and a silent model on one task."""
    return planned(LABEL, "baseline:oracle", "baseline:silent", iterations=4)


@pytest.fixture
def store():
    """Yield a store with a complete run."""
    with open_store("memory:") as opened:
        hold(opened, plan())
        yield opened


def dialogues(store):
    """Return all dialogue IRIs of the run, sorted."""
    (info,) = reading.runs(store)
    return sorted(
        state.iri for states in reading.all_states(store, info.graph).values() for state in states
    )


def counted(store):
    """Return the number of counted values, by model and metric."""
    scores = [Score(task, metric) for task in tasks(store) for metric in metrics(store)]
    return {
        (model.rpartition("/")[2], score.metric): values.n
        for model, by_score in histograms(store, select(store), scores).items()
        for score, values in by_score.items()
    }


def test_invalidated_dialogue_is_counted_by_nothing(store):
    """Every score of the dialogue is excluded; those of all others stay."""
    before = counted(store)
    wrong = next(one for one in dialogues(store) if "oracle" in one)
    done = invalidation.invalidate(store, wrong, "the server was misconfigured", "Ada")
    after = counted(store)
    assert_conforms(store)

    assert (done.dialogues, done.results) == (1, 2)
    assert set(before) == set(after)
    assert {k: n - after[k] for k, n in before.items()} == {
        key: 1 if "oracle" in key[0] else 0 for key in before
    }


def test_invalidated_run_leaves_nothing(store):
    """No score and no error of an invalidated run is counted."""
    (info,) = reading.runs(store)
    invalidation.invalidate(store, info.id, "wrong key", "Ada")

    assert counted(store) == {}
    assert count_errors(store, select(store), tasks(store)) == {}


def test_invalidation_says_who_when_and_why(store):
    """The graph has the reason, the person and the time, and the answers point to it."""
    wrong = dialogues(store)[0]
    done = invalidation.invalidate(store, wrong, "n'importe", "Ada Lovelace")
    rows = store.query(
        "PREFIX prov: <http://www.w3.org/ns/prov#> SELECT ?p ?o WHERE { GRAPH ?g { "
        f"<{done.iri}> ?p ?o }} }}"
    )
    said = {row["p"].value.rpartition("#")[2]: row["o"].value for row in rows}
    (by,) = store.query(
        "SELECT ?n WHERE { GRAPH ?g { "
        f"<{said['wasAssociatedWith']}> <http://www.w3.org/2000/01/rdf-schema#label> ?n }} }}"
    )

    assert said["reason"] == "n'importe"
    assert said["invalidates"] == wrong
    assert "startedAtTime" in said
    assert by["n"].value == "Ada Lovelace"


def test_analyses_that_were_kept_become_stale(store):
    """A kept analysis is not used once a result that it counted has been invalidated."""
    from kgbench.analysis.stored_results import basis

    selection = select(store)
    before = basis(store, selection, ANALYSES["leaderboard"], {}).key
    invalidation.invalidate(store, dialogues(store)[0], "wrong", "Ada")

    assert basis(store, selection, ANALYSES["leaderboard"], {}).key != before


def test_invalidated_dialogues_are_asked_again_only_when_told(store):
    """With the flag, only the invalidated dialogues are asked, as new ones; without it, none."""
    wrong = [one for one in dialogues(store) if "oracle" in one][:2]
    for one in wrong:
        invalidation.invalidate(store, one, "wrong", "Ada")
    left = hold(store, plan())
    redone = hold(store, plan(), redo_invalidated=True)
    again = hold(store, plan(), redo_invalidated=True)
    assert_conforms(store)

    assert (left.complete, left.finished) == (0, True)
    assert (redone.before, redone.complete) == (6, 2)
    assert (again.before, again.complete) == (8, 0)
    assert {f"{one}.1" for one in wrong} <= set(dialogues(store))
    assert leaderboard(store, select(store)).column("n") == [4, 4]


@pytest.mark.parametrize(
    ("name", "reason", "by", "said"),
    [
        ("no such run", "wrong", "Ada", "names no run"),
        ("quick-start", " ", "Ada", "needs a reason"),
        ("quick-start", "wrong", "", "the name of the person"),
        ("quick-start", "wrong", "Ada", "invalid already"),
    ],
)
def test_invalidation_without_subject_or_reason_is_refused(store, name, reason, by, said):
    """An invalidation without subject, reason or person is refused, and so is a second one."""
    if said == "invalid already":
        invalidation.invalidate(store, name, reason, by)
    with pytest.raises(StoreError, match=said):
        invalidation.invalidate(store, name, reason, by)
