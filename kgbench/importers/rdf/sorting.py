# SPDX-License-Identifier: Apache-2.0
"""Sorting of the statements of a data set: recorded, described, declared, or foreign.

The subject of a statement determines its graph: that of a run, a pass or an invalidation, as the
store's layout names it; the catalogue for descriptions of tasks, cases, models and software; the
graph of the import for all other (foreign) statements. So a data set cannot overwrite what the
store says. Resources that this kgbench declares (vocabulary, outcomes, task classes, metrics,
suites) are never loaded from a data set, and one that gives them another meaning is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ImportRefused
from kgbench.importers.rdf.contents import (
    CLOCK_TOLERANCE,
    IGNORED_KINDS,
    Contents,
    TargetGraph,
    clock_advice,
    is_kgbench_class,
)
from kgbench.store import declared
from kgbench.store.iris import Iris
from kgbench.store.protocol import Store
from kgbench.validation import SHAPE_FILES
from kgbench.vocab import BASE, KGB, OUTCOME, OWL, PROV, RDF, RDFS, SCHEMA, SKOS, compact

_DEFINING_PROPERTIES = frozenset(
    (
        RDF.type,
        RDFS.range,
        SKOS.notation,
        SKOS.inScheme,
        SCHEMA.version,
        SCHEMA.softwareVersion,
        SCHEMA.minValue,
        SCHEMA.maxValue,
        KGB.higherIsBetter,
        KGB.unbounded,
        KGB.aggregation,
        KGB.aggregationOf,
        KGB.mainMetric,
        KGB.maxRounds,
        KGB.protected,
        KGB.isError,
        KGB.askAgain,
    )
)
"""Properties that define the meaning of a declared resource; labels may be worded otherwise."""

_FIXED_CLASSES = frozenset(
    (
        OWL.Class,
        OWL.ObjectProperty,
        OWL.DatatypeProperty,
        RDF.Property,
        SKOS.Concept,
        KGB.Metric,
        KGB.TaskClass,
        KGB.Suite,
    )
)
"""Classes of declared resources whose meaning results depend on."""

_DATASET_SEGMENT = "dataset"  # IRIs below BASE + this segment come with data sets, declared or not

_TIMES = frozenset((PROV.startedAtTime, PROV.endedAtTime))
_GRAPH = re.compile(r".+/graph/(?:catalogue|(?:run|pass|invalidation|analysis|import)/[^/]+)")
_PROGRESS_STEP = 10_000  # statements between two reports of progress

Term: TypeAlias = Any  # the object of a pyoxigraph triple


@dataclass(slots=True)
class SortedStatements:
    """The statements of a data set.

    ``recorded`` has those of activities, each in its graph. ``catalogue`` has descriptions for the
    catalogue, by subject. ``foreign`` has, as N-Triples, the statements about unknown resources and
    those with foreign terms about recorded ones. ``left_out`` counts ignored statements: analyses,
    and declarations that this kgbench lacks. ``referred`` are the graphs of the store that recorded
    statements refer to and the data set does not have.
    """

    recorded: ox.Store
    catalogue: dict[str, list[ox.Triple]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    left_out: int = 0
    referred: set[str] = field(default_factory=set)


def sort(
    store: Store,
    contents: Contents,
    folder: Path,
    progress: Callable[[int], None] | None = None,
) -> SortedStatements:
    """Sort every statement; the recorded ones are copied to a new database in ``folder``.

    ``progress`` is called with the number of copied statements. Raises :class:`ImportRefused` for
    the first invalid statement.
    """
    result = SortedStatements(ox.Store(str(folder)))
    result.recorded.bulk_extend(_Sorter(store, contents, result).recorded(progress))
    result.foreign = sorted(set(result.foreign))
    return result


def normalised(triples: Iterable[ox.Triple]) -> set[ox.Triple]:
    """Return triples with literals as the embedded store writes them (``0.0`` as ``0``)."""
    store = ox.Store()
    store.extend(ox.Quad(t.subject, t.predicate, t.object) for t in triples)
    return {quad.triple for quad in store}


class _Sorter:
    def __init__(self, store: Store, contents: Contents, result: SortedStatements) -> None:
        self.result = result
        self._contents = contents
        self._declared = _declarations(store.iris)
        self._fixed = {s for s, pairs in self._declared.items() if _types(pairs) & _FIXED_CLASSES}
        paths = (s[len(BASE) :] for s in self._declared if s.startswith(BASE))
        segments = {_first_segment(path) for path in paths}
        self._declared_segments = segments - {_DATASET_SEGMENT, "software"}
        self._latest = (datetime.now(UTC) + CLOCK_TOLERANCE).date().isoformat()
        others = (graph for graph in store.graphs() if graph != store.iris.catalogue)
        self._stored = {graph.replace("/graph/", "/", 1): graph for graph in others}
        self._starts = tuple(self._stored)

    def recorded(self, progress: Callable[[int], None] | None) -> Iterator[ox.Quad]:
        """Yield the statements of activities in their graphs, and sort all others."""
        copied = 0
        for quad in self._contents.staged:
            self._check(quad)
            target = self._target(quad)
            if target is None:
                self._add_described(quad)
            elif target.kind in IGNORED_KINDS:
                self.result.left_out += 1
            elif quad.predicate.value != PROV.wasInvalidatedBy and not _is_covered_by_shapes(quad):
                self._add_foreign(quad)
            elif not self._is_in_place(quad, target):
                raise ImportRefused(
                    f"the graph {quad.graph_name} has a statement about {quad.subject} "
                    f"({compact(quad.predicate.value)}) that only the graph <{target.graph}> may "
                    f"have"
                )
            else:
                self._note_reference(quad.object)
                graph = ox.NamedNode(target.graph)
                yield ox.Quad(quad.subject, quad.predicate, quad.object, graph)
                copied += 1
                if progress is not None and not copied % _PROGRESS_STEP:
                    progress(copied)

    def _check(self, quad: ox.Quad) -> None:
        """Refuse unsupported terms and times in the future."""
        if isinstance(quad.object, ox.Triple):
            raise ImportRefused(f"{quad.subject} {quad.predicate}: triple terms are not supported")
        if isinstance(quad.object, ox.Literal) and quad.object.direction is not None:
            raise ImportRefused(
                f"{quad.subject} {quad.predicate}: literals with a direction are not supported"
            )
        if quad.predicate.value in _TIMES:
            value = getattr(quad.object, "value", "")
            if value[:10] > self._latest or not value[:4].isdigit() or value[4:5] != "-":
                raise ImportRefused(
                    f"{quad.subject} {compact(quad.predicate.value)}: {value[:40]!r} is in the "
                    f"future or not a time; {clock_advice()}"
                )

    def _target(self, quad: ox.Quad) -> TargetGraph | None:
        """Return the activity whose graph a statement belongs to, or ``None``.

        ``prov:wasInvalidatedBy`` belongs to the graph of the invalidation, not to that of its
        subject.
        """
        if quad.predicate.value == PROV.wasInvalidatedBy and isinstance(quad.object, ox.NamedNode):
            target = self._contents.targets.get(quad.object.value)
            if target is not None and target.kind == "invalidation":
                return target
        subject = quad.subject
        return self._contents.target(subject.value) if isinstance(subject, ox.NamedNode) else None

    def _is_in_place(self, quad: ox.Quad, target: TargetGraph) -> bool:
        """Return whether a statement is in its own or the default graph, perhaps in others too."""
        graph = quad.graph_name
        if isinstance(graph, ox.DefaultGraph) or graph.value == target.graph:
            return True
        in_target = ox.Quad(quad.subject, quad.predicate, quad.object, ox.NamedNode(target.graph))
        return in_target in self._contents.staged

    def _note_reference(self, term: Term) -> None:
        """Note the graph of the store that a term belongs to, unless the data set contains it."""
        if not isinstance(term, ox.NamedNode) or not term.value.startswith(self._starts):
            return
        if self._contents.target(term.value) is None:
            for name, graph in self._stored.items():
                if f"{term.value}/".startswith(f"{name}/"):
                    self.result.referred.add(graph)

    def _add_described(self, quad: ox.Quad) -> None:
        if not isinstance(quad.subject, ox.NamedNode):
            self._add_foreign(quad)
            return
        subject = quad.subject.value
        types = self._contents.types.get(subject)
        if _GRAPH.fullmatch(subject):
            return  # the import writes its own registry entries
        if subject in self._declared:
            self._compare(quad, subject)
        elif subject.startswith((KGB, OUTCOME)) or subject == KGB.removesuffix("#"):
            self.result.left_out += 1
        elif types is not None:
            if _is_covered_by_shapes(quad):
                self.result.catalogue.setdefault(subject, []).append(quad.triple)
            else:
                self._add_foreign(quad)
        elif self._is_declaration(subject) or self._has_kgbench_type(subject):
            self.result.left_out += 1
        else:
            self._add_foreign(quad)

    def _compare(self, quad: ox.Quad, subject: str) -> None:
        pairs = self._declared[subject]
        predicate = quad.predicate.value
        if (predicate, quad.object) in pairs or subject not in self._fixed:
            return
        value = quad.object.value if isinstance(quad.object, ox.NamedNode) else ""
        specialises = predicate in (RDFS.subClassOf, RDFS.subPropertyOf) and value.startswith(KGB)
        if predicate in _DEFINING_PROPERTIES or specialises:
            raise ImportRefused(
                f"the data give {compact(subject)} another meaning than this kgbench declares: "
                f"{compact(predicate)} {quad.object}"
            )
        if predicate == KGB.metric and KGB.Metric in self._contents.types.get(value, ()):
            # A metric that results use for a task class although the class does not declare it.
            self.result.catalogue.setdefault(subject, []).append(quad.triple)

    def _is_declaration(self, subject: str) -> bool:
        """Return whether the IRI of a subject has a reserved form.

        Only files of kgbench declare resources with such IRIs.
        """
        below = subject[len(BASE) :]
        return subject.startswith(BASE) and _first_segment(below) in self._declared_segments

    def _has_kgbench_type(self, subject: str) -> bool:
        node = ox.NamedNode(subject)
        quads = self._contents.staged.quads_for_pattern(node, ox.NamedNode(RDF.type), None)
        return any(is_kgbench_class(quad.object) for quad in quads)

    def _add_foreign(self, quad: ox.Quad) -> None:
        if isinstance(quad.subject, ox.NamedNode) and quad.predicate.value.startswith(KGB):
            raise ImportRefused(
                f"{quad.subject}: {compact(quad.predicate.value)} has a subject that is "
                f"not of any kind that kgbench knows"
            )
        self.result.foreign.append(f"{quad.triple} .")


@cache
def _shape_terms() -> frozenset[str]:
    """Return every property and every class that the result shapes mention."""
    return frozenset(
        quad.object.value
        for name in SHAPE_FILES["results"]
        for quad in ox.parse(resources.text("shapes", name), ox.RdfFormat.TURTLE, base_iri=BASE)
        if isinstance(quad.object, ox.NamedNode)
    )


def _is_covered_by_shapes(quad: ox.Quad) -> bool:
    """Return whether the result shapes cover a statement about a recorded resource.

    Other statements about it use foreign terms; they are not checked, and are kept separately.
    """
    predicate = quad.predicate.value
    if predicate == RDF.type:
        return is_kgbench_class(quad.object) or (
            isinstance(quad.object, ox.NamedNode) and quad.object.value in _shape_terms()
        )
    if predicate == PROV.wasInvalidatedBy:
        return False
    return (
        predicate.startswith((KGB, OUTCOME, BASE))
        or "/metric/" in predicate
        or predicate in _shape_terms()
    )


@cache
def _declarations(iris: Iris) -> Mapping[str, set[tuple[str, Term]]]:
    """Return the predicates and objects of each declared resource."""
    by_subject: dict[str, set[tuple[str, Term]]] = {}
    for triple in normalised(declared.triples(iris)):
        assert isinstance(triple.subject, ox.NamedNode)  # declared blank nodes get an IRI
        pair = (triple.predicate.value, triple.object)
        by_subject.setdefault(triple.subject.value, set()).add(pair)
    return by_subject


def _types(pairs: set[tuple[str, Term]]) -> set[str]:
    return {o.value for p, o in pairs if p == RDF.type and isinstance(o, ox.NamedNode)}


def _first_segment(path: str) -> str:
    return path.split("/", 1)[0].split("#", 1)[0]
