# SPDX-License-Identifier: Apache-2.0
"""The ready-made queries compute on any endpoint the means of the exact tables."""

from __future__ import annotations

import pytest

from kgbench.analysis.compass import compass_table, find_compass
from kgbench.analysis.format_preference import (
    ALL_MODELS,
    ALL_TASKS,
    find_comparison,
    format_preference_details,
)
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.selection import select
from tests.support.analysis_store import graph
from tests.support.store_kinds import KINDS, succeeded

CLOSE = 1e-9


def by_task(store, selection):
    """Yield the means and counts of the task score table."""
    table = task_scores(store, selection)
    for row in table:
        if row["n"]:
            yield (row["model"], table.iris["task"][row["task"]]), (row["mean"], row["n"])


def by_model(store, selection):
    """Yield the scores and counts of the leaderboard."""
    for row in leaderboard(store, selection):
        if row["n"]:
            yield (row["model"], str(row["tasks"])), (row["score"], row["n"])


def by_capability(store, selection):
    """Yield the means and counts of the axes of the compass."""
    for row in compass_table(store, selection, find_compass("eswc")):
        if row["n"]:
            yield (row["model"], row["axis"]), (row["mean"], row["n"])


def by_format(store, selection):
    """Yield the means and counts of the two formats of each pair of tasks."""
    declared = find_comparison("turtle-jsonld")
    for row in format_preference_details(store, selection, declared):
        if row["model"] == ALL_MODELS or row["tasks"] == ALL_TASKS:
            continue
        for side, form in zip(("first", "second"), declared.formats, strict=True):
            if row[f"n_{side}"]:
                means = row[f"mean_{side}"], row[f"n_{side}"]
                yield (row["model"], row["tasks"], form), means


TABLES = {
    "task-means": (["task"], by_task),
    "model-means": (["tasks"], by_model),
    "capability-means": (["axis"], by_capability),
    "format-means": (["pair", "format"], by_format),
}
"""The columns of each query that name a cell, and the cells of the table."""


@pytest.mark.parametrize("kind_of_store", KINDS, indirect=True)
@pytest.mark.parametrize("name", TABLES)
def test_queries_and_tables_agree(kind_of_store, name):
    """The means and counts of a query are those of the table, for every suite."""
    columns, table = TABLES[name]
    suites = [str(row[0]) for row in queries.rows(kind_of_store, "list-suites")]
    assert suites
    for suite in suites:
        try:
            expected = dict(table(kind_of_store, select(kind_of_store, suite)))
        except QueryError:  # no table: the query finds nothing, or formats without a counterpart
            if name == "format-means":
                continue
            expected = {}
        found = asked(kind_of_store, name, *columns, suite=suite)
        assert {key: count for key, (_, count) in found.items()} == {
            key: count for key, (_, count) in expected.items()
        }
        for key, (mean, _) in expected.items():
            assert found[key][0] == pytest.approx(mean, abs=CLOSE), key


def test_capabilities_and_formats_by_a_later_version_of_a_class():
    """The compass and the format preference find values under superseding metrics."""
    early, late = graph("analysis_scores"), succeeded()
    for query in ("capability-means", "format-means"):
        text = queries.load(query).text.replace("RdfFriendCount", "Pick").replace("Pick-1", "Pick")
        text = text.replace('"Pick-turtle-1"', '"Pick-turtle"')
        text = text.replace('"Pick-jsonld-1"', '"Pick-jsonld"').replace("  # PARAMETERS\n", "")
        found, expected = (
            {str(row) for row in searched.database.query(text)} for searched in (late, early)
        )
        assert found == expected, query
        assert found


def asked(store, name, *columns, **parameters):
    """Return the means and counts of a query by model name and the values of some columns."""
    names, found = catalogue.models(store), {}
    query = queries.load(name)
    at = {column.name: place for place, column in enumerate(query.columns)}
    for row in queries.rows(store, name, **parameters):
        key = (names.name(row[at["model"]]), *(row[at[column]] for column in columns))
        found[key] = (float(row[at["mean"]]), int(row[at["count"]]))
    return found
