# SPDX-License-Identifier: Apache-2.0
"""Maintains counts of scores and outcomes per pass: tables need not read every evaluation."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kgbench.model import Dialogue, Evaluation
from kgbench.record import reading, stored_counts
from kgbench.record.count_graphs import CountGraph, portions, which
from kgbench.record.counts import CaseScore, Cell, Counts, OutcomeKey
from kgbench.record.recorder import Recorder
from kgbench.record.run_counts import RunCounts
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

_Entry: TypeAlias = tuple[Cell, CaseScore] | OutcomeKey
"""An entry of the counts: a score or an outcome."""


class CountCheck(NamedTuple):
    """Runs and passes (IRIs) by the state of their counts.

    Those that are ``missing`` or ``wrong`` were recounted.
    """

    right: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]


class Aggregates(CountGraph):
    """The counts of one pass; counts the evaluations that ``recorder`` writes."""

    def __init__(self, store: Store, pass_graph: str, recorder: Recorder | None = None) -> None:
        super().__init__(store, pass_graph)
        self._counts = Counts()
        self._recorder = recorder
        if recorder is not None and self.is_whole:
            recorder.counts = self._counts

    def evaluated(self, evaluations: Iterable[Evaluation], dialogue: Dialogue) -> Iterator[Block]:
        """Yield the blocks of a dialogue's evaluations, and of counts where many have gathered."""
        assert self._recorder is not None
        lines = [
            line
            for evaluation in evaluations
            for line in self._recorder.evaluation(evaluation, dialogue)
        ]
        yield Block(self._counted, lines)
        yield from self.due()

    def due(self) -> list[Block]:
        """Return the gathered counts as blocks once they take much memory; usually nothing."""
        return self.gathered() if self._counts.are_many else []

    def gathered(self) -> list[Block]:
        """Return the gathered counts as blocks to load in bulk; :meth:`seal` registers their graph.

        Loads of evaluations end with them: a write of their own would cost more.
        """
        lines = self._counts.take(self._next)
        self._parts += 1
        return [Block(self.graph, lines)] if lines else []

    def seal(self) -> None:
        """Write the remaining counts, and seal them with the pass's current change stamp.

        Recounts all evaluations where some were not counted or were counted twice.
        """
        if not self.is_whole:
            self.rebuild()
            return
        left = self._written()
        if not left and self._is_sealed():
            return
        if left:
            self._store.write(left)
        if self._counts_all():
            self._store.write(self._sealed())
        else:
            self.rebuild()

    def rebuild(self) -> None:
        """Recount all evaluations of the pass."""
        self._store.drop([self.graph])
        self._store.bulk_load(self._recounted())
        self._store.write(self._sealed())

    def finish(self) -> None:
        """Count the evaluations that an interrupted session marked but did not count."""
        marked = stored_counts.uncounted_evaluations(self._store, [self.graph])
        lists = stored_counts.lists(self._store, [self.graph])
        counts_of: dict[str, Counts] = defaultdict(Counts)
        for waiting in marked:
            if waiting.part not in lists:
                counts_of[waiting.part].outcome(waiting.ended)
                for cell, reached in waiting.cells():
                    counts_of[waiting.part].score(cell, reached)
        if counts_of:
            lines = [line for part, counts in counts_of.items() for line in counts.take(part)]
            self._store.write([Block(self.graph, lines), *self._sealed()])
        if marked:
            self._sweep()

    def without(self, dialogues: Sequence[str]) -> list[Block]:
        """Return the blocks that subtract the results of ``dialogues`` from the counts.

        They must be written together with the invalidation and with the pass's graph.
        """
        for entry, times in self._entries(dialogues):
            self._count(entry, -times)
        return [Block(self.graph, []), *self._written()]

    def is_right(self) -> bool:
        """Return whether the counts equal the sums over the evaluations, value by value."""
        return _sums(self._entries()) == _sums(_stored_entries(self._store, self.graph))

    def _recounted(self) -> Iterator[Block]:
        for entry, times in self._entries():
            self._count(entry, times)
            yield from self.due()
        yield from self.gathered()

    def _count(self, entry: _Entry, times: int) -> None:
        if isinstance(entry, OutcomeKey):
            self._counts.outcome(entry, times)
        else:
            self._counts.score(*entry, times)

    def _entries(self, dialogues: Sequence[str] = ()) -> Iterator[tuple[_Entry, int]]:
        """Yield the entries of all evaluations, or of those of ``dialogues``, one by one."""
        invalid = self._invalid()
        about = {"pass": self._counted, "which": which("dialogue", dialogues)}
        for row in self._store.query(fill("judged-scores.rq", **about)):
            if row["dialogue"].value not in invalid:
                yield (stored_counts.cell_of(row), stored_counts.reached_of(row)), 1
        for row in self._store.query(fill("judged-outcomes.rq", **about)):
            if row["dialogue"].value not in invalid:
                yield stored_counts.ended_of(row), 1

    def _invalid(self) -> set[str]:
        """Return the invalidated dialogues of the pass."""
        rows = self._store.query(fill("invalid-in-pass.rq", **{"pass": self._counted}))
        return {row["dialogue"].value for row in rows}

    def _counts_all(self) -> bool:
        """Return whether each valid evaluation was counted once: each has exactly one outcome."""
        (row,) = self._store.query(fill("counted-evaluations.rq", **{"pass": self._counted}))
        total = sum(times for _, times in stored_counts.outcomes(self._store, [self.graph]))
        return total == int(row["evaluations"].value)

    def _written(self) -> list[Block]:
        """Return the gathered counts as blocks to write, with the registry entry of their graph."""
        blocks = self.gathered()
        return [*self.opening(), *blocks] if blocks else []


