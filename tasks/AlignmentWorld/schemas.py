# SPDX-License-Identifier: Apache-2.0
"""Schemas drawn from the model of worlds: some of its classes and properties, with more axioms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kgbench.vocab import OWL, RDFS
from kgbench.worlds.generator import Graph, Instance
from kgbench.worlds.matching import Row
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance
from kgbench.worlds.spellings import TYPE

LABEL: Final = f"<{RDFS.label}>"
_BELOW, _DOMAIN, _RANGE, _BELOW_PROPERTY = (
    f"<{RDFS[name]}>" for name in ("subClassOf", "domain", "range", "subPropertyOf")
)
_DISJOINT, _INVERSE = f"<{OWL.disjointWith}>", f"<{OWL.inverseOf}>"
STRUCTURE: Final = 3
"""The lowest level with axioms between properties."""
FACTS: Final = 4
"""The level that has individuals."""
_STRANGERS: Final = {1: 0, 2: 2, 3: 1, 4: 0, 5: 0}
"""The most properties of each ontology that the other lacks; for classes, one fewer."""
_PROPERTIES: Final = (9, 14)
_THINGS: Final = 5


class Schema:
    """Classes and properties of the model with axioms about them, and some individuals.

    ``kinds`` and ``properties`` are in both ontologies, ``strangers`` only in the first or the
    second. ``rows`` are triples with IRIs of the model; ``things`` maps individuals to their
    labels.
    """

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph, self._level, self._chance = graph, level, chance
        model = graph.model
        leaves = chance.shuffled([kind for kind in model.populated if model.kinds[kind].parent])
        absent, strange_kinds = leaves[: chance.between(0, 2)], leaves[2:]
        strange_kinds = (
            strange_kinds[: 2 * max(0, _STRANGERS[level] - 1)] if chance.between(0, 1) else []
        )
        left_out = {*absent, *strange_kinds}
        fits = [prop for prop in model.properties if not left_out & {prop.domain, prop.range}]
        drawn = chance.some(fits, chance.between(*_PROPERTIES) + 2 * _STRANGERS[level])
        half = chance.between(min(1, _STRANGERS[level]), _STRANGERS[level])
        own_properties, self.properties = drawn[: 2 * half], drawn[2 * half :]
        self.kinds = [kind for kind in model.kinds if kind not in left_out]
        self._own_properties = (own_properties[:half], own_properties[half:])
        strange_halves = (
            strange_kinds[: len(strange_kinds) // 2],
            strange_kinds[len(strange_kinds) // 2 :],
        )
        self.strangers = tuple(
            [*kinds, *(prop.iri for prop in properties)]
            for kinds, properties in zip(strange_halves, self._own_properties, strict=True)
        )
        self.things: dict[str, str] = {}
        self._rows: dict[Row, None] = {}
        for kind in (*self.kinds, *strange_kinds):
            self._add_class(kind)
        for prop in drawn:
            self._add_property(prop)
        if level >= STRUCTURE:
            self._relate()
        if level == FACTS:
            self._populate()

    @property
    def shared(self) -> list[str]:
        """The classes and properties of both ontologies, as IRIs of the model."""
        return [*self.kinds, *(prop.iri for prop in self.properties)]

    def rows(self, index: int) -> frozenset[Row]:
        """Return the triples of the first (0) or the second (1) ontology."""
        return self._without(self.strangers[1 - index])

    @property
    def common(self) -> frozenset[Row]:
        """The triples that both ontologies share."""
        return self._without([*self.strangers[0], *self.strangers[1]])

    @property
    def everything(self) -> frozenset[Row]:
        """All triples."""
        return frozenset(self._rows)

    def _without(self, iris: Sequence[str]) -> frozenset[Row]:
        names = {f"<{iri}>" for iri in iris}
        return frozenset(row for row in self._rows if not names & set(row))

    def _add_class(self, iri: str) -> None:
        kind = self._graph.model.kinds[iri]
        self._add(iri, TYPE, OWL.Class)
        if kind.parent is not None:
            self._add(iri, _BELOW, kind.parent)
        for other in kind.disjoint:
            if other in self.kinds and iri in self.kinds and self._chance.between(0, 4):
                self._add(iri, _DISJOINT, other)

    def _add_property(self, prop: Property) -> None:
        self._add(prop.iri, TYPE, OWL.ObjectProperty if prop.links else OWL.DatatypeProperty)
        self._add(prop.iri, _DOMAIN, prop.domain)
        self._add(prop.iri, _RANGE, prop.range)
        if prop.transitive:
            self._add(prop.iri, TYPE, OWL.TransitiveProperty)
            return
        if prop.max_count == 1 and self._chance.between(0, 2):
            self._add(prop.iri, TYPE, OWL.FunctionalProperty)
        if prop.links and prop.domain == prop.range:
            if self._chance.between(0, 1):
                self._add(prop.iri, TYPE, OWL.AsymmetricProperty)
            if self._chance.between(0, 1):
                self._add(prop.iri, TYPE, OWL.IrreflexiveProperty)

    def _relate(self) -> None:
        """Add subproperty and inverse axioms that domains and ranges allow."""
        model = self._graph.model
        links = self._chance.shuffled(
            [prop for prop in self.properties if prop.links and not prop.transitive]
        )
        below = [
            (prop, other)
            for index, prop in enumerate(links)
            for other in links[index + 1 :]
            if other.domain in model.above(prop.domain) and other.range in model.above(prop.range)
        ]
        inverse = [
            (prop, other)
            for index, prop in enumerate(links)
            for other in links[index + 1 :]
            if (prop.domain, prop.range) == (other.range, other.domain)
            and prop.domain != prop.range
        ]
        for prop, other in self._chance.some(below, self._chance.between(0, 2)):
            self._add(prop.iri, _BELOW_PROPERTY, other.iri)
        for prop, other in self._chance.some(inverse, self._chance.between(0, 1)):
            self._add(prop.iri, _INVERSE, other.iri)

    def _populate(self) -> None:
        """Add facts about some things of the world."""
        links = [prop for prop in self.properties if prop.links]
        owners = [
            instance
            for prop in links
            for instance in self._graph.instances_of(prop.domain)
            if prop.iri in instance.links and self._class(instance)
        ]
        members: dict[str, Instance] = {}
        for instance in self._chance.some(owners, 2):
            near = [
                instance,
                *(target for prop in links for target in instance.links.get(prop.iri, ())[:1]),
            ]
            members.update((member.iri, member) for member in near if self._class(member))
        chosen = dict(list(members.items())[:_THINGS])
        for instance in chosen.values():
            self.things[instance.iri] = instance.label
            self._add(instance.iri, TYPE, self._class(instance) or "")
            for prop in links:
                for target in instance.links.get(prop.iri, ()):
                    if target.iri in chosen:
                        self._add(instance.iri, f"<{prop.iri}>", target.iri)

    def _class(self, instance: Instance) -> str | None:
        """Return the nearest class of a thing that both ontologies have, ancestors included."""
        return next(
            (kind for kind in self._graph.model.above(instance.kind) if kind in self.kinds), None
        )

    def _add(self, subject: str, predicate: str, value: str) -> None:
        self._rows[f"<{subject}>", predicate, f"<{value}>"] = None


def rename_terms(rows: Iterable[Row], names: dict[str, str]) -> frozenset[Row]:
    """Replace the terms of triples that have another name in ``names``."""
    return frozenset(
        (names.get(subject, subject), names.get(predicate, predicate), names.get(value, value))
        for subject, predicate, value in rows
    )
