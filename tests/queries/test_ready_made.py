# SPDX-License-Identifier: Apache-2.0
"""The ready-made queries compute on any endpoint the means of the exact tables."""

from __future__ import annotations

import json

import pytest

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
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.store import EmbeddedStore, open_reader
from tests.analysis.test_published import imported
from tests.support import text2kg_data, text2sparql_data
from tests.support.analysis_store import GRAPHS, GraphStore, altered, graph
from tests.support.archives import dialogue_v3, record_v1, record_v2, record_v3, write_json
from tests.support.commands import printed
from tests.support.judge_runs import ask, judged_run
from tests.support.runs import hold
from tests.support.tool_runs import plan_of

CLOSE = 1e-9
GENERATIONS = ("llm-kg-bench-v1", "llm-kg-bench-v2", "llm-kg-bench-v3")


def succeeded(*_):
    """Return the small store with a pass that judged by a later version of the class Pick."""
    early, late = "<metric/Pick/1.0/f1>", "<metric/Pick/2.0/f1>"
    return altered(
        f"DELETE {{ GRAPH ?g {{ ?e {early} ?value }} }} "
        f"INSERT {{ GRAPH ?g {{ ?e {late} ?value }} }} "
        f"WHERE {{ GRAPH ?g {{ ?e {early} ?value ; kgb:model <model/model-b> }} }}",
        f"INSERT {{ GRAPH ?g {{ {late} kgb:supersedes {early} }} }} "
        f"WHERE {{ GRAPH ?g {{ ?pass a kgb:EvaluationPass }} }}",
    )


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
    for row in compass_table(store, selection, compass("eswc")):
        if row["n"]:
            yield (row["model"], row["axis"]), (row["mean"], row["n"])


def by_format(store, selection):
    """Yield the means and counts of the two formats of each pair of tasks."""
    declared = comparison("turtle-jsonld")
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


def command(name, write):
    """Return a function that writes files to a folder and imports them by a command."""

    def made(folder):
        printed("import", name, write(folder / "data"), "--store", folder / "store")
        return open_reader(str(folder / "store"))

    return made


def faults(name):
    """Return a function that imports a file of results with unequal numbers of answers."""

    def made(folder, data):
        return command("llm-kg-bench", lambda _: data / "faults" / "numbers" / name)(folder)

    return made


def generation(name):
    """Return a function that imports a published generation of LLM-KG-Bench."""

    def made(_, data):
        passwords = json.loads((data / "passwords.json").read_text())
        return imported(data / name, passwords.get(name))

    return made


def records(path):
    """Write results of three generations to a file, and return it."""
    each = [record_v1(), record_v2(), record_v3(), dialogue_v3()]
    return write_json(path.with_suffix(".json"), each)


def judged(*_):
    """Return a store with a run of two models and a judge's verdicts on it."""
    store = EmbeddedStore(None)
    run = judged_run(store, "baseline:oracle", "baseline:noisy?rate=0.5&seed=3")
    ask(store, run, "correctness", "baseline:oracle")
    return store


def with_tools(*_):
    """Return a store with dialogues in which models call tools."""
    store = EmbeddedStore(None)
    hold(store, plan_of("baseline:oracle", "baseline:silent", iterations=2))
    return store


FRAGMENTS = ("claims", "formats", "policies", "records", "text2kg", "withheld")
"""Graphs for single queries, without the run of a suite or the times of its passes."""
MADE = {
    **{
        path.stem: lambda *_, name=path.stem: graph(name)
        for path in GRAPHS.glob("*.trig")
        if path.stem not in FRAGMENTS
    },
    "by successors": succeeded,
    "invalidated": lambda *_: altered(
        "INSERT DATA { GRAPH <graph/invalidation/x> { <invalidation/x> kgb:invalidates "
        "<run/r1/model-a/Pick-turtle/0-d0> } }"
    ),
    "records": command("llm-kg-bench", records),
    "text2kgbench": command("text2kgbench", text2kg_data.write),
    "text2sparql": command("text2sparql", text2sparql_data.write_challenge),
    "judged run": judged,
    "tools": with_tools,
}
"""The kinds of stores that tests make, each by a function of an empty folder."""
PUBLISHED = {
    **{name: faults(f"{name}.json") for name in ("edge", "flood")},
    **{
        name: generation(name) for name in ("llm-kg-bench-v1", "llm-kg-bench-v2", "llm-kg-bench-v3")
    },
}
"""Stores with published data, each by a function of an empty folder and that of the data."""
RUNS = ("quick_start", "small", "single")


@pytest.fixture(scope="module")
def store(request, tmp_path_factory):
    """Yield the store that the parameter names."""
    name = request.param
    if name in RUNS:
        yield from opened(open_reader(str(request.getfixturevalue(name))))
    elif name in MADE:
        yield from opened(MADE[name](tmp_path_factory.mktemp("made")))
    else:
        yield from opened(
            PUBLISHED[name](
                tmp_path_factory.mktemp("made"), request.getfixturevalue("external_data")
            )
        )


def opened(store):
    """Yield a store, and close it after the test, unless tests share it."""
    yield store
    if not isinstance(store, GraphStore):
        store.close()


@pytest.mark.parametrize("store", [*sorted(MADE), *RUNS, *PUBLISHED], indirect=True)
@pytest.mark.parametrize("name", TABLES)
def test_queries_and_tables_agree(store, name):
    """The means and counts of a query are those of the table, for every suite."""
    columns, table = TABLES[name]
    suites = [str(row[0]) for row in queries.rows(store, "list-suites")]
    assert suites
    for suite in suites:
        try:
            expected = dict(table(store, select(store, suite)))
        except QueryError:  # no table: the query finds nothing, or formats without a counterpart
            if name == "format-means":
                continue
            expected = {}
        found = asked(store, name, *columns, suite=suite)
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
    names, found = fetch.models(store), {}
    query = queries.load(name)
    at = {column.name: place for place, column in enumerate(query.columns)}
    for row in queries.rows(store, name, **parameters):
        key = (names.name(row[at["model"]]), *(row[at[column]] for column in columns))
        found[key] = (float(row[at["mean"]]), int(row[at["count"]]))
    return found
