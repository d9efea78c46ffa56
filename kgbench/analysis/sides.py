# SPDX-License-Identifier: Apache-2.0
"""What can be compared: a model, a run or an evaluation pass, found by any of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score, chosen_rows
from kgbench.analysis.registry import OptionRefused
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import ALL, FIRST, Selection, select
from kgbench.errors import QueryError
from kgbench.rdf import queries
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


def opposed(
    store: Store,
    first: str,
    second: str,
    *,
    suite: str | None = None,
    choice: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str = ALL,
) -> tuple[Side, Side, Selection]:
    """The two sides of a comparison, and the scores that count in it.

    The selectors are those of :func:`~kgbench.analysis.selection.select`. Raises what that and
    :func:`sides` raise, and :class:`~kgbench.analysis.registry.OptionRefused` for a selector that
    contradicts what is compared.
    """
    a, b = sides(store, first, second)
    if a.kind == "model" and models != ALL:
        raise OptionRefused("models", "two models are compared already")
    if a.kind != "model" and run is not None:
        raise OptionRefused("run", f"a {a.kind} says which run counts")
    of_pass = a.iri if a.kind == "pass" else choice
    return a, b, select(store, suite, of_pass, run=run, tasks=tasks, models=models)


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


def _without_connector(name: str, names: set[str]) -> bool:
    """Whether ``name`` is a model's name without connector: ``gpt-4o`` of ``openai:gpt-4o``."""
    return any(name == each.partition(":")[2] for each in names if "://" not in each)


def _find(known: list[tuple[Side, set[str]]], name: str) -> Side:
    # The exact name that tables show comes before ids that several models share.
    exact = [side for side, _ in known if name in (side.name, side.iri)]
    exact = exact or [side for side, names in known if name in names]
    found = exact or [
        side
        for side, names in known
        if side.kind != "model" and any(n.startswith(name) for n in names)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        found = [
            side
            for side, names in known
            if side.kind == "model" and _without_connector(name, names)
        ]
        if len(found) == 1:
            return found[0]
    if found:
        listed = ", ".join(f"{side.kind} <{side.iri}>" for side in found[:6])
        raise QueryError(f"'{name}' names several things: {listed}")
    models = ", ".join(side.name for side, _ in known if side.kind == "model")
    raise QueryError(f"the store has no model, run or pass '{name}'; models: {models}")


def items(
    store: Store, selection: Selection, side: Side, scores: Mapping[str, Score]
) -> list[ScoreRow]:
    """The values of a side for the score that ``scores`` has for each task (IRI)."""
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
        for _, graph, _, _, of, run_graph, _ in queries.rows(store, "list-passes", run=run)
        if of == run
    }
    return replace(
        selection,
        pass_graphs=tuple(g for g in selection.pass_graphs if g in graphs),
        run_graphs=tuple(sorted(set(graphs.values()))),
        run=run,
    )
