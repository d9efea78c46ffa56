# SPDX-License-Identifier: Apache-2.0
"""Maintains counts of scores and outcomes per pass, so that tables need not read every evaluation.

Counts are written in a graph of their own and sealed with the change stamp of the pass's graph.
When the pass changes, its stamp differs and the counts are ignored until they are sealed again: a
writer that does not count makes tables slower, not wrong. A write that changes the pass and its
counts together gives both graphs the same stamp, and the counts stay valid.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kgbench.model import Dialogue, Evaluation
from kgbench.rdf import integer, queries
from kgbench.record import reading, stored_counts
from kgbench.record import terms as t
from kgbench.record.counts import CaseScore, Cell, Counts, OutcomeKey
from kgbench.record.entries import registry_entry
from kgbench.record.recorder import Recorder
from kgbench.store.iris import Iris, new_id
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

_FEW = 500  # dialogues that a query names

_Entry: TypeAlias = tuple[Cell, CaseScore] | OutcomeKey
"""An entry of the counts: a score or an outcome."""


class CountCheck(NamedTuple):
    """The passes (IRIs) by the state of their counts; ``missing`` and ``wrong`` were recounted."""

    right: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]


class Aggregates:
    """The counts of one pass; counts the evaluations that ``recorder`` writes."""

    def __init__(self, store: Store, pass_graph: str, recorder: Recorder | None = None) -> None:
        self._store = store
        self._pass_graph = pass_graph
        self.graph = graph_of(store.iris, pass_graph)
        self._node = store.iris.mint("aggregates", **{"pass": pass_graph.rpartition("/")[2]})
        self._counts = Counts()
        self._added = f"{self._node}/{new_id()}"
        self._parts = 0
        stamp, own = _stamp(store, pass_graph), _stamp(store, self.graph)
        if stamp is None and own is not None:
            store.drop([self.graph])  # left by an interrupted pass
        #: Whether every stored evaluation is counted or marked: only new ones need counting.
        self.is_whole = stamp is None or stamp == own or stamp in self._sealed_at()
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
        yield Block(self._pass_graph, lines)
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
        if not left and _stamp(self._store, self._pass_graph) in self._sealed_at():
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
        named = " ".join(f"<{iri}>" for iri in dialogues)
        which = f"VALUES ?dialogue {{ {named} }}" if dialogues else ""
        about = {"pass": self._pass_graph, "which": which}
        for row in self._store.query(fill("judged-scores.rq", **about)):
            if row["dialogue"].value not in invalid:
                yield (stored_counts.cell_of(row), stored_counts.reached_of(row)), 1
        for row in self._store.query(fill("judged-outcomes.rq", **about)):
            if row["dialogue"].value not in invalid:
                yield stored_counts.ended_of(row), 1

    def _invalid(self) -> set[str]:
        """Return the invalidated dialogues of the pass."""
        rows = self._store.query(fill("invalid-in-pass.rq", **{"pass": self._pass_graph}))
        return {row["dialogue"].value for row in rows}

    def _counts_all(self) -> bool:
        """Return whether each valid evaluation was counted once: each has exactly one outcome."""
        (row,) = self._store.query(fill("counted-evaluations.rq", **{"pass": self._pass_graph}))
        total = sum(times for _, times in stored_counts.outcomes(self._store, [self.graph]))
        return total == int(row["evaluations"].value)

    def _sealed_at(self) -> set[int]:
        """Return the change stamps of the pass's graph at which counts were sealed."""
        text = fill("sealings.rq", graph=self.graph, aggregates=self._node)
        return {int(row["stamp"].value) for row in self._store.query(text)}

    def _written(self) -> list[Block]:
        """Return the gathered counts as blocks to write, with the registry entry of their graph."""
        blocks = self.gathered()
        return [*self._opening(), *blocks] if blocks else []

    @property
    def _next(self) -> str:
        """The IRI of the next list of counts."""
        return f"{self._added}.{self._parts}"

    def _sweep(self) -> None:
        """Remove the marks of evaluations that have been counted."""
        self._store.update(fill("sweep-marks.ru", graph=self.graph))

    def _opening(self) -> list[Block]:
        lines = [
            f"<{self._node}> {t.TYPE} {t.AGGREGATES} .",
            f"<{self._node}> {t.TYPE} {t.ENTITY} .",
            f"<{self._node}> {t.READ_GRAPH} <{self._pass_graph}> .",
        ]
        entry = registry_entry(self.graph, self._node)
        return [Block(self.graph, lines), Block(self._store.iris.catalogue, entry)]

    def _sealed(self) -> list[Block]:
        stamp = _stamp(self._store, self._pass_graph)
        assert stamp is not None
        line = f"<{self._node}> {t.STAMP_AT_USE} {integer(stamp)} ."
        return [*self._opening(), Block(self.graph, [line])]


def graph_of(iris: Iris, pass_graph: str) -> str:
    """Return the graph of the counts of a pass."""
    return iris.mint("aggregatesGraph", **{"pass": pass_graph.rpartition("/")[2]})


def subtraction(store: Store, graphs: Iterable[str], dialogues: Sequence[str]) -> list[Block]:
    """Return the blocks that subtract invalidated ``dialogues`` from the counts of passes (graphs).

    They must be written together with the invalidation and the graphs. Nothing is recounted,
    because a session that is writing one of the passes would not know of a recount.
    """
    valid = stored_counts.graphs(store)
    counts = [Aggregates(store, graph) for graph in graphs if graph in valid]
    parts = [dialogues[at : at + _FEW] for at in range(0, len(dialogues), _FEW)]
    return [block for of_pass in counts for part in parts for block in of_pass.without(part)]


def recount_outdated(store: Store, graphs: Iterable[str]) -> None:
    """Recount the passes (by graph) whose counts are missing or out of date."""
    valid = stored_counts.graphs(store)
    for graph in graphs:
        if graph not in valid:
            Aggregates(store, graph).rebuild()


def check(store: Store, watch: Callable[[str], None] = lambda _: None) -> CountCheck:
    """Check the counts of all passes, and recount those that are missing or wrong.

    ``watch`` is called with the IRI of each pass before it is checked.
    """
    valid = stored_counts.graphs(store)
    by_state: dict[str, list[str]] = {"right": [], "missing": [], "wrong": []}
    for run in reading.runs(store):
        for pass_ in reading.passes(store, run):
            if pass_.kind == reading.REVIEW:
                continue
            watch(pass_.iri)
            counts = Aggregates(store, pass_.graph)
            known = pass_.graph in valid
            right = known and counts.is_right()
            by_state["right" if right else "wrong" if known else "missing"].append(pass_.iri)
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


def _stamp(store: Store, graph: str) -> int | None:
    """Return the change stamp of a graph; ``None`` where it is not registered."""
    stamps = (stamp for _, stamp in queries.rows(store, "list-stamps", graph=graph))
    return max((int(stamp) for stamp in stamps if stamp is not None), default=None)
