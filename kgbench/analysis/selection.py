# SPDX-License-Identifier: Apache-2.0
"""Which scores count: one suite, one evaluation pass per dialogue, and what narrows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kgbench.analysis.tables import Value
from kgbench.config.names import suites_of_judgements
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.rdf.queries import Query
from kgbench.record import reading
from kgbench.store.protocol import Store
from kgbench.vocab import BASE

FIRST = "first"
LATEST = "latest"
ALL = "*"


@dataclass(frozen=True, slots=True)
class Selection:
    """The scores that an analysis reads.

    ``suite`` is an IRI and ``suite_name`` how it is shown. ``pass_graphs`` hold the evaluations
    that count; where ``latest`` is ``True``, those that others revise are left out of them.
    ``run_graphs`` hold the dialogues they judge. ``choice`` is ``first``, ``latest`` or the IRI of
    the one pass. ``tasks`` and ``models`` are globs over task labels and over model ids or names;
    ``run`` is the IRI of the only run that counts.
    """

    suite: str
    suite_name: str
    choice: str
    pass_graphs: tuple[str, ...]
    run_graphs: tuple[str, ...]
    latest: bool | None = None
    tasks: str = ALL
    models: str = ALL
    run: str | None = None

    @property
    def context(self) -> dict[str, Value]:
        """What a table says of the scores that it rests on."""
        return {"suite": self.suite, "pass": self.choice, **self.narrowed}

    @property
    def narrowed(self) -> dict[str, Value]:
        """The selectors that leave something out, by their name on the command line."""
        given: dict[str, tuple[Value, Value]] = {
            "task": (self.tasks, ALL),
            "model": (self.models, ALL),
            "run": (self.run, None),
        }
        return {name: value for name, (value, unset) in given.items() if value != unset}


@dataclass(frozen=True, slots=True)
class _Pass:
    iri: str
    graph: str
    kind: str
    run_graph: str
    suite: str


def select(
    store: Store,
    suite: str | None = None,
    choice: str = FIRST,
    *,
    run: str | None = None,
    tasks: str = ALL,
    models: str = ALL,
) -> Selection:
    """The scores of one suite, one pass per dialogue.

    ``suite`` is a name or an IRI; without one, the only suite in the store is taken, apart from
    that of judges. ``choice`` is
    ``first`` (the pass recorded live or published), ``latest`` (for each dialogue the pass that was
    registered last, by the rule of its task class) or the IRI of a pass. ``run`` is the id, IRI or
    label of the only run that counts; ``tasks`` and ``models`` are globs over task labels and over
    model ids or names. Raises
    :class:`~kgbench.errors.QueryError` when the store holds no runs, when several suites leave the
    choice open, or when suite, pass or run are unknown.
    """
    passes = _passes(store)
    of_run = None if run is None else reading.find_run(store, run)
    if of_run is not None:
        passes = [p for p in passes if p.run_graph == of_run.graph]
        suite = suite or of_run.suite
    found, name = _suite(store, suite, choice, passes)
    chosen = [p for p in passes if p.suite == found and _counts(p, choice)]
    if not chosen:
        raise QueryError(_no_pass(choice, name, passes))
    revised: bool | None = None
    if choice == LATEST:
        chosen, revised = _latest(store, chosen)
    return Selection(
        suite=found,
        suite_name=name,
        choice=choice,
        pass_graphs=tuple(sorted({p.graph for p in chosen})),
        run_graphs=tuple(sorted({p.run_graph for p in chosen})),
        latest=revised,
        tasks=tasks,
        models=models,
        run=None if of_run is None else of_run.iri,
    )


def filled(
    query: Query, given: Mapping[str, Any], chosen: Callable[[], Selection]
) -> dict[str, Any]:
    """``given`` values of the parameters of ``query``, with the graphs that a selection stands for.

    The parameters ``passGraph``, ``runGraph`` and ``latest`` are filled in where they are not
    given; only then is it looked up what was ``chosen``.
    """
    names = {parameter.name for parameter in query.parameters} - set(given)
    if not names & {"passGraph", "runGraph"}:
        return dict(given)
    selection = chosen()
    graphs = {"passGraph": selection.pass_graphs, "runGraph": selection.run_graphs}
    found = {**given, **{name: list(graphs[name]) for name in names & set(graphs)}}
    if selection.latest and "latest" in names:
        found["latest"] = True
    return found


def _latest(store: Store, passes: list[_Pass]) -> tuple[list[_Pass], bool | None]:
    """The passes that are the last ones of some dialogue, and whether others revise parts of them.

    Raises :class:`~kgbench.errors.QueryError` where passes overlap in a way that revisions do not
    tell which of them is the last: then only naming a pass helps.
    """
    by_run: dict[str, list[_Pass]] = {}
    for one in reversed(passes):  # as they were registered
        by_run.setdefault(one.run_graph, []).append(one)
    kept: list[_Pass] = []
    parted = False
    for of_run in by_run.values():
        if len(of_run) == 1:
            kept += of_run
            continue
        judged = _judged(store, of_run, unrevised=None)
        left = _judged(store, of_run, unrevised=True)
        seen: set[str] = set()
        for one in of_run:
            last = judged[one.graph] - seen
            if not last:
                continue
            kept.append(one)
            if last != judged[one.graph]:
                parted = True
                if left[one.graph] != last:
                    raise QueryError(
                        f"re-evaluations overlap in part, so that 'latest' does not say which of "
                        f"them counts for each dialogue of <{one.run_graph}>: choose a pass"
                    )
            seen |= judged[one.graph]
    return kept, True if parted else None


def _judged(store: Store, passes: list[_Pass], *, unrevised: bool | None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {one.graph: set() for one in passes}
    for graph, dialogue in queries.rows(
        store, "judged-dialogues", passGraph=list(found), latest=unrevised
    ):
        found[str(graph)].add(str(dialogue))
    return found


def _passes(store: Store) -> list[_Pass]:
    rows = queries.rows(store, "list-passes")
    return [
        _Pass(str(iri), str(graph), str(kind), str(run_graph), str(suite))
        for iri, graph, kind, _, _, run_graph, suite in rows
    ]


def _counts(found: _Pass, choice: str) -> bool:
    if choice == FIRST:
        return found.kind in reading.ORIGINAL
    return choice == found.iri or (choice == LATEST and found.kind != reading.POLICY)


def _suite(store: Store, wanted: str | None, choice: str, passes: list[_Pass]) -> tuple[str, str]:
    there = {
        iri: name or iri.removeprefix(BASE)
        for iri, name, _, _ in queries.rows(store, "list-suites")
        if iri
    }
    if not there:
        raise QueryError(
            f"the store {store.location} holds no results yet: `kgbench run` makes some"
        )
    listed = ", ".join(sorted(there.values()))
    if wanted is not None:
        for iri, name in there.items():
            if wanted in (iri, name):
                return iri, name
        raise QueryError(f"there is no suite '{wanted}' in {store.location}; there are: {listed}")
    for found in passes:
        if found.iri == choice:
            return found.suite, there[found.suite]
    of_answers = {iri: name for iri, name in there.items() if iri not in suites_of_judgements()}
    if len(of_answers) > 1:
        raise QueryError(
            f"{store.location} holds results of several suites, which are never pooled: "
            f"choose one with --suite ({listed})"
        )
    return next(iter((of_answers or there).items()))


def _no_pass(choice: str, suite: str, passes: list[_Pass]) -> str:
    if choice in (FIRST, LATEST):
        return f"no evaluation pass of suite '{suite}' counts as '{choice}'"
    known = ", ".join(p.iri for p in passes[:5]) or "none"
    return f"'{choice}' is no evaluation pass of suite '{suite}'; there are: first, latest, {known}"
