# SPDX-License-Identifier: Apache-2.0
"""Scenes: small graphs cut out of a world, and edits to them.

A scene has things of some classes, things that they link to, and the subclass axioms of their
classes. Links to things outside the scene are left out, so that every node has a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.validation.checking import Finding, ForeignShapes
from kgbench.vocab import RDF, RDFS
from kgbench.worlds.generator import Graph, Instance, lines
from kgbench.worlds.naming import Chance

LABEL: Final = ox.NamedNode(RDFS.label)
TYPE: Final = ox.NamedNode(RDF.type)
_ABOVE: Final = ox.NamedNode(RDFS.subClassOf)
_EACH: Final = 3  # things of each class, before any are removed
_MOST: Final = 16  # things in a scene, before any are removed
_PASSES: Final = 12


class Edit(NamedTuple):
    """A change to a graph: removed and added triples."""

    removed: tuple[ox.Triple, ...] = ()
    added: tuple[ox.Triple, ...] = ()

    @property
    def sites(self) -> set[tuple[str, str]]:
        """Subject and predicate of each removed or added triple."""
        return {
            (str(triple.subject), triple.predicate.value) for triple in (*self.removed, *self.added)
        }


class Scene:
    """A graph of a few things of a world, as triples in the order of the text."""

    def __init__(self, graph: Graph, triples: Sequence[ox.Triple]) -> None:
        self.graph = graph
        self.triples = list(triples)
        self._objects: dict[tuple[str, str], list[ox.Triple]] = {}
        for triple in triples:
            key = (triple.subject.value, triple.predicate.value)  # type: ignore[union-attr]
            self._objects.setdefault(key, []).append(triple)

    def instances_of(self, kind: str) -> list[ox.NamedNode]:
        """Return the things of a class and of its subclasses."""
        classes = {self.graph.terms[iri] for iri in self.graph.model.below(kind)}
        typed = (triple for triple in self.triples if triple.predicate == TYPE)
        return [triple.subject for triple in typed if triple.object.value in classes]  # type: ignore[misc, union-attr]

    def triples_of(self, subject: ox.NamedNode, predicate: str) -> list[ox.Triple]:
        """Return the triples with a subject and a predicate (IRI)."""
        return self._objects.get((subject.value, predicate), [])

    def changed(self, edit: Edit) -> Scene:
        """Apply an edit; the order of the result does not show which triples changed."""
        removed = set(edit.removed)
        kept = [triple for triple in self.triples if triple not in removed]
        return Scene(self.graph, _ordered([*kept, *edit.added]))


def draw_conforming_scene(
    graph: Graph,
    shapes: ForeignShapes,
    kinds: Sequence[str],
    follow: Iterable[str],
    chance: Chance,
) -> Scene | None:
    """Draw a scene that conforms to shapes; return ``None`` if this draw gives none.

    The scene has some things of each of ``kinds`` and their link targets by the properties
    ``follow`` and by required properties, except for things with violations.
    """
    followed = set(follow)
    members: dict[str, Instance] = {}
    for kind in kinds:
        members.update(
            (instance.iri, instance) for instance in chance.some(graph.instances_of(kind), _EACH)
        )
    open_ = list(members.values())
    while open_:
        instance = open_.pop(0)
        for prop in graph.model.has(instance.kind):
            if prop.links and (prop.min_count or (prop.iri in followed and len(members) < _MOST)):
                fresh = [
                    target
                    for target in instance.links.get(prop.iri, ())
                    if target.iri not in members
                ]
                members.update((target.iri, target) for target in fresh)
                open_.extend(fresh)
    triples = {iri: _triples_about(graph, instance) for iri, instance in members.items()}
    for _ in range(_PASSES):
        scene = _cut_out(graph, members, triples)
        findings = shapes.findings(scene.triples)
        if not findings:
            is_complete = all(len(scene.instances_of(kind)) > 1 for kind in kinds)
            return scene if is_complete else None
        for focus in {finding.focus[1:-1] for finding in findings}:
            members.pop(focus, None)
    return None


def _triples_about(graph: Graph, instance: Instance) -> list[ox.Triple]:
    """Return the triples about an instance."""
    parsed = ox.parse("\n".join(lines(graph, instance)), ox.RdfFormat.N_TRIPLES)
    return [quad.triple for quad in parsed]


def _cut_out(
    graph: Graph, members: Mapping[str, Instance], triples: Mapping[str, Sequence[ox.Triple]]
) -> Scene:
    """Build a scene of the triples about the members, without links to other things."""
    links = {graph.terms[prop.iri] for prop in graph.model.properties if prop.links}
    kinds = sorted(
        {kind for instance in members.values() for kind in graph.model.above(instance.kind)}
    )
    axioms = [
        ox.Triple(ox.NamedNode(graph.terms[kind]), _ABOVE, ox.NamedNode(graph.terms[parent]))
        for kind in kinds
        if (parent := graph.model.kinds[kind].parent) is not None
    ]
    kept = [
        triple
        for iri in members
        for triple in triples[iri]
        if triple.predicate.value not in links or triple.object.value in members  # type: ignore[union-attr]
    ]
    return Scene(graph, _ordered([*axioms, *kept]))


def _ordered(triples: Iterable[ox.Triple]) -> list[ox.Triple]:
    """Sort triples by first occurrence of their subject, with class and name before the rest."""
    unique = list(dict.fromkeys(triples))
    positions: dict[object, int] = {}
    for triple in unique:
        positions.setdefault(triple.subject, len(positions))
    first = (_ABOVE, TYPE, LABEL)

    def key(triple: ox.Triple) -> tuple[int, int, str, str]:
        rank = first.index(triple.predicate) if triple.predicate in first else len(first)
        return positions[triple.subject], rank, triple.predicate.value, str(triple.object)

    return sorted(unique, key=key)


def violation_pairs(findings: Iterable[Finding]) -> set[tuple[str, str]]:
    """Return the pairs of focus node and violated component of findings."""
    return {finding.pair for finding in findings}
