# SPDX-License-Identifier: Apache-2.0
"""The leaderboard: one combined score per model over a declared set of scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score, reached
from kgbench.analysis.declarations import ScoreSet, score_set
from kgbench.analysis.histogram import Histogram, mean
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


@dataclass(frozen=True, slots=True)
class Standing:
    """What one model (IRI) reached: its histogram per score of the set, and what went wrong."""

    model: str
    parts: Mapping[Score, Histogram]
    errors: Errors

    @property
    def score(self) -> float | None:
        """The mean over scores of the mean over dialogues; ``None`` where nothing was scored."""
        return mean(part.mean for part in self.parts.values() if part.mean is not None)

    @property
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
    wanted: Iterable[Score],
    tasks: Mapping[str, fetch.TaskInfo],
) -> list[Standing]:
    """What every model reached on the ``wanted`` scores, the best first, the unscored last."""
    wanted = list(wanted)
    covered = {score.task for score in wanted}
    parts = reached(store, selection, wanted)
    wrong: dict[str, Errors] = defaultdict(Errors)
    for (model, task), errors in fetch.errors(store, selection, dict(tasks)).items():
        if task in covered:
            wrong[model] += errors
    found = [Standing(m, parts.get(m, {}), wrong[m]) for m in sorted({*parts, *wrong})]
    return sorted(found, key=lambda one: -inf if one.score is None else one.score, reverse=True)


def leaderboard(store: Store, selection: Selection, combined: ScoreSet | None = None) -> Table:
    """The leaderboard over a score set (default: the main metric of every task).

    The score of a model is the mean, over the scores of the set, of the mean over dialogues;
    the deviation is that of all values together. Failed dialogues have no score and are counted
    apart; ``unreadable`` is the share of dialogues whose answer was empty or did not parse.
    """
    combined = combined or score_set("main")
    tasks = fetch.tasks(store)
    wanted = combined.scores(tasks, fetch.metrics(store))
    return table_of(store, selection, combined, standings(store, selection, wanted, tasks))


def table_of(
    store: Store, selection: Selection, combined: ScoreSet, found: list[Standing]
) -> Table:
    """The table of :func:`leaderboard` from standings that are known."""
    models = fetch.models(store)
    present = {score.task for one in found for score in one.parts}
    rows = [
        _row(one, rank, models.name(one.model))
        for one, rank in zip(found, ranks([one.score for one in found]), strict=True)
    ]
    return Table(
        title=f"Leaderboard: {combined.label} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(found, len(present))),
        queries=QUERIES,
        context={
            **selection.context,
            "score_set": combined.name,
            "tasks": len(present),
        },
        iris={"model": {str(row[1]): one.model for row, one in zip(rows, found, strict=True)}},
    )


def _row(one: Standing, rank: int | None, name: str) -> tuple[int | str | float | None, ...]:
    pooled, score = one.pooled, one.score
    dialogues = _dialogues(one)
    return (
        rank,
        name,
        score,
        pooled.sd,
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
    if any(one.tasks < tasks for one in found):
        yield (
            f"Not every model was scored on all {tasks} tasks: a score covers only the tasks "
            "counted beside it."
        )
    failed = sum(one.errors.failed for one in found)
    if failed:
        yield f"Not in the scores, because no complete answer came: {failed} dialogue(s)."
