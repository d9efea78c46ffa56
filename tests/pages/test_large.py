# SPDX-License-Identifier: Apache-2.0
"""Pages of large stores show what pages of small ones show, or say what they leave out."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.analysis.task_scores import task_scores
from kgbench.pages import exercises, neighbours, score_tables
from kgbench.pages.things import MemoryView
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import select
from kgbench.serve import analyses
from kgbench.vocab import BASE, DCTERMS, KGB, RDF, XSD
from tests.support.analysis_store import graph

RUN, GRAPH = ox.NamedNode("https://example.org/run/1"), ox.NamedNode("https://example.org/graph")
MISSING = {0, 1, 7, 8, 9, 200}  # iterations


def names(execution, numbers):
    """Return the dialogues of an execution, some of the same iteration."""
    for number in numbers:
        yield number, ox.NamedNode(f"{execution.value}/{number}-{number % 7:08x}")
        if number % 50 == 0:
            yield number, ox.NamedNode(f"{execution.value}/{number}-{number % 7:08x}.1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a database on disk with a run of three executions, with some iterations missing."""
    database = ox.Store(tmp_path_factory.mktemp("large"))
    kind, part = ox.NamedNode(RDF.type), ox.NamedNode(DCTERMS.isPartOf)
    iteration, integer = ox.NamedNode(KGB.iteration), ox.NamedNode(XSD.integer)
    quads = []
    for name in "abc":
        execution = ox.NamedNode(f"{RUN.value}/model/{name}")
        quads.append(ox.Quad(execution, kind, ox.NamedNode(KGB.TaskExecution), GRAPH))
        quads.append(ox.Quad(execution, part, RUN, GRAPH))
        for number, node in names(execution, set(range(600)) - (MISSING if name == "b" else set())):
            literal = ox.Literal(str(number), datatype=integer)
            quads.append(ox.Quad(node, kind, ox.NamedNode(KGB.Dialogue), GRAPH))
            quads.append(ox.Quad(node, part, execution, GRAPH))
            quads.append(ox.Quad(node, iteration, literal, GRAPH))
    database.bulk_extend(quads)
    return database


def test_neighbours_of_many_are_those_of_all(run, monkeypatch):
    """Previous and next dialogues are the same by iterations as among all dialogues."""
    executions_ = neighbours.of_run(run, RUN)
    of_all = [neighbours.of_execution(run, execution) for execution in executions_]
    everything = [
        node for of_one in of_all for node in (*of_one[:12], *of_one[12:-12:37], *of_one[-12:])
    ]
    before = {node.value: neighbours.beside(run, node.value) for node in everything}
    first = [neighbours.first_of_execution(run, execution, 300) for execution in executions_]
    monkeypatch.setattr(neighbours, "_MANY", 10)
    for node in everything:
        assert neighbours.beside(run, node.value) == before[node.value]
    assert [neighbours.first_of_execution(run, one, 300) for one in executions_] == first
    assert neighbours.of_run(run, RUN) == executions_


@pytest.fixture(scope="module")
def view():
    """Return the small store of scores as a view for pages."""
    return MemoryView(graph("analysis_scores").database, BASE)


def test_many_values_have_intervals_over_dialogues(view, monkeypatch):
    """For too many values, a table has the same means and its intervals are over dialogues."""
    chosen = select(view)
    few = score_tables.scores(view, chosen)
    monkeypatch.setattr(score_tables, "_MOST_VALUES", 1)
    many = score_tables.scores(view, chosen)
    assert many == task_scores(view, chosen, estimand=DIALOGUES)
    assert [row[:5] for row in many.rows] == [row[:5] for row in few.rows]
    assert [row[8:] for row in many.rows] == [row[8:] for row in few.rows]
    assert many.iris == few.iris


def test_a_leaderboard_of_many_values_has_no_tests(view, monkeypatch):
    """For too many values, a page has the same scores and says how to get the intervals."""
    few = analyses.ANALYSES["leaderboard"](view, None)
    monkeypatch.setattr(score_tables, "_MOST_VALUES", 1)
    many = analyses.ANALYSES["leaderboard"](view, None)
    assert few["board"].intervals
    assert not many["board"].intervals
    scores = [[row["score"] for row in each["board"].places] for each in (many, few)]
    assert scores[0] == scores[1]
    assert "--significance --keep" in many["board"].table.notes[-1]
    assert many["heat"] == few["heat"]


def test_an_example_is_a_dialogue_about_its_case(view):
    """The example of a task is one of the dialogues about a case; other cases have none."""
    about = ox.NamedNode(KGB.case)
    cases = {quad.object for quad in view.database.quads_for_pattern(None, about, None)}
    assert cases
    for case in cases:
        known = {dialogue.iri for dialogue in neighbours.of_case(view.database, case)}
        assert neighbours.any_of_case(view.database, case) in (known or {None})
    assert neighbours.any_of_case(view.database, GRAPH) is None


def test_an_execution_counts_the_dialogues_that_it_leaves_out(view, monkeypatch):
    """The page of an execution reads the dialogues that it shows, and counts the others."""
    kind = ox.NamedNode(KGB.TaskExecution)
    found = [q.subject for q in view.database.quads_for_pattern(None, ox.NamedNode(RDF.type), kind)]
    sizes = {node.value: len(neighbours.of_execution(view.database, node)) for node in found}
    iri = max(sizes, key=sizes.__getitem__)
    whole = exercises.execution_page(view, iri, reveal=False)
    assert (len(whole["rows"]), whole["left"]) == (sizes[iri], 0)
    monkeypatch.setattr(exercises, "_MOST", 1)
    short = exercises.execution_page(view, iri, reveal=False)
    assert (short["rows"], short["left"]) == (whole["rows"][:1], sizes[iri] - 1)
