# SPDX-License-Identifier: Apache-2.0
"""Analyses of published results equal what papers print; a leaderboard shows it beside a store."""

from __future__ import annotations

import csv

import pytest

from kgbench.analysis.format_preference import ALL_TASKS, format_preference
from kgbench.analysis.leaderboard import (
    COLUMNS,
    printed_rows,
    published_sets,
    standings_table,
    with_published,
)
from kgbench.errors import QueryError
from kgbench.scores.declared import score_set
from kgbench.scores.selection import select
from kgbench.tables import Table
from kgbench.vocab import BASE

HAIKU = "claude-3-5-haiku-20241022"
FLASH = "gemini-1.5-flash-002"
GPT35 = "gpt-3.5-turbo-0125"
MINI = "gpt-4o-mini-2024-07-18"
PUBLISHED_NAMES = {
    "Claude 3.5 Haiku": HAIKU,
    "GPT3.5 2024/01": GPT35,
    "GPT4o-mini 2024/07": MINI,
    "Gemini 1.5 Flash": FLASH,
}
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
NARROWED = Table("Leaderboard", COLUMNS, ((1, "mine", 0.99, 0.1, 20, 1, 0, 0, 0.0),))
NAMES = {"gpt-4o": "ChatGPT 4o"}


def test_format_preference_equals_the_published_table(third, external_data):
    """Every cell equals that of the published table, bold marks included."""
    path = external_data / "llm-kg-bench-v3" / "modelPreferences.csv"
    with path.open(encoding="utf-8") as file:
        published = {
            PUBLISHED_NAMES[row[""]]: {k: v for k, v in row.items() if k}
            for row in csv.DictReader(file)
        }
    table = format_preference(third, select(third))
    found = {
        row["model"]: {k: v for k, v in row.items() if k not in ("model", ALL_TASKS)}
        for row in table.records()
        if row["model"] in published
    }
    assert found == published


def test_combined_scores_rest_on_all_values(third):
    """The combined score of the journal paper has 7 parses twice, 2 readings, 6 writings twice."""
    table = standings_table(third, select(third), score_set("swj"))
    assert table.column("n") == [560] * 4
    assert table.column("tasks") == [9] * 4
    assert table.column("failed") == [0] * 4
    scores = table.column("score")
    assert scores == sorted(scores, reverse=True)
    assert table.column("model")[0] == HAIKU


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
    narrowed = with_published(NARROWED, SUITE, "swj-published", NAMES)
    assert narrowed.records()[-1]["rank"] is None


def test_scores_that_nobody_printed_are_refused():
    """Another set or suite has no printed scores; the known ones are named as options."""
    assert list(published_sets()) == [(SUITE, "swj-published")]
    known = "--published goes with --suite llm-kg-bench-3 --set swj-published"
    for suite in (SUITE, f"{BASE}suite/kgbench-1"):
        words = f"the suite {suite.rpartition('/')[2]} and the set 'main'; {known}"
        with pytest.raises(QueryError, match=words):
            with_published(OWN, suite, "main", NAMES)
