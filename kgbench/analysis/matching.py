# SPDX-License-Identifier: Apache-2.0
"""Values of two models, runs or passes, matched by case and iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.intervals import UNBOUNDED, Bounds
from kgbench.analysis.score_selectors import chosen_scores
from kgbench.analysis.scores import ScoreRow, reaches
from kgbench.analysis.selection import Selection
from kgbench.analysis.sides import Side, rows_of_side
from kgbench.errors import QueryError
from kgbench.store.protocol import Store


class Pair(NamedTuple):
    """The values of both sides on the same case in the same iteration."""

    a: ScoreRow
    b: ScoreRow

    @property
    def difference(self) -> float:
        """The value of A minus that of B."""
        return self.a.value - self.b.value


@dataclass(frozen=True, slots=True)
class Match:
    """The values of one task: the pairs, and the unpaired values of each side.

    ``bounds`` and ``higher_is_better`` are those of the metric.
    """

    pairs: tuple[Pair, ...]
    rest_a: tuple[ScoreRow, ...]
    rest_b: tuple[ScoreRow, ...]
    bounds: Bounds = UNBOUNDED
    higher_is_better: bool = True

    @property
    def paired(self) -> bool:
        """Whether there are any pairs."""
        return bool(self.pairs)

    def compared_rows(self) -> tuple[list[ScoreRow], list[ScoreRow]]:
        """Return the values of both sides that are compared: the pairs, or else all values."""
        if self.paired:
            return [p.a for p in self.pairs], [p.b for p in self.pairs]
        return list(self.rest_a), list(self.rest_b)

    def solved_by_one(self, threshold: float) -> Iterator[tuple[Pair, bool]]:
        """Yield the pairs of which only one value reaches a threshold, and whether that is A's."""
        for pair in self.pairs:
            of_a, of_b = (
                reaches(row.value, threshold, higher_is_better=self.higher_is_better)
                for row in pair
            )
            if of_a != of_b:
                yield pair, of_a

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of a compared value of A and of B, which are 1 for as many values of both.

        They sum to the same number on both sides, twice n_a n_b / (n_a + n_b) as in the stratified
        test of Cochran (Biometrics 10, 1954), so that no difference comes from the numbers of
        dialogues that a side has of each task.
        """
        a, b = (len(rows) for rows in self.compared_rows())
        return 2 * b / (a + b), 2 * a / (a + b)

    def without(self, left_out: Callable[[ScoreRow], bool]) -> Match:
        """Return the match without some values; a pair is dropped if its first value is."""
        return replace(
            self,
            pairs=tuple(pair for pair in self.pairs if not left_out(pair.a)),
            rest_a=tuple(row for row in self.rest_a if not left_out(row)),
            rest_b=tuple(row for row in self.rest_b if not left_out(row)),
        )


def matches(
    store: Store,
    selection: Selection,
    a: Side,
    b: Side,
    *,
    metric: str | None = None,
    answers: str | None = None,
    tasks: str | None = None,
) -> dict[str, Match]:
    """Read the values of both sides and match them; returns matches by task name.

    ``metric``, ``answers`` and ``tasks`` (by default those of the selection) are as in
    :func:`~kgbench.analysis.task_scores.task_scores`.
    Raises :class:`~kgbench.errors.QueryError` where the sides share no task.
    """
    chosen = chosen_scores(store, tasks or selection.tasks, metric, answers)
    names = {task.iri: task.name for task in fetch.tasks(store).values()}
    rows_a = rows_of_side(store, selection, a, chosen)
    rows_b = rows_of_side(store, selection, b, chosen)
    both = sorted({i.task for i in rows_a} & {i.task for i in rows_b}, key=lambda t: names[t])
    if not both:
        raise QueryError(f"'{a.name}' and '{b.name}' have no task in common")
    by_model = a.kind != "model" and bool({i.model for i in rows_a} & {i.model for i in rows_b})

    def key(item: ScoreRow) -> tuple[object, ...]:
        if a.kind == "pass" and by_model:
            return (item.dialogue,)
        return (item.model if by_model else None, item.case, item.iteration)

    metrics = fetch.metrics(store)
    bounds = {task: metrics[chosen[task].metric].bounds for task in both}
    by_task = match_rows(rows_a, rows_b, bounds, key)
    return {
        names[task]: replace(
            by_task[task], higher_is_better=metrics[chosen[task].metric].higher_is_better
        )
        for task in both
    }


def _of_case(item: ScoreRow) -> tuple[object, ...]:
    return (item.case, item.iteration)


def match_rows(
    rows_a: Iterable[ScoreRow],
    rows_b: Iterable[ScoreRow],
    bounds: Mapping[str, Bounds],
    key: Callable[[ScoreRow], tuple[object, ...]] = _of_case,
) -> dict[str, Match]:
    """Match the values of two sides by ``key``; returns matches of the common tasks, by IRI.

    ``bounds`` has the range of the scores of each task.
    """
    sides: list[dict[str, list[ScoreRow]]] = []
    for rows in (rows_a, rows_b):
        by_task: dict[str, list[ScoreRow]] = defaultdict(list)
        for row in rows:
            by_task[row.task].append(row)
        sides.append(by_task)
    first, second = sides
    return {
        task: _match(_by_key(first[task], key), _by_key(second[task], key), bounds[task])
        for task in sorted(first.keys() & second.keys())
    }


def _by_key(
    rows: Iterable[ScoreRow], key: Callable[[ScoreRow], tuple[object, ...]]
) -> dict[tuple[object, ...], list[ScoreRow]]:
    by_key: dict[tuple[object, ...], list[ScoreRow]] = defaultdict(list)
    for item in sorted(rows, key=lambda i: i.dialogue):
        by_key[key(item)].append(item)
    return by_key


def _match(
    rows_a: Mapping[tuple[object, ...], Sequence[ScoreRow]],
    rows_b: Mapping[tuple[object, ...], Sequence[ScoreRow]],
    bounds: Bounds,
) -> Match:
    pairs: list[Pair] = []
    rest_a: list[ScoreRow] = []
    rest_b: list[ScoreRow] = []
    for key in sorted({*rows_a, *rows_b}, key=str):
        for a, b in zip_longest(rows_a.get(key, ()), rows_b.get(key, ())):
            if a is not None and b is not None:
                pairs.append(Pair(a, b))
            elif a is not None:
                rest_a.append(a)
            else:
                rest_b.append(b)
    return Match(tuple(pairs), tuple(rest_a), tuple(rest_b), bounds)
