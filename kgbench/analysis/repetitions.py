# SPDX-License-Identifier: Apache-2.0
"""The values that models reached on each case: the repetitions of a case stand together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from kgbench.analysis import counting
from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.scores import MetricInfo
from kgbench.analysis.selection import Selection
from kgbench.analysis.superseded import Superseded
from kgbench.store.protocol import Store


class Item(NamedTuple):
    """A case of a task, both by IRI. The same case in two tasks is two items."""

    task: str
    case: str


@dataclass(frozen=True)
class Answers:
    """The values of a model on an item: how often it reached each, and a dialogue (IRI) for each.

    Their memory grows with the distinct values, not with the repetitions.
    """

    counts: dict[float, int] = field(default_factory=lambda: defaultdict(int))
    dialogues: dict[float, str] = field(default_factory=dict)

    @cached_property
    def values(self) -> Histogram:
        """All values; to be asked for when every row was added."""
        return Histogram(self.counts)

    def add(self, value: float, count: int, dialogue: str | None) -> None:
        """Adds values that were reached so often; ``dialogue`` is the first with such a value.

        A ``count`` below zero takes back values that were added.
        """
        self.counts[value] += count
        if not self.counts[value]:
            del self.counts[value]
        if dialogue is not None:
            self.dialogues[value] = min(dialogue, self.dialogues.get(value, dialogue))

    def solved(self, metric: MetricInfo, success: float) -> int:
        """How many values are a success from the score ``success`` on."""
        return sum(count for v, count in self.counts.items() if metric.succeeds(v, success))


Repetitions: TypeAlias = dict[Item, dict[str, Answers]]
"""The values of each item by the IRI of the model that reached them."""


def repetitions(
    store: Store, selection: Selection, chosen: Mapping[str, Score], *, with_dialogues: bool = False
) -> Repetitions:
    """The values of the score that ``chosen`` has for each task (IRI), in the order of tasks.

    They are counted by case, so that memory grows with cases and models and not with dialogues.
    Dialogues that failed or were not judged have no value. The dialogue for each value is there
    only ``with_dialogues``, which reads all evaluations.
    """
    found: Repetitions = defaultdict(lambda: defaultdict(Answers))
    later = Superseded(store, selection)
    selected = fetch.selection_test(store, selection)
    narrowed = fetch.narrowing(store, selection)
    metrics = later.with_later({score.metric for score in chosen.values()})
    for (model, task, metric), reached in counting.case_values(
        store, selection, metrics, **narrowed, with_dialogues=with_dialogues
    ):
        score = chosen.get(task)
        if score is None or score.metric != later.of_task(task, metric):
            continue
        if score.round not in (None, reached.round) or not selected(model, task):
            continue
        found[Item(task, reached.case)][model].add(reached.value, reached.times, reached.dialogue)
    known = fetch.tasks(store)
    ordered = sorted(found, key=lambda item: (known[item.task].name, item))
    there = {
        item: {model: answers for model, answers in sorted(found[item].items()) if answers.counts}
        for item in ordered
    }
    return {item: by_model for item, by_model in there.items() if by_model}


def threshold(metric: MetricInfo, solved: float | None) -> float | None:
    """The score from which a dialogue is a success: ``solved`` if given, else the declared one."""
    return metric.success if solved is None else solved


def undeclared_note(metrics: Mapping[str, MetricInfo]) -> str:
    """Which metrics (by IRI) lack a value from which an answer is a success, in words."""
    named = ", ".join(sorted({f"{one.name}" for one in metrics.values()}))
    return (
        f"No success threshold is declared for {named}, so that nothing is solved by it: "
        f"--solved gives one."
    )
