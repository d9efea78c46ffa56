# SPDX-License-Identifier: Apache-2.0
"""Sorting of the statements of a data set: recorded, described, declared, or foreign.

Resources that this kgbench declares (vocabulary, outcomes, task classes, metrics, suites) are never
loaded from a data set. A data set that gives them another meaning is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf.contents import (
    IGNORED_KINDS,
    Contents,
    TargetGraph,
    check_statement,
    is_covered_by_shapes,
    is_graph_name,
    is_kgbench_class,
    is_recorded,
    latest_day,
    normalised,
    target_of,
)
from kgbench.store import declared
from kgbench.store.iris import Iris
from kgbench.vocab import BASE, KGB, OUTCOME, OWL, RDF, RDFS, SCHEMA, SKOS, compact

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

Term: TypeAlias = Any  # the object of a pyoxigraph triple


@dataclass(slots=True)
class SortedStatements:
    """The statements of a data set that do not belong to an activity's graph.

    ``catalogue`` has descriptions for the catalogue, by subject. ``foreign`` has, as N-Triples, the
    statements about unknown resources and those with foreign terms about recorded ones.
    ``left_out`` counts ignored statements: analyses, and declarations that this kgbench lacks.
    """

    catalogue: dict[str, list[ox.Triple]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    left_out: int = 0


def sort(contents: Contents, iris: Iris) -> SortedStatements:
    """Sort every statement. Raises :class:`ImportRefused` for the first invalid one."""
    sorter = _Sorter(contents, iris)
    for quad in contents.staged:
        sorter.add_quad(quad)
    sorter.result.foreign = sorted(set(sorter.result.foreign))
    return sorter.result


class _Sorter:
    def __init__(self, contents: Contents, iris: Iris) -> None:
        self.result = SortedStatements()
        self._contents = contents
        self._declared = _declarations(iris)
        self._fixed = {s for s, pairs in self._declared.items() if _types(pairs) & _FIXED_CLASSES}
        self._declared_segments = _first_segments(self._declared)
        self._latest = latest_day()

    def add_quad(self, quad: ox.Quad) -> None:
        check_statement(quad, self._latest)
        target = target_of(self._contents, quad)
        if target is not None:
            self._add_recorded(quad, target)
            return
        if isinstance(quad.subject, ox.BlankNode):
            self._add_foreign(quad)
            return
        assert isinstance(quad.subject, ox.NamedNode)
        self._add_described(quad, quad.subject.value)

    def _add_recorded(self, quad: ox.Quad, target: TargetGraph) -> None:
        if target.kind in IGNORED_KINDS:
            self.result.left_out += 1
        elif not is_recorded(self._contents, quad):
            self._add_foreign(quad)
        elif not self._is_in_place(quad, target):
            raise ImportRefused(
                f"the graph {quad.graph_name} has a statement about {quad.subject} "
                f"({compact(quad.predicate.value)}) that only the graph <{target.graph}> may have"
            )

    def _is_in_place(self, quad: ox.Quad, target: TargetGraph) -> bool:
        """Return whether a statement is in its own or the default graph, perhaps in others too."""
        graph = quad.graph_name
        if isinstance(graph, ox.DefaultGraph) or graph.value == target.graph:
            return True
        in_target = ox.Quad(quad.subject, quad.predicate, quad.object, ox.NamedNode(target.graph))
        return in_target in self._contents.staged

    def _add_described(self, quad: ox.Quad, subject: str) -> None:
        types = self._contents.types.get(subject)
        if is_graph_name(subject):
            return  # the import writes its own registry entries
        if subject in self._declared:
            self._compare(quad, subject)
        elif subject.startswith((KGB, OUTCOME)) or subject == KGB.removesuffix("#"):
            self.result.left_out += 1
        elif types is not None:
            if is_covered_by_shapes(quad):
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
        if predicate in _DEFINING_PROPERTIES or _specialises_kgbench_term(quad):
            raise ImportRefused(
                f"the data give {compact(subject)} another meaning than this kgbench declares: "
                f"{compact(predicate)} {quad.object}"
            )
        if predicate == KGB.metric and KGB.Metric in self._contents.types.get(
            _object_iri(quad), ()
        ):
            # A metric that results use for a task class although the class does not declare it.
            self.result.catalogue.setdefault(subject, []).append(quad.triple)

    def _is_declaration(self, subject: str) -> bool:
        """Return whether the IRI of a subject has a reserved form.

        Only files of kgbench declare resources with such IRIs.
        """
        if not subject.startswith(BASE):
            return False
        return subject[len(BASE) :].split("/", 1)[0].split("#", 1)[0] in self._declared_segments

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


def _object_iri(quad: ox.Quad) -> str:
    return quad.object.value if isinstance(quad.object, ox.NamedNode) else ""


def _specialises_kgbench_term(quad: ox.Quad) -> bool:
    """Return whether a statement makes its subject a subclass or subproperty of a kgbench term."""
    return (
        quad.predicate.value in (RDFS.subClassOf, RDFS.subPropertyOf)
        and isinstance(quad.object, ox.NamedNode)
        and quad.object.value.startswith(KGB)
    )


@cache
def _declarations(iris: Iris) -> Mapping[str, set[tuple[str, Term]]]:
    return _by_subject(normalised(declared.triples(iris)))


def _by_subject(triples: Iterable[ox.Triple]) -> dict[str, set[tuple[str, Term]]]:
    by_subject: dict[str, set[tuple[str, Term]]] = {}
    for triple in triples:
        assert isinstance(triple.subject, ox.NamedNode)  # declared blank nodes get an IRI
        pair = (triple.predicate.value, triple.object)
        by_subject.setdefault(triple.subject.value, set()).add(pair)
    return by_subject


def _types(pairs: set[tuple[str, Term]]) -> set[str]:
    return {o.value for p, o in pairs if p == RDF.type and isinstance(o, ox.NamedNode)}


def _first_segments(subjects: Iterable[str]) -> frozenset[str]:
    paths = (s[len(BASE) :] for s in subjects if s.startswith(BASE))
    segments = {name.split("/", 1)[0].split("#", 1)[0] for name in paths}
    return frozenset(segments - {_DATASET_SEGMENT, "software"})
