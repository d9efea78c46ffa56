# SPDX-License-Identifier: Apache-2.0
"""Queries in readable form, and the choice of the worst dialogues."""

from __future__ import annotations

from operator import attrgetter

import pytest

from kgbench.analysis.worst import ScoredDialogue, main_values, worst, worst_dialogues
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores.selection import select
from tests.support.analysis_store import altered, small


def test_long_lists_are_left_out_of_a_query_for_people():
    """A compact query omits long lists and counts them; a full one has each value once."""
    given = {
        "model": "urn:m",
        "metric": ["urn:a", "urn:b", "urn:c"],
        "passGraph": ["urn:p", "urn:q"],
    }
    query = queries.load("score-rows")
    brief, whole = queries.compact(query, 2, **given), queries.compact(query, **given)
    assert "# ?metric: one of 3 values, not shown" in brief
    assert "VALUES ?passGraph { <urn:p> <urn:q> }" in brief
    assert all(whole.count(f"<{one}>") == 1 for one in ("urn:a", "urn:b", "urn:c", "urn:q"))
    with pytest.raises(QueryError, match="no parameter 'x'"):
        queries.compact(query, x="urn:x")


def test_errors_count_as_bad_where_they_are_many():
    """If lower values are better, the highest is the worst, and zero errors are as good as 1."""
    scored = [
        ScoredDialogue("T", "f1", None, 0, 0.5, "run/1", "m"),
        ScoredDialogue("T", "errors", None, 0, 0.0, "run/2", "m", higher_is_better=False),
        ScoredDialogue("T", "errors", None, 0, 3.0, "run/3", "m", higher_is_better=False),
        ScoredDialogue("T", "f1", None, 1, 0.1, "run/3", "m"),
    ]
    assert [one.dialogue for one in worst(scored)] == ["run/3", "run/1", "run/2"]
    assert [one.metric for one in worst(scored, 1)] == ["errors"]


def test_models_that_fail_everywhere_are_left_out():
    """Their dialogues would hide those of the others; if no other fails, they are shown."""
    failing = """PREFIX kgb: <https://w3id.org/kgbench/ns#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        DELETE { GRAPH ?g { ?e ?metric ?score } }
        INSERT { GRAPH ?g { ?e ?metric 0.0e0 } }
        WHERE { GRAPH ?g { ?e kgb:model <model/model-a> ; ?metric ?score
                           FILTER (DATATYPE(?score) = xsd:double) } }"""
    store = altered(failing)
    found = worst_dialogues(store, select(store))

    assert {one.model for one in found} == {"Model B"}


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 1_000])
def test_the_worst_are_found_by_their_values(limit):
    """Reading only the worst values finds the same dialogues as reading all values."""
    store = small()
    selection = select(store)
    every = list(main_values(store, selection))
    of_cells = attrgetter("model", "part")
    wanted = worst((value for value in every if value.badness < 1), limit, of_cells)
    found = worst_dialogues(store, selection, limit)
    assert found == wanted
    assert len(found) == min(limit, len({of_cells(value) for value in every if value.badness < 1}))
    values = {value.value for value in every}
    assert len(values) > 2
    low = min(values)
    read = [value.value for value in main_values(store, selection, [low])]
    assert read == [low] * sum(value.value == low for value in every)
