# SPDX-License-Identifier: Apache-2.0
"""Pairs of ontologies, the second a renamed copy of the first, with their correspondences.

They have some classes and properties of the model of worlds, with more axioms.

Entities whose labels do not show the correspondence are identified by axioms and facts: no other
mapping of them preserves the axioms and facts (:func:`kgbench.worlds.rows.is_rigid`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    OWL,
    RDFS,
    XSD,
    Chance,
    Graph,
    Instance,
    Property,
    World,
    build_graph,
    first_drawn,
)
from kgbench.reasoning.closure import find_incoherence
from kgbench.worlds.model import NAMESPACE, synonyms
from kgbench.worlds.rows import TYPE, Row, Spelling, is_rigid, line, write_graph

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


VERSION: Final = 1
"""Rises when the same seed gives other ontologies."""
LEVELS: Final = 5
FIRST: Final = NAMESPACE
SECOND: Final = f"{NAMESPACE}other/"
_ALIKE, _WORDS, _MISSING, _NONE, _TRAPS = range(1, LEVELS + 1)
_TRIES: Final = 400
_OTHERS: Final = {"owl": str(OWL), "rdfs": str(RDFS), "xsd": str(XSD)}
_SPELLINGS: Final = (
    Spelling({"a": FIRST, **_OTHERS}, bare=True),
    Spelling({"b": SECOND, **_OTHERS}, bare=True),
)
_WORD: Final = re.compile(r"[A-Za-z]+")


class Alignment(NamedTuple):
    """Two ontologies as texts and as N-Triples, with the axioms that align them as N-Triples.

    ``misleading`` are labels that entities of both ontologies share without corresponding.
    """

    texts: tuple[str, str]
    triples: tuple[tuple[str, ...], tuple[str, ...]]
    axioms: tuple[str, ...]
    misleading: tuple[str, ...]


@lru_cache(maxsize=256)
def draw_alignment(world: World, level: int, number: int) -> Alignment:
    """Return the alignment with a number, counted from 0.

    Raises :class:`~kgbench.errors.TaskError` if no attempt succeeds.
    """
    seed = (VERSION, world.seed, world.instances, "alignments", level, number)

    def draw(attempt: int) -> Alignment | None:
        return _Drawing(build_graph(world), level, Chance(*seed, attempt)).alignment()

    return first_drawn(draw, _TRIES, f"two ontologies of level {level}")


class _Drawing:
    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph, self._level, self._chance = graph, level, chance
        self._schema = Schema(graph, level, chance)
        model = graph.model
        self._words = {iri: kind.label for iri, kind in model.kinds.items()}
        self._words |= {prop.iri: prop.label for prop in model.properties}
        self._unlabelled: set[str] = set()
        self._misleading: list[str] = []
        if level == _MISSING:
            shared = self._schema.shared
            number = len(shared)
            self._unlabelled = set(
                chance.some(shared, chance.between(number // 3, 2 * number // 3))
            )
        elif level >= _NONE:
            self._unlabelled = set(self._schema.shared)

    def alignment(self) -> Alignment | None:
        """Build the alignment that was drawn; ``None`` if its correspondences are ambiguous."""
        schema = self._schema
        hidden = {
            f"<{iri}>": f"_:{position}" for position, iri in enumerate(sorted(self._unlabelled))
        }
        # The two aligned ontologies are coherent if one ontology with all axioms is.
        if not is_rigid(rename_terms(schema.common, hidden)) or find_incoherence(
            _parsed(schema.everything)
        ):
            return None
        labels = self._second_labels()
        names = (self._first_names(), self._second_names(labels))
        labels_by_iri = (
            {iri: self._words[iri] for iri in (*schema.shared, *schema.strangers[0])},
            labels,
        )
        graphs = [
            self._labelled(
                rename_terms(schema.rows(position), names[position]),
                names[position],
                labels_by_iri[position],
            )
            for position in (0, 1)
        ]
        axioms = [
            (names[0][f"<{iri}>"], f"<{_equivalent(iri, self._graph)}>", names[1][f"<{iri}>"])
            for iri in schema.shared
        ]
        lines = [tuple(sorted(map(line, rows))) for rows in graphs]
        aligned = tuple(sorted(map(line, axioms)))
        texts = [
            write_graph(rows, spelling, [], self._chance)
            for rows, spelling in zip(graphs, _SPELLINGS, strict=True)
        ]
        return Alignment(
            (texts[0], texts[1]), (lines[0], lines[1]), aligned, tuple(self._misleading)
        )

    def _second_labels(self) -> dict[str, str]:
        """Draw the labels of the second ontology by IRI of the model."""
        iris = [*self._schema.shared, *self._schema.strangers[1]]
        if self._level == _NONE:
            return {}
        if self._level == _ALIKE:
            return {iri: self._label_variant(iri) for iri in iris}
        result = {iri: self._chance.one(synonyms()[iri]) for iri in iris}
        if self._level == _MISSING:
            return {iri: label for iri, label in result.items() if iri not in self._unlabelled}
        if self._level == _TRAPS:
            result |= self._traps()
        return result

    def _label_variant(self, iri: str) -> str:
        """Draw a variant of a label: another case, underscores, a plural or a "has"."""
        label = self._words[iri]
        forms = [label, label.title(), label.replace(" ", "_"), label.upper()]
        if iri in self._graph.model.kinds:
            forms.append(self._graph.model.kinds[iri].plural)
        else:
            forms.append(f"has {label}")
        return self._chance.one(forms)

    def _traps(self) -> dict[str, str]:
        """Draw pairs of entities that exchange their labels of the first ontology."""
        properties = self._schema.properties
        sorts = (
            (self._schema.kinds, 1),
            ([prop.iri for prop in properties if prop.links], 2),
            ([prop.iri for prop in properties if not prop.links], 1),
        )
        result: dict[str, str] = {}
        for candidates, number in sorts:
            chosen = self._chance.some(candidates, 2 * number)
            for first, second in zip(chosen[::2], chosen[1::2], strict=False):
                result |= {first: self._words[second], second: self._words[first]}
        self._misleading = sorted(result.values())
        return result

    def _first_names(self) -> dict[str, str]:
        things = self._numbered("a", FIRST)
        return {f"<{iri}>": f"<{name}>" for iri, name in self._graph.terms.items()} | things

    def _second_names(self, labels: dict[str, str]) -> dict[str, str]:
        iris = [*self._schema.shared, *self._schema.strangers[1]]
        numbers = self._chance.shuffled(range(1, 100))
        result = self._numbered("b", SECOND)
        for iri, number in zip(iris, numbers, strict=False):
            is_class = iri in self._graph.model.kinds
            name = f"{'c' if is_class else 'p'}{number}"
            if self._graph.world.names == "natural" and iri in labels:
                first, *others = _WORD.findall(labels[iri].replace("_", " ").lower())
                name = "".join([first, *(word.capitalize() for word in others)])
                name = name[0].upper() + name[1:] if is_class else name
            result[f"<{iri}>"] = f"<{SECOND}{name}>"
        return result

    def _numbered(self, letter: str, namespace: str) -> dict[str, str]:
        """Draw numbered names for the individuals."""
        numbers = self._chance.shuffled(range(1, len(self._schema.things) + 1))
        things = zip(self._schema.things, numbers, strict=True)
        return {f"<{iri}>": f"<{namespace}{letter}{number}>" for iri, number in things}

    def _labelled(
        self, rows: frozenset[Row], names: dict[str, str], labels: dict[str, str]
    ) -> frozenset[Row]:
        label_rows = {(names[f"<{iri}>"], LABEL, f'"{text}"@en') for iri, text in labels.items()}
        things = self._schema.things.items()
        return rows | label_rows | {(names[f"<{iri}>"], LABEL, f'"{text}"') for iri, text in things}


def _equivalent(iri: str, graph: Graph) -> str:
    return str(OWL.equivalentClass if iri in graph.model.kinds else OWL.equivalentProperty)


def _parsed(rows: frozenset[Row]) -> list[ox.Triple]:
    text = "".join(f"{line(row)} .\n" for row in sorted(rows))
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES)]
