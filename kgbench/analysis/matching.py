# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison, and their answers to the same tasks and cases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from kgbench.analysis.registry import OptionRefused
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import reaches
from kgbench.scores.inference import Estimand
from kgbench.scores.reading import Score, ScoreRow
from kgbench.scores.selection import ALL, FIRST, LATEST, Selection, select, shared_suite
from kgbench.scores.selectors import chosen_rows, chosen_scores
from kgbench.statistics.histogram import mean
from kgbench.statistics.intervals import UNBOUNDED, Bounds
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison; ``kind`` is ``model``, ``run`` or ``pass``."""

    kind: str
    iri: str
    name: str
    shown: str


def sides(store: Store, first: str, second: str) -> tuple[Side, Side]:
    """Find the two sides called ``first`` and ``second``: both models, both runs or both passes.

    A glob names the only side that it matches. Raises :class:`~kgbench.errors.QueryError` where a
    name is unknown or ambiguous, or the two are of different kinds.
    """
    candidates = _candidates(store)
    a, b = _find(candidates, first), _find(candidates, second)
    if a.kind != b.kind:
        raise QueryError(
            f"'{first}' is a {a.kind} and '{second}' a {b.kind}: compare two of the same kind"
        )
    return a, b


def select_sides(
    store: Store,
    first: str,
    second: str,
    *,
    suite: str | None = None,
    pass_: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str | Sequence[str] = ALL,
) -> tuple[Side, Side, Selection]:
    """Return the two sides of a comparison, and the selected scores.

    The selectors are those of :func:`~kgbench.scores.selection.select`. Raises the errors of
    ``select`` and :func:`sides`, and :class:`~kgbench.analysis.registry.OptionRefused` for a
    selector that contradicts the sides.
    """
    a, b = sides(store, first, second)
    if a.kind == "model" and models != ALL:
        raise OptionRefused("models", "two models are compared already")
    if a.kind != "model" and run is not None:
        raise OptionRefused("run", f"a {a.kind} determines which run counts")
    of_pass = a.iri if a.kind == "pass" else pass_
    if suite is None and run is None and a.kind == "model" and pass_ in (FIRST, LATEST):
        suite = shared_suite(store, (a.iri, b.iri))
    return a, b, select(store, suite, of_pass, run=run, tasks=tasks, models=models)


def _candidates(store: Store) -> list[tuple[Side, set[str]]]:
    """Return all possible sides, each with its names.

    Models have the names of :meth:`~kgbench.scores.catalogue.Models.fits`, and the display name
    that tables show.
    """
    candidates = [
        (
            Side("model", m.iri, m.name, m.shown),
            {m.iri, m.name, m.id, _end(m.iri), m.shown},
        )
        for m in catalogue.models(store).values()
    ]
    for iri, _, kind, started, run, _, _ in queries.rows(store, "list-passes"):
        label = f"{kind} {_end(str(iri))} of {started}"
        candidates.append((Side("pass", str(iri), label, label), {str(iri), _end(str(iri))}))
        name = _end(str(run))
        side = Side("run", str(run), name, name)
        if all(other.iri != side.iri for other, _ in candidates):
            candidates.append((side, {side.iri, side.name}))
    return candidates


def _end(iri: str) -> str:
    return iri.rpartition("/")[2]


def _find(candidates: list[tuple[Side, set[str]]], name: str) -> Side:
    """Return the side called ``name``; the first kind of name that fits any side decides."""

    def called(side: Side, names: set[str]) -> set[str]:
        """Return the names that a glob can match: not IRIs, and models also without connector."""
        texts = {known for known in names if "://" not in known}
        return texts | {text.partition(":")[2] for text in texts if side.kind == "model"}

    tests: tuple[Callable[[Side, set[str]], bool], ...] = (
        # Exact names in tables take precedence over ids, which several models can share.
        lambda side, _: name in (side.name, side.iri),
        lambda _, names: name in names,
        lambda side, names: side.kind != "model" and any(n.startswith(name) for n in names),
        lambda side, names: side.kind == "model" and name in called(side, names),
        lambda side, names: any(fnmatchcase(known, name) for known in called(side, names)),
    )
    for fits in tests:
        matching = [side for side, names in candidates if fits(side, names)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = ", ".join(f"{side.kind} <{side.iri}>" for side in matching[:6])
            raise QueryError(f"'{name}' is ambiguous: {listed}")
    models = ", ".join(side.name for side, _ in candidates if side.kind == "model")
    raise QueryError(f"the store has no model, run or pass '{name}'; models: {models}")


def rows_of_side(
    store: Store, selection: Selection, side: Side, scores: Mapping[str, Score]
) -> list[ScoreRow]:
    """Return the values of a side for the score that ``scores`` has for each task (IRI)."""
    chosen = selection
    if side.kind == "pass":
        chosen = select(
            store, selection.suite, side.iri, tasks=selection.tasks, models=selection.models
        )
    elif side.kind == "run":
        chosen = _of_run(store, selection, side.iri)
    model = side.iri if side.kind == "model" else None
    return chosen_rows(store, chosen, scores, model=model)


def _of_run(store: Store, selection: Selection, run: str) -> Selection:
    graphs = {
        str(graph): str(run_graph)
        for _, graph, _, _, run_of_pass, run_graph, _ in queries.rows(store, "list-passes", run=run)
        if run_of_pass == run
    }
    return replace(
        selection,
        pass_graphs=tuple(g for g in selection.pass_graphs if g in graphs),
        run_graphs=tuple(sorted(set(graphs.values()))),
        run=run,
    )


class Pair(NamedTuple):
    """The values of both sides on the same case: all answers, or those of one iteration."""

    a: tuple[ScoreRow, ...]
    b: tuple[ScoreRow, ...]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side."""
        a, b = (math.fsum(row.value for row in rows) / len(rows) for rows in self)
        return a, b

    @property
    def difference(self) -> float:
        """The mean of A minus that of B."""
        a, b = self.means
        return a - b


