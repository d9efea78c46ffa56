# SPDX-License-Identifier: Apache-2.0
"""Analyses of the published results equal the published tables and plots."""

from __future__ import annotations

import csv
import json

import pytest

from kgbench.analysis.compass import compass, compass_table
from kgbench.analysis.declarations import score_set
from kgbench.analysis.format_preference import ALL_TASKS, format_preference
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.selection import select
from kgbench.analysis.sizes import sizes
from kgbench.analysis.task_scores import task_scores
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.store import open_store

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
# Friends found per size, and the half widths of the generated-persons curves with their means, as
# figure 2 of the DL4KG paper has them (recomputed from the published records).
FRIENDS = {
    "gpt-3.5-turbo-0613": [0, 0.90, 0.85, 0.95, 0.80, 0.85, 0.65, 0.50],
    "claude-1.3-100k": [0.30, 0.60, 0.40, 0.30, 0.35, 0.45, 0.25, 0.20],
}
PERSONS = {
    "gpt-3.5-turbo-0613": [
        (-0.395, 0.233), (-0.215, 0.214), (-0.472, 0.219), (-0.847, 0.160),
        (-0.513, 0.224), (-0.818, 0.170), (-0.646, 0.222), (-0.786, 0.189),
    ],
    "claude-1.3-100k": [
        (-0.400, 0.235), (-0.667, 0.220), (-0.673, 0.214), (-0.805, 0.145),
        (-0.962, 0.037), (-0.967, 0.030), (-0.953, 0.032), (-0.949, 0.034),
    ],
}  # fmt: skip
# Figure 1 of the same paper: mean, minimum, quartiles, maximum.
DISTRIBUTIONS = {
    ("TurtleConnectionExplainStatic", "gpt-3.5-turbo-0613"): (0.981, 0.833, 1, 1, 1, 1),
    ("TurtleConnectionExplainStatic", "claude-1.3-100k"): (0.951, 0.750, 0.889, 1, 1, 1),
    ("TurtleErrorsStatic", "gpt-3.5-turbo-0613"): (0.400, 0, 0, 0, 1, 1),
    ("TurtleErrorsStatic", "claude-1.3-100k"): (0.817, 0, 0.902, 0.981, 1, 1),
    ("TurtleErrorsStatic", "gpt-4-0613"): (0.954, 0.857, 0.920, 1, 1, 1),
    ("FactExtractStatic", "gpt-3.5-turbo-0613"): (0.370, 0.032, 0.128, 0.416, 0.579, 0.800),
    ("FactExtractStatic", "claude-1.3-100k"): (0.248, 0, 0, 0.123, 0.582, 0.745),
}


def imported(folder, password=None):
    """A store in memory with every result file of a folder."""
    store = open_store("memory:")
    for path in sorted(folder.glob("*.zip")) + sorted(folder.glob("*.json")):
        for file in open_results(path, password):
            for run in read_runs(file, store.iris):
                load(store, run)
    return store


@pytest.fixture(scope="module")
def third(external_data):
    """The results of December 2024."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    with imported(external_data / "llm-kg-bench-v3", passwords["llm-kg-bench-v3"]) as store:
        yield store


@pytest.fixture(scope="module")
def first(external_data):
    """The results of July 2023."""
    with imported(external_data / "llm-kg-bench-v1") as store:
        yield store


def test_format_preference_equals_the_published_table(third, external_data):
    """Every cell is that of the published table, bold marks included."""
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


def test_all_tasks_column_equals_the_journal_table(third):
    """The pooled column is that of the later paper, for the same models."""
    table = format_preference(third, select(third))
    found = {row["model"]: str(row[ALL_TASKS]).strip("*") for row in table.records()}
    assert {m: found[m] for m in (HAIKU, FLASH, GPT35, MINI)} == {
        HAIKU: "TTL",
        FLASH: "TTL",
        GPT35: "-",
        MINI: "TTL",
    }


@pytest.mark.parametrize(
    ("model", "axis", "column", "published"),
    [
        (GPT35, "R-Ana", "low", 0.347),
        (MINI, "R-Syn", "low", 0.828),
        (FLASH, "S-Sem", "low", 0.912),
        (HAIKU, "Brev", "mean", 0.997),
        *[(m, "S-Syn", "mean", 1.0) for m in (HAIKU, FLASH, GPT35, MINI)],
        *[(m, "Brev", "mean", 1.0) for m in (FLASH, GPT35, MINI)],
    ],
)
def test_compass_equals_the_published_plots(third, model, axis, column, published):
    """Radii and band edges are those of the published plots, within what can be read there."""
    table = compass_table(third, select(third), compass("eswc-published"))
    (row,) = (r for r in table.records() if (r["model"], r["axis"]) == (model, axis))
    assert row[column] == pytest.approx(published, abs=0.005)


def test_combined_scores_rest_on_all_values(third):
    """The combined score of the journal paper: 7 parses twice, 2 readings, 6 writings twice."""
    table = leaderboard(third, select(third), score_set("swj"))
    assert table.column("n") == [560] * 4
    assert table.column("tasks") == [9] * 4
    assert table.column("failed") == [0] * 4
    scores = table.column("score")
    assert scores == sorted(scores, reverse=True)
    assert table.column("model")[0] == HAIKU


def test_sizes_equal_the_published_curves(first):
    """Means and half widths of intervals over 20 dialogues are those of DL4KG, figure 2."""
    table = sizes(first, select(first))
    rows = {(r["series"], r["model"], r["size"]): r for r in table.records()}
    for model, means in FRIENDS.items():
        for size, mean in zip(range(6, 77, 10), means, strict=True):
            row = rows["TurtleFriendCount", model, size]
            assert (row["n"], row["mean"]) == (20, pytest.approx(mean, abs=1e-9))
    for model, points in PERSONS.items():
        for size, (mean, half) in zip(range(10, 81, 10), points, strict=True):
            row = rows["SyntheticDatasetGeneration", model, size]
            assert row["n"] == 20
            assert row["mean"] == pytest.approx(mean, abs=0.0006)
            assert row["half_width"] == pytest.approx(half, abs=0.0006)


@pytest.mark.parametrize(("task", "model"), DISTRIBUTIONS)
def test_distributions_equal_the_published_box_plots(first, task, model):
    """Means and the five numbers of each box are those of DL4KG, figure 1."""
    table = task_scores(first, select(first), tasks=task)
    (row,) = (r for r in table.records() if r["model"] == model)
    found = [row[k] for k in ("mean", "minimum", "q1", "median", "q3", "maximum")]
    assert found == pytest.approx(DISTRIBUTIONS[task, model], abs=0.0006)
    assert row["n"] == 20
