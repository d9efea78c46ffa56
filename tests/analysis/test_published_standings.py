# SPDX-License-Identifier: Apache-2.0
"""Printed scores stand in a leaderboard beside those of a store, marked and without intervals."""

from __future__ import annotations

import pytest

from kgbench.analysis.leaderboard import printed_rows, published_sets, with_published
from kgbench.analysis.standings import COLUMNS
from kgbench.errors import QueryError
from kgbench.tables import Table
from kgbench.vocab import BASE

SUITE = f"{BASE}suite/llm-kg-bench-3"
OWN = Table(
    "Leaderboard",
    COLUMNS,
    (
        (1, "mine", 0.935, 0.1, 260, 6, 0, 0, 0.0),
        (2, "gpt-4o", 0.9, 0.2, 260, 6, 0, 0, 0.0),
        (None, "partial", 0.99, 0.0, 10, 1, 0, 0, 0.0),
    ),
)
NAMES = {"gpt-4o": "ChatGPT 4o"}


def test_a_new_model_stands_among_the_published_ones():
    """Ranks are made anew; a model of the store is not repeated, and partial ones stay unranked."""
    table = with_published(OWN, SUITE, "swj-published", NAMES)
    rows = {row["model"]: row for row in table.records()}

    assert len(table.rows) == len(printed_rows("swj-table-6")) + 2
    assert "ChatGPT 4o" not in rows
    assert (rows["mine"]["rank"], rows["mine"]["source"]) == (3, "this store")
    assert (rows["Claude 3.5 Haiku"]["rank"], rows["Claude 3.5 Haiku"]["n"]) == (1, None)
    assert rows["Claude 3.5 Haiku"]["source"] == "published"
    assert list(rows)[-1] == "partial"
    assert rows["partial"]["rank"] is None
    assert "table 6" in table.notes[-1]


def test_scores_that_nobody_printed_are_refused():
    """Another set or suite has no printed scores; the known ones are named as options."""
    assert list(published_sets()) == [(SUITE, "swj-published")]
    known = "--published goes with --suite llm-kg-bench-3 --set swj-published"
    for suite in (SUITE, f"{BASE}suite/kgbench-1"):
        words = f"the suite {suite.rpartition('/')[2]} and the set 'main'; {known}"
        with pytest.raises(QueryError, match=words):
            with_published(OWN, suite, "main", NAMES)