@dataclass(frozen=True, slots=True)
class Match:
    """The values of one task: the pairs, and the unpaired values of each side.

    ``bounds`` and ``higher_is_better`` are those of the metric. ``same_answers`` says that both
    values of a pair are of the same answer, in two passes.
    """

    pairs: tuple[Pair, ...]
    rest_a: tuple[ScoreRow, ...]
    rest_b: tuple[ScoreRow, ...]
    bounds: Bounds = UNBOUNDED
    higher_is_better: bool = True
    same_answers: bool = False

    @property
    def differences(self) -> list[float]:
        """The differences of the means of pairs, A minus B."""
        return [pair.difference for pair in self.pairs]

    @property
    def paired(self) -> bool:
        """Whether there are any pairs."""
        return bool(self.pairs)

    def compared_rows(self) -> tuple[list[ScoreRow], list[ScoreRow]]:
        """Return the values of both sides that are compared: the pairs, or else all values."""
        if self.paired:
            return [row for p in self.pairs for row in p.a], [
                row for p in self.pairs for row in p.b
            ]
        return list(self.rest_a), list(self.rest_b)

    @property
    def alike(self) -> bool:
        """Whether each pair has the same share of the paired answers of both sides."""
        numbers = {Fraction(len(pair.a), len(pair.b)) for pair in self.pairs}
        return len(numbers) <= 1

    @property
    def weights(self) -> list[float]:
        """The weights of the pairs, which sum to 1.

        They are the shares of answers where these are equal on both sides, so that the means are
        those of the leaderboard. Otherwise all pairs weigh the same, so that no difference comes
        from the shares.
        """
        numbers = [len(pair.a) if self.alike else 1 for pair in self.pairs]
        return [number / sum(numbers) for number in numbers]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side, by :attr:`weights`."""
        values = [pair.means for pair in self.pairs]
        if values and not self.alike:
            return mean(a for a, _ in values) or 0.0, mean(b for _, b in values) or 0.0
        a, b = (mean(row.value for row in rows) or 0.0 for rows in self.compared_rows())
        return a, b

    @property
    def numbers_of_cases(self) -> tuple[int, ...]:
        """The number of compared cases: one number for pairs, otherwise one for each side."""
        sides = self.compared_rows()[: 1 if self.paired else 2]
        return tuple(len({row.case for row in rows}) for rows in sides)

    def solved_by_one(self, threshold: float) -> Iterator[tuple[Pair, bool]]:
        """Yield the pairs of which only one mean reaches a threshold, and whether that is A's."""
        for pair in self.pairs:
            of_a, of_b = (
                reaches(value, threshold, higher_is_better=self.higher_is_better)
                for value in pair.means
            )
            if of_a != of_b:
                yield pair, of_a


