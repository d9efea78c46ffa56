# SPDX-License-Identifier: Apache-2.0
"""The scores of a run put together: one cell for each model, task and metric."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from kgbench.analysis.histogram import Histogram
from kgbench.exports.outgoing_run import OutgoingRun


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of one metric; ``dialogues`` are those held, ``values`` those that have it."""

    model: str
    task: str
    metric: str
    dialogues: int
    values: Histogram


def cells(run: OutgoingRun) -> list[Cell]:
    """All cells of a run, by model, task and metric.

    Of a dialogue with several rounds, the metrics of the whole dialogue count; of one with a single
    answer, those of the answer.
    """
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    held: dict[tuple[str, str], int] = defaultdict(int)
    for one in run.held:
        held[one.model, one.task] += 1
        whole = [v for v in one.verdicts if v.round is None]
        for verdict in whole or one.verdicts[-1:]:
            for metric, value in verdict.scores.items():
                values[one.model, one.task, metric].append(value)
    return [
        Cell(model, task, metric, held[model, task], Histogram.of(found))
        for (model, task, metric), found in sorted(values.items())
    ]