def subtraction(store: Store, graphs: Iterable[str], dialogues: Sequence[str]) -> list[Block]:
    """Return the blocks that subtract invalidated ``dialogues`` from the counts of passes (graphs).

    They must be written together with the invalidation and the graphs. Nothing is recounted,
    because a session that is writing one of the passes would not know of a recount.
    """
    valid = stored_counts.graphs(store)
    counts = [Aggregates(store, graph) for graph in graphs if graph in valid]
    return [
        block
        for of_pass in counts
        for part in portions(dialogues)
        for block in of_pass.without(part)
    ]


def recount_outdated(store: Store, runs: Iterable[str], passes: Iterable[str]) -> None:
    """Recount the runs and passes (by graph) whose counts are missing or out of date."""
    valid = stored_counts.graphs(store)
    for graph in runs:
        if graph not in valid:
            RunCounts(store, graph).rebuild()
    for graph in passes:
        if graph not in valid:
            Aggregates(store, graph).rebuild()


def check(store: Store, watch: Callable[[str], None] = lambda _: None) -> CountCheck:
    """Check the counts of all runs and passes, and recount those that are missing or wrong.

    ``watch`` is called with the IRI of each run and pass before it is checked.
    """
    valid = stored_counts.graphs(store)
    by_state: dict[str, list[str]] = {"right": [], "missing": [], "wrong": []}
    for run in reading.runs(store):
        parts: list[tuple[str, str, Callable[[Store, str], CountGraph]]] = [
            (run.iri, run.graph, RunCounts),
            *(
                (pass_.iri, pass_.graph, Aggregates)
                for pass_ in reading.passes(store, run)
                if pass_.kind != reading.REVIEW
            ),
        ]
        for iri, graph, kind in parts:
            watch(iri)
            counts = kind(store, graph)
            known = graph in valid
            right = known and counts.is_right()
            by_state["right" if right else "wrong" if known else "missing"].append(iri)
            if right:
                counts.finish()
            else:
                counts.rebuild()
    return CountCheck(*(tuple(by_state[name]) for name in CountCheck._fields))


def _stored_entries(store: Store, graph: str) -> Iterator[tuple[_Entry, int]]:
    """Yield the entries of the stored counts."""
    for cell, repeated in stored_counts.cases(store, [graph]):
        for iteration in repeated.iterations:
            yield (
                (cell, CaseScore(repeated.case, iteration, repeated.round, repeated.value)),
                repeated.times,
            )
    yield from stored_counts.outcomes(store, [graph])


def _sums(entries: Iterable[tuple[_Entry, int]]) -> dict[tuple[str, str], int]:
    """Return a digest for each model and task over its entries and their counts.

    The digest is additive, so that entries may come in any order and several times, in constant
    memory.
    """
    totals: dict[tuple[str, str], int] = defaultdict(int)
    for entry, times in entries:
        about = entry if isinstance(entry, OutcomeKey) else entry[0]
        digest = hashlib.blake2b(repr(entry).encode("utf-8"), digest_size=16).digest()
        totals[about.model, about.task] += times * int.from_bytes(digest)
    return {about: total for about, total in totals.items() if total}
