# SPDX-License-Identifier: Apache-2.0
"""What worlds are made of, as declared: classes, properties, how many values and which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property

from pyoxigraph import NamedNode

from kgbench.errors import ResourceError
from kgbench.rdf.declared import Declared, Node, shipped
from kgbench.vocab import KGB, OWL, RDF, RDFS, SH, SKOS, XSD

NAMESPACE = "https://w3id.org/kgbench/world/"


@dataclass(frozen=True, slots=True)
class Kind:
    """A class: how it is called (singular, plural), the one above it, its share of instances."""

    iri: str
    label: str
    plural: str
    parent: str | None
    share: float
    disjoint: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a class: between ``least`` and ``most`` values of the range.

    ``low`` and ``high`` bound numbers, and dates as days since 0001-01-01. ``phrase`` is what
    things do that have a link by it; ``""`` for literals.
    """

    iri: str
    label: str
    phrase: str
    domain: str
    range: str
    least: int
    most: int
    low: int = 0
    high: int = 0
    transitive: bool = False

    @property
    def links(self) -> bool:
        """Whether its values are instances."""
        return bool(self.phrase)

    @property
    def key(self) -> str:
        """What JSON calls it: the words of its label in one, ``dayOfBirth``."""
        first, *others = self.label.replace("-", " ").split()
        return first + "".join(word.capitalize() for word in others)


@dataclass(frozen=True)
class Model:
    """The classes by IRI, and the properties, both in the order of their IRIs."""

    kinds: dict[str, Kind]
    properties: tuple[Property, ...]

    def above(self, kind: str) -> Iterator[str]:
        """Yield a class and those above it, from below."""
        at: str | None = kind
        while at is not None:
            yield at
            at = self.kinds[at].parent

    def below(self, kind: str) -> list[str]:
        """Return the classes with instances of their own that are ``kind`` or below it."""
        return [iri for iri in self.populated if kind in self.above(iri)]

    def has(self, kind: str) -> list[Property]:
        """Return the properties of the instances of a class, its own and inherited ones."""
        return self._of_kinds[kind]

    @cached_property
    def _of_kinds(self) -> dict[str, list[Property]]:
        return {
            kind: [one for one in self.properties if one.domain in self.above(kind)]
            for kind in self.kinds
        }

    @cached_property
    def populated(self) -> list[str]:
        """The classes with instances of their own."""
        return [iri for iri, kind in self.kinds.items() if kind.share]


@cache
def declared() -> Model:
    """Return the model in ``tasks/world/model.ttl``.

    Raises :class:`~kgbench.errors.ResourceError` if it is incomplete.
    """
    said = shipped("tasks", "world", "model.ttl")
    kinds = {node.value: _kind(said, node) for node in said.instances(OWL.Class)}
    return Model(kinds, _properties(said))


@cache
def absent() -> tuple[Property, ...]:
    """Return the properties in ``tasks/world/absent.ttl``, of which no world says anything."""
    return _properties(shipped("tasks", "world", "absent.ttl"))


@cache
def synonyms() -> dict[str, list[str]]:
    """Other words for classes and properties, by IRI: ``tasks/world/synonyms.ttl``.

    Raises :class:`~kgbench.errors.ResourceError` if one has none.
    """
    said = shipped("tasks", "world", "synonyms.ttl")
    model = declared()
    found = {}
    for iri in (*model.kinds, *(one.iri for one in model.properties)):
        found[iri] = sorted(said.texts(NamedNode(iri), SKOS.altLabel))
        if not found[iri]:
            raise ResourceError(f"{said.file}: there is no other word for {iri}")
    return found


def _properties(said: Declared) -> tuple[Property, ...]:
    properties = [
        _property(said, shape, part)
        for shape in said.instances(SH.NodeShape)
        for part in said.objects(shape, SH.property)
    ]
    return tuple(sorted(properties, key=lambda one: one.iri))


def _kind(said: Declared, node: Node) -> Kind:
    return Kind(
        str(node.value),
        said.required(node, RDFS.label),
        said.required(node, SKOS.altLabel),
        said.text(node, RDFS.subClassOf),
        said.read(node, KGB.share, float) or 0.0,
        tuple(said.texts(node, OWL.disjointWith)),
    )


def _property(said: Declared, shape: Node, part: Node) -> Property:
    (path,) = said.objects(part, SH.path)
    domain = said.required(shape, SH.targetClass)
    found = said.text(part, SH["class"]) or said.required(part, SH.datatype)
    if (domain, found) != (said.text(path, RDFS.domain), said.text(path, RDFS.range)):
        raise ResourceError(f"{said.file}: the shape of {path} contradicts its domain or range")
    bound = _days if found == XSD.date else int
    return Property(
        str(path.value),
        said.required(path, RDFS.label),
        said.text(path, SKOS.altLabel) or "",
        domain,
        found,
        said.read(part, SH.minCount, int) or 0,
        said.needed(part, SH.maxCount, int),
        said.read(part, SH.minInclusive, bound) or 0,
        said.read(part, SH.maxInclusive, bound) or 0,
        OWL.TransitiveProperty in said.texts(path, RDF.type),
    )


def _days(text: str) -> int:
    return date.fromisoformat(text).toordinal()
