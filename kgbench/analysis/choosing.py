# SPDX-License-Identifier: Apache-2.0
"""Which scores an analysis is about, and what models reached by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.scores import MetricInfo, TaskInfo
from kgbench.analysis.selection import Selection
from kgbench.errors import QueryError
from kgbench.store.protocol import Store


class Score(NamedTuple):
    """One metric on one task (IRIs), of the answers of one round where ``round`` is given."""

    task: str
    metric: str
    round: int | None


@dataclass(frozen=True, slots=True)
class Selector:
    """Tasks whose label matches ``glob``, by the metric ``metric`` or else their main metric."""

    glob: str
    metric: str | None = None
    round: int | None = None

    def scores(self, tasks: Iterable[TaskInfo], metrics: Iterable[MetricInfo]) -> list[Score]:
        """What it selects, in the order of the tasks; tasks without such a metric are left out.

        Raises :class:`~kgbench.errors.QueryError` for a metric of single answers of a task with
        several rounds, unless a round is named: their values would be pooled.
        """
        named = {(m.task_class, m.name): m for m in metrics}
        by_iri = {m.iri: m for m in named.values()}
        found = []
        for task in tasks:
            if not fnmatchcase(task.label, self.glob):
                continue
            metric = (
                by_iri.get(task.main_metric or "")
                if self.metric is None
                else named.get((task.task_class, self.metric))
            )
            if metric is None:
                continue
            if task.rounds > 1 and metric.aggregation is None and self.round is None:
                raise QueryError(
                    f"'{metric.name}' of {task.label} is a score of each round: name a round, "
                    f"or an aggregate such as max_{metric.name}"
                )
            found.append(Score(task.iri, metric.iri, self.round))
        return found


def chosen_metrics(store: Store, glob: str, metric: str | None) -> dict[str, str]:
    """Which metric (IRI) stands for which task (IRI) whose label fits ``glob``.

    ``metric`` is a short name; without one it is each task's main metric. Raises
    :class:`~kgbench.errors.QueryError` when no task or metric fits.
    """
    tasks = fetch.tasks(store).values()
    if not any(fnmatchcase(task.label, glob) for task in tasks):
        raise QueryError(f"no task label fits '{glob}'")
    chosen = Selector(glob, metric).scores(tasks, fetch.metrics(store).values())
    if not chosen:
        raise QueryError(f"no task that fits '{glob}' has a metric '{metric or 'main'}'")
    return {score.task: score.metric for score in chosen}


def reached(
    store: Store, selection: Selection, wanted: Iterable[Score]
) -> dict[str, dict[Score, Histogram]]:
    """What every model (IRI) reached on the wanted scores.

    One query per round, whatever the number of metrics.
    """
    chosen = set(wanted)
    found: dict[str, dict[Score, Histogram]] = defaultdict(dict)
    for round_ in sorted({s.round for s in chosen}, key=lambda r: (r is not None, r)):
        metrics = {s.metric for s in chosen if s.round == round_}
        for cell, histogram in fetch.histograms(store, selection, metrics, round_=round_).items():
            score = Score(cell.task, cell.metric, cell.round)
            if score in chosen:
                found[cell.model][score] = histogram
    return dict(found)
