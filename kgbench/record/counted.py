# SPDX-License-Identifier: Apache-2.0
"""Reading what evaluations of passes add up to: counts of values and outcomes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from kgbench.rdf import queries
from kgbench.record.counts import Cell, Ended, Repeated
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME


class _Lists(NamedTuple):
    """The IRIs that counts refer to by their places."""

    models: list[str]
    tasks: list[str]


def graphs(store: Store) -> dict[str, str]:
    """The graphs of passes whose evaluations are counted as they are now, with those of counts."""
    return {str(of): str(graph) for of, graph, _ in queries.rows(store, "list-aggregates")}


def scores(
    store: Store, graphs_: Sequence[str], metrics: Collection[str]
) -> Iterator[tuple[Cell, int | None, float, int]]:
    """Each cell with round, value and count, of ``metrics`` (IRIs), from graphs of counts.

    Rows of one cell, round and value add up.
    """
    if not graphs_:
        return
    lists = _lists(store, graphs_)
    given = {"aggregatesGraph": list(graphs_), "metric": sorted(metrics)}
    for row in queries.run(store, "counted-scores", **given):
        metric, (models, tasks) = row["metric"].value, lists[row["list"].value]
        for model, task, round_, value, times in json.loads(row["counts"].value):
            yield Cell(models[model], tasks[task], metric), round_, float(value), times


def cases(
    store: Store, graphs_: Sequence[str], metrics: Collection[str] | None = None
) -> Iterator[tuple[Cell, Repeated]]:
    """Each cell with what was reached, from graphs of counts; rows add up.

    ``metrics`` are the IRIs of those that are wanted, ``None`` all.
    """
    if not graphs_:
        return
    lists = _lists(store, graphs_)
    listed, of = "", []  # rows come list by list, and a list of cases may be long
    given = {
        "aggregatesGraph": list(graphs_),
        "metric": None if metrics is None else sorted(metrics),
    }
    for row in queries.run(store, "counted-cases", **given):
        metric, (models, tasks) = row["metric"].value, lists[row["list"].value]
        if row["caseList"].value != listed:
            listed = row["caseList"].value
            of = json.loads(listed)
        for case, model, task, round_, value, times, iterations in json.loads(row["counts"].value):
            cell = Cell(models[model], tasks[task], metric)
            yield cell, Repeated(of[case], round_, float(value), times, iterations)


def outcomes(
    store: Store, graphs_: Sequence[str], only: Collection[str] | None = None
) -> Iterator[tuple[Ended, int]]:
    """How often each outcome came, from graphs of counts; rows add up.

    ``only`` are the notations of those that are wanted, ``None`` all.
    """
    if not graphs_:
        return
    lists = _lists(store, graphs_)
    wanted = None if only is None else [OUTCOME[name] for name in sorted(only)]
    given = {"aggregatesGraph": list(graphs_), "outcome": wanted}
    for row in queries.run(store, "counted-outcomes", **given):
        outcome = row["outcome"].value.removeprefix(OUTCOME)
        models, tasks = lists[row["list"].value]
        for model, task, round_, times in json.loads(row["counts"].value):
            yield Ended(models[model], tasks[task], round_, outcome), times


def cell_of(row: Any) -> Cell:
    """The cell that a row of scores is about."""
    return Cell(row["model"].value, row["task"].value, row["metric"].value)


def ended_of(row: Any) -> Ended:
    """The outcome that a row is about."""
    outcome = row["outcome"].value.removeprefix(OUTCOME)
    return Ended(row["model"].value, row["task"].value, round_of(row), outcome)


def round_of(row: Any) -> int | None:
    """The round that a row is about; ``None`` is the dialogue as a whole."""
    return None if row["round"] is None else int(row["round"].value)


def _lists(store: Store, graphs_: Sequence[str]) -> dict[str, _Lists]:
    rows: Any = queries.run(store, "counted-lists", aggregatesGraph=list(graphs_))
    return {
        row["list"].value: _Lists(
            json.loads(row["modelList"].value), json.loads(row["taskList"].value)
        )
        for row in rows
    }
