# SPDX-License-Identifier: Apache-2.0
"""Selection of scores: one suite, one evaluation pass per dialogue, and further restrictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgbench.config.names import suites_of_results
from kgbench.errors import QueryError, TaskError
from kgbench.rdf import queries
from kgbench.rdf.declared import shipped
from kgbench.rdf.queries import Query
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.scores import catalogue
from kgbench.store.protocol import Store
from kgbench.store.reader import cache_per_snapshot
from kgbench.tables import Value
from kgbench.vocab import BASE, KGB

FIRST = "first"
LATEST = "latest"
ALL = "*"


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected scores of an analysis.

    ``suite`` is an IRI and ``suite_name`` its display name. ``pass_graphs`` hold the evaluations
    that count; if ``latest`` is ``True``, revised evaluations are left out. ``run_graphs`` hold the
    judged dialogues. ``pass_`` is ``first``, ``latest`` or the IRI of a single pass. ``tasks`` is a
    glob over task labels, and ``models`` one or several over model ids or names; ``run`` is the IRI
    of the only run that counts, if any.
    """

    suite: str
    suite_name: str
    pass_: str
    pass_graphs: tuple[str, ...]
    run_graphs: tuple[str, ...]
    latest: bool | None = None
    tasks: str = ALL
    models: str | tuple[str, ...] = ALL
    run: str | None = None

    @property
    def context(self) -> dict[str, Value]:
        """The entries for the context of a table."""
        return {"suite": self.suite, "pass": self.pass_, **self.narrowed}

    @property
    def narrowed(self) -> dict[str, Value]:
        """The selectors that exclude scores, by their names on the command line."""
        selectors: dict[str, tuple[Value, Value]] = {
            "task": (self.tasks, ALL),
            "model": (", ".join(catalogue.several(self.models)), ALL),
            "run": (self.run, None),
        }
        return {name: value for name, (value, unset) in selectors.items() if value != unset}


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
    pass_: str = FIRST,
    *,
    run: str | None = None,
    tasks: str = ALL,
    models: str | Sequence[str] = ALL,
    absent: bool = False,
) -> Selection:
    """Select the scores of one suite, with one pass per dialogue.

    ``suite`` is a name or an IRI; by default, it is that of :func:`default_suite`. ``pass_`` is
    ``first`` (the pass recorded live or published), ``latest`` (for each dialogue the pass that was
    registered last, by the rule of its task class) or the IRI of a pass. ``run`` is the id, IRI or
    label of the only run that counts; ``tasks`` is a glob over task labels, and ``models`` one or
    several over model ids or names. If ``absent`` is ``True``, a ``suite`` of published results
    that the store lacks is selected, too, without scores. Raises
    :class:`~kgbench.errors.QueryError` when the store holds no runs, or when suite, pass or run are
    unknown.
    """
    if absent and suite and suite in suites_of_results().keys() - {*_suites(store).values()}:
        return Selection(store.iris.mint("suite", suite=suite), suite, pass_, (), ())
    passes = list(_passes(store).values())
    of_run = None if run is None else find_run(store, run)
    if of_run is not None:
        passes = [p for p in passes if p.run_graph == of_run.graph]
        suite = suite or of_run.suite
    globs = models if isinstance(models, str) else tuple(models)
    suite_iri, name = _suite(store, suite, pass_, passes, globs)
    chosen = [p for p in passes if p.suite == suite_iri and _counts(p, pass_)]
    if not chosen:
        raise QueryError(_no_pass(pass_, name, passes))
    revised: bool | None = None
    if pass_ == LATEST:
        chosen, revised = _latest(store, chosen)
    return Selection(
        suite=suite_iri,
        suite_name=name,
        pass_=pass_,
        pass_graphs=tuple(sorted({p.graph for p in chosen})),
        run_graphs=tuple(sorted({p.run_graph for p in chosen})),
        latest=revised,
        tasks=tasks,
        models=globs,
        run=None if of_run is None else of_run.iri,
    )


def filled(
    query: Query, arguments: Mapping[str, Any], chosen: Callable[[], Selection]
) -> dict[str, Any]:
    """Return the ``arguments`` of ``query``, completed by the graphs of a selection.

    The parameters ``passGraph``, ``runGraph`` and ``latest`` are filled in
    where they are not given; ``chosen`` is called only if one of the graphs is needed.
    """
    names = {parameter.name for parameter in query.parameters} - set(arguments)
    if not names & {"passGraph", "runGraph"}:
        return dict(arguments)
    selection = chosen()
    parameters = dict(arguments)
    if "passGraph" in names:
        parameters["passGraph"] = list(selection.pass_graphs)
    if "runGraph" in names:
        parameters["runGraph"] = list(selection.run_graphs)
    if selection.latest and "latest" in names:
        parameters["latest"] = True
    return parameters


def _latest(store: Store, passes: list[_Pass]) -> tuple[list[_Pass], bool | None]:
    """Return the passes that are the latest ones of any dialogue.

    The second value is ``True`` where parts of these passes are revised by others, else ``None``.
    Raises :class:`~kgbench.errors.QueryError` where passes overlap so that revisions do not
    determine the latest one of each dialogue; the user must then choose a pass.
    """
    by_run: dict[str, list[_Pass]] = {}
    for each in reversed(passes):  # in the order of registration
        by_run.setdefault(each.run_graph, []).append(each)
    latest: list[_Pass] = []
    partly_revised = False
    for of_run in by_run.values():
        if len(of_run) == 1:
            latest += of_run
            continue
        judged = _judged(store, of_run, unrevised=None)
        unrevised = _judged(store, of_run, unrevised=True)
        later: set[str] = set()
        for each in of_run:
            last = judged[each.graph] - later
            if not last:
                continue
            latest.append(each)
            if last != judged[each.graph]:
                partly_revised = True
                if unrevised[each.graph] != last:
                    raise QueryError(
                        f"re-evaluations overlap in part, so 'latest' is ambiguous for some "
                        f"dialogues of <{each.run_graph}>: choose a pass"
                    )
            later |= judged[each.graph]
    return latest, True if partly_revised else None


