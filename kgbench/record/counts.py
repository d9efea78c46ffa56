# SPDX-License-Identifier: Apache-2.0
"""Counts evaluations, and writes the counts as triples.

Counts of several sessions add up; negative counts subtract invalidated results. They are stored in
a few long literals that refer to models, tasks and cases by index into a list, because an engine
looks up a hundred nodes much faster than ten thousand.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from kgbench.model import Dialogue, Evaluation, Json
from kgbench.rdf import json_literal
from kgbench.record import terms as t

_MOST_COUNTS = 50_000  # held in memory: some 15 MB
_MOST_CASES = 1_000  # held in memory: their IRIs make a literal of some 100 kB
_ROWS = 4_000  # counts by case in one literal, of some 100 kB


class Cell(NamedTuple):
    """A model, a task and a metric (IRIs), for which scores are counted."""

    model: str
    task: str
    metric: str


class CaseScore(NamedTuple):
    """A value reached on a case (IRI) in an iteration.

    ``round`` is that of the answer; ``None`` is the whole dialogue.
    """

    case: str
    iteration: int
    round: int | None
    value: float


class RepeatedScore(NamedTuple):
    """A value reached on a case (IRI), ``times`` times in each of the iterations."""

    case: str
    round: int | None
    value: float
    times: int
    iterations: list[int]


class OutcomeKey(NamedTuple):
    """An outcome (by notation) of an answer, or of the whole dialogue (``round`` is ``None``)."""

    model: str
    task: str
    round: int | None
    outcome: str


class Counts:
    """A multiset of outcomes and of metric values."""

    def __init__(self) -> None:
        self._scores: dict[Cell, dict[CaseScore, int]] = {}
        self._outcomes: Counter[OutcomeKey] = Counter()
        self._cases: set[str] = set()
        self._held = 0

    def evaluation(self, evaluation: Evaluation, dialogue: Dialogue) -> None:
        """Count one evaluation of a dialogue."""
        model, task, round_ = dialogue.model, dialogue.task, evaluation.round
        self.outcome(OutcomeKey(model, task, round_, evaluation.outcome.value))
        case, iteration = dialogue.case, dialogue.iteration
        for metric, value in evaluation.scores.items():
            self.score(Cell(model, task, metric), CaseScore(case, iteration, round_, value))

    def outcome(self, ended: OutcomeKey, times: int = 1) -> None:
        """Count an outcome."""
        self._outcomes[ended] += times

    def score(self, cell: Cell, reached: CaseScore, times: int = 1) -> None:
        """Count a value."""
        times_of = self._scores.setdefault(cell, {})
        before = times_of.get(reached)
        if before is None:
            self._held += 1
            self._cases.add(reached.case)
        times_of[reached] = (before or 0) + times

    @property
    def are_many(self) -> bool:
        """Whether the counts take much memory and should be written."""
        return self._held >= _MOST_COUNTS or len(self._cases) >= _MOST_CASES

    def take(self, node: str) -> list[str]:
        """Return the counts as triples about ``node`` (IRI) and IRIs below it, and reset them."""
        scores, outcomes, cases = self._scores, self._outcomes, self._cases
        self._scores, self._outcomes, self._cases, self._held = {}, Counter(), set(), 0
        if not outcomes and not scores:
            return []
        cells = {(cell.model, cell.task) for cell in scores}
        cells |= {(ended.model, ended.task) for ended in outcomes}
        models, tasks = _Places(model for model, _ in cells), _Places(task for _, task in cells)
        places = _Places(cases)
        names = (f"<{node}/{number}>" for number in count())
        lines = [
            f"<{node}> {t.TYPE} {t.COUNTED_LIST} .",
            f"<{node}> {t.MODEL_LIST} {models.literal} .",
            f"<{node}> {t.TASK_LIST} {tasks.literal} .",
            f"<{node}> {t.CASE_LIST} {places.literal} .",
        ]
        for metric, by_value, by_case in _by_metric(scores, models, tasks, places):
            counts = next(names)
            lines += [
                f"{counts} {t.TYPE} {t.SCORE_COUNTS} .",
                f"{counts} {t.COUNTED_LIST_P} <{node}> .",
                f"{counts} {t.METRIC_P} <{metric}> .",
                f"{counts} {t.VALUE_COUNTS} {json_literal(by_value)} .",
                f"{counts} {t.CASE_COUNTS} {json_literal(by_case)} .",
            ]
        by_outcome: dict[str, list[Json]] = {}
        for ended, times in outcomes.items():
            row = [models[ended.model], tasks[ended.task], ended.round, times]
            by_outcome.setdefault(ended.outcome, []).append(row)
        for outcome, rows in sorted(by_outcome.items()):
            counts = next(names)
            lines += [
                f"{counts} {t.TYPE} {t.OUTCOME_COUNTS} .",
                f"{counts} {t.COUNTED_LIST_P} <{node}> .",
                f"{counts} {t.OUTCOME_P} {t.outcome(outcome)} .",
                f"{counts} {t.OUTCOME_COUNTS_P} {json_literal(rows)} .",
            ]
        return lines


class _Places(dict[str, int]):
    """The index of each IRI in their sorted list."""

    def __init__(self, iris: Iterable[str]) -> None:
        super().__init__((iri, index) for index, iri in enumerate(sorted(set(iris))))

    @property
    def literal(self) -> str:
        return json_literal(list(self))


def _by_metric(
    scores: Mapping[Cell, Mapping[CaseScore, int]],
    models: Mapping[str, int],
    tasks: Mapping[str, int],
    cases: Mapping[str, int],
) -> Iterator[tuple[str, list[Json], list[Json]]]:
    """Yield each metric with counts by value, and by case and value, in portions of ``_ROWS``."""
    of_metric: dict[str, list[Cell]] = {}
    for cell in sorted(scores):
        of_metric.setdefault(cell.metric, []).append(cell)
    for metric, cells in of_metric.items():
        by_case: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for cell in cells:
            where = models[cell.model], tasks[cell.task]
            for reached_, times in scores[cell].items():
                row = (cases[reached_.case], *where, reached_.round, reached_.value, times)
                by_case[row].append(reached_.iteration)
        rows = list(by_case.items())
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            by_value: Counter[tuple[Any, ...]] = Counter()
            for (_, *reached, times), iterations in part:
                by_value[tuple(reached)] += times * len(iterations)
            yield (
                metric,
                [[*reached, times] for reached, times in by_value.items()],
                [[*row, iterations] for row, iterations in part],
            )
