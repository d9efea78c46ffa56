# SPDX-License-Identifier: Apache-2.0
"""The values of models on each case, grouped so that the repetitions of a case are together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple, TypeAlias

from kgbench.analysis import counting
from kgbench.analysis import scores as fetch
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.scores import MetricInfo
from kgbench.analysis.selection import Selection
from kgbench.analysis.superseding_metrics import SupersedingMetrics
from kgbench.record.counts import Cell, RepeatedScore
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

    def add(self, value: float, count: int, dialogue: str | None) -> None:
        """Add ``count`` equal values; ``dialogue`` is the first dialogue with the value.

        A negative ``count`` retracts values.
        """
        total = self.counts.get(value, 0) + count
        if total:
            self.counts[value] = total
        else:
            self.counts.pop(value, None)
        if dialogue is not None:
            self.dialogues[value] = min(dialogue, self.dialogues.get(value, dialogue))

    def solved(self, metric: MetricInfo, success: float) -> int:
        """Count the values that reach the threshold ``success``."""
        return sum(count for v, count in self.counts.items() if metric.succeeds(v, success))


Repetitions: TypeAlias = dict[Item, dict[str, Answers]]
"""The values of each item, by the IRI of the model."""


def repetitions(
    store: Store, selection: Selection, chosen: Mapping[str, Score], *, with_dialogues: bool = False
) -> Repetitions:
    """Read the values of the score that ``chosen`` has for each task (IRI), in the order of tasks.

    Values are counted by case, so memory grows with cases and models, not with dialogues. Dialogues
    that failed or were not judged have no value. Dialogues of values are present only
    ``with_dialogues``, which reads all evaluations.
    """
    by_item: Repetitions = defaultdict(lambda: defaultdict(Answers))
    later = SupersedingMetrics(store, selection)
    selected = fetch.selection_test(store, selection)
    narrowed = fetch.narrowing(store, selection)
    metrics = later.with_later({score.metric for score in chosen.values()})

    @cache  # cells are few, and cases may be millions
    def score_of(cell: Cell) -> Score | None:
        score = chosen.get(cell.task)
        if score is None or score.metric != later.of_task(cell.task, cell.metric):
            return None
        return score if selected(cell.model, cell.task) else None

    for cell, reached in counting.case_values(
        store, selection, metrics, **narrowed, with_dialogues=with_dialogues
    ):
        score = score_of(cell)
        if score is not None and score.round in (None, reached.round):
            answers = by_item[Item(cell.task, reached.case)][cell.model]
            answers.add(reached.value, reached.times, reached.dialogue)
    names = {iri: task.name for iri, task in fetch.tasks(store).items()}
    ordered = sorted(by_item, key=lambda item: (names[item.task], item))
    nonempty = {
        item: {model: answers for model, answers in sorted(by_item[item].items()) if answers.counts}
        for item in ordered
    }
    return {item: by_model for item, by_model in nonempty.items() if by_model}


def repeated_values(
    store: Store, selection: Selection, metrics: Iterable[str]
) -> Iterator[tuple[fetch.Cell, RepeatedScore]]:
    """Yield every value of ``metrics`` (IRIs) with its case and iterations.

    Values that are taken back (``times`` below zero) come last.
    :func:`~kgbench.analysis.scores.score_rows` gives dialogues as well, but is slower.
    """
    later, selected = SupersedingMetrics(store, selection), fetch.selection_test(store, selection)
    narrowed, queried = fetch.narrowing(store, selection), later.with_later(metrics)

    @cache  # cells are few, and values may be millions
    def measured(cell: Cell, of_round: int | None) -> fetch.Cell | None:
        if not selected(cell.model, cell.task):
            return None
        return fetch.Cell(cell.model, cell.task, later.of_task(cell.task, cell.metric), of_round)

    for cell, reached in counting.repeated_values(store, selection, queried, **narrowed):
        of_cell = measured(cell, reached.round)
        if of_cell is not None:
            yield of_cell, reached


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
