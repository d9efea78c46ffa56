# SPDX-License-Identifier: Apache-2.0
"""Counts and marks of a pass that is being written agree with its evaluations at all times."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.analysis import counting
from kgbench.analysis.selection import Selection
from kgbench.model import Call, Dialogue, Evaluation, Outcome, Reply, Turn
from kgbench.record import Recorder, aggregates, live_counts, stored_counts
from kgbench.record.invalidation import invalidate
from kgbench.record.live_counts import LiveCounts
from kgbench.store import Block, open_reader, open_store

NOW = datetime(2026, 11, 24, tzinfo=UTC)
METRICS = ("https://example.org/metric/exact", "https://example.org/metric/f1")
MODELS = ("https://example.org/model/0", "https://example.org/model/1")
VALUES = (0.0, 0.25, 1 / 3, 1.0, 5e-324)
OUTCOMES = (Outcome.SCORED, Outcome.EMPTY, Outcome.UNPARSABLE)


def spread(cells):
    """Return the sum of each cell, without sums of zero."""
    found = Counter()
    for *key, times in cells:
        found[tuple(key)] += times
    return {key: times for key, times in found.items() if times}


def said(store, chosen):
    """Return all data that tables are computed from."""
    narrowed = {"model": None, "task": None}
    cases = counting.case_values(store, chosen, METRICS, **narrowed, with_dialogues=False)
    repeated = counting.repeated_values(store, chosen, METRICS, **narrowed)
    ended = counting.outcomes(store, chosen.pass_graphs, latest=chosen.latest)
    return (
        spread(counting.values(store, chosen, METRICS)),
        spread(counting.values(store, chosen, METRICS[:1], 0)),
        spread((cell, one.case, one.round, one.value, one.times) for cell, one in cases),
        spread(
            (cell, one.case, iteration, one.round, one.value, one.times)
            for cell, one in repeated
            for iteration in one.iterations
        ),
        spread(ended),
    )


class Writing:
    """Writes a run as sessions do, with little work for each evaluation."""

    def __init__(self, store):
        self.store = store
        self.chance = random.Random(7)
        self.numbers = count()
        self.dialogues = []
        self.recorder = self.counts = None
        self.session()

    def session(self):
        """Begin a session after one that was ended, or killed."""
        new = self.recorder is None
        self.recorder = recorder = Recorder(self.store.iris, "run", "live")
        self.counts = LiveCounts(self.store, recorder)
        blocks = [recorder.pass_endpoint("http://example.org/sparql")]
        if new:
            agent, suite = "https://example.org/software", "https://example.org/suite"
            blocks += recorder.run_blocks(label="A run", suite=suite, started=NOW)
            blocks += recorder.pass_blocks(kind="live", started=NOW, agent=agent)
        self.store.write(self.counts.beside(blocks))

    def dialogue(self):
        """Write a dialogue with a random number of answers, each judged in a separate write."""
        chance, number = self.chance, next(self.numbers)
        turn = Turn("Who?", (Call(NOW, NOW, Reply("Ada")),))
        dialogue = Dialogue(
            iri=self.recorder.dialogue_iri(f"m{number % 2}", "Task", number, f"{number:08}"),
            run=self.recorder.run,
            model=MODELS[number % 2],
            task="https://example.org/task/1",
            suite="https://example.org/suite",
            case=f"https://example.org/case/{number % 3}",
            iteration=number // 3,
            digest=f"{number:08}",
            turns=(turn,) * chance.randint(1, 3),
        )
        self.dialogues.append(dialogue.iri)
        execution = dialogue.iri.rpartition("/")[0]
        lines = self.recorder.execution_triples(execution, dialogue.model, dialogue.task)
        lines += self.recorder.dialogue_start(dialogue, NOW)
        self.store.write([Block(self.recorder.run_graph, lines)])
        for round_ in (*range(len(dialogue.turns)), None):
            scores = dict(zip(METRICS, chance.choices(VALUES, k=2), strict=True))
            iri = self.recorder.evaluation_iri(dialogue.iri, round_)
            outcome = chance.choice(OUTCOMES)
            found = Evaluation(iri, dialogue.iri, round_, outcome, scores, {})
            due = self.counts.folded() if round_ is None else live_counts.PendingWrite([])
            self.store.write([*self.counts.judged(found, dialogue), *due.blocks])
            if due.then is not None:
                due.then()

    def counts_written(self):
        """Write the counts of marked evaluations, without yet removing the marks."""
        if self.counts.is_whole:
            self.store.write(self.counts._folded().blocks)

    def invalidated(self):
        """Invalidate one dialogue, if there is one left."""
        if self.dialogues:
            one = self.dialogues.pop(self.chance.randrange(len(self.dialogues)))
            invalidate(self.store, one, "the server was misconfigured", "Ada")

    def ended(self):
        """End the session regularly, and begin another one."""
        self.counts.seal()
        self.session()

    def checked(self):
        """Check the counts, which are right, between two sessions."""
        found = aggregates.check(self.store)
        assert self.recorder.evaluation_pass in found.right
        self.session()

    def disturbed(self):
        """Change the pass without counting."""
        self.store.write([Block(self.recorder.pass_graph, [])])


STEPS = ("dialogue", "counts_written", "invalidated", "ended", "session", "checked")


@contextmanager
def uncounted():
    """Read evaluations directly, without counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_counts, "graphs", lambda _: {})
        yield


