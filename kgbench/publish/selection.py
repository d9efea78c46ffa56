# SPDX-License-Identifier: Apache-2.0
"""Selection of the parts of a store for publication: catalogue, runs with passes, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.settings import Settings
from kgbench.record import reading
from kgbench.store.templates import fill
from kgbench.vocab import KGB, PROV, RDF, SKOS

_TYPE, _TASK_CLASS = ox.NamedNode(RDF.type), ox.NamedNode(KGB.TaskClass)
_CLASS = ox.NamedNode(KGB.taskClass)


@dataclass(frozen=True, slots=True)
class RunPart:
    """A run with its graph, and its passes with theirs."""

    run: str
    suite: str
    graph: str
    passes: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of the run's unit and dumps."""
        return f"run-{self.run.rpartition('/')[2]}"

    @property
    def graphs(self) -> tuple[str, ...]:
        """All graphs of the run."""
        return (self.graph, *(graph for _, graph in self.passes))


@dataclass(frozen=True, slots=True)
class PublishedParts:
    """The published parts of a store; ``others`` are graphs of analyses and invalidations.

    ``suites`` are those of the runs and of all their dialogues; ``unused`` are declarations in the
    catalogue that nothing published needs.
    """

    catalogue: str
    runs: tuple[RunPart, ...]
    others: tuple[tuple[str, str], ...]
    stamps: dict[str, str]
    suites: frozenset[str]
    models: frozenset[str]
    reviewers: frozenset[str]
    unused: frozenset[str]
    partial: bool

    @property
    def graphs(self) -> frozenset[str]:
        """All published graphs, as the store names them."""
        of_runs = {graph for run in self.runs for graph in run.graphs}
        return frozenset({self.catalogue, *of_runs, *(graph for graph, _ in self.others)})

    @property
    def runs_of_passes(self) -> dict[str, str]:
        """The run of each evaluation pass."""
        return {pass_: part.run for part in self.runs for pass_, _ in part.passes}


def select_parts(view: View, settings: Settings) -> PublishedParts:
    """Select the parts of the store that ``settings`` request.

    Raises :class:`~kgbench.errors.PublicationRefused` if there is no run, and
    :class:`~kgbench.errors.StoreError` for an unknown one.
    """
    stamps, described = (
        {
            str(quad.subject).strip("<>"): str(getattr(quad.object, "value", ""))
            for quad in view.database.quads_for_pattern(None, ox.NamedNode(predicate), None)
        }
        for predicate in (KGB.changeStamp, KGB.describes)
    )
    selected_runs = {reading.find_run(view, name).iri for name in settings.runs}
    runs = tuple(run for run in _runs(view) if not selected_runs or run.run in selected_runs)
    if not runs:
        raise PublicationRefused(f"{view.location} holds no run to publish")
    suites = frozenset(suite for run in runs for suite in (run.suite, *_suites(view, run.graph)))
    selected_graphs = {run.graph for run in runs}
    others = tuple(sorted(_others(view, described, None if not selected_runs else selected_graphs)))
    return PublishedParts(
        catalogue=view.iris.catalogue,
        runs=runs,
        others=others,
        stamps=stamps,
        suites=suites,
        models=frozenset(
            execution.model for run in runs for execution in reading.executions(view, run.graph)
        ),
        reviewers=frozenset(
            reviewer.value
            for run in runs
            for pass_, _ in run.passes
            for reviewer in things.values(view, pass_, KGB.reviewer)
        ),
        unused=unused_declarations(
            view.database, view.iris.catalogue, (graph for graph, _ in others)
        ),
        partial=bool(selected_runs),
    )


def is_protected(view: View, suite: str) -> bool:
    """Return whether the texts of a suite must not be published; true unless declared otherwise."""
    values = {term.value for term in things.values(view, suite, KGB.protected)}
    return values != {"false"}


def refuse_in_the_clear(view: View, settings: Settings, suites: frozenset[str]) -> None:
    """Check that ``settings`` publish no text of a protected one of ``suites`` in the clear.

    Raises :class:`~kgbench.errors.PublicationRefused` if they do.
    """
    if settings.page_level >= RedactionLevel.PROMPTS:
        return
    names = {suite: things.text(view, suite, SKOS.notation) or suite for suite in suites}
    known = set(names) | set(names.values())
    unknown = settings.unprotected - known
    if unknown:
        raise PublicationRefused(
            f"--unprotected names {', '.join(sorted(unknown))}, but the runs belong to "
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
            f"(--encrypt), or, if you may publish them, add --unprotected {clear[0]}"
        )


