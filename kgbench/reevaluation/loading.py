# SPDX-License-Identifier: Apache-2.0
"""Loading of new evaluation passes into a store, while their dialogues are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TypeAlias

from kgbench.execution.dialogues import Part
from kgbench.model import Task, Verdict
from kgbench.reevaluation.run_passes import RunPass
from kgbench.store.loading_together import LoadingTogether
from kgbench.store.protocol import Block, Store

Progress: TypeAlias = "RunPass | Task | None"
"""The start of a pass, a part of it (by its task), or its end."""
JudgedPart: TypeAlias = "tuple[Progress, Part, list[list[Verdict]]]"


@dataclass(frozen=True, slots=True)
class PassActions:
    """What is done with each pass beside loading it.

    ``close`` returns the blocks that make a pass visible, ``explain`` is called after its last
    dialogue was compared, and ``watch`` with the number of judged dialogues of all passes.
    """

    close: Callable[[RunPass], Sequence[Block]]
    explain: Callable[[RunPass], None]
    watch: Callable[[int], None] | None


def load_passes(
    store: Store, stream: Iterator[JudgedPart], actions: PassActions
) -> Iterator[RunPass]:
    """Load the passes of a ``stream`` of judged parts; yield each when it is visible.

    If judging fails or is interrupted, earlier passes are kept and the current one is removed.
    """

    def passes() -> Iterator[_StreamedPass]:
        judged = 0
        for begun, _, _ in stream:
            assert isinstance(begun, RunPass)
            if actions.watch is not None:
                begun.watch = partial(_report_progress, actions.watch, judged)
            yield _StreamedPass(begun, stream, actions)
            judged += begun.result.comparison.dialogues

    for loaded in LoadingTogether(store, passes()).visible():
        yield loaded.run_pass


@dataclass(frozen=True, slots=True)
class _StreamedPass:
    """A pass whose parts come next in a ``stream``; a part to load."""

    run_pass: RunPass
    stream: Iterator[JudgedPart]
    actions: PassActions

    @property
    def run(self) -> str:
        return self.run_pass.run.iri

    @property
    def graphs(self) -> Sequence[str]:
        return [self.run_pass.recorder.pass_graph]

    def blocks(self) -> Iterator[Block]:
        yield from self.run_pass.blocks(_parts_of(self.stream))
        self.actions.explain(self.run_pass)
        self.run_pass.differing.clear()

    def closing(self) -> Sequence[Block]:
        return self.actions.close(self.run_pass) if self.run_pass.result.is_recorded else ()


def _parts_of(stream: Iterator[JudgedPart]) -> Iterator[tuple[Task, Part, list[list[Verdict]]]]:
    for task, part, verdicts in takewhile(lambda judged: judged[0] is not None, stream):
        assert isinstance(task, Task)
        yield task, part, verdicts


def _report_progress(watch: Callable[[int], None], before: int, count: int) -> None:
    watch(before + count)
