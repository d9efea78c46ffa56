# SPDX-License-Identifier: Apache-2.0
"""The sides of a comparison: models, runs or evaluation passes, found by any of their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from kgbench.analysis import catalogue
from kgbench.analysis.display_names import display_names
from kgbench.analysis.registry import OptionRefused
from kgbench.analysis.score_selectors import Score, chosen_rows
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
    choice: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str = ALL,
) -> tuple[Side, Side, Selection]:
    """Return the two sides of a comparison, and the selected scores.

    The selectors are those of :func:`~kgbench.analysis.selection.select`. Raises the errors of
    ``select`` and :func:`sides`, and :class:`~kgbench.analysis.registry.OptionRefused` for a
    selector that contradicts the sides.
    """
    a, b = sides(store, first, second)
    if a.kind == "model" and models != ALL:
        raise OptionRefused("models", "two models are compared already")
    if a.kind != "model" and run is not None:
        raise OptionRefused("run", f"a {a.kind} determines which run counts")
    of_pass = a.iri if a.kind == "pass" else choice
    return a, b, select(store, suite, of_pass, run=run, tasks=tasks, models=models)


def _candidates(store: Store) -> list[tuple[Side, set[str]]]:
    """Return all possible sides, each with its names.

    Models have the names of :meth:`~kgbench.analysis.catalogue.Models.fits`, and the display name that
    tables show.
    """
    display = display_names(store)
    candidates = [
        (
            Side("model", m.iri, m.name),
            {m.iri, m.name, m.id, _end(m.iri), display.get(m.name, m.name)},
        )
        for m in catalogue.models(store).values()
    ]
    for iri, _, kind, started, run, _, _ in queries.rows(store, "list-passes"):
        label = f"{kind} {_end(str(iri))} of {started}"
        candidates.append((Side("pass", str(iri), label), {str(iri), _end(str(iri))}))
        side = Side("run", str(run), _end(str(run)))
        if all(other.iri != side.iri for other, _ in candidates):
            candidates.append((side, {side.iri, side.name}))
    return candidates


def _end(iri: str) -> str:
    return iri.rpartition("/")[2]


def _named(side: Side, names: set[str]) -> set[str]:
    """Return the names that a glob can match: not IRIs, and models also without connector."""
    called = {name for name in names if "://" not in name}
    return called | {name.partition(":")[2] for name in called if side.kind == "model"}


def _without_connector(name: str, names: set[str]) -> bool:
    """Return whether ``name`` is a model without connector: ``gpt-4o`` of ``openai:gpt-4o``."""
    return any(
        name == known_name.partition(":")[2] for known_name in names if "://" not in known_name
    )


def _find(candidates: list[tuple[Side, set[str]]], name: str) -> Side:
    # Exact names in tables take precedence over ids, which several models can share.
    exact = [side for side, _ in candidates if name in (side.name, side.iri)]
    exact = exact or [side for side, names in candidates if name in names]
    matching = exact or [
        side
        for side, names in candidates
        if side.kind != "model" and any(n.startswith(name) for n in names)
    ]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        matching = [
            side
            for side, names in candidates
            if side.kind == "model" and _without_connector(name, names)
        ] or [
            side
            for side, names in candidates
            if any(fnmatchcase(known, name) for known in _named(side, names))
        ]
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
