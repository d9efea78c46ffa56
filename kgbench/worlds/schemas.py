# SPDX-License-Identifier: Apache-2.0
"""Schemas drawn from the model of worlds: some of its classes and properties, and more axioms."""

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
"""The level from which on properties are linked to others, too."""
FACTS: Final = 4
"""The level that has individuals."""
_STRANGERS: Final = {1: 0, 2: 2, 3: 1, 4: 0, 5: 0}
"""How many properties, at most, each ontology has that the other lacks; one class fewer."""
_PROPERTIES: Final = (9, 14)
_THINGS: Final = 5


class Schema:
    """Classes and properties of the model with axioms about them, and some individuals.

    ``kinds`` and ``properties`` are what both ontologies have, ``strangers`` what only the first or
    the second has. ``rows`` are triples with IRIs of the model; ``things`` has the individuals.
    """

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph, self._level, self._chance = graph, level, chance
        model = graph.model
        leaves = chance.shuffled([one for one in model.populated if model.kinds[one].parent])
        absent, strange = leaves[: chance.between(0, 2)], leaves[2:]
        strange = strange[: 2 * max(0, _STRANGERS[level] - 1)] if chance.between(0, 1) else []
        gone = {*absent, *strange}
        fits = [one for one in model.properties if not gone & {one.domain, one.range}]
        drawn = chance.some(fits, chance.between(*_PROPERTIES) + 2 * _STRANGERS[level])
        half = chance.between(min(1, _STRANGERS[level]), _STRANGERS[level])
        alone, self.properties = drawn[: 2 * half], drawn[2 * half :]
        self.kinds = [one for one in model.kinds if one not in gone]
        self._alone = (alone[:half], alone[half:])
        odd = (strange[: len(strange) // 2], strange[len(strange) // 2 :])
        self.strangers = tuple(
            [*kinds, *(one.iri for one in properties)]
            for kinds, properties in zip(odd, self._alone, strict=True)
        )
        self.things: dict[str, str] = {}
        self._rows: dict[Row, None] = {}
        for kind in (*self.kinds, *strange):
            self._tell_class(kind)
        for each in drawn:
            self._tell_property(each)
        if level >= STRUCTURE:
            self._relate()
        if level == FACTS:
            self._populate()

    @property
    def shared(self) -> list[str]:
        """What both ontologies have, as IRIs of the model."""
        return [*self.kinds, *(one.iri for one in self.properties)]

    def rows(self, place: int) -> frozenset[Row]:
        """Return the triples of the first (0) or the second (1) ontology."""
        return self._without(self.strangers[1 - place])

    @property
    def common(self) -> frozenset[Row]:
        """The triples of both ontologies."""
        return self._without([*self.strangers[0], *self.strangers[1]])

    @property
    def everything(self) -> frozenset[Row]:
        """All triples."""
        return frozenset(self._rows)

    def _without(self, gone: Sequence[str]) -> frozenset[Row]:
        names = {f"<{one}>" for one in gone}
        return frozenset(row for row in self._rows if not names & set(row))

    def _tell_class(self, iri: str) -> None:
        kind = self._graph.model.kinds[iri]
        self._say(iri, TYPE, OWL.Class)
        if kind.parent is not None:
            self._say(iri, _BELOW, kind.parent)
        for other in kind.disjoint:
            if other in self.kinds and iri in self.kinds and self._chance.between(0, 4):
                self._say(iri, _DISJOINT, other)

    def _tell_property(self, each: Property) -> None:
        self._say(each.iri, TYPE, OWL.ObjectProperty if each.links else OWL.DatatypeProperty)
        self._say(each.iri, _DOMAIN, each.domain)
        self._say(each.iri, _RANGE, each.range)
        if each.transitive:
            self._say(each.iri, TYPE, OWL.TransitiveProperty)
            return
        if each.most == 1 and self._chance.between(0, 2):
            self._say(each.iri, TYPE, OWL.FunctionalProperty)
        if each.links and each.domain == each.range:
            if self._chance.between(0, 1):
                self._say(each.iri, TYPE, OWL.AsymmetricProperty)
            if self._chance.between(0, 1):
                self._say(each.iri, TYPE, OWL.IrreflexiveProperty)

    def _relate(self) -> None:
        """State properties below others and inverse ones, where domains and ranges allow it."""
        model = self._graph.model
        links = self._chance.shuffled(
            [one for one in self.properties if one.links and not one.transitive]
        )
        below = [
            (one, other)
            for place, one in enumerate(links)
            for other in links[place + 1 :]
            if other.domain in model.above(one.domain) and other.range in model.above(one.range)
        ]
        turned = [
            (one, other)
            for place, one in enumerate(links)
            for other in links[place + 1 :]
            if (one.domain, one.range) == (other.range, other.domain) and one.domain != one.range
        ]
        for one, other in self._chance.some(below, self._chance.between(0, 2)):
            self._say(one.iri, _BELOW_PROPERTY, other.iri)
        for one, other in self._chance.some(turned, self._chance.between(0, 1)):
            self._say(one.iri, _INVERSE, other.iri)

    def _populate(self) -> None:
        """State some facts about things of the world."""
        links = [one for one in self.properties if one.links]
        owners = [
            one
            for each in links
            for one in self._graph.of(each.domain)
            if each.iri in one.links and self._class(one)
        ]
        members: dict[str, Instance] = {}
        for one in self._chance.some(owners, 2):
            found = [one, *(to for each in links for to in one.links.get(each.iri, ())[:1])]
            members.update((each.iri, each) for each in found if self._class(each))
        chosen = dict(list(members.items())[:_THINGS])
        for one in chosen.values():
            self.things[one.iri] = one.label
            self._say(one.iri, TYPE, self._class(one) or "")
            for each in links:
                for to in one.links.get(each.iri, ()):
                    if to.iri in chosen:
                        self._say(one.iri, f"<{each.iri}>", to.iri)

    def _class(self, one: Instance) -> str | None:
        """Return the class of a thing, or the next above it, that both ontologies have."""
        return next(
            (kind for kind in self._graph.model.above(one.kind) if kind in self.kinds), None
        )

    def _say(self, subject: str, predicate: str, value: str) -> None:
        self._rows[f"<{subject}>", predicate, f"<{value}>"] = None


def renamed(rows: Iterable[Row], names: dict[str, str]) -> frozenset[Row]:
    """Triples with other names for their terms, where there are any."""
    return frozenset(
        (names.get(subject, subject), names.get(predicate, predicate), names.get(value, value))
        for subject, predicate, value in rows
    )
