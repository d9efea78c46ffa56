# SPDX-License-Identifier: Apache-2.0
"""Small ontologies and facts in the form of Text2KGBench: labels and identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgbench.model import Json


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the reference, with labels as published, spaces included."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Concept:
    """A class; ``id`` is unique in its ontology, unless the published data are faulty."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A property; ``domain`` and ``range`` are ids of concepts, empty or dangling if unknown."""

    id: str
    label: str
    domain: str
    range: str

    @property
    def name(self) -> str:
        """The label as prompts and answers write it, with underscores for spaces."""
        return self.label.replace(" ", "_")


@dataclass(frozen=True)
class Ontology:
    """Concepts and relations in their published order."""

    id: str
    title: str
    concepts: tuple[Concept, ...]
    relations: tuple[Relation, ...]

    @cached_property
    def relation_names(self) -> frozenset[str]:
        """The relation labels as answers write them."""
        return frozenset(relation.name for relation in self.relations)

    @cached_property
    def concept_labels(self) -> Mapping[str, str]:
        """Labels by concept id."""
        return {concept.id: concept.label for concept in self.concepts}

    @cached_property
    def relations_named(self) -> Mapping[str, tuple[Relation, ...]]:
        """Relations by the name that answers write; several relations can share a name."""
        by_name: dict[str, tuple[Relation, ...]] = {}
        for relation in self.relations:
            by_name[relation.name] = (*by_name.get(relation.name, ()), relation)
        return by_name

    def as_json(self) -> dict[str, Json]:
        """Return the ontology as case data hold it."""
        return {
            "id": self.id,
            "title": self.title,
            "concepts": [[concept.id, concept.label] for concept in self.concepts],
            "relations": [[r.id, r.label, r.domain, r.range] for r in self.relations],
        }


def ontology_from(data: Mapping[str, Json]) -> Ontology:
    """Return the ontology that :meth:`Ontology.as_json` wrote."""
    return Ontology(
        data["id"],
        data["title"],
        tuple(Concept(*item) for item in data["concepts"]),
        tuple(Relation(*item) for item in data["relations"]),
    )


def facts_from(data: Sequence[Json]) -> tuple[Fact, ...]:
    """Return facts from ``[[subject, relation, object], ...]``."""
    return tuple(Fact(*item) for item in data)


def facts_json(facts: Sequence[Fact]) -> list[Json]:
    """Return facts as ``[[subject, relation, object], ...]``."""
    return [[fact.subject, fact.relation, fact.object] for fact in facts]
