# SPDX-License-Identifier: Apache-2.0
"""The profile of a graph: its instances and their kinds, links, attributes, and fixed triples.

A kind is a set of classes that instances have. Triples about classes and properties are the schema,
which no variant changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kgbench.variants.triples import Triple
from kgbench.vocab import OWL, RDF, RDFS

TYPE = f"<{RDF.type}>"
_SUBCLASS = f"<{RDFS.subClassOf}>"
_VOCABULARIES = tuple(f"<{namespace}" for namespace in (RDF, RDFS, OWL))
_STRUCTURAL = (f"<{RDF}", f"<{OWL}")
_FIRST = f"<{RDF.first}>"
_UNSPECIFIC = frozenset((f"<{OWL}NamedIndividual>", f"<{OWL}Thing>", f"<{RDFS}Resource>"))


class Facet(NamedTuple):
    """A property of the instances of one kind."""

    property: str
    kind: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of a graph.

    ``kinds`` maps every instance to its kind, ``members`` every kind to its instances, sorted.
    ``links`` are triples between instances and ``attributes`` those from an instance to a value (a
    literal, or an IRI that the graph does not describe), both by facet of the subject. ``fixed``
    are all other triples. ``anchored`` are instances that the schema refers to.
    """

    kinds: Mapping[str, str]
    members: Mapping[str, tuple[str, ...]]
    links: Mapping[Facet, tuple[tuple[str, str], ...]]
    attributes: Mapping[Facet, tuple[tuple[str, str], ...]]
    fixed: tuple[Triple, ...]
    anchored: frozenset[str]

    def facets(self) -> Iterator[Facet]:
        """Yield all facets, sorted."""
        yield from sorted({*self.links, *self.attributes})

    def values(self, facet: Facet) -> dict[str, list[str]]:
        """Return the objects of a facet by subject."""
        values_by_subject: dict[str, list[str]] = defaultdict(list)
        for pairs in (self.links, self.attributes):
            for subject, value in pairs.get(facet, ()):
                values_by_subject[subject].append(value)
        return values_by_subject


@dataclass(slots=True)
class _Parts:
    links: dict[Facet, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[Facet, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    fixed: list[Triple] = field(default_factory=list)


def compute_profile(triples: tuple[Triple, ...]) -> Profile:
    """Compute the profile of a graph."""
    kinds = _kinds(triples)
    parts = _Parts()
    anchored: set[str] = set()
    for s, p, o in triples:
        kind = kinds.get(s)
        if kind is None or p.startswith(_STRUCTURAL):
            parts.fixed.append((s, p, o))
            if kind is None and o in kinds:
                anchored.add(o)
        elif o in kinds:
            parts.links[Facet(p, kind)].append((s, o))
        else:
            parts.attributes[Facet(p, kind)].append((s, o))
    members: dict[str, list[str]] = defaultdict(list)
    for instance in sorted(kinds):
        members[kinds[instance]].append(instance)
    return Profile(
        kinds,
        {kind: tuple(instances) for kind, instances in members.items()},
        {facet: tuple(pairs) for facet, pairs in parts.links.items()},
        {facet: tuple(pairs) for facet, pairs in parts.attributes.items()},
        tuple(parts.fixed),
        frozenset(anchored),
    )


def _kinds(triples: tuple[Triple, ...]) -> dict[str, str]:
    """Return the kind of every instance: its classes, or its properties if it has no class."""
    classes: dict[str, set[str]] = defaultdict(set)
    used: dict[str, set[str]] = defaultdict(set)
    schema: set[str] = set()
    for s, p, o in triples:
        schema.add(p)
        used[s].add(p)
        if p == TYPE:
            schema.add(o)
            if o.startswith(_VOCABULARIES) and o not in _UNSPECIFIC:
                schema.add(s)
            elif o not in _UNSPECIFIC:
                classes[s].add(o)
        elif p == _SUBCLASS:
            schema |= {s, o}
        elif p == _FIRST:
            schema.add(s)
    return {
        s: " ".join(sorted(classes[s])) if s in classes else f"with {' '.join(sorted(used[s]))}"
        for s in used
        if s not in schema
    }
