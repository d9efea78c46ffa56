# SPDX-License-Identifier: Apache-2.0
"""Loading of new evaluation passes into a store, those of several short runs together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TypeAlias

from kgbench.execution.dialogues import Part
from kgbench.model import Task, Verdict
from kgbench.reevaluation.run_passes import RunPass
from kgbench.store.protocol import Block, Store

Progress: TypeAlias = "RunPass | Task | None"
"""The start of a pass, a part of it (by its task), or its end."""
JudgedPart: TypeAlias = "tuple[Progress, Part, list[list[Verdict]]]"

_TOGETHER = 20.0  # seconds within which passes begin that are loaded together


class Loading:
    """Loads the passes of a ``stream`` of judged parts.

    Each load adds a file to every index of an embedded store, and the engine rewrites an index when
    it has two new files. With one load per run of 500 dialogues, that took a quarter of the
    processor time of a re-evaluation.

    ``explain`` is called with each pass after its last dialogue was compared, ``watch`` with the
    number of judged dialogues.
    """

    def __init__(
        self,
        store: Store,
        stream: Iterator[JudgedPart],
        explain: Callable[[RunPass], None],
        watch: Callable[[int], None] | None,
    ) -> None:
        self._store = store
        self._stream = stream
        self._explain = explain
        self._watch = watch
        self._judged = 0
        self._next = self._next_pass()
        self._unfinished: RunPass | None = None
        self._failure: BaseException | None = None

    def passes(self, closing: Callable[[RunPass], Sequence[Block]]) -> Iterator[RunPass]:
        """Yield each pass after it was loaded and made visible by its ``closing`` blocks.

        If judging fails or is interrupted, earlier passes are kept and the current one is removed.
        """
        while self._next is not None:
            loaded: list[RunPass] = []
            visible: list[RunPass] = []
            try:
                self._store.bulk_load(self._blocks(loaded))
                for run_pass in loaded:
                    self._store.write(closing(run_pass))
                    visible.append(run_pass)
                    run_pass.aggregates.seal()
            finally:
                self._drop(loaded[len(visible) :])
            yield from visible
            if self._failure is not None:
                raise self._failure

    def _blocks(self, loaded: list[RunPass]) -> Iterator[Block]:
        """Yield the blocks of passes that are loaded together; append each to ``loaded``."""
        until = time.monotonic() + _TOGETHER
        try:
            while self._next is not None and _joins(self._next, loaded, until):
                self._unfinished, self._next = self._next, None
                yield from self._blocks_of(self._unfinished)
                loaded.append(self._unfinished)
                self._unfinished = None
                self._next = self._next_pass()
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again when the others are visible
            self._failure = error

    def _blocks_of(self, run_pass: RunPass) -> Iterator[Block]:
        if self._watch is not None:
            run_pass.watch = partial(_report_progress, self._watch, self._judged)
        yield from run_pass.blocks(_parts_of(self._stream))
        self._explain(run_pass)
        run_pass.differing.clear()
        self._judged += run_pass.result.comparison.dialogues

    def _next_pass(self) -> RunPass | None:
        begun, _, _ = next(self._stream, (None, (), []))
        assert not isinstance(begun, Task)
        return begun

    def _drop(self, passes: Sequence[RunPass]) -> None:
        """Remove the graphs of invisible passes, and of the unfinished one."""
        unfinished = () if self._unfinished is None else (self._unfinished,)
        if graphs := [graph for run_pass in (*passes, *unfinished) for graph in run_pass.graphs]:
            self._store.drop(graphs)


def _joins(begun: RunPass, complete: Sequence[RunPass], until: float) -> bool:
    """Return whether a pass is loaded together with ``complete``.

    A second pass over the same run is not: its evaluations revise visible ones.
    """
    if not complete:
        return True
    return time.monotonic() < until and all(begun.run != earlier.run for earlier in complete)


def _parts_of(stream: Iterator[JudgedPart]) -> Iterator[tuple[Task, Part, list[list[Verdict]]]]:
    for task, part, verdicts in takewhile(lambda judged: judged[0] is not None, stream):
        assert isinstance(task, Task)
        yield task, part, verdicts


def _report_progress(watch: Callable[[int], None], before: int, count: int) -> None:
    watch(before + count)
