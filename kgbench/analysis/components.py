# SPDX-License-Identifier: Apache-2.0
"""Variance components of scores, and the correlation of two models over cases.

Values are nested in cases, and cases in tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from kgbench.errors import QueryError
from kgbench.scores.catalogue import tasks
from kgbench.scores.reading import Repetitions, repetitions
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores
from kgbench.statistics.histogram import Histogram, mean
from kgbench.store.protocol import Store

Nested: TypeAlias = Mapping[str, Mapping[str, Histogram]]
"""Values by task and case."""
_ROUNDING = 1e-12  # of squares of scores


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of values that are nested in cases, and cases in tasks.

    A component is ``None`` where it cannot be estimated: ``cases`` where no task has two cases,
    ``within`` where no case has two answers. Without ``within``, ``cases`` is the variance of
    single answers.
    """

    cases: float | None
    within: float | None

    @classmethod
    def mean(cls, several: Iterable[Components]) -> Components:
        """Average unbiased estimates of each component, zero where the mean would be negative."""
        estimates = [(estimate.cases, estimate.within) for estimate in several]
        means = [
            mean(v for v in column if v is not None) for column in zip(*estimates, strict=True)
        ]
        return cls(
            *(
                None if estimate is None else estimate if estimate > _ROUNDING else 0.0
                for estimate in means
            )
        )

    @classmethod
    def moments(cls, values: Nested, elsewhere: float | None = None) -> Components:
        """Estimate the components by the method of moments, without a cut at zero.

        Sums of squares are equated to their expectations (Henderson's method 1; Searle, Casella
        and McCulloch, Variance Components, 1992, section 5.3). Balanced values give the estimates
        of the analysis of variance. ``elsewhere`` is the component within cases of other values,
        for values without repetitions.
        """
        cases = [case for of_task in values.values() for case in of_task.values()]
        tasks = [Histogram.pooled(of_task.values()) for of_task in values.values()]
        n = sum(task.n for task in tasks)
        squares_in_cases = sum(map(_squares, cases))
        within = _ratio(squares_in_cases, n - len(cases))
        inside = (elsewhere if within is None else within) or 0.0
        per_task = sum(
            sum(case.n**2 for case in of_task.values()) / task.n
            for of_task, task in zip(values.values(), tasks, strict=True)
        )
        freedom = len(cases) - len(tasks)
        squares = sum(map(_squares, tasks)) - squares_in_cases - freedom * inside
        return cls(_ratio(squares, n - per_task) if freedom else None, within)


class MeasuredComponents(NamedTuple):
    """The mean components of several models, and the numbers of tasks, cases and models used.

    ``correlation`` is that of two models over cases; it is 0 where no two models share cases
    (``pairs`` is 0). ``left_out`` counts the tasks with only one case, which say nothing about
    other cases.
    """

    components: Components
    correlation: float
    tasks: int
    cases: int
    models: int
    pairs: int
    left_out: int


def by_model(reached: Repetitions) -> dict[str, dict[str, dict[str, Histogram]]]:
    """Group values by model, task and case."""
    values: dict[str, dict[str, dict[str, Histogram]]] = defaultdict(lambda: defaultdict(dict))
    for item, models in reached.items():
        for model, answers in models.items():
            values[model][item.task][item.case] = answers.values
    return values


def measured(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    round: str | None = None,
    labels: Collection[str] | None = None,
) -> MeasuredComponents:
    """Estimate the components of the selected scores, as means over models.

    ``metric`` and ``round`` are as in :func:`~kgbench.analysis.task_scores.task_scores`. With
    ``labels``, only tasks with these labels count. Raises :class:`~kgbench.errors.QueryError` where
    no task has several cases.
    """
    chosen = chosen_scores(store, selection.tasks, metric, round)
    if labels is not None:
        known = tasks(store)
        chosen = {task: score for task, score in chosen.items() if known[task].label in labels}
    return of_models(by_model(repetitions(store, selection, chosen)))


def of_models(values: Mapping[str, Nested]) -> MeasuredComponents:
    """Estimate the components from values by model, over the tasks with several cases.

    The covariance of two models is that of their means of the cases of a task. Repetitions do not
    contribute to it, because they are independent.
    """
    by_name = {
        m: {task: cases for task, cases in of_model.items() if len(cases) > 1}
        for m, of_model in values.items()
    }
    several = {m: of_model for m, of_model in by_name.items() if of_model}
    if not several:
        raise QueryError(
            "no task has scores on two cases, so the variance between cases is unknown: declare "
            "variances, or run a suite with several cases for each task"
        )
    within = Components.mean(map(Components.moments, several.values())).within
    components = Components.mean(Components.moments(one, within) for one in several.values())
    pairs = [
        c for a, b in combinations(several.values(), 2) if (c := _covariance(a, b)) is not None
    ]
    correlation = (mean(pairs) or 0.0) / components.cases if components.cases else 0.0
    all_tasks = {task for of_model in values.values() for task in of_model}
    items = {
        (task, case)
        for of_model in several.values()
        for task in of_model
        for case in of_model[task]
    }
    tasks = {task for task, _ in items}
    return MeasuredComponents(
        components,
        max(-1.0, min(1.0, correlation)),
        tasks=len(tasks),
        cases=len(items),
        models=len(several),
        pairs=len(pairs),
        left_out=len(all_tasks - tasks),
    )


def _covariance(a: Nested, b: Nested) -> float | None:
    """Return the covariance of two models over cases within tasks; ``None`` without two of them."""
    total, freedom = 0.0, 0
    for task in a.keys() & b.keys():
        both = sorted(a[task].keys() & b[task].keys())
        if len(both) > 1:
            means_a, means_b = (
                [values[task][case].mean or 0.0 for case in both] for values in (a, b)
            )
            mean_a, mean_b = mean(means_a) or 0.0, mean(means_b) or 0.0
            total += sum((x - mean_a) * (y - mean_b) for x, y in zip(means_a, means_b, strict=True))
            freedom += len(both) - 1
    return total / freedom if freedom else None


def _squares(values: Histogram) -> float:
    """Return the sum of squared deviations from the mean."""
    return (values.variance or 0.0) * (values.n - 1)


def _ratio(squares: float, freedom: float) -> float | None:
    return squares / freedom if freedom > 0 else None
