# SPDX-License-Identifier: Apache-2.0
"""Means with intervals for an estimand, and the scores of every model on every task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kgbench.analysis.outcomes import ERRORS, Errors, count_errors
from kgbench.analysis.registry import (
    NO_SCORES,
    Common,
    EstimandName,
    Metric,
    Purpose,
    Round,
    analysis,
)
from kgbench.scores import catalogue
from kgbench.scores.inference import CASES, Estimand, Inference, inference
from kgbench.scores.reading import (
    BY_CASE,
    BY_TASK,
    CHOOSING,
    Item,
    Repetitions,
    Score,
    histograms,
    repetitions,
)
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, of_common_tasks, parts_by_task, score_name
from kgbench.statistics.clusters import FEWEST_FOR_INTERVAL, Clusters, Sums, Value
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import Bounds, method_note, score_interval
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table
from kgbench.tables import Value as Cell

CLAIM_COLUMNS = (
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
)


class Claim(NamedTuple):
    """A mean over ``number`` clusters with its standard error and the ends of its 95 % interval.

    ``missing`` is the reason, in words, why there is no interval.
    """

    number: int
    mean: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    missing: str | None = None

    @property
    def cells(self) -> tuple[int, float | None, float | None]:
        """The values of :data:`CLAIM_COLUMNS`."""
        return self.number, self.low, self.high


class Row(NamedTuple):
    """The values of a row of a table by item, with the range of the values.

    ``weights`` has the weight of the values of each task (IRI); by default all weigh the same.
    """

    cases: Mapping[Item, Histogram]
    bounds: Bounds
    weights: Mapping[str, float] = MappingProxyType({})

    @property
    def pooled(self) -> Histogram:
        """All values."""
        return Histogram.pooled(self.cases.values())


def estimate_means(estimand: Estimand, rows: Sequence[Row]) -> list[Claim]:
    """Estimate the mean of the values of each row, with an interval for ``estimand``."""
    if not estimand.clustered:
        return [_of_dialogues(row) for row in rows]
    all_clusters = Clusters.each([_sums(estimand, row) for row in rows])
    return [
        _of_clusters(estimand, clusters, row.bounds)
        for clusters, row in zip(all_clusters, rows, strict=True)
    ]


def _of_dialogues(row: Row) -> Claim:
    pooled = row.pooled
    interval = score_interval(pooled, row.bounds)
    if interval is None:
        return Claim(pooled.n, pooled.mean, missing="one dialogue" if pooled.n else None)
    return Claim(pooled.n, pooled.mean, pooled.standard_error, interval.low, interval.high)


def _of_clusters(estimand: Estimand, clusters: Clusters, bounds: Bounds) -> Claim:
    estimate = (clusters.number, clusters.mean, clusters.error)
    interval = clusters.interval(bounds)
    if interval is None:
        return Claim(*estimate, missing=_missing(estimand, clusters))
    return Claim(*estimate, interval.low, interval.high)


class Claims:
    """The claims in the rows of a table, and the notes and context of the table about them."""

    def __init__(self, inference: Inference) -> None:
        self._inference = inference
        self._missing = Counter[str]()
        self._methods = set[str]()

    def make(self, rows: Sequence[Row]) -> list[Claim]:
        """Make the claims of rows (:func:`estimate_means`); record methods and reasons."""
        claims = estimate_means(self._inference.estimand, rows)
        for row, claimed in zip(rows, claims, strict=True):
            if claimed.missing is not None and row.cases:
                self._missing[claimed.missing] += 1
            if claimed.low is not None and not self._inference.estimand.clustered:
                self._methods.add(row.bounds.method(row.pooled))
        return claims

    def made_by(self, method: str, claimed: Claim) -> Claim:
        """Record a claim that was made by another method; returns the claim."""
        self._methods.add(method)
        return claimed

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the estimand, the methods, and the reasons for missing intervals."""
        notes = [self._inference.note, method_note(self._methods)]
        if self._missing:
            reasons = ", ".join(
                f"{reason} ({count} {'row' if count == 1 else 'rows'})"
                for reason, count in sorted(self._missing.items())
            )
            notes.append(f"No interval: {reasons}.")
        return tuple(filter(None, notes))

    @property
    def context(self) -> dict[str, Cell]:
        """The estimand and the methods, for programs."""
        return {"interval": " ".join(sorted(self._methods)) or None, **self._inference.context}


def by_task(reached: Repetitions) -> dict[tuple[str, str], dict[Item, Histogram]]:
    """Group values by model and task (IRIs), then by item."""
    values: dict[tuple[str, str], dict[Item, Histogram]] = defaultdict(dict)
    for item, by_model in reached.items():
        for model, answers in by_model.items():
            values[model, item.task][item] = answers.values
    return values


def _sums(estimand: Estimand, row: Row) -> Sums:
    """Return the sums of the sampled units; a case counts with its number of values."""
    numbers = Counter(item.task for item in row.cases)
    in_task = {task: estimand.within(number) for task, number in numbers.items()}
    sums = Sums([], [], [])
    of_task: dict[str, list[Value]] = defaultdict(list)
    for item, values in row.cases.items():
        of_item, weight = in_task[item.task], row.weights.get(item.task, 1.0)
        stratum: Hashable = None
        if of_item.fixed is not None:
            stratum = item.task if of_item.fixed == "task" else item
        each = [(value, weight) for value in values.values()]
        if of_item.pairs_cases:
            each = [(values.mean or 0.0, weight * values.n)]
        if of_item.sampled == "task":
            of_task[item.task] += (Value(stratum, item.task, *value) for value in each)
        else:
            sums.add((stratum, weight, weight * value) for value, weight in each)
    sums.add(zip(*Sums.of(value for values in of_task.values() for value in values), strict=True))
    return sums


