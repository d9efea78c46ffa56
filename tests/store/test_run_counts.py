# SPDX-License-Identifier: Apache-2.0
"""Counts and marks of a run that is being written agree with its dialogues at all times."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.model import Call, Dialogue, Outcome, Reply, Turn, Usage
from kgbench.record import Recorder, accounts, aggregates, run_counts, stored_counts
from kgbench.record.count_graphs import PendingWrite
from kgbench.record.invalidation import invalidate
from kgbench.record.run_counts import RunCounts
from kgbench.store import Block, open_reader, open_store
from kgbench.store.iris import new_id

NOW = datetime(2026, 11, 24, tzinfo=UTC)
BATCH, EARLIER = "https://example.org/batch", "https://example.org/answer"


NOTHING = PendingWrite([])


class Writing:
    """Writes the dialogues of a run as sessions do."""

    def __init__(self, store):
        self.store = store
        self.chance = random.Random(7)
        self.numbers = count()
        self.open, self.complete = [], []
        self.recorder = Recorder(store.iris, new_id(), new_id())
        self.graph = self.recorder.run_graph
        self.counts = None
        self.session()

    def session(self):
        """Begin a session after one that was ended, or killed."""
        new = self.counts is None
        self.counts = RunCounts(self.store, self.graph)
        blocks = [Block(self.graph, [self.recorder.session_end(0, NOW)])]
        if new:
            suite = "https://example.org/suite"
            blocks += self.recorder.run_blocks(label="A run", suite=suite, started=NOW)
        self.store.write([*blocks, *self.counts.beside()])

    def write(self, lines, extra=(), due=NOTHING):
        """Write to the run as the writer of a session does."""
        kept = [Block(graph, []) for graph in self.counts.together.values()]
        self.store.write([Block(self.graph, lines), *kept, *extra, *due.blocks])
        if due.then is not None:
            due.then()

    def call(self):
        """Return a call with random usage, failure, batch or reused answer."""
        chance = self.chance
        if chance.random() < 0.2:
            return Call(NOW, NOW, failure=Outcome.PROVIDER_ERROR, error="refused")
        tokens = (chance.choice((None, 3, 2**40)) for _ in range(4))
        return Call(
            NOW,
            NOW,
            Reply("Ada", usage=Usage(*tokens)),
            reused=EARLIER if chance.random() < 0.2 else None,
            batch=BATCH if chance.random() < 0.3 else None,
        )

    def begun(self):
        """Write the first turn of a dialogue."""
        number = next(self.numbers)
        dialogue = Dialogue(
            iri=self.recorder.dialogue_iri(
                f"m{number % 2}", f"Task-{number % 3}", number, f"{number:08}"
            ),
            run=self.recorder.run,
            model=f"https://example.org/model/{number % 2}",
            task=f"https://example.org/task/{number % 3}",
            suite="https://example.org/suite",
            case="https://example.org/case",
            iteration=number,
            digest=f"{number:08}",
            turns=(Turn("Who?", (self.call(),)),),
        )
        execution = dialogue.iri.rpartition("/")[0]
        lines = self.recorder.execution_triples(execution, dialogue.model, dialogue.task)
        lines += self.recorder.dialogue_start(dialogue, NOW) + self.recorder.turn(dialogue, 0)
        self.write(lines, self.counts.begun(dialogue))
        self.open.append(dialogue)

    def answered(self):
        """Write another turn of an open dialogue."""
        if self.open:
            dialogue = self.open.pop(0)
            turn = Turn("And who else?", (self.call(),))
            dialogue = replace(dialogue, turns=(*dialogue.turns, turn))
            self.write(self.recorder.turn(dialogue, len(dialogue.turns) - 1))
            self.open.append(dialogue)

    def ended(self):
        """Write the end of an open dialogue, of this session or an earlier one."""
        if self.open:
            dialogue = self.open.pop(self.chance.randrange(len(self.open)))
            due = self.counts.ended(dialogue)
            self.write([self.recorder.dialogue_end(dialogue, NOW)], due=due)
            self.complete.append(dialogue)

    def several(self):
        """Begin and end dialogues, so that counts are written while others are open."""
        for _ in range(4):
            self.begun()
            self.begun()
            self.ended()

    def invalidated(self):
        """Invalidate a dialogue, open or complete."""
        for among in (self.complete, self.open):
            if among and self.chance.random() < 0.5:
                invalidate(self.store, among.pop(0).iri, "misconfigured", "Ada")

    def sealed(self):
        """End the session regularly, and begin another one."""
        self.counts.seal()
        self.session()

    def checked(self):
        """Check the counts, which are right, between two sessions."""
        assert aggregates.check(self.store).right == (self.recorder.run,)
        self.session()


STEPS = (
    "begun",
    "answered",
    "ended",
    "several",
    "invalidated",
    "session",
    "sealed",
    "checked",
)


def assert_same(writing, store=None, *, valid=True):
    """Assert that counts with marks give the numbers of the dialogues themselves."""
    store, graph = store or writing.store, writing.graph
    assert (graph in stored_counts.graphs(store)) is valid
    readings = (accounts.usage, accounts.usage_by_task)
    found = [read(store, graph) for read in readings]
    progress = accounts.progress(store, [graph])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_counts, "graphs", lambda _: {})
        assert [read(store, graph) for read in readings] == found
        assert accounts.progress(store, [graph]) == progress
    if valid:
        kept = accounts.stored(store, {graph: writing.counts.graph})[graph]
        assert kept == accounts.of_all(store, graph)


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=14))
def test_accounts_are_the_same_at_each_moment(steps):
    """Counts are valid and right after any sequence of steps, kills included."""
    with pytest.MonkeyPatch.context() as patch, open_store("memory:") as store:
        patch.setattr(run_counts, "_LEAST", 3)
        writing = Writing(store)
        for step in ("several", *steps):
            getattr(writing, step)()
            assert_same(writing)


def test_accounts_are_the_same_in_every_store(any_store, monkeypatch):
    """Accounts are the same embedded and on a server, for the owner and for readers."""
    monkeypatch.setattr(run_counts, "_LEAST", 3)
    with open_store(any_store) as store:
        writing = Writing(store)
        for step in ("several", "answered", "invalidated", "session", "several", "ended"):
            getattr(writing, step)()
            assert_same(writing)
        store.publish_soon()
    with open_reader(any_store) as reader:
        assert_same(writing, reader)
    with open_store(any_store) as store:
        writing.store = store
        writing.session()
        assert_same(writing)
        writing.sealed()
        assert_same(writing)


def test_foreign_writes_are_recounted_at_the_end_of_a_session():
    """Dialogues that nobody counted are read, until the session ends and counts them."""
    with open_store("memory:") as store:
        writing = Writing(store)
        writing.begun()
        foreign = Writing(store)
        foreign.graph, foreign.recorder = writing.graph, writing.recorder
        foreign.numbers = count(50)
        foreign.counts.is_whole = False
        foreign.begun()
        foreign.ended()
        assert_same(writing, valid=False)
        writing.session()
        writing.several()
        assert_same(writing, valid=False)
        writing.sealed()
        assert_same(writing)


def test_counts_written_while_reading_are_read_again(monkeypatch):
    """Dialogues that are counted between two queries do not count twice."""
    with open_store("memory:") as store:
        writing = Writing(store)
        writing.several()
        before = accounts.usage(store, writing.graph)
        read = accounts.marked_dialogues

        def overtaken(*about):
            marked = read(*about)
            assert any(marked.values())
            monkeypatch.setattr(accounts, "marked_dialogues", read)
            writing.sealed()
            return marked

        monkeypatch.setattr(accounts, "marked_dialogues", overtaken)
        assert accounts.usage(store, writing.graph) == before


def test_no_open_dialogue_is_marked_again_and_again(monkeypatch):
    """A dialogue that stays open is marked on two lists, and then left until the session ends."""
    monkeypatch.setattr(run_counts, "_LEAST", 2)
    with open_store("memory:") as store:
        writing = Writing(store)
        writing.begun()
        (old,) = writing.open
        lists = set()
        for _ in range(12):
            writing.begun()
            writing.open.reverse()
            dialogue = writing.open.pop(0)
            due = writing.counts.ended(dialogue)
            writing.write([writing.recorder.dialogue_end(dialogue, NOW)], due=due)
            marked = accounts.marked_dialogues(store, [writing.counts.graph])
            for name, dialogues in marked[writing.counts.graph].items():
                lists |= {name} if old.iri in dialogues else set()
            assert_same(writing)
        assert len(lists) == 3
        writing.sealed()
        assert_same(writing)
