# SPDX-License-Identifier: Apache-2.0
"""Reads the counts of values and outcomes that evaluations of passes add up to.

During a run, the latest evaluations are marked but not yet counted. They are read first, and
dropped if their list of counts exists when the counts are read. So each evaluation counts once,
even if another process writes between the two queries.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kgbench.rdf import queries
from kgbench.record.counts import CaseScore, Cell, OutcomeKey, RepeatedScore
from kgbench.store.protocol import Store
from kgbench.store.snapshot_cache import cache_per_snapshot
from kgbench.vocab import KGB, OUTCOME

_FEW = 20  # up to so many metrics, looking up each is faster than reading whole evaluations
MOST_PAIRS = 5_000  # of graphs with metrics, or dialogues, in a query; each needs 10 kB of memory
_MOST_LISTS = 1_000  # lists of models or tasks that are cached
_MOST_BOUND = 60  # metrics whose counts are looked up; reading the counts of all metrics is faster


class UncountedEvaluation(NamedTuple):
    """A marked evaluation that will be counted in the list ``part`` (IRI)."""

    part: str
    case: str
    iteration: int
    ended: OutcomeKey
    scores: list[tuple[str, float]]

    def cells(self) -> Iterator[tuple[Cell, CaseScore]]:
        """Yield its scores as entries of counts."""
        ended = self.ended
        for metric, value in self.scores:
            cell = Cell(ended.model, ended.task, metric)
            yield cell, CaseScore(self.case, self.iteration, ended.round, value)


class IndexedLists(NamedTuple):
    """The IRIs that counts refer to by index."""

    models: Sequence[str]
    tasks: Sequence[str]


@cache_per_snapshot
def graphs(store: Store) -> dict[str, str]:
    """Return the graph of counts of each pass (by graph) whose counts are up to date."""
    return {str(of): str(graph) for of, graph, _ in queries.rows(store, "list-aggregates")}


@cache_per_snapshot
def models(store: Store) -> dict[str, frozenset[str]]:
    """Return the models (IRIs) of each pass or run (by graph) all of whose contents are counted."""
    found: dict[str, set[str]] = defaultdict(set)
    incomplete = set()
    for graph, property_, value in queries.rows(
        store, "counted-models", aggregatesGraph=sorted(graphs(store).values())
    ):
        if property_ == KGB.modelList:
            found[str(graph)].update(_listed(str(value)))
        else:
            incomplete.add(str(graph))
    return {graph: frozenset(iris) for graph, iris in found.items() if graph not in incomplete}


def scores(
    store: Store, graphs_: Sequence[str], metrics: Collection[str]
) -> Iterator[tuple[Cell, int | None, float, int]]:
    """Yield each cell with round, value and count, for ``metrics`` (IRIs).

    Rows of one cell, round and value add up.
    """
    if not graphs_:
        return
    marked = uncounted_evaluations(store, graphs_, metrics)
    wanted, counted = set(metrics), set[str]()
    for parameters in _divided(graphs_, wanted):
        rows = queries.run(store, "counted-scores", **parameters)
        known = lists(store, parameters["aggregatesGraph"])
        for row in rows:
            metric, list_ = row["metric"].value, row["list"].value
            if metric not in wanted:
                continue
            counted.add(list_)
            models, tasks = known[list_]
            for model, task, round_, value, times in json.loads(row["counts"].value):
                yield Cell(models[model], tasks[task], metric), round_, float(value), times
    for cell, reached in _scores(marked, counted, metrics):
        yield cell, reached.round, reached.value, 1


def cases(
    store: Store, graphs_: Sequence[str], metrics: Collection[str] | None = None
) -> Iterator[tuple[Cell, RepeatedScore]]:
    """Yield each cell with a value reached on a case; rows add up.

    ``metrics`` restricts the metrics (IRIs); ``None`` means all.
    """
    if not graphs_:
        return
    marked = uncounted_evaluations(store, graphs_, metrics)
    wanted, counted = None if metrics is None else set(metrics), set[str]()
    listed, case_iris = "", []  # rows come list by list, and a list of cases may be long
    for parameters in _divided(graphs_, wanted):
        rows = queries.run(store, "counted-cases", **parameters)
        known = lists(store, parameters["aggregatesGraph"])
        for row in rows:
            metric, list_ = row["metric"].value, row["list"].value
            if wanted is not None and metric not in wanted:
                continue
            counted.add(list_)
            models, tasks = known[list_]
            if row["caseList"].value != listed:
                listed = row["caseList"].value
                case_iris = json.loads(listed)
            for entry in json.loads(row["counts"].value):
                case, model, task, round_, value, times, iterations = entry
                cell = Cell(models[model], tasks[task], metric)
                yield cell, RepeatedScore(case_iris[case], round_, float(value), times, iterations)
    for cell, (case, iteration, round_, value) in _scores(marked, counted, metrics):
        yield cell, RepeatedScore(case, round_, value, 1, [iteration])


def outcomes(
    store: Store, graphs_: Sequence[str], only: Collection[str] | None = None
) -> Iterator[tuple[OutcomeKey, int]]:
    """Yield each outcome with its count; rows add up.

    ``only`` restricts the outcomes (by notation); ``None`` means all.
    """
    if not graphs_:
        return
    marked = uncounted_evaluations(store, graphs_, ())
    wanted = None if only is None else [OUTCOME[name] for name in sorted(only)]
    parameters = {"aggregatesGraph": list(graphs_), "outcome": wanted}
    rows = queries.run(store, "counted-outcomes", **parameters)
    known, counted = lists(store, graphs_), set()
    for row in rows:
        outcome, list_ = row["outcome"].value.removeprefix(OUTCOME), row["list"].value
        counted.add(list_)
        models, tasks = known[list_]
        for model, task, round_, times in json.loads(row["counts"].value):
            yield OutcomeKey(models[model], tasks[task], round_, outcome), times
    for evaluation in marked:
        if evaluation.part not in counted and (only is None or evaluation.ended.outcome in only):
            yield evaluation.ended, 1


def uncounted_evaluations(
    store: Store, graphs_: Sequence[str], metrics: Collection[str] | None = None
) -> list[UncountedEvaluation]:
    """Return the marked, uncounted evaluations: few, and often none.

    ``metrics`` restricts the metrics (IRIs) whose scores are read; ``None`` means all.
    """
    described: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in queries.run(store, "uncounted-evaluations", aggregatesGraph=list(graphs_)):
        key = row["list"].value, row["evaluation"].value
        described[key][row["property"].value] = row["value"].value
    scores: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    if described and (metrics is None or metrics):
        few = None
        if metrics is not None and len(metrics) <= _FEW:
            few = metric_parameter(sorted(metrics), graphs_)
        parameters = {"aggregatesGraph": list(graphs_), "metric": few}
        for row in queries.run(store, "uncounted-scores", **parameters):
            key = row["list"].value, row["evaluation"].value
            scores[key].append((row["metric"].value, float(row["value"].value)))
    return [
        UncountedEvaluation(
            list_, of[KGB.case], int(of[KGB.iteration]), _ended(of), scores[list_, evaluation]
        )
        for (list_, evaluation), of in described.items()
    ]


def metric_parameter(metrics: Sequence[str], graphs: Sequence[str]) -> list[str] | None:
    """Return ``metrics`` (IRIs) as the parameter of a query, or ``None`` for all metrics.

    A query lists all pairs of graphs and metrics. Where these are too many, the result is ``None``,
    and the caller must drop the rows of other metrics.
    """
    return list(metrics) if len(metrics) * len(graphs) <= MOST_PAIRS else None


def _divided(graphs: Sequence[str], metrics: Collection[str] | None) -> Iterator[dict[str, Any]]:
    """Yield parameters of queries for ``metrics`` (IRIs); ``None`` means all.

    Queries about few metrics name them, each for as many graphs as fit into a query.
    """
    if metrics is None or len(metrics) > _MOST_BOUND:
        yield {"aggregatesGraph": list(graphs), "metric": None}
        return
    most = max(MOST_PAIRS // max(len(metrics), 1), 1)
    for start in range(0, len(graphs), most):
        some = list(graphs[start : start + most])
        yield {"aggregatesGraph": some, "metric": sorted(metrics)}


def _scores(
    marked: Iterable[UncountedEvaluation], counted: Collection[str], metrics: Collection[str] | None
) -> Iterator[tuple[Cell, CaseScore]]:
    """Yield the scores of the evaluations whose list is not among those that were ``counted``."""
    for evaluation in marked:
        if evaluation.part not in counted:
            for cell, reached in evaluation.cells():
                if metrics is None or cell.metric in metrics:
                    yield cell, reached


def _ended(of: Mapping[str, str]) -> OutcomeKey:
    round_ = int(of[KGB.round]) if KGB.round in of else None
    return OutcomeKey(of[KGB.model], of[KGB.task], round_, of[KGB.outcome].removeprefix(OUTCOME))


def cell_of(row: Any) -> Cell:
    """Return the cell of a row of scores."""
    return Cell(row["model"].value, row["task"].value, row["metric"].value)


def reached_of(row: Any) -> CaseScore:
    """Return the value, case, iteration and round of a row of scores."""
    iteration, value = int(row["iteration"].value), float(row["value"].value)
    return CaseScore(row["case"].value, iteration, round_of(row), value)


def ended_of(row: Any) -> OutcomeKey:
    """Return the outcome of a row."""
    outcome = row["outcome"].value.removeprefix(OUTCOME)
    return OutcomeKey(row["model"].value, row["task"].value, round_of(row), outcome)


def round_of(row: Any) -> int | None:
    """Return the round of a row; ``None`` is the whole dialogue."""
    return None if row["round"] is None else int(row["round"].value)


def lists(store: Store, graphs_: Sequence[str]) -> dict[str, IndexedLists]:
    """Return the lists that the counts in ``graphs_`` index into, by IRI."""
    rows: Any = queries.run(store, "counted-lists", aggregatesGraph=list(graphs_))
    return {
        row["list"].value: IndexedLists(
            _listed(row["modelList"].value), _listed(row["taskList"].value)
        )
        for row in rows
    }


@lru_cache(maxsize=_MOST_LISTS)
def _listed(text: str) -> Sequence[str]:
    """Return the IRIs in a list of counts; most passes have the same tasks."""
    return tuple(json.loads(text))
