# SPDX-License-Identifier: Apache-2.0
"""Ranking of models by tests of all pairs: ranges of ranks and groups of equal models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from kgbench.scores.inference import AVAILABLE, CASES, Estimand, find_estimand
from kgbench.scores.reading import Score
from kgbench.statistics.clusters import FEWEST_FOR_T, Clusters
from kgbench.statistics.significance import ROUNDING, ClusterRows, holm, summed, two_sided_each

_AT_ONCE = 100_000  # cells of all differences that are computed together
Case: TypeAlias = tuple[str, int | None]
"""A case (IRI) and an iteration."""
Units: TypeAlias = Mapping[Score, Mapping[Case, Mapping[str, Sequence[float]]]]
"""Values by score, by case and iteration, and by model (IRI)."""


class TestedPair(NamedTuple):
    """The difference of two models: p of its test, mean, and the number of clusters.

    ``p`` is ``None`` where there is no test: the models share too few clusters, or share none of
    a score. ``least`` is the least p that the test can give.
    """

    p: float | None
    mean: float | None
    clusters: int
    least: float = 0.0


class _Columns(NamedTuple):
    """The columns of clustered values: the cluster of each, and the stratum of each cluster.

    ``opposite`` is that of :class:`~kgbench.statistics.significance.ClusterRows`.
    """

    clusters: Any
    strata: Any
    opposite: Mapping[int, int]

    @classmethod
    def of(cls, names: Sequence[tuple[Hashable, Hashable]]) -> _Columns:
        """Make columns from the names of stratum and cluster of each."""
        import numpy as np

        clusters, strata = _numbered(names), _numbered([stratum for stratum, _ in names])
        of_clusters = np.zeros(len(set(names)), dtype=int)
        of_clusters[clusters] = strata
        numbers = {stratum: int(number) for (stratum, _), number in zip(names, strata, strict=True)}
        opposite = {
            number: numbers[_Answers(stratum.task, second=True)]
            for stratum, number in numbers.items()
            if isinstance(stratum, _Answers) and not stratum.second
        }
        return cls(clusters, of_clusters, opposite)

    def rows(self, present: Any, weights: Any, totals: Any) -> ClusterRows:
        """Return clusters from the weights and weighted values of columns, in rows."""
        number = len(self.strata)
        sums = (summed(self.clusters, number, v)[:, :-1] for v in (present, weights, totals))
        in_row, of_weights, of_totals = sums
        return ClusterRows.of_sums(self.strata, in_row > 0, of_weights, of_totals, self.opposite)


class _Answers(NamedTuple):
    """The stratum of a model's answers to the one case of a task that two models share."""

    task: str
    second: bool


