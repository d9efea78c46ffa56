# SPDX-License-Identifier: Apache-2.0
"""Every statement of a staged data set, sorted: recorded, described, declared, or foreign.

What this kgbench declares (vocabulary, outcomes, task classes, metrics, suites) is never loaded
from a data set; it is compared, and a data set that gives it another meaning is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf.contents import (
    LEFT_OUT,
    Contents,
    Home,
    belongs,
    check_statement,
    home_of,
    is_guarded_type,
    is_ours,
    latest_day,
    names_graph,
    normalised,
)
from kgbench.store import declared
from kgbench.store.iris import Iris
from kgbench.vocab import BASE, KGB, OUTCOME, OWL, RDF, RDFS, SCHEMA, SKOS, compact

_MEANING = frozenset(
    (
        *(RDF.type, RDFS.range),
        *(SKOS.notation, SKOS.inScheme, SCHEMA.version, SCHEMA.softwareVersion),
        *(SCHEMA.minValue, SCHEMA.maxValue, KGB.higherIsBetter, KGB.unbounded),
        *(KGB.aggregation, KGB.aggregationOf, KGB.mainMetric, KGB.maxRounds),
        *(KGB.protected, KGB.isError, KGB.askAgain),
    )
)
"""What makes a declared thing what it is; labels and definitions may be worded otherwise."""

_FIXED = frozenset(
    (
        *(OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property, SKOS.Concept),
        *(KGB.Metric, KGB.TaskClass, KGB.Suite),
    )
)
"""The kinds of declared things whose meaning results depend on."""

_KEPT_APART = "dataset"  # what stands below BASE + this comes with data sets, declared or not

Term: TypeAlias = Any  # an object, as pyoxigraph has it


@dataclass(slots=True)
class Sorted:
    """The statements of a data set that do not belong into an activity's graph.

    ``catalogue`` holds, by subject, what the catalogue may take over; ``foreign`` the statements
    about other things, and foreign terms about recorded things, as N-Triples; ``left_out`` counts
    what was not taken: analyses, and declarations that this kgbench does not have.
    """

    catalogue: dict[str, list[ox.Triple]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    left_out: int = 0


def sort(contents: Contents, iris: Iris) -> Sorted:
    """Sort every statement. Raises :class:`ImportRefused` for the first that may not be."""
    sorter = _Sorter(contents, iris)
    for quad in contents.staged:
        sorter.take(quad)
    sorter.found.foreign = sorted(set(sorter.found.foreign))
    return sorter.found


class _Sorter:
    def __init__(self, contents: Contents, iris: Iris) -> None:
        self.found = Sorted()
        self._contents = contents
        self._declared = _declarations(iris)
        self._fixed = {s for s, said in self._declared.items() if _types(said) & _FIXED}
        self._ours_below = _first_segments(self._declared)
        self._latest = latest_day()

    def take(self, quad: ox.Quad) -> None:
        check_statement(quad, self._latest)
        home = home_of(self._contents, quad)
        if home is not None:
            self._recorded(quad, home)
            return
        if isinstance(quad.subject, ox.BlankNode):
            self._foreign(quad)
            return
        assert isinstance(quad.subject, ox.NamedNode)
        self._described(quad, quad.subject.value)

    def _recorded(self, quad: ox.Quad, home: Home) -> None:
        if home.kind in LEFT_OUT:
            self.found.left_out += 1
        elif not belongs(self._contents, quad):
            self._foreign(quad)
        elif not self._is_in_place(quad, home):
            raise ImportRefused(
                f"the graph {quad.graph_name} says of {quad.subject} what only the graph "
                f"<{home.graph}> may say ({compact(quad.predicate.value)})"
            )

    def _is_in_place(self, quad: ox.Quad, home: Home) -> bool:
        """Whether a statement stands in its graph, in none, or in its graph as well."""
        graph = quad.graph_name
        if isinstance(graph, ox.DefaultGraph) or graph.value == home.graph:
            return True
        there = ox.Quad(quad.subject, quad.predicate, quad.object, ox.NamedNode(home.graph))
        return there in self._contents.staged

    def _described(self, quad: ox.Quad, subject: str) -> None:
        types = self._contents.types.get(subject)
        if names_graph(subject):
            return  # the registry is made anew
        if subject in self._declared:
            self._compare(quad, subject)
        elif subject.startswith((KGB, OUTCOME)) or subject == KGB.removesuffix("#"):
            self.found.left_out += 1
        elif types is not None:
            if is_ours(quad):
                self.found.catalogue.setdefault(subject, []).append(quad.triple)
            else:
                self._foreign(quad)
        elif self._is_declaration(subject) or self._is_of_kgbench(subject):
            self.found.left_out += 1
        else:
            self._foreign(quad)

    def _compare(self, quad: ox.Quad, subject: str) -> None:
        said = self._declared[subject]
        predicate = quad.predicate.value
        if (predicate, quad.object) in said or subject not in self._fixed:
            return
        if predicate in _MEANING or _is_placed_below_ours(quad):
            raise ImportRefused(
                f"the data give {compact(subject)} another meaning than this kgbench declares: "
                f"{compact(predicate)} {quad.object}"
            )
        if predicate == KGB.metric and KGB.Metric in self._contents.types.get(_iri(quad), ()):
            # A score that was published with a task class and that the class does not declare.
            self.found.catalogue.setdefault(subject, []).append(quad.triple)

    def _is_declaration(self, subject: str) -> bool:
        """Whether a subject is of a kind that only files of kgbench declare."""
        if not subject.startswith(BASE):
            return False
        return subject[len(BASE) :].split("/", 1)[0].split("#", 1)[0] in self._ours_below

    def _is_of_kgbench(self, subject: str) -> bool:
        node = ox.NamedNode(subject)
        found = self._contents.staged.quads_for_pattern(node, ox.NamedNode(RDF.type), None)
        return any(is_guarded_type(quad.object) for quad in found)

    def _foreign(self, quad: ox.Quad) -> None:
        if isinstance(quad.subject, ox.NamedNode) and quad.predicate.value.startswith(KGB):
            raise ImportRefused(
                f"{quad.subject}: {compact(quad.predicate.value)} is said of something that is "
                f"not described as anything kgbench knows"
            )
        self.found.foreign.append(f"{quad.triple} .")


def _iri(quad: ox.Quad) -> str:
    return quad.object.value if isinstance(quad.object, ox.NamedNode) else ""


def _is_placed_below_ours(quad: ox.Quad) -> bool:
    """Whether a term is said to be a special case of one of kgbench's."""
    return (
        quad.predicate.value in (RDFS.subClassOf, RDFS.subPropertyOf)
        and isinstance(quad.object, ox.NamedNode)
        and quad.object.value.startswith(KGB)
    )


@cache
def _declarations(iris: Iris) -> Mapping[str, set[tuple[str, Term]]]:
    return _by_subject(normalised(declared.triples(iris)))


def _by_subject(triples: Iterable[ox.Triple]) -> dict[str, set[tuple[str, Term]]]:
    found: dict[str, set[tuple[str, Term]]] = {}
    for triple in triples:
        assert isinstance(triple.subject, ox.NamedNode)  # declared nodes without one get an IRI
        pair = (triple.predicate.value, triple.object)
        found.setdefault(triple.subject.value, set()).add(pair)
    return found


def _types(said: set[tuple[str, Term]]) -> set[str]:
    return {o.value for p, o in said if p == RDF.type and isinstance(o, ox.NamedNode)}


def _first_segments(subjects: Iterable[str]) -> frozenset[str]:
    below = (s[len(BASE) :] for s in subjects if s.startswith(BASE))
    found = {name.split("/", 1)[0].split("#", 1)[0] for name in below}
    return frozenset(found - {_KEPT_APART, "software"})
