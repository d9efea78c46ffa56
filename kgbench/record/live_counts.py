# SPDX-License-Identifier: Apache-2.0
"""Counts of a pass that stay valid while a run writes it.

Each evaluation is marked as uncounted in the write that adds it. When many are marked, their counts
are written, which makes the marks obsolete. Tables are computed from the counts and the few marked
evaluations, and a killed run loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import Dialogue, Evaluation
from kgbench.record import stored_counts
from kgbench.record import terms as t
from kgbench.record.aggregates import Aggregates
from kgbench.record.count_graphs import PendingWrite
from kgbench.record.recorder import Recorder
from kgbench.store.protocol import Block, Store

_LEAST = 200  # marked evaluations: reading one takes some 0.3 ms
_MOST = 2_000
_SHARE = 50  # between both, a 50th of the evaluations: bounds the number of lists


class LiveCounts(Aggregates):
    """The counts of the pass that a session writes through a recorder."""

    def __init__(self, store: Store, recorder: Recorder) -> None:
        super().__init__(store, recorder.pass_graph, recorder)
        self._marked = self._before = 0
        if self.is_whole:
            self.finish()
            self._before = sum(times for _, times in stored_counts.outcomes(store, [self.graph]))

    def beside(self, blocks: Sequence[Block]) -> list[Block]:
        """Return ``blocks`` with those that keep the counts valid, if they change the pass's graph.

        For blocks without evaluations.
        """
        changed = self.is_whole and any(block.graph == self._counted for block in blocks)
        return [*blocks, *(self.opening() if changed else ())]

    def judged(self, evaluation: Evaluation, dialogue: Dialogue) -> list[Block]:
        """Return the blocks of an evaluation and of its mark."""
        assert self._recorder is not None
        blocks = [Block(self._counted, self._recorder.evaluation(evaluation, dialogue))]
        if self.is_whole:
            self._marked += 1
            blocks.append(Block(self.graph, [f"<{self._next}> {t.TO_COUNT} <{evaluation.iri}> ."]))
        return blocks

    def folded(self) -> PendingWrite:
        """Return the counts of the marked evaluations if these are many; else nothing.

        They must be written after, or together with, all marked evaluations.
        """
        many = min(max(_LEAST, self._before // _SHARE), _MOST)
        if self._marked >= many or self._counts.are_many:
            return self._folded()
        return PendingWrite([])

    def seal(self) -> None:
        """Count the marked evaluations, and seal the counts."""
        if self._marked:
            self._store.write(self._folded().blocks)
            self._sweep()
        super().seal()

    def _folded(self) -> PendingWrite:
        self._before += self._marked
        self._marked = 0
        together = [Block(self.graph, []), Block(self._counted, [])]
        return PendingWrite([*together, *self._written()], self._sweep)