def _missing(estimand: Estimand, clusters: Clusters) -> str:
    if clusters.lone:
        return f"one {estimand.sampled}"
    if clusters.number < FEWEST_FOR_INTERVAL:
        return f"fewer than {FEWEST_FOR_INTERVAL} {estimand.sampled}s"
    return f"metric without a range, and fewer than 10 {estimand.sampled}s or no variance"


COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("metric", "Metric"),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    *CLAIM_COLUMNS,
    Column("sd", "SD", Kind.SCORE),
    Column("minimum", "Min", Kind.SCORE),
    Column("q1", "Q1", Kind.SCORE),
    Column("median", "Median", Kind.SCORE),
    Column("q3", "Q3", Kind.SCORE),
    Column("maximum", "Max", Kind.SCORE),
    Column("failed", "Failed", Kind.COUNT),
    Column("not_judged", "Not judged", Kind.COUNT),
    Column("unreadable", "Unreadable", Kind.SHARE),
)
QUERIES = (*CHOOSING, *BY_CASE, *ERRORS)
_POOLED_QUERIES = (*CHOOSING, *BY_TASK, *ERRORS)


@analysis("tasks", Purpose.LOOK, parts=parts_by_task)
def tasks(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    estimand: EstimandName = CASES,
    common: Common = False,
) -> Table:
    """Show the distribution of a score for every task and model, with errors.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*").tasks(metric="f1").column("mean")
    [0.25, 0.75, 0.75]
    """
    table = task_scores(store, selection, metric=metric, round=round, estimand=estimand)
    return of_common_tasks(table) if common else table


def task_scores(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    round: str | None = None,
    estimand: str = CASES,
) -> Table:
    """Tabulate scores: one row per task and model with distribution, interval and errors.

    ``metric`` is a short name; the default is the main metric of each task. ``round`` says which
    answers of dialogues count: ``first``, ``last``, ``best`` or a round as text. The 95 % interval
    of the mean stays inside the range of the metric; it is that of
    :func:`~kgbench.analysis.task_scores.estimate_means` for the ``estimand``. For
    ``dialogues`` no cases are read, and the time does not grow with their number. Raises
    :class:`~kgbench.errors.QueryError` when no task or metric matches, and for an unknown estimand.
    """
    inference_ = inference(estimand)
    claims = Claims(inference_)
    chosen = chosen_scores(store, selection.tasks, metric, round)
    names = catalogue.models(store)
    clustered = inference_.estimand.clustered
    values = (
        by_task(repetitions(store, selection, chosen))
        if clustered
        else _pooled(store, selection, chosen)
    )
    scored: dict[str, dict[str, int]] = {
        t: {} for t, score in chosen.items() if score.round is None
    }
    for (model, task), by_item in values.items():
        if task in scored:
            scored[task][model] = sum(one.n for one in by_item.values())
    wrong = count_errors(store, selection, catalogue.tasks(store), scored)
    metrics = catalogue.metrics(store)
    tasks_by_iri = {t.iri: t for t in catalogue.tasks(store).values()}
    cells = sorted(
        (model, task)
        for model, task in {*values} | {key for key in wrong if key[1] in chosen}
        if names.fits(model, selection.models)
    )
    of_cells = [
        Row(values.get((model, task), {}), metrics[chosen[task].metric].bounds)
        for model, task in cells
    ]
    rows = []
    for (model, task), of_cell, claimed in zip(cells, of_cells, claims.make(of_cells), strict=True):
        name = names.name(model)
        rows.append(
            _row(
                (tasks_by_iri[task].name, name, score_name(chosen[task], metrics)),
                of_cell.pooled,
                claimed,
                wrong.get((model, task), Errors()),
            )
        )
    return Table(
        title=f"Scores by task ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (str(row[0]), str(row[1])))),
        notes=claims.notes,
        queries=QUERIES if clustered else _POOLED_QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": round,
            **claims.context,
        },
    ).explained(NO_SCORES)


def _pooled(
    store: Store, selection: Selection, chosen: Mapping[str, Score]
) -> dict[tuple[str, str], dict[Item, Histogram]]:
    """Return the values of each model and task, without their cases."""
    return {
        (model, score.task): {Item(score.task, ""): values}
        for model, by_score in histograms(store, selection, chosen.values()).items()
        for score, values in by_score.items()
    }


def _row(
    labels: tuple[str, str, str], values: Histogram, claimed: Claim, wrong: Errors
) -> tuple[Cell, ...]:
    judged = values.n + wrong.not_judged
    return (
        *labels,
        values.n,
        values.mean,
        *claimed.cells,
        values.sd,
        values.minimum,
        values.quantile(0.25),
        values.median,
        values.quantile(0.75),
        values.maximum,
        wrong.failed,
        wrong.not_judged,
        wrong.unreadable / judged if judged else None,
    )