def _judged(store: Store, passes: list[_Pass], *, unrevised: bool | None) -> dict[str, set[str]]:
    dialogues: dict[str, set[str]] = {each.graph: set() for each in passes}
    for graph, dialogue in queries.rows(
        store, "judged-dialogues", passGraph=list(dialogues), latest=unrevised
    ):
        dialogues[str(graph)].add(str(dialogue))
    return dialogues


def find_run(store: Store, name: str) -> RunInfo:
    """Return the run with this IRI, id (or prefix of one) or label.

    Raises :class:`~kgbench.errors.StoreError`, which lists the existing runs.
    """
    return _runs(store).get(name) or reading.find_run(store, name)


def newest_judgeable_run(store: Store) -> RunInfo:
    """Return the newest run that is not a run of judges.

    Raises :class:`~kgbench.errors.TaskError` if there is none, and
    :class:`~kgbench.errors.StoreError` for a store without runs.
    """
    reading.find_run(store, None)
    for run in reading.runs(store):
        if run.suite not in suites_of_judgements():
            return run
    raise TaskError(f"the store {store.location} holds no run of models, only of judges")


@cache
def suites_of_judgements() -> frozenset[str]:
    """Return the IRIs of the suites of runs of judge models."""
    declared = shipped("ontology", "suites.ttl")
    return frozenset(
        suite.value for suite in declared.subjects(KGB.judgements, ox.Literal(value=True))
    )


@cache_per_snapshot
def _runs(store: Store) -> dict[str, RunInfo]:
    return {run.iri: run for run in reading.runs(store)}


@cache_per_snapshot
def _passes(store: Store) -> dict[str, _Pass]:
    rows = queries.rows(store, "list-passes")
    return {
        str(iri): _Pass(str(iri), str(graph), str(kind), str(run_graph), str(suite))
        for iri, graph, kind, _, _, run_graph, suite in rows
    }


def default_suite(store: Store, models: str | Sequence[str] = ALL) -> str | None:
    """Return the suite (IRI) of an analysis that names none; ``None`` if there are no results.

    It is the only suite in which all models that match ``models``, a glob or several, have
    dialogues; else that of the newest run, ignoring suites of judges while there are others.
    """
    shared = None if models == ALL else shared_suite(store, models)
    if shared is not None:
        return shared
    suites = _suites(store)
    of_answers = {iri: name for iri, name in suites.items() if iri not in suites_of_judgements()}
    passes = _passes(store).values()
    judged = {p.run_graph for p in passes if p.suite in of_answers and _counts(p, FIRST)}
    runs = [run for run in _runs(store).values() if run.graph in judged]
    if runs:
        return max(runs, key=lambda run: run.started.isoformat()).suite
    return next(iter(of_answers or suites), None)


def shared_suite(store: Store, models: str | Sequence[str]) -> str | None:
    """Return the only suite (IRI) in which all models that match have dialogues, if there is one.

    ``models`` is a glob over ids, names and IRIs, or several.
    """
    known = catalogue.models(store)
    suites = [
        of_model
        for model, of_model in _suites_by_model(store).items()
        if model in known and known.fits(model, models)
    ]
    shared = set.intersection(*suites) if suites else set()
    return shared.pop() if len(shared) == 1 else None


@cache_per_snapshot
def _suites_by_model(store: Store) -> dict[str, set[str]]:
    suites: dict[str, set[str]] = {}
    for model, suite in queries.rows(store, "model-suites"):
        if suite not in suites_of_judgements():
            suites.setdefault(str(model), set()).add(str(suite))
    return suites


@cache_per_snapshot
def _suites(store: Store) -> dict[str, str]:
    """Return the names of suites, by IRI."""
    return {
        iri: name or iri.removeprefix(BASE)
        for iri, name, _, _ in queries.rows(store, "list-suites")
        if iri
    }


def _counts(each: _Pass, pass_: str) -> bool:
    if pass_ == FIRST:
        return each.kind in reading.ORIGINAL
    return pass_ == each.iri or (pass_ == LATEST and each.kind != reading.POLICY)


def _suite(
    store: Store,
    requested: str | None,
    pass_: str,
    passes: list[_Pass],
    models: str | Sequence[str],
) -> tuple[str, str]:
    suites = _suites(store)
    if not suites:
        raise QueryError(
            f"the store {store.location} holds no results yet: `kgbench run` makes some"
        )
    listed = ", ".join(sorted(suites.values()))
    if requested is not None:
        for iri, name in suites.items():
            if requested in (iri, name):
                return iri, name
        hint = f"; {how}" if (how := suites_of_results().get(requested)) else ""
        raise QueryError(
            f"there is no suite '{requested}' in {store.location}; there are: {listed}{hint}"
        )
    for each in passes:
        if each.iri == pass_:
            return each.suite, suites[each.suite]
    default = default_suite(store, models)
    assert default is not None  # as there are suites
    return default, suites[default]


def _no_pass(pass_: str, suite: str, passes: list[_Pass]) -> str:
    if pass_ in (FIRST, LATEST):
        return f"no evaluation pass of suite '{suite}' counts as '{pass_}'"
    examples = ", ".join(p.iri for p in passes[:5]) or "none"
    return f"suite '{suite}' has no evaluation pass '{pass_}'; there are: first, latest, {examples}"