@dataclass(frozen=True, slots=True)
class TaskValues:
    """All values of two sides on one task.

    ``identity`` names the attributes of values that both sides of a pair share: the case, with the
    model if the sides are runs, or the dialogue if they are passes.
    """

    rows_a: Sequence[ScoreRow]
    rows_b: Sequence[ScoreRow]
    bounds: Bounds = UNBOUNDED
    higher_is_better: bool = True
    identity: tuple[str, ...] = ("case",)

    def match(self, estimand: Estimand) -> Match:
        """Pair the values: all answers to a case, or single iterations where ``estimand`` asks."""
        same_answers = "dialogue" in self.identity
        by_case = estimand.pairs_cases or same_answers
        key = attrgetter("task", *self.identity, *(() if by_case else ("iteration",)))
        sides = []
        for rows in (self.rows_a, self.rows_b):
            ordered = sorted(rows, key=lambda row: (str(key(row)), row.iteration, row.dialogue))
            sides.append({k: tuple(group) for k, group in groupby(ordered, key)})
        a, b = sides
        return Match(
            tuple(Pair(a[k], b[k]) for k in a if k in b),
            tuple(row for k, rows in a.items() if k not in b for row in rows),
            tuple(row for k, rows in b.items() if k not in a for row in rows),
            self.bounds,
            self.higher_is_better,
            same_answers,
        )


def matches(
    store: Store,
    selection: Selection,
    a: Side,
    b: Side,
    *,
    metric: str | None = None,
    round: str | None = None,
    tasks: str | None = None,
) -> dict[str, TaskValues]:
    """Read the values of both sides on the tasks that both have; returns them by task name.

    ``metric``, ``round`` and ``tasks`` (by default those of the selection) are as in
    :func:`~kgbench.analysis.task_scores.task_scores`.
    Raises :class:`~kgbench.errors.QueryError` where the sides share no task.
    """
    chosen = chosen_scores(store, tasks or selection.tasks, metric, round)
    names = {task.iri: task.name for task in catalogue.tasks(store).values()}
    rows_a = rows_of_side(store, selection, a, chosen)
    rows_b = rows_of_side(store, selection, b, chosen)
    metrics = catalogue.metrics(store)
    identity: tuple[str, ...] = ("case",)
    if a.kind != "model" and {i.model for i in rows_a} & {i.model for i in rows_b}:
        identity = ("dialogue",) if a.kind == "pass" else ("model", "case")
    shared = shared_tasks(rows_a, rows_b)
    if not shared:
        raise QueryError(f"'{a.name}' and '{b.name}' have no task in common")
    return {
        names[task]: TaskValues(
            *shared[task],
            metrics[chosen[task].metric].bounds,
            metrics[chosen[task].metric].higher_is_better,
            identity,
        )
        for task in sorted(shared, key=lambda task: names[task])
    }


def shared_tasks(
    rows_a: Iterable[ScoreRow], rows_b: Iterable[ScoreRow]
) -> Mapping[str, tuple[list[ScoreRow], list[ScoreRow]]]:
    """Return the values of both sides by the IRIs of the tasks that both have."""
    sides: list[dict[str, list[ScoreRow]]] = []
    for rows in (rows_a, rows_b):
        by_task: dict[str, list[ScoreRow]] = defaultdict(list)
        for row in rows:
            by_task[row.task].append(row)
        sides.append(by_task)
    first, second = sides
    return {task: (first[task], second[task]) for task in sorted(first.keys() & second.keys())}
