# SPDX-License-Identifier: Apache-2.0
"""Links to the queries behind figures read what the figures show."""

from __future__ import annotations

import re

import pyoxigraph as ox
import pytest

from kgbench.pages import runs
from kgbench.pages.score_tables import asked
from kgbench.pages.things import MemoryView
from kgbench.record import reading
from kgbench.serve.analyses import ANALYSES
from kgbench.store import open_store
from kgbench.vocab import BASE
from tests.support.runs import hold, planned


@pytest.fixture(scope="module")
def view():
    """Return a view of two runs of one suite."""
    database = ox.Store()
    with open_store("memory:") as store:
        for _ in range(2):
            plan = planned("RdfFriendCount-turtle-1", "baseline:oracle", iterations=1)
            hold(store, plan, run=None)
        for graph in store.graphs():
            name = ox.NamedNode(graph)
            database.extend(
                ox.Quad(t.subject, t.predicate, t.object, name) for t in store.triples(graph)
            )
    return MemoryView(database, BASE)


def graphs_in(text):
    """Return the graphs of passes and runs that a query names."""
    return set(re.findall(r"<([^<>\s]*/graph/(?:pass|run)/[^<>\s]*)>", text))


def test_links_of_a_run_read_its_scores_only(view):
    """Each query behind a figure of a run has rows, and reads graphs of this run only."""
    for run in reading.runs(view):
        own = {run.graph, *(one.graph for one in reading.passes(view, run))}
        page = runs.run_page(view, run.iri, reveal=False)
        links = [
            *asked(page["board"].table),
            *asked(page["heat"].table),
            *page["queries"]["outcomes"],
        ]
        assert "score-histograms" in {name for name, _ in links}
        for name, parameters in links:
            query = ANALYSES["example"](view, parameters={"name": name, **parameters})
            assert graphs_in(query) <= own, name
            if name == "score-histograms":
                assert list(view.database.query(query)), name


def test_links_of_a_suite_read_all_its_runs(view):
    """The queries behind the overview read both runs."""
    board = ANALYSES["leaderboard"](view, suite=None)["board"]
    (found,) = {
        frozenset(graphs_in(ANALYSES["example"](view, parameters={"name": name, **parameters})))
        for name, parameters in asked(board.table)
        if name == "score-histograms"
    }
    assert len(found) == len(list(reading.runs(view))) == 2


@pytest.mark.parametrize("pass_", ["latest", "first"])
def test_links_keep_the_pass(view, pass_):
    """A link names the pass that the leaderboard shows, unless it is the first."""
    board = ANALYSES["leaderboard"](view, suite=None, pass_=pass_)["board"]
    passes = {parameters.get("pass") for _, parameters in asked(board.table)}
    assert passes == {None if pass_ == "first" else pass_}
    for name, parameters in asked(board.table):
        assert ANALYSES["example"](view, parameters={"name": name, **parameters})