def refuse_undescribed(settings: Settings) -> None:
    """Check that no person or organisation has an IRI below the base, where nothing describes it.

    Raises :class:`~kgbench.errors.PublicationRefused` otherwise.
    """
    about = settings.metadata
    for agent in filter(None, (*about.creators, about.publisher, about.contact)):
        if agent.iri is not None and agent.iri.startswith(settings.base):
            raise PublicationRefused(
                f"{agent.name} has the IRI {agent.iri} below --base, but the publication will have "
                "no document about it: give another IRI, such as an ORCID, or none"
            )


def _runs(view: View) -> Iterator[RunPart]:
    """Yield the runs of a store with their passes, the first that started first."""

    def started(run: reading.RunInfo) -> tuple[str, str]:
        # As text: times of imported runs may have no zone.
        return things.text(view, run.iri, PROV.startedAtTime) or "", run.iri

    for run in sorted(reading.runs(view), key=started):
        passes = sorted((found.iri, found.graph) for found in reading.passes(view, run))
        yield RunPart(run.iri, run.suite, run.graph, tuple(passes))


def _others(
    view: View, described: dict[str, str], selected_graphs: set[str] | None
) -> Iterator[tuple[str, str]]:
    """Yield analyses and invalidations; of a selection of runs, only those about them."""
    for graph, thing in described.items():
        kinds = things.kinds(view, thing)
        if KGB.Analysis in kinds:
            read = {term.value for term in things.values(view, thing, KGB.readGraph)}
            about = {iri for iri in read if f"{view.iris.base}graph/run/" in iri}
            if selected_graphs is None or about <= selected_graphs:
                yield graph, thing
        elif KGB.Invalidation in kinds:
            targets = things.values(view, thing, KGB.invalidates)
            if selected_graphs is None or any(
                _graph_of(view, t) in selected_graphs for t in targets
            ):
                yield graph, thing


def _graph_of(view: View, node: Any) -> str:
    quads = view.database.quads_for_pattern(node, _TYPE, None)
    return next((str(quad.graph_name).strip("<>") for quad in quads), "")


def _suites(view: View, graph: str) -> Iterator[str]:
    """Yield the suites of things in a run's graph, which may differ from the run's suite."""
    rows: Any = view.database.query(fill("suites-in.rq", graph=graph))
    yield from (suite.value for (suite,) in rows if isinstance(suite, ox.NamedNode))


def dialogues_in(database: ox.Store, graph: str) -> int:
    """Return the number of dialogues in a run's graph."""
    rows: Any = database.query(fill("number-of-dialogues.rq", graph=graph))
    ((number,),) = rows
    return int(number.value)


def unused_declarations(
    database: ox.Store, catalogue: str, others: Iterable[str]
) -> frozenset[str]:
    """Return the IRIs in a catalogue (a graph) that only belong to task classes without tasks.

    A catalogue declares all installed task classes with their metrics, parameters and tasks.
    Things that other things in the catalogue or in the graphs ``others`` refer to are kept.
    """
    graph = ox.NamedNode(catalogue)
    names: dict[str, set[str]] = {}
    for quad in database.quads_for_pattern(None, None, None, graph):
        subject: Any = quad.subject
        references = names.setdefault(subject.value, set())
        if isinstance(quad.object, ox.NamedNode):
            references.add(quad.object.value)

    def reachable(start: Iterable[str]) -> set[str]:
        waiting = [iri for iri in start if iri in names]
        known = set(waiting)
        while waiting:
            further = (names[waiting.pop()] - known) & names.keys()
            known |= further
            waiting += further
        return known

    pattern = database.quads_for_pattern
    classes: set[Any] = {q.subject for q in pattern(None, _TYPE, _TASK_CLASS, graph)}
    used_classes = {q.object for q in pattern(None, _CLASS, None, graph)}
    doubtful = reachable(node.value for node in classes - used_classes)
    referenced = {
        str(getattr(quad.object, "value", ""))
        for other in others
        for quad in pattern(None, None, None, ox.NamedNode(other))
    }
    return frozenset(doubtful - reachable((names.keys() - doubtful) | referenced))
