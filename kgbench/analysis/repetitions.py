# SPDX-License-Identifier: Apache-2.0
"""The values of models on each case, grouped so that the repetitions of a case are together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from kgbench.analysis import catalogue
from kgbench.analysis.catalogue import MetricInfo
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.scores import read_scores, round_of
from kgbench.analysis.selection import Selection
from kgbench.store.protocol import Store


class Item(NamedTuple):
    """A case of a task (IRIs). The same case in two tasks is two items."""

    task: str
    case: str


@dataclass(frozen=True)
class Answers:
    """The values of a model on an item: the count of each value, and a dialogue (IRI) with it.

    Memory grows with the number of distinct values, not with the repetitions.
    """

    counts: dict[float, int] = field(default_factory=dict)
    dialogues: dict[float, str] = field(default_factory=dict)

    @cached_property
    def values(self) -> Histogram:
        """All values; only valid after the last :meth:`add`, because it is cached."""
        return Histogram(self.counts)

    def add(self, value: float, count: int, dialogue: str) -> None:
        """Add ``count`` equal values; ``dialogue`` is the first dialogue with the value."""
        self.counts[value] = self.counts.get(value, 0) + count
        self.dialogues[value] = min(dialogue, self.dialogues.get(value, dialogue))

    def solved(self, metric: MetricInfo, success: float) -> int:
        """Count the values that reach the threshold ``success``."""
        return sum(count for v, count in self.counts.items() if metric.succeeds(v, success))


Repetitions: TypeAlias = dict[Item, dict[str, Answers]]
"""The values of each item, by the IRI of the model."""


def repetitions(store: Store, selection: Selection, chosen: Mapping[str, Score]) -> Repetitions:
    """Read the values of the score that ``chosen`` has for each task (IRI), in the order of tasks.

    Values are counted by case, so memory grows with cases and models, not with dialogues. Dialogues
    that failed or were not judged have no value.
    """
    by_item: Repetitions = defaultdict(lambda: defaultdict(Answers))
    metrics = {score.metric for score in chosen.values()}
    for cell, row in read_scores(store, selection, "case-histograms", metrics):
        score = chosen.get(cell.task)
        if score is None or score.metric != cell.metric:
            continue
        if score.round in (None, round_of(row)):
            answers = by_item[Item(cell.task, row["case"].value)][cell.model]
            value, count = float(row["value"].value), int(row["count"].value)
            answers.add(value, count, row["dialogue"].value)
    names = {iri: task.name for iri, task in catalogue.tasks(store).items()}
    ordered = sorted(by_item, key=lambda item: (names[item.task], item))
    return {item: dict(sorted(by_item[item].items())) for item in ordered}


def threshold(metric: MetricInfo, solved: float | None) -> float | None:
    """Return the least score of a success: ``solved`` if given, else the declared threshold."""
    return metric.success if solved is None else solved


def undeclared_note(metrics: Mapping[str, MetricInfo]) -> str:
    """Return a note on the metrics (by IRI) without a declared success threshold."""
    names = ", ".join(sorted({f"{metric.name}" for metric in metrics.values()}))
    return (
        f"No success threshold is declared for {names}, so nothing counts as solved: set one "
        f"with --solved."
    )
