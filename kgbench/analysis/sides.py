# SPDX-License-Identifier: Apache-2.0
"""What can be compared: a model, a run or an evaluation pass, found by any of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgbench.analysis import queries
from kgbench.analysis import scores as fetch
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import Selection, select
from kgbench.errors import QueryError
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison; ``kind`` is ``model``, ``run`` or ``pass``."""

    kind: str
    iri: str
    name: str


def sides(store: Store, first: str, second: str) -> tuple[Side, Side]:
    """The two things called ``first`` and ``second``: both models, both runs or both passes.

    Raises :class:`~kgbench.errors.QueryError` where a name is unknown, names several things, or the
    two are of different kinds.
    """
    known = _known(store)
    a, b = _find(known, first), _find(known, second)
    if a.kind != b.kind:
        raise QueryError(f"'{first}' is a {a.kind} and '{second}' a {b.kind}: compare like things")
    return a, b


def _known(store: Store) -> list[tuple[Side, set[str]]]:
    """Everything that can be compared, with its names."""
    known = [
        (Side("model", m.iri, m.name), {m.iri, m.name, m.id, _end(m.iri)})
        for m in fetch.models(store).values()
    ]
    for iri, _, kind, started, run, _, _ in queries.rows(store, "list-passes"):
        shown = f"{kind} {_end(str(iri))} of {started}"
        known.append((Side("pass", str(iri), shown), {str(iri), _end(str(iri))}))
        side = Side("run", str(run), _end(str(run)))
        if all(other.iri != side.iri for other, _ in known):
            known.append((side, {side.iri, side.name}))
    return known


def _end(iri: str) -> str:
    return iri.rpartition("/")[2]


def _find(known: list[tuple[Side, set[str]]], name: str) -> Side:
    exact = [side for side, names in known if name in names]
    found = exact or [
        side
        for side, names in known
        if side.kind != "model" and any(n.startswith(name) for n in names)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{side.kind} <{side.iri}>" for side in found[:6])
        raise QueryError(f"'{name}' names several things: {listed}")
    models = ", ".join(side.name for side, _ in known if side.kind == "model")
    raise QueryError(f"'{name}' is no model, run or pass in the store; models: {models}")


def items(
    store: Store, selection: Selection, side: Side, metrics: Mapping[str, str]
) -> list[ScoreRow]:
    """The scores of a side, by the metric (IRI) that ``metrics`` has for each task (IRI)."""
    chosen = selection
    if side.kind == "pass":
        chosen = select(store, selection.suite, side.iri)
    elif side.kind == "run":
        chosen = _of_run(store, selection, side.iri)
    model = side.iri if side.kind == "model" else None
    rows = fetch.score_rows(store, chosen, metrics.values(), model=model)
    return [row for row in rows if metrics.get(row.task) == row.metric]


def _of_run(store: Store, selection: Selection, run: str) -> Selection:
    graphs = {
        str(graph): str(run_graph)
        for _, graph, _, _, of, run_graph, _ in queries.rows(store, "list-passes", run=run)
        if of == run
    }
    return Selection(
        suite=selection.suite,
        suite_name=selection.suite_name,
        choice=selection.choice,
        pass_graphs=tuple(g for g in selection.pass_graphs if g in graphs),
        run_graphs=tuple(sorted(set(graphs.values()))),
    )
