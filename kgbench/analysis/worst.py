# SPDX-License-Identifier: Apache-2.0
"""The dialogues with the worst scores, and the commands that show them."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.declarations import score_set
from kgbench.analysis.selection import Selection
from kgbench.store.protocol import Store

MOST = 5


class ScoredDialogue(NamedTuple):
    """A value of a metric with its dialogue.

    ``part`` is the name of a task, or of a part of an explained cell. ``dialogue`` is the path of
    the dialogue below the base of the store's IRIs. ``higher_is_better`` is that of the metric.
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
        """A sort key for values of different metrics: the lowest is the worst.

        It is 1 minus the value for a metric whose lower values are better, so that 0 errors are as
        good as a full score of 1.
        """
        return badness(self.value, higher_is_better=self.higher_is_better)

    def as_json(self) -> dict[str, object]:
        """Return value, metric and dialogue as a JSON object."""
        return {name: getattr(self, name) for name in self._fields[:-1]}


def badness(value: float, *, higher_is_better: bool) -> float:
    """Return the sort key of a value; see :attr:`ScoredDialogue.badness`."""
    return value if higher_is_better else 1 - value


def worst(values: Iterable[ScoredDialogue], limit: int = MOST) -> list[ScoredDialogue]:
    """Return the ``limit`` dialogues with the worst values, each once, the worst first.

    Equal values are sorted by iteration, so that they come from different parts.
    """
    # At most `limit` entries are kept, because a run may have a million dialogues.
    by_dialogue: dict[str, ScoredDialogue] = {}
    for value in values:
        earlier = by_dialogue.pop(value.dialogue, value)
        by_dialogue[value.dialogue] = min(value, earlier, key=_order)
        if len(by_dialogue) > limit:
            del by_dialogue[max(by_dialogue.values(), key=_order).dialogue]
    return sorted(by_dialogue.values(), key=_order)


def _order(scored: ScoredDialogue) -> tuple[float, int, str, str, int, str]:
    return (
        scored.badness,
        scored.iteration,
        scored.part,
        scored.model,
        scored.round or 0,
        scored.dialogue,
    )


def worst_dialogues(store: Store, selection: Selection, limit: int = MOST) -> list[ScoredDialogue]:
    """Return the worst dialogues of a selection by the main metrics of their tasks.

    Dialogues with a full score are left out. Counts tell which values are the worst, so that only
    dialogues with these values are read, and none of a million with a full score.
    """
    found: list[ScoredDialogue] = []
    values: list[float] = []
    total, wanted = 0, limit
    levels = sorted(_levels(store, selection).items())
    for number, (level, counts) in enumerate(levels, 1):
        values += counts
        total += counts.total()
        if total < wanted and number < len(levels):
            continue
        read = main_values(store, selection, values)
        found = worst((value for value in read if value.badness <= level), limit)
        if len(found) == limit:
            break
        wanted = 2 * total  # a dialogue can have several values
    return found


def _levels(store: Store, selection: Selection) -> dict[float, Counter[float]]:
    """Return the values of main metrics below a full score, with their counts, by badness."""
    metrics = fetch.metrics(store)
    main_scores = _main_scores(store, selection)
    levels: dict[float, Counter[float]] = defaultdict(Counter)
    of_cells = fetch.histograms(store, selection, {metric for _, metric in main_scores})
    for (_, task, metric, _), histogram in of_cells.items():
        if (task, metric) in main_scores:
            for value, times in histogram.counts.items():
                level = badness(value, higher_is_better=metrics[metric].higher_is_better)
                if level < 1:
                    levels[level][value] += times
    return levels


def _main_scores(store: Store, selection: Selection) -> set[tuple[str, str]]:
    """Return the selected tasks with their main metrics (IRIs)."""
    tasks = fetch.tasks(store).items()
    chosen = {iri: task for iri, task in tasks if task.fits(selection.tasks)}
    scores = score_set("main").scores(chosen, fetch.metrics(store))
    return {(score.task, score.metric) for score in scores}


def main_values(
    store: Store,
    selection: Selection,
    values: Sequence[float] | None = None,
    dialogues: Sequence[str] | None = None,
) -> Iterator[ScoredDialogue]:
    """Yield the values of the main metric of every task, each with its dialogue.

    ``values`` are the wanted ones, a hint by which the engine reads less. ``dialogues`` (IRIs)
    restricts them to a few dialogues.
    """
    tasks, metrics, models = fetch.tasks(store), fetch.metrics(store), fetch.models(store)
    main_scores = _main_scores(store, selection)
    main_metrics = {metric for _, metric in main_scores}
    for row in fetch.score_rows(store, selection, main_metrics, values=values, dialogues=dialogues):
        if (row.task, row.metric) in main_scores:
            metric = metrics[row.metric]
            yield ScoredDialogue(
                tasks[row.task].name,
                metric.name,
                row.round,
                row.iteration,
                row.value,
                row.dialogue.removeprefix(store.iris.base),
                models.name(row.model),
                metric.higher_is_better,
            )


def show_line(scored: ScoredDialogue, location: str | None, *, model: bool = False) -> str:
    """Return a command that shows the dialogue, with its value as a comment.

    ``location`` is the location of the store, ``None`` for the default store. With ``model``, the
    comment names the model.

    >>> show_line(ScoredDialogue("Pick", "f1", None, 0, 0.5, "run/1/m/Pick/0", "m"), "my store")
    "kgbench show run/1/m/Pick/0 --store 'my store'  # 0.500 f1 of Pick"
    """
    where = f" --store {shlex.quote(location)}" if location is not None else ""
    round_ = f", round {scored.round}" if scored.round else ""
    origin = f"{scored.part} by {scored.model}" if model else scored.part
    comment = f"{scored.value:.3f} {scored.metric} of {origin}{round_}"
    return f"kgbench show {shlex.quote(scored.dialogue)}{where}  # {comment}"
