# SPDX-License-Identifier: Apache-2.0
"""The dialogues with the lowest scores, as lines that show them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.declarations import score_set
from kgbench.analysis.selection import Selection
from kgbench.store.protocol import Store

MOST = 5


class Scored(NamedTuple):
    """A value of a metric with its dialogue.

    ``part`` names what the value counts for: a task, or a part of a cell. ``dialogue`` is the path
    of the dialogue below the base of the store's IRIs. ``higher_is_better`` is that of the metric.
    """

    part: str
    metric: str
    round: int | None
    iteration: int
    value: float
    dialogue: str
    model: str
    higher_is_better: bool = True

    @property
    def badness(self) -> float:
        """Orders values of different metrics: the lowest is the worst.

        A metric of which lower values are better counts from 1 downwards, so that no error is as
        good as a full score.
        """
        return self.value if self.higher_is_better else 1 - self.value

    def as_json(self) -> dict[str, object]:
        """Value, metric and dialogue as a JSON object."""
        return {name: getattr(self, name) for name in self._fields[:-1]}


def worst(values: Iterable[Scored], most: int = MOST) -> list[Scored]:
    """The ``most`` dialogues with the lowest values, each once, the worst first.

    Of equal values those of the first iterations come first, so that they are of different parts.
    """
    found: dict[str, Scored] = {}  # never more than `most`: a run may have a million dialogues
    for value in values:
        other = found.pop(value.dialogue, value)
        found[value.dialogue] = min(value, other, key=_order)
        if len(found) > most:
            del found[max(found.values(), key=_order).dialogue]
    return sorted(found.values(), key=_order)


def _order(scored: Scored) -> tuple[float, int, str, str, int, str]:
    return (
        scored.badness,
        scored.iteration,
        scored.part,
        scored.model,
        scored.round or 0,
        scored.dialogue,
    )


def worst_dialogues(store: Store, selection: Selection, most: int = MOST) -> list[Scored]:
    """The dialogues of a selection that reached least by the main metrics of their tasks.

    Those with the full score 1 are not among them.
    """
    return worst((one for one in main_values(store, selection) if one.badness < 1), most)


def main_values(store: Store, selection: Selection) -> Iterator[Scored]:
    """The values of the main metric of every task, each with its dialogue."""
    tasks, metrics, models = fetch.tasks(store), fetch.metrics(store), fetch.models(store)
    chosen = {iri: task for iri, task in tasks.items() if task.fits(selection.tasks)}
    wanted = {(one.task, one.metric) for one in score_set("main").scores(chosen, metrics)}
    for row in fetch.score_rows(store, selection, {metric for _, metric in wanted}):
        if (row.task, row.metric) in wanted:
            metric = metrics[row.metric]
            yield Scored(
                tasks[row.task].name,
                metric.name,
                row.round,
                row.iteration,
                row.value,
                row.dialogue.removeprefix(store.iris.base),
                models.name(row.model),
                metric.higher_is_better,
            )


def show_line(scored: Scored, location: str | None, *, model: bool = False) -> str:
    """A command that shows the dialogue, with its value as a comment.

    ``location`` is that of a store other than the default one. With ``model``, the comment names
    the model.

    >>> show_line(Scored("Pick", "f1", None, 0, 0.5, "run/1/m/Pick/0", "m"), "my store")
    "kgbench show run/1/m/Pick/0 --store 'my store'  # 0.500 f1 of Pick"
    """
    where = f" --store {shlex.quote(location)}" if location is not None else ""
    round_ = f", round {scored.round}" if scored.round else ""
    of = f"{scored.part} by {scored.model}" if model else scored.part
    said = f"{scored.value:.3f} {scored.metric} of {of}{round_}"
    return f"kgbench show {shlex.quote(scored.dialogue)}{where}  # {said}"
