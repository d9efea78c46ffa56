# SPDX-License-Identifier: Apache-2.0
"""Counts of values and outcomes, from the stored counts of passes or else from evaluations.

Both sources give the same counts. Where later passes revise parts of earlier ones, stored counts do
not separate these parts, so evaluations are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kgbench.analysis.selection import Selection
from kgbench.rdf import queries
from kgbench.record import stored_counts
from kgbench.record.counts import Cell, OutcomeKey, RepeatedScore
from kgbench.record.stored_counts import metric_parameter
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME

LISTED = "list-aggregates"
OUTCOMES = (LISTED, "counted-lists", "uncounted-evaluations", "counted-outcomes", "outcome-counts")
COUNTED = (LISTED, "counted-lists", "uncounted-evaluations", "uncounted-scores")
VALUES = (*COUNTED, "counted-scores", "score-histograms", "round-histograms")
CASES = (*COUNTED, "counted-cases", "case-histograms")
SINGLE = (*COUNTED, "counted-cases", "score-rows")
_FEW = 40  # up to this number of metrics, looking up each is faster than reading all scores


class CaseValue(NamedTuple):
    """How often a value was reached on a case (IRI), and the first dialogue with that value."""

    case: str
    round: int | None
    value: float
    times: int
    dialogue: str | None = None


class _Parts(NamedTuple):
    """The graphs of stored counts in a store, and the passes (graphs): those without, and all."""

    store: Store
    counted: tuple[str, ...]
    uncounted: tuple[str, ...]
    passes: tuple[str, ...]


def values(
    store: Store, selection: Selection, metrics: Sequence[str], round_: int | None = None
) -> Iterator[tuple[Cell, float, int]]:
    """Yield cells, values of ``metrics`` (IRIs) and their counts; with ``round_``, of that round.

    A cell and value may come several times: their counts add up.
    """
    parts = _parts(store, selection.pass_graphs, selection.latest)
    for cell, of_round, value, times in stored_counts.scores(parts.store, parts.counted, metrics):
        if round_ in (None, of_round):
            yield cell, value, times
    name = "score-histograms" if round_ is None else "round-histograms"

    def parameters(graphs: Sequence[str]) -> dict[str, Any]:
        return {
            "metric": metric_parameter(metrics, graphs) if len(metrics) <= _FEW else None,
            "latest": selection.latest,
            **({} if round_ is None else {"round": round_}),
        }

    for row in _from_evaluations(store, name, parts, parameters):
        yield stored_counts.cell_of(row), float(row["value"].value), int(row["count"].value)


def case_values(
    store: Store,
    selection: Selection,
    metrics: Sequence[str],
    *,
    model: list[str] | None,
    task: list[str] | None,
    with_dialogues: bool,
) -> Iterator[tuple[Cell, CaseValue]]:
    """Yield the values of ``metrics`` (IRIs) on each case, with their counts.

    A cell and value may come several times: their counts add up. ``model`` and ``task`` (IRIs) are
    hints by which the engine reads less; values of other models and tasks may come. Dialogues are
    given only ``with_dialogues``, which reads all evaluations.
    """
    parts = _parts(store, selection.pass_graphs, selection.latest or with_dialogues)
    for cell, reached in stored_counts.cases(parts.store, parts.counted, metrics):
        times = reached.times * len(reached.iterations)
        yield cell, CaseValue(reached.case, reached.round, reached.value, times)
    narrowed = {"model": model, "task": task, "latest": selection.latest}
    for row in _rows(store, "case-histograms", parts, metrics, **narrowed):
        value, times = float(row["value"].value), int(row["count"].value)
        dialogue = row["dialogue"].value if with_dialogues else None
        yield (
            stored_counts.cell_of(row),
            CaseValue(row["case"].value, stored_counts.round_of(row), value, times, dialogue),
        )


def repeated_values(
    store: Store,
    selection: Selection,
    metrics: Sequence[str],
    *,
    model: list[str] | None,
    task: list[str] | None,
) -> Iterator[tuple[Cell, RepeatedScore]]:
    """Yield every value of ``metrics`` (IRIs) with its case and iterations.

    ``times`` is below zero for values that are taken back; these come last. ``model`` and ``task``
    are as in :func:`case_values`.
    """
    parts = _parts(store, selection.pass_graphs, selection.latest)
    taken_back = []
    for cell, reached in stored_counts.cases(parts.store, parts.counted, metrics):
        if reached.times > 0:
            yield cell, reached
        else:
            taken_back.append((cell, reached))
    yield from taken_back
    narrowed = {"model": model, "task": task, "latest": selection.latest}
    for row in _rows(store, "score-rows", parts, metrics, **narrowed):
        value, iterations = float(row["value"].value), [int(row["iteration"].value)]
        yield (
            stored_counts.cell_of(row),
            RepeatedScore(row["case"].value, stored_counts.round_of(row), value, 1, iterations),
        )


def _rows(
    store: Store, query: str, parts: _Parts, metrics: Sequence[str], **narrowed: Any
) -> Iterator[Mapping[str, Any]]:
    """Run a query for ``metrics`` (IRIs) over the passes without counts."""
    wanted = set(metrics)

    def parameters(graphs: Sequence[str]) -> dict[str, Any]:
        return {"metric": metric_parameter(metrics, graphs), **narrowed}

    rows = _from_evaluations(store, query, parts, parameters)
    yield from (row for row in rows if row["metric"].value in wanted)


def _from_evaluations(
    store: Store,
    query: str,
    parts: _Parts,
    parameters: Callable[[Sequence[str]], dict[str, Any]],
) -> Iterator[Mapping[str, Any]]:
    """Run a query over the passes without counts.

    ``parameters`` returns the parameters for some passes. A store that records queries records the
    query over all passes: it gives the same counts to readers who have only the evaluations.
    """
    queries.record(store, query, passGraph=list(parts.passes), **parameters(parts.passes))
    if parts.uncounted:
        graphs = list(parts.uncounted)
        yield from queries.run(parts.store, query, passGraph=graphs, **parameters(graphs))


def outcomes(
    store: Store,
    pass_graphs: Sequence[str],
    *,
    latest: bool | None = None,
    model: str | None = None,
    only: Collection[str] | None = None,
) -> Iterator[tuple[OutcomeKey, int]]:
    """Yield the outcomes of evaluations with their counts.

    Counts of the same model, task and round add up. ``latest`` is that of the selection. ``model``
    (IRI) and ``only`` (outcomes) restrict the result.
    """
    parts = _parts(store, pass_graphs, latest)
    for ended, times in stored_counts.outcomes(parts.store, parts.counted, only):
        if model in (None, ended.model):
            yield ended, times
    parameters = {
        "outcome": None if only is None else [OUTCOME[name] for name in sorted(only)],
        "model": model,
        "latest": latest,
    }
    for row in _from_evaluations(store, "outcome-counts", parts, lambda _: parameters):
        yield stored_counts.ended_of(row), int(row["count"].value)


def value_parameter(
    values: Sequence[float] | None, metric: Sequence[str] | None, graphs: Sequence[str]
) -> Sequence[float] | None:
    """Return ``values`` as the parameter of a query, or ``None`` for all values.

    ``metric`` is the result of :func:`~kgbench.record.stored_counts.metric_parameter`, with whose
    values these are combined.
    """
    if values is None or metric is None:
        return None
    return values if len(values) * len(metric) * len(graphs) <= stored_counts.MOST_PAIRS else None


def _parts(store: Store, pass_graphs: Sequence[str], unseparated: bool | None) -> _Parts:
    """Divide passes into those with counts and those without; all are without if ``unseparated``.

    Counts are read from the store behind one that records queries.
    """
    source = queries.unrecorded(store)
    counts_of = {} if unseparated else stored_counts.graphs(source)
    return _Parts(
        source,
        tuple(counts_of[graph] for graph in pass_graphs if graph in counts_of),
        tuple(graph for graph in pass_graphs if graph not in counts_of),
        tuple(pass_graphs),
    )
