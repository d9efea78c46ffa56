# SPDX-License-Identifier: Apache-2.0
"""Analyses of the published results equal the published tables and plots."""

from __future__ import annotations

import csv

from kgbench.analysis.format_preference import ALL_TASKS, format_preference
from kgbench.analysis.standings import standings_table
from kgbench.scores.declared import score_set
from kgbench.scores.selection import select

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
