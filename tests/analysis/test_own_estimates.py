# SPDX-License-Identifier: Apache-2.0
"""No table of any analysis prints an interval that excludes its own estimate.

The fixture ``tables`` checks every other table that tests of analyses make.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgbench.analysis.compare import compare
from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.errors import KgbenchError
from kgbench.rdf import queries
from kgbench.scores.declared import TESTS
from kgbench.scores.inference import AVAILABLE, DIALOGUES, USER_ESTIMANDS, find_estimand
from kgbench.scores.selection import select
from kgbench.tables import Column, Table
from tests.support.analysis_store import altered
from tests.support.estimates import excluded
from tests.support.store_kinds import KINDS

CELLS = [(model, task) for model in "ab" for task in ("Pick-turtle/aa11", "Pick-jsonld/bb22")]
ANSWERS = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 0.9, 1.0]), max_size=3)
SCORES = st.lists(st.lists(ANSWERS, max_size=12), min_size=len(CELLS), max_size=len(CELLS))
"""The answers of two models to the cases of two tasks."""


def scored(values):
    """Return a store with these scores alone."""
    lines = [
        f"<e/{model}/{task}/{case}/{k}> a kgb:Evaluation ; kgb:model <model/model-{model}> ; "
        f"kgb:round 0 ; kgb:task <task/Pick/1.0/{task}> ; kgb:suite <suite/small> ; "
        f"kgb:dialogue <d/{model}/{task}/{case}/{k}> ; "
        f"kgb:case <case/{task}/{case}> ; kgb:iteration {k} ; "
        f"kgb:outcome <outcome/scored> ; <metric/Pick/1.0/f1> {value}e0 ."
        for (model, task), cases in zip(CELLS, values, strict=True)
        for case, answers in enumerate(cases)
        for k, value in enumerate(answers)
    ]
    return altered(
        "DELETE { GRAPH ?g { ?e ?p ?o } } WHERE { GRAPH ?g { ?e a kgb:Evaluation ; ?p ?o } }",
        f"INSERT DATA {{ GRAPH <graph/pass/p1> {{ {' '.join(lines)} }} }}",
    )


@settings(max_examples=6, deadline=None)
@given(SCORES)
def test_intervals_contain_their_estimates(values):
    """Whatever the numbers of cases and answers, in leaderboards, comparisons and means."""
    present = [any(cases) for cases in values]
    assume((present[0] and present[2]) or (present[1] and present[3]))
    store = scored(values)
    selection, both = select(store), sides(store, "model-a", "model-b")
    shared = matches(store, selection, *both)
    found = [leaders(store, selection, test=test) for test in TESTS]
    for name in (AVAILABLE, *USER_ESTIMANDS):
        found.append(leaders(store, selection, estimand=name))
        margin = None if name == DIALOGUES else 0.1  # for clusters only
        found.append(compare(shared, *both, estimand=name, samples=30, margin=margin))
        found.append(ANALYSES["tasks"](store, selection, estimand=name))
    for table in found:
        assert excluded(table) == []
        for row in table.records():
            assert row.get("p") is not None or row.get("no_claim", "-")
            assert not row.get("leads") or row["rank_low"] == 1


@pytest.mark.parametrize("kind_of_store", KINDS, indirect=True)
def test_intervals_of_every_analysis_contain_their_estimates(kind_of_store):
    """Of every analysis that is declared, in every kind of store, over each suite and choice."""
    for suite in [str(row[0]) for row in queries.rows(kind_of_store, "list-suites")]:
        for pass_ in ("first", "latest"):
            for analysis in ANALYSES.values():
                with suppress(KgbenchError):  # nothing in this store that it is about
                    selection = select(kind_of_store, suite, pass_)
                    table = analysis(kind_of_store, selection)
                    assert excluded(table) == []


@settings(max_examples=6, deadline=None)
@given(SCORES)
def test_leaderboards_and_comparisons_make_the_same_test(values):
    """Of two models, p and means of the comparison over all tasks are those of the leaderboard."""
    assume(all(any(cases) for cases in values))
    store = scored(values)
    selection, both = select(store), sides(store, "model-a", "model-b")
    board = {row["model"]: row for row in leaders(store, selection).records()}
    shared = matches(store, selection, *both)
    whole = compare(shared, *both).records()[-1]
    ps = [row["p_best"] for row in board.values() if row["p_best"] is not None]
    assert ps == [] or ps == [pytest.approx(whole["p"], abs=0.03)]  # p of draws differ
    found = [task.match(find_estimand("available")) for task in shared.values()]
    if all(task.paired and task.alike and not (task.rest_a or task.rest_b) for task in found):
        scores = [board[side.name]["score"] for side in both]
        assert [whole["mean_a"], whole["mean_b"]] == pytest.approx(scores)


@pytest.mark.parametrize("row", [(0.5, 0.6, 0.7), (0.5, 0.2, 0.4), (0.5, None, 0.7), (None, 0, 1)])
def test_an_interval_about_something_else_is_found(row):
    """The check of tables sees an interval beside its estimate, half of one, and one alone."""
    columns = tuple(Column(name, name) for name in ("score", "ci_low", "ci_high"))
    with pytest.raises(AssertionError):
        Table("T", columns, (row,))
