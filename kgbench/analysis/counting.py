# SPDX-License-Identifier: Apache-2.0
"""How often values and outcomes were reached: from the counts of passes, else from evaluations.

Both say the same. Where later passes revise parts of earlier ones, counts do not tell these parts,
and evaluations are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kgbench.analysis.selection import Selection
from kgbench.rdf import queries
from kgbench.record import counted
from kgbench.record.counts import Cell, Ended
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME

LISTED = "list-aggregates"
OUTCOMES = (LISTED, "counted-lists", "uncounted-evaluations", "counted-outcomes", "outcome-counts")
COUNTED = (LISTED, "counted-lists", "uncounted-evaluations", "uncounted-scores")
VALUES = (*COUNTED, "counted-scores", "score-histograms", "round-histograms")
CASES = (*COUNTED, "counted-cases", "case-histograms")
SINGLE = (*COUNTED, "counted-cases", "score-rows")
_FEW = 40  # metrics that an engine finds sooner one by one than by reading all scores
_MOST = 5_000  # pairs of graphs and metrics in a query: an engine takes 10 kB of memory for each


class OnCase(NamedTuple):
    """How often a value was reached on a case (IRI), and the first dialogue that reached it."""

    case: str
    round: int | None
    value: float
    times: int
    dialogue: str | None = None


class Single(NamedTuple):
    """A value of an answer or a dialogue, ``times`` times: below zero where it is taken back."""

    case: str
    iteration: int
    round: int | None
    value: float
    times: int


class _Parts(NamedTuple):
    """Graphs of counts, and graphs of passes that are not counted."""

    counted: tuple[str, ...]
    uncounted: tuple[str, ...]


def values(
    store: Store, selection: Selection, metrics: Sequence[str], round_: int | None = None
) -> Iterator[tuple[Cell, float, int]]:
    """Values of ``metrics`` (IRIs) with how often each was reached; with ``round_``, in that round.

    What there is of one cell and value adds up.
    """
    parts = _parts(store, selection.pass_graphs, selection.latest)
    for cell, of_round, value, times in counted.scores(store, parts.counted, metrics):
        if round_ in (None, of_round):
            yield cell, value, times
    if not parts.uncounted:
        return
    given: dict[str, queries.Value | list[str] | None] = {
        "passGraph": list(parts.uncounted),
        "metric": named(metrics, parts.uncounted) if len(metrics) <= _FEW else None,
        "latest": selection.latest,
    }
    if round_ is not None:
        given["round"] = round_
    name = "score-histograms" if round_ is None else "round-histograms"
    for row in queries.run(store, name, **given):
        yield counted.cell_of(row), float(row["value"].value), int(row["count"].value)


def case_values(
    store: Store,
    selection: Selection,
    metrics: Sequence[str],
    *,
    model: list[str] | None,
    task: list[str] | None,
    with_dialogues: bool,
) -> Iterator[tuple[Cell, OnCase]]:
    """What was reached on each case.

    What there is of one cell and value adds up. ``metrics`` are the IRIs of those that are wanted;
    ``model`` and ``task`` make the engine read less, and others may come. A dialogue is given only
    ``with_dialogues``, which reads all evaluations.
    """
    passes = selection.pass_graphs
    parts = _Parts((), passes) if with_dialogues else _parts(store, passes, selection.latest)
    for cell, found in counted.cases(store, parts.counted, metrics):
        times = found.times * len(found.iterations)
        yield cell, OnCase(found.case, found.round, found.value, times)
    narrowed = {"model": model, "task": task, "latest": selection.latest}
    for row in _rows(store, "case-histograms", parts, metrics, **narrowed):
        value, times = float(row["value"].value), int(row["count"].value)
        dialogue = row["dialogue"].value if with_dialogues else None
        yield (
            counted.cell_of(row),
            OnCase(row["case"].value, counted.round_of(row), value, times, dialogue),
        )


def single_values(
    store: Store,
    selection: Selection,
    metrics: Sequence[str],
    *,
    model: list[str] | None,
    task: list[str] | None,
) -> Iterator[tuple[Cell, Single]]:
    """Every value of ``metrics`` (IRIs) with its case and iteration; what is taken back comes last.

    ``model`` and ``task`` are as in :func:`case_values`.
    """
    parts = _parts(store, selection.pass_graphs, selection.latest)
    taken_back = []
    for cell, found in counted.cases(store, parts.counted, metrics):
        case, round_, value, times, iterations = found
        for iteration in iterations:
            single = cell, Single(case, iteration, round_, value, times)
            if times > 0:
                yield single
            else:
                taken_back.append(single)
    yield from taken_back
    narrowed = {"model": model, "task": task, "latest": selection.latest}
    for row in _rows(store, "score-rows", parts, metrics, **narrowed):
        value, iteration = float(row["value"].value), int(row["iteration"].value)
        yield (
            counted.cell_of(row),
            Single(row["case"].value, iteration, counted.round_of(row), value, 1),
        )


def _rows(
    store: Store, query: str, parts: _Parts, metrics: Sequence[str], **narrowed: Any
) -> Iterator[Mapping[str, Any]]:
    """The rows of a query about ``metrics`` (IRIs) in the passes that are not counted."""
    if not parts.uncounted:
        return
    wanted, metric = set(metrics), named(metrics, parts.uncounted)
    rows = queries.run(store, query, passGraph=list(parts.uncounted), metric=metric, **narrowed)
    yield from (row for row in rows if row["metric"].value in wanted)


def outcomes(
    store: Store,
    pass_graphs: Sequence[str],
    *,
    latest: bool | None = None,
    model: str | None = None,
    only: Collection[str] | None = None,
) -> Iterator[tuple[Ended, int]]:
    """How often evaluations ended in each outcome; rows of one model, task and round add up.

    ``latest`` is that of the selection. ``model`` is the IRI of the only one that is wanted,
    ``only`` are the wanted outcomes.
    """
    parts = _parts(store, pass_graphs, latest)
    for ended, times in counted.outcomes(store, parts.counted, only):
        if model in (None, ended.model):
            yield ended, times
    if not parts.uncounted:
        return
    for row in queries.run(
        store,
        "outcome-counts",
        passGraph=list(parts.uncounted),
        outcome=None if only is None else [OUTCOME[name] for name in sorted(only)],
        model=model,
        latest=latest,
    ):
        yield counted.ended_of(row), int(row["count"].value)


def named(metrics: Sequence[str], graphs: Sequence[str]) -> list[str] | None:
    """``metrics`` (IRIs) as the parameter of a query over ``graphs``, or ``None`` for all metrics.

    A query names all pairs of both. Where that is too many, others may come than were wanted.
    """
    return list(metrics) if len(metrics) * len(graphs) <= _MOST else None


def _parts(store: Store, pass_graphs: Sequence[str], latest: bool | None) -> _Parts:
    known = {} if latest else counted.graphs(store)
    return _Parts(
        tuple(known[graph] for graph in pass_graphs if graph in known),
        tuple(graph for graph in pass_graphs if graph not in known),
    )