class Rivals:
    """The values of models on the scores of a set, in the clusters of an estimand.

    A model's mean is the weighted mean, over the scores of the set, of the mean over dialogues. Two
    models are compared on the cases that both have: by the means of their answers to each case, or
    by single answers if repetitions are the estimand. Cases weigh as in
    :attr:`~kgbench.analysis.matching.Match.weights`. ``single``
    says whether, for the estimand ``available``, a task counts with the answers to one case.
    """

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        models: Sequence[str],
        estimand: Estimand,
    ) -> None:
        import numpy as np

        self._index = {model: index for index, model in enumerate(models)}
        answers = [
            (score, case, by_model)
            for score, dialogues in sorted(units.items(), key=str)
            for case, by_model in sorted(dialogues.items(), key=str)
        ]
        units_of_answers = [
            (score, (case[0], None) if estimand.pairs_cases else case) for score, case, _ in answers
        ]
        cell_of_answer = _numbered(units_of_answers)
        cells = list(dict.fromkeys(units_of_answers))
        self._sums = np.zeros((len(models), len(cells)))
        self._sizes = np.zeros((len(models), len(cells)))
        for cell, (_, _, by_model) in zip(cell_of_answer.tolist(), answers, strict=True):
            for model, values in by_model.items():
                if model in self._index:
                    self._sums[self._index[model], cell] += math.fsum(values)
                    self._sizes[self._index[model], cell] += len(values)
        self._scores = _numbered([score for score, _ in cells])
        self._score_count = len({score for score, _ in cells})
        self._weights = np.array([float(weights[score]) for score, _ in cells])
        self._tasks = _numbered([score.task for score, _ in cells])
        self._task_count = len({score.task for score, _ in cells})
        # A column of a case or an answer to it; scores of a task are of the same cases.
        self._cases = _numbered([(score.task, case) for score, case in cells])
        self._case_tasks = np.zeros(len(set(self._cases.tolist())), dtype=int)
        self._case_tasks[self._cases] = self._tasks
        tasks = self._tasks_with_one_case() if estimand.name == AVAILABLE else frozenset()
        self.single = bool(tasks)
        self._singles = [
            (cell, score.task, (case, number), by_model, number)
            for cell, (score, case, by_model) in zip(cell_of_answer.tolist(), answers, strict=True)
            if int(self._tasks[cell]) in tasks
            for number in range(max(map(len, by_model.values())))
        ]
        self._of_singles = np.array([cell for cell, *_ in self._singles], dtype=int)
        self._values = np.full((len(models), len(self._singles)), np.nan)
        for column, (_, _, _, by_model, number) in enumerate(self._singles):
            for model, values in by_model.items():
                if model in self._index and number < len(values):
                    self._values[self._index[model], column] = values[number]
        of_score = find_estimand(CASES) if estimand.name == AVAILABLE else estimand
        by_cell = [
            (_unit(of_score.fixed, score, case), _unit(of_score.sampled, score, case))
            for score, case in cells
        ]
        first, second = (
            [(_Answers(task, is_second), (task, name)) for _, task, name, _, _ in self._singles]
            for is_second in (False, True)
        )
        self._own = _Columns.of([*by_cell, *(((task, None), name) for (task, _), name in first)])
        self._both = _Columns.of([*by_cell, *first, *second])

    def of(self, model: str) -> Clusters:
        """Return the clustered values of one model."""
        import numpy as np

        index = [self._index[model]]
        sizes, sums, values = self._sizes[index], self._sums[index], self._values[index]
        has_values = sizes > 0
        of_scores = summed(self._scores, self._score_count, sizes)[:, self._scores]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(has_values, self._weights / of_scores, 0.0)
        single = self._one_case(has_values)
        answered = ~np.isnan(values) & single[:, self._of_singles]
        by_answer = np.where(answered, shares[:, self._of_singles], 0.0)
        by_case = np.where(single, 0.0, shares)
        return Clusters(
            self._own.rows(
                np.hstack([has_values & ~single, answered]),
                np.hstack([by_case * sizes, by_answer]),
                np.hstack([by_case * sums, by_answer * np.nan_to_num(values)]),
            )
        )

    def between(self, first: str, second: str) -> Clusters:
        """Return the clustered differences of two models, first minus second."""
        return Clusters(self._differences(first, [second]))

    def against(self, first: str, others: Sequence[str]) -> Iterator[TestedPair]:
        """Yield the test of the differences from each other model, as of :meth:`between`."""
        import numpy as np

        at_once = max(1, _AT_ONCE // max(1, len(self._scores) + 2 * len(self._singles)))
        for start in range(0, len(others), at_once):
            rows = self._differences(first, others[start : start + at_once])
            with np.errstate(invalid="ignore", divide="ignore"):
                ps = two_sided_each(rows.means / rows.errors, rows.freedom)
            arrays = (rows.number, rows.lone, rows.varying, rows.means, ps)
            for index, (number, lone, varying, mean, p) in enumerate(
                zip(*(array.tolist() for array in arrays), strict=True)
            ):
                if not number:
                    yield TestedPair(None, None, 0)
                elif lone:
                    yield TestedPair(None, mean, number)
                elif varying >= FEWEST_FOR_T:
                    yield TestedPair(p, mean, number)
                else:
                    pair = Clusters(rows, index)
                    yield TestedPair(pair.p, mean, number, pair.least_p)

    def _tasks_with_one_case(self) -> frozenset[int]:
        """Return the tasks of which a model has one case, or two models share one."""
        has_case = summed(self._cases, len(self._case_tasks), self._sizes > 0)[:, :-1] > 0
        return frozenset(
            task
            for task in range(self._task_count)
            if (
                (of_task := has_case[:, self._case_tasks == task].astype(int)) @ of_task.T == 1
            ).any()
        )

    def _one_case(self, shared: Any) -> Any:
        """Return, for each cell of each row, whether its task counts with answers to one case."""
        import numpy as np

        if not self.single:
            return np.zeros_like(shared)
        cases = summed(self._cases, len(self._case_tasks), shared)[:, :-1] > 0
        return shared & (summed(self._case_tasks, self._task_count, cases)[:, self._tasks] == 1)

    def _of_score(self, sizes: Any) -> Any:
        """Return the share of each cell in the values of its score, by row."""
        return sizes / summed(self._scores, self._score_count, sizes)[:, self._scores]

    def _differences(self, first: str, others: Sequence[str]) -> ClusterRows:
        """Return a row of clustered differences from each other model.

        Answers to the one shared case of a task are not paired. Those of the first model have half
        of the weight of the task and are doubled, as are those of the second model with the
        opposite sign: the sum of these two strata is the difference of their means.
        """
        import numpy as np

        a, rest = self._index[first], [self._index[other] for other in others]
        sizes, others_sizes = self._sizes[a], self._sizes[rest]
        shared = (sizes > 0) & (others_sizes > 0)
        numbers = summed(self._scores, self._score_count, shared)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_a, of_others = (self._of_score(sizes_ * shared) for sizes_ in (sizes, others_sizes))
            apart = summed(self._scores, self._score_count, np.abs(of_a - of_others) > ROUNDING)
            same = 1 / numbers[:, self._scores]
            shares = np.where(apart[:, self._scores] > 0, same, of_a) * self._weights
            shares = np.where(shared, shares, 0.0)
            differences = self._sums[a] / sizes - self._sums[rest] / others_sizes
            single = self._one_case(shared)
            halves = [
                shares[:, self._of_singles] / (2 * of_model[..., self._of_singles])
                for of_model in (sizes, others_sizes)
            ]
        by_case = np.where(single, 0.0, shares)
        of_single = single[:, self._of_singles]
        answered = [of_single & ~np.isnan(self._values[index]) for index in (a, rest)]
        weights = [np.where(p, half, 0.0) for p, half in zip(answered, halves, strict=True)]
        values = [2 * np.nan_to_num(self._values[a]), -2 * np.nan_to_num(self._values[rest])]
        rows = self._both.rows(
            np.hstack([shared & ~single, *answered]),
            np.hstack([by_case, *weights]),
            np.hstack(
                [
                    np.where(by_case > 0, by_case * differences, 0.0),
                    *(weight * value for weight, value in zip(weights, values, strict=True)),
                ]
            ),
        )
        of_either = summed(self._scores, self._score_count, (sizes > 0) | (others_sizes > 0))
        missing = ((of_either > 0) & (numbers == 0)).sum(axis=1)
        return replace(rows, lone=rows.lone + missing)


def all_tested(
    rivals: Rivals, models: Sequence[str], alpha: float
) -> dict[tuple[str, str], TestedPair]:
    """Test all pairs of models, in the order of ``models``, with p corrected by Holm.

    Pairs without a test are absent, and those whose test cannot give a p below ``alpha``.
    """
    # The clusters are not kept, because a thousand models have half a million pairs.
    tested = {
        (model, other): pair
        for number, model in enumerate(models, 1)
        for other, pair in zip(models[number:], rivals.against(model, models[number:]), strict=True)
        if pair.p is not None and pair.least < alpha
    }
    corrected = holm([pair.p for pair in tested.values()])
    return {
        models_: pair._replace(p=p)
        for (models_, pair), p in zip(tested.items(), corrected, strict=True)
    }


def significantly_worse(
    tested: Mapping[tuple[str, str], TestedPair], alpha: float
) -> dict[str, set[str]]:
    """Return, for each tested model, the significantly worse models: p is below ``alpha``."""
    worse: dict[str, set[str]] = {model: set() for pair in tested for model in pair}
    for (a, b), pair in tested.items():
        if pair.p is not None and pair.p < alpha and pair.mean:
            better, loser = (a, b) if pair.mean > 0 else (b, a)
            worse[better].add(loser)
    return worse


def rank_ranges(worse: Mapping[str, set[str]], number: int) -> dict[str, tuple[int, int]]:
    """Return the first and last rank that each tested model can have among a number of models.

    A model ranks behind all significantly better models and before all worse ones. With p of all
    pairs corrected by Holm, the ranges hold simultaneously with the confidence of the tests
    (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024).
    """
    better = Counter(model for worse_models in worse.values() for model in worse_models)
    return {model: (1 + better[model], number - len(worse[model])) for model in worse}


def groups(order: Sequence[str], alike: Container[tuple[str, str]]) -> dict[str, str]:
    """Return the letters of the groups of each model; ``order`` has models by their scores.

    A group is a maximal run of models of which every two are ``alike``: they were tested and do not
    differ significantly.
    """
    runs: list[range] = []
    end = 0
    for start in range(len(order)):
        stop = max(end, start + 1)
        while stop < len(order) and all(
            (order[k], order[stop]) in alike for k in range(start, stop)
        ):
            stop += 1
        if stop > end:
            runs.append(range(start, stop))
            end = stop
    return {
        model: " ".join(_letter(k) for k, group in enumerate(runs) if position in group)
        for position, model in enumerate(order)
    }


def _letter(number: int) -> str:
    """Return the letters of a group: a to z, then aa, ab and so on."""
    prefix, last = divmod(number, 26)
    return ("" if prefix == 0 else _letter(prefix - 1)) + chr(ord("a") + last)


def _unit(kind: str | None, score: Score, case: Case) -> Hashable:
    """Return the identity of a unit (:class:`~kgbench.scores.inference.Estimand`)."""
    if kind is None:
        return None
    if kind == "task":
        return score.task
    return (score.task, case[0]) if kind == "case" else (score.task, *case)


def _numbered(names: Sequence[Hashable]) -> Any:
    """Return an array of the names' numbers, with distinct names numbered by first occurrence."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)
