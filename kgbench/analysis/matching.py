# SPDX-License-Identifier: Apache-2.0
"""Values of two models, runs or passes, matched by case and iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_scores
from kgbench.analysis.intervals import UNBOUNDED, Bounds
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import Selection
from kgbench.analysis.sides import Side, items
from kgbench.errors import QueryError
from kgbench.store.protocol import Store


class Pair(NamedTuple):
    """What the two sides reached on the same case in the same iteration."""

    a: ScoreRow
    b: ScoreRow

    @property
    def difference(self) -> float:
        """A less B."""
        return self.a.value - self.b.value


@dataclass(frozen=True, slots=True)
class Match:
    """One task: the pairs, and what either side has beside them."""

    pairs: tuple[Pair, ...]
    rest_a: tuple[ScoreRow, ...]
    rest_b: tuple[ScoreRow, ...]
    bounds: Bounds = UNBOUNDED

    @property
    def paired(self) -> bool:
        """Whether there is anything to pair."""
        return bool(self.pairs)

    def used(self) -> tuple[list[ScoreRow], list[ScoreRow]]:
        """The values of both sides that are compared: the pairs, or else everything."""
        if self.paired:
            return [p.a for p in self.pairs], [p.b for p in self.pairs]
        return list(self.rest_a), list(self.rest_b)

    def without(self, left_out: Callable[[ScoreRow], bool]) -> Match:
        """The match without the values that are left out, pairs by their first."""
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
    """The values of both sides, matched, by the name of the task.

    ``metric``, ``answers`` and ``tasks`` (by default those of the selection) are as in
    :func:`~kgbench.analysis.task_scores.task_scores`.
    Raises :class:`~kgbench.errors.QueryError` where the sides share no task.
    """
    chosen = chosen_scores(store, tasks or selection.tasks, metric, answers)
    names = {task.iri: task.name for task in fetch.tasks(store).values()}
    ours = items(store, selection, a, chosen)
    theirs = items(store, selection, b, chosen)
    both = sorted({i.task for i in ours} & {i.task for i in theirs}, key=lambda t: names[t])
    if not both:
        raise QueryError(f"'{a.name}' and '{b.name}' have no task in common")
    by_model = a.kind != "model" and bool({i.model for i in ours} & {i.model for i in theirs})

    def key(item: ScoreRow) -> tuple[object, ...]:
        if a.kind == "pass" and by_model:
            return (item.dialogue,)
        return (item.model if by_model else None, item.case, item.iteration)

    metrics = fetch.metrics(store)
    bounds = {task: metrics[chosen[task].metric].bounds for task in both}
    found = matched(ours, theirs, bounds, key)
    return {names[task]: found[task] for task in both}


def _of_case(item: ScoreRow) -> tuple[object, ...]:
    return (item.case, item.iteration)


def matched(
    ours: Iterable[ScoreRow],
    theirs: Iterable[ScoreRow],
    bounds: Mapping[str, Bounds],
    key: Callable[[ScoreRow], tuple[object, ...]] = _of_case,
) -> dict[str, Match]:
    """The values of both sides by task (IRI), matched by ``key``, where both have the task.

    ``bounds`` are the ranges of the scores of each task.
    """
    sides: list[dict[str, list[ScoreRow]]] = []
    for rows in (ours, theirs):
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
    found: Iterable[ScoreRow], key: Callable[[ScoreRow], tuple[object, ...]]
) -> dict[tuple[object, ...], list[ScoreRow]]:
    by_key: dict[tuple[object, ...], list[ScoreRow]] = defaultdict(list)
    for item in sorted(found, key=lambda i: i.dialogue):
        by_key[key(item)].append(item)
    return by_key


def _match(
    ours: Mapping[tuple[object, ...], Sequence[ScoreRow]],
    theirs: Mapping[tuple[object, ...], Sequence[ScoreRow]],
    bounds: Bounds,
) -> Match:
    pairs: list[Pair] = []
    rest_a: list[ScoreRow] = []
    rest_b: list[ScoreRow] = []
    for key in sorted({*ours, *theirs}, key=str):
        for a, b in zip_longest(ours.get(key, ()), theirs.get(key, ())):
            if a is not None and b is not None:
                pairs.append(Pair(a, b))
            elif a is not None:
                rest_a.append(a)
            else:
                rest_b.append(b)
    return Match(tuple(pairs), tuple(rest_a), tuple(rest_b), bounds)
