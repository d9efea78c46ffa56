# SPDX-License-Identifier: Apache-2.0
"""Which parts of a store are published: its catalogue, runs with their passes, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish.settings import Settings
from kgbench.publish.unasked import unasked
from kgbench.publish.withholding import Level
from kgbench.record import reading
from kgbench.vocab import KGB, PROV, RDF, SKOS


@dataclass(frozen=True, slots=True)
class RunPart:
    """A run with the graphs that hold it and its passes; ``stamps`` by graph."""

    run: str
    suite: str
    graph: str
    passes: tuple[tuple[str, str], ...]
    stamps: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of its unit and its dumps."""
        return f"run-{self.run.rpartition('/')[2]}"

    @property
    def graphs(self) -> tuple[str, ...]:
        """All its graphs."""
        return (self.graph, *(graph for _, graph in self.passes))


@dataclass(frozen=True, slots=True)
class Parts:
    """What is published of a store; ``others`` are graphs of analyses and invalidations.

    ``suites`` are those of the runs and of all their dialogues; ``unasked`` is what the catalogue
    declares and nothing published needs.
    """

    catalogue: str
    runs: tuple[RunPart, ...]
    others: tuple[tuple[str, str], ...]
    stamps: dict[str, str]
    suites: frozenset[str]
    models: frozenset[str]
    reviewers: frozenset[str]
    unasked: frozenset[str]
    partial: bool

    @property
    def graphs(self) -> frozenset[str]:
        """All graphs that are published, as the store names them."""
        of_runs = {graph for run in self.runs for graph in run.graphs}
        return frozenset({self.catalogue, *of_runs, *(graph for graph, _ in self.others)})

    @property
    def runs_of_passes(self) -> dict[str, str]:
        """The run of each evaluation pass."""
        return {one: part.run for part in self.runs for one, _ in part.passes}


def parts(view: View, settings: Settings) -> Parts:
    """The parts of the store that ``settings`` ask for.

    Raises :class:`~kgbench.errors.PublicationRefused` where there is no run, and
    :class:`~kgbench.errors.StoreError` for an unknown one.
    """
    stamps = {
        str(q.subject).strip("<>"): str(getattr(q.object, "value", ""))
        for q in view.database.quads_for_pattern(None, ox.NamedNode(KGB.changeStamp), None)
    }
    described = {
        str(q.subject).strip("<>"): str(getattr(q.object, "value", ""))
        for q in view.database.quads_for_pattern(None, ox.NamedNode(KGB.describes), None)
    }
    wanted = {reading.find_run(view, name).iri for name in settings.runs}
    runs = tuple(
        run
        for run in sorted(
            _runs(view, described, stamps), key=lambda one: (_began(view, one), one.run)
        )
        if not wanted or run.run in wanted
    )
    if not runs:
        raise PublicationRefused(f"{view.location} holds no run to publish")
    suites = frozenset(suite for run in runs for suite in (run.suite, *_suites(view, run.graph)))
    kept = {run.graph for run in runs}
    others = tuple(sorted(_others(view, described, None if not wanted else kept)))
    return Parts(
        catalogue=view.iris.catalogue,
        runs=runs,
        others=others,
        stamps=stamps,
        suites=suites,
        models=frozenset(_models(view, kept)),
        reviewers=frozenset(_reviewers(view, runs)),
        unasked=unasked(view.database, view.iris.catalogue, (graph for graph, _ in others))
        | frozenset(_counts(view, described)),
        partial=bool(wanted),
    )


def is_protected(view: View, suite: str) -> bool:
    """Whether the texts of a suite must not be published: unless it says that they may."""
    said = {term.value for term in things.values(view, suite, KGB.protected)}
    return said != {"false"}


def refuse_in_the_clear(view: View, settings: Settings, suites: frozenset[str]) -> None:
    """Nothing where ``settings`` publish no text of a protected one of ``suites`` in the clear.

    Raises :class:`~kgbench.errors.PublicationRefused` where they do.
    """
    if settings.shown_level >= Level.PROMPTS:
        return
    names = {suite: things.text(view, suite, SKOS.notation) or suite for suite in suites}
    known = set(names) | set(names.values())
    unknown = settings.unprotected - known
    if unknown:
        raise PublicationRefused(
            f"--unprotected names {', '.join(sorted(unknown))}, and the runs are of "
            f"{', '.join(sorted(names.values()))}"
        )
    clear = [
        name
        for suite, name in sorted(names.items())
        if is_protected(view, suite) and not {suite, name} & settings.unprotected
    ]
    if clear:
        raise PublicationRefused(
            f"the suite {', '.join(clear)} is protected: its prompts and reference answers must "
            "not become training data. Leave them out (--redact prompts), encrypt the dumps "
            f"(--encrypt), or, if you may publish them, say so (--unprotected {clear[0]})"
        )


