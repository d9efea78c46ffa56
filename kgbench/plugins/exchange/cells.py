# SPDX-License-Identifier: Apache-2.0
"""Groups the scores of a run into cells: one for each model, task and metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.scores.reading import Item
from kgbench.statistics.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of one metric for a model and a task, over all cases and by case.

    ``dialogues`` counts all dialogues, including those without a value.
    """

    model: str
    task: str
    metric: str
    dialogues: int
    values: Histogram
    cases: Mapping[Item, Histogram]


def cells(run: OutgoingRun) -> list[Cell]:
    """Return all cells of a run, sorted by model, task and metric.

    For a dialogue with several rounds, the metrics of the whole dialogue count; for one with a
    single answer, those of the answer.
    """
    values: dict[tuple[str, str, str], dict[Item, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    dialogues: dict[tuple[str, str], int] = defaultdict(int)
    for dialogue in run.dialogues:
        model, task = dialogue.model, dialogue.task
        dialogues[model, task] += 1
        verdicts = run.verdicts[dialogue.iri]
        whole = [verdict for verdict in verdicts if verdict.round is None]
        for verdict in whole or verdicts[-1:]:
            for metric, value in verdict.scores.items():
                values[model, task, metric][Item(task, dialogue.case)].append(value)
    result = []
    for (model, task, metric), by_case in sorted(values.items()):
        cases = {item: Histogram.of(of_case) for item, of_case in by_case.items()}
        every = Histogram.pooled(cases.values())
        result.append(Cell(model, task, metric, dialogues[model, task], every, cases))
    return result
