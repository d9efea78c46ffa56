# SPDX-License-Identifier: Apache-2.0
"""The leaderboard: one combined score per model over a declared set of scores.

Models that were scored on all tasks are ranked. The others stand below them without a rank, because
a mean over fewer tasks is no better or worse than one over all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score, reached
from kgbench.analysis.common import common_note, common_tasks
from kgbench.analysis.declarations import ScoreSet, score_set
from kgbench.analysis.declared_scores import check_selectors, without_results
from kgbench.analysis.histogram import Histogram, mean, mixture
from kgbench.analysis.scores import Errors
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, ranks
from kgbench.store.protocol import Store

COLUMNS = (
    Column("rank", "Rank", Kind.COUNT),
    Column("model", "Model"),
    Column("score", "Score", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("n", "n", Kind.COUNT),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("failed", "Failed", Kind.COUNT),
    Column("not_judged", "Not judged", Kind.COUNT),
    Column("unreadable", "Unreadable", Kind.SHARE),
)
QUERIES = (*fetch.CHOOSING, *fetch.HISTOGRAMS, "round-histograms", *fetch.ERRORS)


@dataclass(frozen=True)
class Standing:
    """What one model (IRI) reached: its histogram per score of the set, and what went wrong.

    ``weights`` are those of a set of groups, and ``None`` where all scores count alike.
    ``complete`` says whether the model was scored on every task that any model was scored on.
    """

    model: str
    parts: Mapping[Score, Histogram]
    errors: Errors
    weights: Mapping[Score, Fraction] | None = None
    complete: bool = True

    @cached_property
    def score(self) -> float | None:
        """The mean over scores of the mean over dialogues; ``None`` where nothing was scored."""
        if self.weights is None:
            return mean(part.mean for part in self.parts.values() if part.mean is not None)
        return None if (found := self._mixture(self.weights)) is None else found[0]

    @cached_property
    def sd(self) -> float | None:
        """The deviation of all values, weighted as the score where the scores have weights."""
        if self.weights is None:
            return self.pooled.sd
        return None if (found := self._mixture(self.weights)) is None else found[1]

    def _mixture(self, weights: Mapping[Score, Fraction]) -> tuple[float, float] | None:
        return mixture((part, weights[score]) for score, part in self.parts.items())

    @cached_property
    def pooled(self) -> Histogram:
        """All values together."""
        return Histogram.pooled(self.parts.values())

    @property
    def tasks(self) -> int:
        """On how many tasks something was scored."""
        return len({score.task for score in self.parts})


def standings(
    store: Store,
    selection: Selection,
    combined: ScoreSet,
    tasks: Mapping[str, fetch.TaskInfo],
    *,
    common: bool = False,
) -> list[Standing]:
    """What every model reached on the scores of a set, with ``common`` on the tasks that all share.

    First stand the models with values on all tasks, the best first, then those with values on some,
    then the unscored. Raises :class:`~kgbench.errors.QueryError` where no task is ``common``.
    """
    check_selectors(store, combined.every_selector, combined.file)
    metrics = fetch.metrics(store)
    wanted = combined.weights(tasks, metrics)
    parts = reached(store, selection, wanted)
    if common:
        names = fetch.models(store)
        shared = common_tasks(
            {names.name(model): {s.task for s in found} for model, found in parts.items()}
        )
        wanted = combined.weights({t: tasks[t] for t in tasks if t in shared}, metrics)
        parts = {
            model: {score: values for score, values in found.items() if score in wanted}
            for model, found in parts.items()
        }
    covered = {score.task for score in wanted}
    wrong: dict[str, Errors] = defaultdict(Errors)
    for (model, task), errors in fetch.errors(store, selection, dict(tasks)).items():
        if task in covered:
            wrong[model] += errors
    scored = {score.task for reached_ in parts.values() for score in reached_}
    found = []
    for model in sorted({*parts, *wrong}):
        mine = parts.get(model, {})
        complete = bool(mine) and {score.task for score in mine} == scored
        weights = wanted if combined.groups else None
        found.append(Standing(model, mine, wrong[model], weights, complete))
    return sorted(found, key=_order, reverse=True)


def _order(one: Standing) -> tuple[bool, float]:
    return one.complete, -inf if one.score is None else one.score


def leaderboard(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    *,
    common: bool = False,
) -> Table:
    """The leaderboard over a score set (default: the main metric of every task).

    The score of a model is the mean, over the scores of the set, of the mean over dialogues;
    the deviation is that of all values together. In a set of groups both are weighted (see
    :class:`~kgbench.analysis.declarations.ScoreSet`). Failed dialogues have no score and are
    counted apart; ``unreadable`` is the share of dialogues whose answer was empty or did not parse.
    With ``common`` only the tasks count that all models with scores were scored on; raises
    :class:`~kgbench.errors.QueryError` where there are none.
    """
    combined = combined or score_set("main")
    found = standings(store, selection, combined, fetch.tasks(store), common=common)
    return table_of(store, selection, combined, found, common=common)


def table_of(
    store: Store,
    selection: Selection,
    combined: ScoreSet,
    found: list[Standing],
    *,
    common: bool = False,
) -> Table:
    """The table of :func:`leaderboard` from standings that are known."""
    models = fetch.models(store)
    present = {score.task for one in found for score in one.parts}
    places = ranks([one.score if one.complete else None for one in found])
    rows = [
        _row(one, rank, models.name(one.model)) for one, rank in zip(found, places, strict=True)
    ]
    notes = [*_notes(found, len(present)), *_lacking(store, combined, found)]
    scored = {score for one in found for score in one.parts}
    if not common:
        notes += without_results(store, combined.every_selector, scored, combined.file)
    if common:
        known = fetch.tasks(store)
        compared = sum(bool(one.parts) for one in found)
        notes.insert(0, common_note([known[task].name for task in present], compared))
    return Table(
        title=f"Leaderboard: {combined.label} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(notes),
        queries=QUERIES,
        context={
            **selection.context,
            **({"common": True} if common else {}),
            "score_set": combined.name,
            "tasks": len(present),
        },
        iris={"model": {str(row[1]): one.model for row, one in zip(rows, found, strict=True)}},
    )


def _lacking(store: Store, combined: ScoreSet, found: list[Standing]) -> Iterable[str]:
    """Which groups of a set no model has any score of: the others then count for more."""
    if not combined.groups:
        return
    tasks, metrics = list(fetch.tasks(store).values()), list(fetch.metrics(store).values())
    scored = {score for one in found for score in one.parts}
    lacking = [
        group.name
        for group in combined.groups
        if scored.isdisjoint(s for sel in group.selectors for s in sel.scores(tasks, metrics))
    ]
    if lacking:
        yield f"Not in the score, because no model has results: {', '.join(lacking)}."


def _row(one: Standing, rank: int | None, name: str) -> tuple[int | str | float | None, ...]:
    pooled, score = one.pooled, one.score
    dialogues = _dialogues(one)
    return (
        rank,
        name,
        score,
        one.sd,
        pooled.n,
        one.tasks,
        one.errors.failed,
        one.errors.not_judged,
        one.errors.unreadable / dialogues if dialogues else None,
    )


def _dialogues(one: Standing) -> int:
    """Judged dialogues; those of a task are the most that have any of its scores."""
    most: dict[str, int] = defaultdict(int)
    for score, part in one.parts.items():
        most[score.task] = max(most[score.task], part.n)
    return sum(most.values()) + one.errors.not_judged


def _notes(found: list[Standing], tasks: int) -> Iterable[str]:
    if any(one.parts and not one.complete for one in found):
        yield (
            f"Not ranked, and below those that are: models that were not scored on all {tasks} "
            "tasks. Their scores cover only the tasks counted beside them."
        )
    failed = sum(one.errors.failed for one in found)
    if failed:
        yield f"Not in the scores, because no complete answer came: {failed} dialogue(s)."