def assert_same(store, graph, *, valid=True):
    """Assert that counts with marks agree with the evaluations; return the data."""
    chosen = Selection("", "", "first", (graph,), ())
    assert (graph in stored_counts.graphs(store)) is valid
    found = said(store, chosen)
    with uncounted():
        assert said(store, chosen) == found
    listed = stored_counts.models(store)
    assert {cell.model for cell, *_ in found[0]} <= listed.get(graph, frozenset(MODELS))
    return found


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=12))
def test_tables_are_the_same_at_each_moment(steps):
    """Counts are valid and right after any sequence of steps, kills included."""
    with pytest.MonkeyPatch.context() as patch, open_store("memory:") as store:
        patch.setattr(live_counts, "_LEAST", 5)
        writing = Writing(store)
        for step in ("dialogue", *steps):
            getattr(writing, step)()
            assert_same(store, writing.recorder.pass_graph)


def test_tables_are_the_same_in_every_store(any_store, monkeypatch):
    """Tables are the same embedded and on a server, for the owner and for readers."""
    monkeypatch.setattr(live_counts, "_LEAST", 5)
    with open_store(any_store) as store:
        writing = Writing(store)
        graph = writing.recorder.pass_graph
        for step in ("dialogue", "dialogue", "invalidated", "dialogue", "session", "dialogue"):
            getattr(writing, step)()
            assert_same(store, graph)
        store.publish_soon()
        before = assert_same(store, graph)
    with open_reader(any_store) as reader:
        assert assert_same(reader, graph) == before
    with open_store(any_store) as store:
        assert writing.recorder.evaluation_pass in aggregates.check(store).right
        assert stored_counts.uncounted_evaluations(store, [writing.counts.graph]) == []
        assert assert_same(store, graph) == before


def test_disturbed_counts_are_not_read_until_the_session_ends(monkeypatch):
    """Counts are not used after a foreign write to the pass, until the session ends."""
    monkeypatch.setattr(live_counts, "_LEAST", 5)
    with open_store("memory:") as store:
        writing = Writing(store)
        graph = writing.recorder.pass_graph
        writing.dialogue()
        writing.disturbed()
        assert_same(store, graph, valid=False)
        writing.session()
        assert not writing.counts.is_whole
        writing.dialogue()
        assert_same(store, graph, valid=False)
        writing.ended()
        assert_same(store, graph)


def test_evaluations_count_once_while_others_write(monkeypatch):
    """Counts written between two queries of a table do not count anything twice."""
    with open_store("memory:") as store:
        writing = Writing(store)
        writing.dialogue()
        graph = writing.recorder.pass_graph
        before = assert_same(store, graph)
        read = stored_counts.uncounted_evaluations

        def overtaken(*about):
            marked = read(*about)
            assert marked
            monkeypatch.setattr(stored_counts, "uncounted_evaluations", read)
            writing.counts_written()
            return marked

        monkeypatch.setattr(stored_counts, "uncounted_evaluations", overtaken)
        assert (
            spread(counting.values(store, Selection("", "", "", (graph,), ()), METRICS))
            == (before[0])
        )
        assert_same(store, graph)


def test_marks_end_with_their_counts():
    """At the end of a session, counts replace all marks."""
    with open_store("memory:") as store:
        writing = Writing(store)
        writing.dialogue()
        kept = writing.counts.graph
        graph = writing.recorder.pass_graph
        assert "toCount" in " ".join(str(triple) for triple in store.triples(kept))
        assert graph not in stored_counts.models(store)
        writing.counts.seal()
        assert "toCount" not in " ".join(str(triple) for triple in store.triples(kept))
        assert stored_counts.models(store)[graph] == {MODELS[0]}
        assert_same(store, graph)
