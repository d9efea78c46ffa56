# SPDX-License-Identifier: Apache-2.0
"""The ready-made queries compute on any endpoint the means of the exact tables."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from kgbench.analysis import scores as fetch
from kgbench.analysis.compass import compass, compass_table
from kgbench.analysis.format_preference import (
    ALL_MODELS,
    ALL_TASKS,
    comparison,
    format_preference_details,
)
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.selection import select
from kgbench.analysis.task_scores import task_scores
from kgbench.cli import app
from kgbench.rdf import queries
from kgbench.store import open_store
from tests.analysis.test_published import third  # noqa: F401 - a fixture
from tests.support.analysis_store import altered, small

CLOSE = 1e-9


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Yield a store with the results of the baselines on the whole suite."""
    folder = str(tmp_path_factory.mktemp("ready") / "store")
    done = CliRunner().invoke(app, ["run", "--store", folder, "-n", "2"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with open_store(folder) as store:
        yield store


@pytest.fixture(params=["own", "third"])
def store(request):
    """Return a store with the baselines' results and a store with published ones, in turn."""
    return request.getfixturevalue(request.param)


def succeeded():
    """Return the small store with a pass that judged by a later version of the class Pick."""
    early, late = "<metric/Pick/1.0/f1>", "<metric/Pick/2.0/f1>"
    return altered(
        f"DELETE {{ GRAPH ?g {{ ?e {early} ?value }} }} "
        f"INSERT {{ GRAPH ?g {{ ?e {late} ?value }} }} "
        f"WHERE {{ GRAPH ?g {{ ?e {early} ?value ; kgb:model <model/model-b> }} }}",
        f"INSERT {{ GRAPH ?g {{ {late} kgb:supersedes {early} }} }} "
        f"WHERE {{ GRAPH ?g {{ ?pass a kgb:EvaluationPass }} }}",
    )


SMALL = {
    "small": small,
    "by successors": succeeded,
    "invalidated": lambda: altered(
        "INSERT DATA { GRAPH <graph/invalidation/x> { <invalidation/x> kgb:invalidates "
        "<run/r1/model-a/Pick-turtle/0-d0> } }"
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_queries_and_tables_agree_on_small_stores(name):
    """The means by task and the leaderboard of every suite are those of the queries."""
    searched = SMALL[name]()
    suites = [str(row[0]) for row in queries.rows(searched, "list-suites")]
    assert suites
    for suite in suites:
        selection = select(searched, suite)
        table = task_scores(searched, selection)
        same(
            asked(searched, "task-means", "task", suite=suite),
            {
                (row["model"], table.iris["task"][row["task"]]): (row["mean"], row["n"])
                for row in table
                if row["n"]
            },
        )
        board = leaderboard(searched, selection)
        same(
            asked(searched, "model-means", "tasks", suite=suite),
            {(r["model"], str(r["tasks"])): (r["score"], r["n"]) for r in board if r["n"]},
        )


def test_capabilities_and_formats_by_a_later_version_of_a_class():
    """The compass and the format preference find values under superseding metrics."""
    late = succeeded()
    for query in ("capability-means", "format-means"):
        text = queries.load(query).text.replace("RdfFriendCount", "Pick").replace("Pick-1", "Pick")
        text = text.replace('"Pick-turtle-1"', '"Pick-turtle"')
        text = text.replace('"Pick-jsonld-1"', '"Pick-jsonld"').replace("  # PARAMETERS\n", "")
        found, expected = (
            {str(row) for row in searched.database.query(text)} for searched in (late, small())
        )
        assert found == expected, query
        assert found


def asked(store, name, *columns, **parameters):
    """Return the means and counts of a query by model name and the values of some columns."""
    names, found = fetch.models(store), {}
    query = queries.load(name)
    at = {column.name: place for place, column in enumerate(query.columns)}
    for row in queries.rows(store, name, **parameters):
        key = (names.name(row[at["model"]]), *(row[at[column]] for column in columns))
        found[key] = (float(row[at["mean"]]), int(row[at["count"]]))
    return found


def same(found, expected):
    """Assert that all cells and counts agree, and the means to nine digits."""
    assert found
    assert {key: count for key, (_, count) in found.items()} == {
        key: count for key, (_, count) in expected.items()
    }
    for key, (mean, _) in expected.items():
        assert found[key][0] == pytest.approx(mean, abs=CLOSE), key


def test_means_by_task(store):
    """Each model has the means of the task score table."""
    table = task_scores(store, select(store))
    expected = {
        (row["model"], table.iris["task"][row["task"]]): (row["mean"], row["n"])
        for row in table
        if row["n"]
    }
    same(asked(store, "task-means", "task"), expected)


def test_leaderboard(store):
    """Each model has its combined score, in the order of the leaderboard."""
    table = leaderboard(store, select(store))
    expected = {(row["model"],): (row["score"], row["n"]) for row in table if row["n"]}
    found = asked(store, "model-means")
    same(found, expected)
    assert [found[key][0] for key in found] == pytest.approx(
        [expected[key][0] for key in expected], abs=CLOSE
    )


def test_compass(store):
    """Each model has its mean on each axis of the compass."""
    table = compass_table(store, select(store), compass("eswc"))
    expected = {(row["model"], row["axis"]): (row["mean"], row["n"]) for row in table if row["n"]}
    same(asked(store, "capability-means", "axis"), expected)


def test_format_preference(store):
    """Each model has the means and counts of the comparison, for each pair and format."""
    declared = comparison("turtle-jsonld")
    expected = {}
    for row in format_preference_details(store, select(store), declared):
        if row["model"] == ALL_MODELS or row["tasks"] == ALL_TASKS:
            continue
        for side, form in zip(("first", "second"), declared.formats, strict=True):
            if row[f"n_{side}"]:
                key = (row["model"], row["tasks"], form)
                expected[key] = (row[f"mean_{side}"], row[f"n_{side}"])
    same(asked(store, "format-means", "pair", "format"), expected)
