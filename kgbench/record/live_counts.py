# SPDX-License-Identifier: Apache-2.0
"""Counts of a pass that hold while a run writes it.

Each evaluation is marked in the same write as one to be counted. When many are marked, their counts
are written, in one write that ends the marks, too. So tables are made from counts and the few
evaluations with a mark, and a run that was killed has lost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kgbench.model import Dialogue, Evaluation
from kgbench.record import counted
from kgbench.record import terms as t
from kgbench.record.aggregates import Aggregates
from kgbench.record.recorder import Recorder
from kgbench.store.protocol import Block, Store

_LEAST = 200  # marked evaluations: reading one takes some 0.3 ms
_MOST = 2_000
_SHARE = 50  # between both, one evaluation in so many, so that the number of lists stays in bounds


class Due(NamedTuple):
    """What is to be written, and what to call when it is durable."""

    blocks: list[Block]
    then: Callable[[], None] | None = None


class LiveCounts(Aggregates):
    """The counts of the pass that a session writes through a recorder."""

    def __init__(self, store: Store, recorder: Recorder) -> None:
        super().__init__(store, recorder.pass_graph, recorder)
        self._marked = self._before = 0
        if self.is_whole:
            self.finish()
            self._before = sum(times for _, times in counted.outcomes(store, [self.graph]))

    def beside(self, blocks: Sequence[Block]) -> list[Block]:
        """``blocks`` with what keeps counts valid, where they change the pass and no evaluation."""
        changed = self.is_whole and any(block.graph == self._pass_graph for block in blocks)
        return [*blocks, *(self._opening() if changed else ())]

    def judged(self, evaluation: Evaluation, dialogue: Dialogue) -> list[Block]:
        """An evaluation as the recorder writes it, with its mark."""
        assert self._recorder is not None
        blocks = [Block(self._pass_graph, self._recorder.evaluation(evaluation, dialogue))]
        if self.is_whole:
            self._marked += 1
            blocks.append(Block(self.graph, [f"<{self._next}> {t.TO_COUNT} <{evaluation.iri}> ."]))
        return blocks

    def folded(self) -> Due:
        """The counts of the evaluations that are marked, where they are many; else nothing.

        They are to be written after, or with, all evaluations that were marked.
        """
        many = min(max(_LEAST, self._before // _SHARE), _MOST)
        if self._marked >= many or self._counts.are_many:
            return self._folded()
        return Due([])

    def seal(self) -> None:
        """Count what is marked, and see that the counts are those of the pass as it is now."""
        if self._marked:
            self._store.write(self._folded().blocks)
            self._sweep()
        super().seal()

    def _folded(self) -> Due:
        self._before += self._marked
        self._marked = 0
        together = [Block(self.graph, []), Block(self._pass_graph, [])]
        return Due([*together, *self._taken()], self._sweep)
