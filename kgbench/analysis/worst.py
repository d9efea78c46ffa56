# SPDX-License-Identifier: Apache-2.0
"""The dialogues with the worst scores, and the commands that show them."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from kgbench.analysis import catalogue
from kgbench.analysis.declarations import score_set
from kgbench.analysis.scores import histograms, score_rows
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


def worst(
    values: Iterable[ScoredDialogue],
    limit: int = MOST,
    of: Callable[[ScoredDialogue], Hashable] = attrgetter("dialogue"),
) -> list[ScoredDialogue]:
    """Return the ``limit`` dialogues with the worst values, the worst first, one for each ``of``.

    Equal values are sorted by iteration, so that they come from different parts.
    """
    # At most `limit` entries are kept, because a run may have a million dialogues.
    kept: dict[Hashable, ScoredDialogue] = {}
    for value in values:
        earlier = kept.pop(of(value), value)
        kept[of(value)] = min(value, earlier, key=_order)
        if len(kept) > limit:
            del kept[of(max(kept.values(), key=_order))]
    return sorted(kept.values(), key=_order)


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

    There is one for each model and task. Dialogues with a full score are left out, as are those of
    models that fail everywhere, if other models fail somewhere. Counts tell which values are the
    worst, so that only dialogues with these values are read, and none of a million with a full
    score.
    """
    found: list[ScoredDialogue] = []
    values: list[float] = []
    total, wanted = 0, limit
    by_level, shown = _levels(store, selection)
    levels = sorted(by_level.items())
    for number, (level, counts) in enumerate(levels, 1):
        values += counts
        total += counts.total()
        if total < wanted and number < len(levels):
            continue
        read = main_values(store, selection, values)
        bad = (value for value in read if value.badness <= level and value.model in shown)
        found = worst(bad, limit, attrgetter("model", "part"))
        if len(found) == limit:
            break
        wanted = 2 * total  # a dialogue can have several values
    return found


def _levels(
    store: Store, selection: Selection
) -> tuple[dict[float, Counter[float]], frozenset[str]]:
    """Return the values of main metrics below a full score with their counts, by badness.

    They are those of the models that are returned, too: of models that solve some dialogues and
    fail others, if there are any, else of all.
    """
    metrics, models = catalogue.metrics(store), catalogue.models(store)
    main_scores = _main_scores(store, selection)
    of_models: dict[str, dict[float, Counter[float]]] = defaultdict(lambda: defaultdict(Counter))
    of_cells = histograms(store, selection, {metric for _, metric in main_scores})
    for (model, task, metric, _), histogram in of_cells.items():
        if (task, metric) in main_scores:
            for value, times in histogram.counts.items():
                level = badness(value, higher_is_better=metrics[metric].higher_is_better)
                of_models[model][level][value] += times
    able = {model for model, levels in of_models.items() if max(levels) > 0 and min(levels) < 1}
    chosen: dict[float, Counter[float]] = defaultdict(Counter)
    for model in able or of_models:
        for level, counts in of_models[model].items():
            if level < 1:
                chosen[level] += counts
    return chosen, frozenset(models.name(model) for model in able or of_models)


def _main_scores(store: Store, selection: Selection) -> set[tuple[str, str]]:
    """Return the selected tasks with their main metrics (IRIs)."""
    tasks = catalogue.tasks(store).items()
    chosen = {iri: task for iri, task in tasks if task.fits(selection.tasks)}
    scores = score_set("main").scores(chosen, catalogue.metrics(store))
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
    tasks, metrics, models = (
        catalogue.tasks(store),
        catalogue.metrics(store),
        catalogue.models(store),
    )
    main_scores = _main_scores(store, selection)
    main_metrics = {metric for _, metric in main_scores}
    for row in score_rows(store, selection, main_metrics, values=values, dialogues=dialogues):
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
