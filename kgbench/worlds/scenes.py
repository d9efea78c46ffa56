# SPDX-License-Identifier: Apache-2.0
"""Small graphs cut out of a world, and changes to them.

A scene has things of some classes with what they link to, and what is said of the classes above
theirs. What is linked to and not shown is left out, so that all that is there has a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.validation.foreign import Finding, ForeignShapes
from kgbench.vocab import RDF, RDFS
from kgbench.worlds.generator import Graph, Instance, lines
from kgbench.worlds.naming import Chance

LABEL: Final = ox.NamedNode(RDFS.label)
TYPE: Final = ox.NamedNode(RDF.type)
_ABOVE: Final = ox.NamedNode(RDFS.subClassOf)
_EACH: Final = 3  # things of each class, before any are taken out
_MOST: Final = 16  # things in a scene before any are taken out
_PASSES: Final = 12


class Edit(NamedTuple):
    """A change to a graph: triples that go and triples that come."""

    removed: tuple[ox.Triple, ...] = ()
    added: tuple[ox.Triple, ...] = ()

    @property
    def sites(self) -> set[tuple[str, str]]:
        """Subject and predicate of each triple that comes or goes."""
        return {(str(one.subject), one.predicate.value) for one in (*self.removed, *self.added)}


class Scene:
    """A graph of a few things of a world, as triples in the order in which they are shown."""

    def __init__(self, graph: Graph, triples: Sequence[ox.Triple]) -> None:
        self.graph = graph
        self.triples = list(triples)
        self._objects: dict[tuple[str, str], list[ox.Triple]] = {}
        for one in triples:
            self._objects.setdefault((one.subject.value, one.predicate.value), []).append(one)  # type: ignore[union-attr]

    def of(self, kind: str) -> list[ox.NamedNode]:
        """Return the things of a class and of those below it."""
        known = {self.graph.terms[iri] for iri in self.graph.model.below(kind)}
        found = (one for one in self.triples if one.predicate == TYPE)
        return [one.subject for one in found if one.object.value in known]  # type: ignore[misc, union-attr]

    def said(self, subject: ox.NamedNode, predicate: str) -> list[ox.Triple]:
        """Return the triples with a subject and a predicate (IRI)."""
        return self._objects.get((subject.value, predicate), [])

    def changed(self, edit: Edit) -> Scene:
        """Return the scene after a change, in an order that does not tell what has changed."""
        gone = set(edit.removed)
        kept = [one for one in self.triples if one not in gone]
        return Scene(self.graph, _ordered([*kept, *edit.added]))


def conforming(
    graph: Graph,
    shapes: ForeignShapes,
    kinds: Sequence[str],
    follow: Iterable[str],
    chance: Chance,
) -> Scene | None:
    """Return a scene that conforms to shapes; ``None`` if this draw gives none.

    It has some things of each of ``kinds``, and what they link to by the properties ``follow`` and
    by those that must have a value, but for those that the shapes find wrong.
    """
    followed = set(follow)
    members: dict[str, Instance] = {}
    for kind in kinds:
        members.update((one.iri, one) for one in chance.some(graph.of(kind), _EACH))
    open_ = list(members.values())
    while open_:
        one = open_.pop(0)
        for each in graph.model.has(one.kind):
            if each.links and (each.least or (each.iri in followed and len(members) < _MOST)):
                fresh = [to for to in one.links.get(each.iri, ()) if to.iri not in members]
                members.update((to.iri, to) for to in fresh)
                open_.extend(fresh)
    said = {iri: _said(graph, one) for iri, one in members.items()}
    for _ in range(_PASSES):
        scene = _cut_out(graph, members, said)
        found = shapes.findings(scene.triples)
        if not found:
            full = all(len(scene.of(kind)) > 1 for kind in kinds)
            return scene if full else None
        for focus in {one.focus[1:-1] for one in found}:
            members.pop(focus, None)
    return None


def _said(graph: Graph, one: Instance) -> list[ox.Triple]:
    """Return what a world says of an instance."""
    parsed = ox.parse("\n".join(lines(graph, one)), ox.RdfFormat.N_TRIPLES)
    return [quad.triple for quad in parsed]


def _cut_out(
    graph: Graph, members: Mapping[str, Instance], said: Mapping[str, Sequence[ox.Triple]]
) -> Scene:
    """Return what is said of the members, without links to other things."""
    links = {graph.terms[one.iri] for one in graph.model.properties if one.links}
    kinds = sorted({kind for one in members.values() for kind in graph.model.above(one.kind)})
    axioms = [
        ox.Triple(ox.NamedNode(graph.terms[kind]), _ABOVE, ox.NamedNode(graph.terms[parent]))
        for kind in kinds
        if (parent := graph.model.kinds[kind].parent) is not None
    ]
    kept = [
        triple
        for iri in members
        for triple in said[iri]
        if triple.predicate.value not in links or triple.object.value in members  # type: ignore[union-attr]
    ]
    return Scene(graph, _ordered([*axioms, *kept]))


def _ordered(triples: Iterable[ox.Triple]) -> list[ox.Triple]:
    """Triples by subject, as these first occur; the class and the name before all else."""
    found = list(dict.fromkeys(triples))
    places: dict[object, int] = {}
    for one in found:
        places.setdefault(one.subject, len(places))
    first = (_ABOVE, TYPE, LABEL)

    def key(one: ox.Triple) -> tuple[int, int, str, str]:
        rank = first.index(one.predicate) if one.predicate in first else len(first)
        return places[one.subject], rank, one.predicate.value, str(one.object)

    return sorted(found, key=key)


def pairs(found: Iterable[Finding]) -> set[tuple[str, str]]:
    """Return the nodes with the components that they violate."""
    return {one.pair for one in found}