def _runs(view: View, described: dict[str, str], stamps: dict[str, str]) -> Iterator[RunPart]:
    passes: dict[str, list[tuple[str, str]]] = {}
    of_kind: dict[str, set[str]] = {g: things.kinds(view, thing) for g, thing in described.items()}
    for graph, thing in described.items():
        if KGB.EvaluationPass in of_kind[graph]:
            for run in things.values(view, thing, PROV.wasInformedBy):
                passes.setdefault(run.value, []).append((thing, graph))
    for graph, thing in described.items():
        if KGB.Run not in of_kind[graph]:
            continue
        mine = tuple(sorted(passes.get(thing, ())))
        graphs = (graph, *(one for _, one in mine))
        yield RunPart(
            run=thing,
            suite=things.text(view, thing, KGB.suite) or "",
            graph=graph,
            passes=mine,
            stamps=tuple((one, stamps.get(one, "")) for one in graphs),
        )


def _began(view: View, run: RunPart) -> str:
    return things.text(view, run.run, PROV.startedAtTime) or ""


def _others(
    view: View, described: dict[str, str], kept: set[str] | None
) -> Iterator[tuple[str, str]]:
    """Analyses and invalidations; where not all runs are published, those of these alone."""
    for graph, thing in described.items():
        kinds = things.kinds(view, thing)
        if KGB.Analysis in kinds:
            read = {term.value for term in things.values(view, thing, KGB.readGraph)}
            runs = {one for one in read if f"{view.iris.base}graph/run/" in one}
            if kept is None or runs <= kept:
                yield graph, thing
        elif KGB.Invalidation in kinds:
            node = ox.NamedNode(thing)
            one = next(
                view.database.quads_for_pattern(node, ox.NamedNode(KGB.invalidates), None), None
            )
            if kept is None or (one is not None and _graph_of(view, one.object) in kept):
                yield graph, thing


def _counts(view: View, described: dict[str, str]) -> Iterator[str]:
    """The graphs of counts of passes: whoever loads a publication counts for themselves."""
    for graph, thing in described.items():
        if KGB.Aggregates in things.kinds(view, thing):
            yield graph


def _graph_of(view: View, node: object) -> str:
    found = view.database.quads_for_pattern(node, ox.NamedNode(RDF.type), None)  # type: ignore[arg-type]
    return next((str(quad.graph_name).strip("<>") for quad in found), "")


def _suites(view: View, graph: str) -> Iterator[str]:
    """The suites that things in a run's graph belong to, in case they are not those of the run."""
    about = (None, ox.NamedNode(KGB.suite), None, ox.NamedNode(graph))
    found = {quad.object for quad in view.database.quads_for_pattern(*about)}
    yield from (suite.value for suite in found if isinstance(suite, ox.NamedNode))


def _models(view: View, graphs: set[str]) -> Iterator[str]:
    for graph in graphs:
        for quad in view.database.quads_for_pattern(
            None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.TaskExecution), ox.NamedNode(graph)
        ):
            yield from (
                str(getattr(q.object, "value", ""))
                for q in view.database.quads_for_pattern(
                    quad.subject, ox.NamedNode(KGB.model), None
                )
            )


def _reviewers(view: View, runs: tuple[RunPart, ...]) -> Iterator[str]:
    """The people whose passes are published."""
    property_ = ox.NamedNode(KGB.reviewer)
    for one in (ox.NamedNode(name) for run in runs for name, _ in run.passes):
        for quad in view.database.quads_for_pattern(one, property_, None):
            yield str(getattr(quad.object, "value", ""))


def dialogues_in(database: ox.Store, graph: str) -> int:
    """How many dialogues the graph of a run has."""
    pattern = (None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Dialogue), ox.NamedNode(graph))
    return sum(1 for _ in database.quads_for_pattern(*pattern))
