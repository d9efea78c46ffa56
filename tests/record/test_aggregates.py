# SPDX-License-Identifier: Apache-2.0
"""Tables from counts equal tables from evaluations; counts are valid only for their state."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from kgbench.analysis.characterization import characterization
from kgbench.analysis.compass import compass_table
from kgbench.analysis.format_preference import format_preference
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.outcomes import outcomes
from kgbench.analysis.reliability import reliability
from kgbench.analysis.scores import histograms, metrics, score_rows
from kgbench.analysis.selection import select
from kgbench.analysis.task_scores import task_scores
from kgbench.cli import app
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.record import (
    Recorder,
    aggregates,
    count_graphs,
    counts,
    invalidation,
    reading,
    stored_counts,
)
from kgbench.record.aggregates import Aggregates
from kgbench.record.count_graphs import graph_of
from kgbench.record.live_counts import LiveCounts
from kgbench.record.removal import removal
from kgbench.record.run_counts import RunCounts
from kgbench.reevaluation.passes import reevaluate
from kgbench.store import Block, open_store
from kgbench.vocab import BASE
from tests.support.analysis_store import owned
from tests.support.runs import hold, planned
from tests.support.validation import assert_conforms

TASKS = ["RdfFriendCount-*-1", "RdfSyntaxFixList-*", "Sparql2AnswerListOrga-turtle"]
MODELS = ["baseline:oracle", "baseline:noisy?rate=0.5&seed=3", "baseline:silent"]
ANALYSES = (
    leaderboard,
    leaders,
    reliability,
    task_scores,
    outcomes,
    compass_table,
    format_preference,
    characterization,
)


def run(store, iterations=2):
    """Run or continue a plan of tasks with one answer, with several, and with queries."""
    return hold(store, planned(TASKS, *MODELS, iterations=iterations))


@pytest.fixture
def store():
    """Yield a store with a complete run."""
    with open_store("memory:") as opened:
        run(opened)
        yield opened


def passes(store):
    """Return the graphs of all passes."""
    (info,) = reading.runs(store)
    return [one.graph for one in reading.passes(store, info)]


def counted(store):
    """Return the graphs of passes and the graphs of their counts, where these are valid."""
    return {graph: kept for graph, kept in stored_counts.graphs(store).items() if "/pass/" in graph}


def tables(store, choice="first"):
    """Return all tables, by analysis."""
    chosen = select(store, choice=choice)
    return {make.__name__: make(store, chosen).as_json() for make in ANALYSES}


def from_evaluations(store, choice="first"):
    """Remove the counts and return all tables computed from evaluations."""
    store.drop([graph_of(store.iris, graph) for graph in passes(store)])
    assert counted(store) == {}
    return tables(store, choice)


def assert_same(store, choice="first"):
    """Assert that everything is counted, and that every table is the same without counts."""
    assert set(counted(store)) == set(passes(store))
    (info,) = reading.runs(store)
    assert RunCounts(store, info.graph).is_right()
    assert info.graph in stored_counts.graphs(store)
    found = tables(store, choice)
    assert found == from_evaluations(store, choice)


def test_all_metrics_may_be_read(store, monkeypatch):
    """Tables are the same if there are too many pairs of pass and metric to name in a query."""
    known = tables(store)
    monkeypatch.setattr(stored_counts, "MOST_PAIRS", 0)
    assert tables(store) == known
    monkeypatch.setattr(stored_counts, "_MOST_BOUND", 0)
    assert tables(store) == known
    assert from_evaluations(store) == known
    (one,) = (iri for iri in metrics(store) if iri.endswith("FixList/0.3-testing/contentF1"))
    assert {row.metric for row in score_rows(store, select(store), [one])} == {one}


def test_run_is_counted(store):
    """All tables are the same from counts and from evaluations."""
    assert_conforms(store)
    assert_same(store)


def test_continued_run_is_counted(store):
    """The dialogues of a second session are added to the counts of the first."""
    (before,) = counted(store).values()
    lists = (
        "SELECT ?list WHERE { GRAPH <%s> { ?list a <https://w3id.org/kgbench/ns#CountedList> } }"
    )
    assert len(list(store.query(lists % before))) == 1
    run(store, iterations=3)
    assert len(list(store.query(lists % before))) == 2
    assert_same(store)


def test_run_that_was_not_counted_is_counted_when_it_is_continued(store):
    """A pass without counts is counted completely when its run is continued."""
    from_evaluations(store)
    run(store, iterations=3)
    assert_same(store)


def test_many_counts_are_written_in_parts(monkeypatch):
    """Counts in small parts have the same sums."""
    monkeypatch.setattr(counts, "_MOST_COUNTS", 5)
    monkeypatch.setattr(counts, "_ROWS", 2)
    with open_store("memory:") as store:
        run(store)
        assert_same(store)


def test_reevaluation_is_counted(store):
    """A new pass has its own counts, which are used when it is chosen."""
    (info,) = reading.runs(store)
    with executor("local:1") as pool:
        done = reevaluate(store, info, pool, JudgeLimits(), explain=False)
    assert_conforms(store)
    assert len(counted(store)) == 2
    assert_same(store, done.evaluation_pass)


def test_invalidated_dialogue_is_not_counted(store):
    """Counts stay valid after an invalidation, and exclude the dialogue."""
    (info,) = reading.runs(store)
    states = reading.all_states(store, info.graph).values()
    first = min(one.iri for found in states for one in found)
    before = tables(store)
    invalidation.invalidate(store, first, "the server was misconfigured", "Ada")
    assert tables(store) != before
    assert_conforms(store)
    assert_same(store)


@pytest.mark.parametrize("few", [500, 2], ids=["at once", "in parts"])
def test_invalidated_run_leaves_nothing(store, monkeypatch, few):
    """If all results are invalid, the counts exist and are empty."""
    monkeypatch.setattr(count_graphs, "FEW", few)
    (info,) = reading.runs(store)
    invalidation.invalidate(store, info.iri, "another model answered", "Ada")
    kept = counted(store)
    assert set(kept) == set(passes(store))
    assert sum(times for _, times in stored_counts.outcomes(store, list(kept.values()))) == 0
    assert histograms(store, select(store), metrics(store)) == {}


def test_pass_that_changed_is_read_itself(store):
    """Counts of an earlier state are not used; a check recomputes them."""
    (graph,) = passes(store)
    store.write([Block(graph, [])])
    assert counted(store) == {}
    found = aggregates.check(store)
    assert (len(found.right), len(found.missing), len(found.wrong)) == (1, 1, 0)
    assert_same(store)


def test_what_was_counted_twice_is_counted_anew(store):
    """Counts with a wrong number of evaluations are detected and recomputed."""
    (graph,) = passes(store)
    recorder = Recorder(store.iris, "any", graph.rpartition("/")[2])
    kept = Aggregates(store, graph, recorder)
    assert recorder.counts is not None
    (one, *_), number = next(stored_counts.outcomes(store, [kept.graph])), 3
    recorder.counts.outcome(counts.OutcomeKey(one, "urn:task", 0, "scored"), number)
    store.write([Block(graph, [])])
    kept.seal()
    assert aggregates.check(store).right
    assert_same(store)


def test_check_finds_wrong_counts(tmp_path):
    """A wrong count is reported with exit code 1 and recomputed."""
    with open_store(str(tmp_path / "store")) as store:
        run(store, iterations=1)
        (graph,) = passes(store)
        kept = graph_of(store.iris, graph)
        right = next(
            triple
            for triple in store.triples(kept)
            if triple.predicate.value.endswith("caseCounts") and ",1.0,1,[" in triple.object.value
        )
        literal = str(right.object)
        wrong = literal.replace(",1.0,1,[", ",0.25,1,[", 1)
        line = f"{right.subject} {right.predicate}"
        store.update(f"DELETE DATA {{ GRAPH <{kept}> {{ {line} {literal} }} }}")
        store.update(f"INSERT DATA {{ GRAPH <{kept}> {{ {line} {wrong} }} }}")
        assert counted(store)
    asked = ["store", "check", "--aggregates", "--store", str(tmp_path / "store")]
    first = CliRunner().invoke(app, asked)
    assert first.exit_code == 1, first.output
    assert re.search(r"^wrong    https:\S+/pass/\S+, counted anew$", first.stdout, re.MULTILINE)
    again = CliRunner().invoke(app, [*asked, "--json"])
    assert again.exit_code == 0
    said = json.loads(again.stdout)
    assert (len(said["right"]), said["missing"], said["wrong"]) == (2, [], [])


def test_counts_go_with_their_run(store):
    """Dropping a run removes its counts."""
    (info,) = reading.runs(store)
    store.drop(removal(store, info).graphs)
    assert [graph for graph in store.graphs() if "/aggregates/" in graph] == []


def test_killed_run_is_counted(store, monkeypatch):
    """The marks of a killed session are used, and the next session continues from them."""
    monkeypatch.setattr(LiveCounts, "seal", lambda _: None)
    run(store, iterations=3)
    (kept,) = counted(store).values()
    assert stored_counts.uncounted_evaluations(store, [kept])
    assert_conforms(store)
    found = tables(store)
    monkeypatch.undo()
    monkeypatch.setattr(Aggregates, "rebuild", lambda _: pytest.fail("everything counted anew"))
    run(store, iterations=4)
    assert stored_counts.uncounted_evaluations(store, [kept]) == []
    assert tables(store) != found
    assert_conforms(store)
    assert_same(store)


def test_marks_of_a_killed_run_are_counted_by_a_check(store, monkeypatch):
    """A check accepts counts with marks, and counts the marked evaluations."""
    monkeypatch.setattr(LiveCounts, "seal", lambda _: None)
    run(store, iterations=3)
    assert len(aggregates.check(store).right) == 2
    assert stored_counts.uncounted_evaluations(store, list(counted(store).values())) == []
    assert_same(store)


def test_counts_of_the_sample_are_right():
    """The sample of every kind of record counts what it has: pages are made from its counts."""
    with owned("result") as sample:
        found = stored_counts.graphs(sample)
        kinds = {"run": RunCounts, "pass": Aggregates}
        assert {of: kinds[of.split("/")[-2]](sample, of).is_right() for of in found} == {
            f"{BASE}graph/run/1": True,
            f"{BASE}graph/pass/2": True,
        }
