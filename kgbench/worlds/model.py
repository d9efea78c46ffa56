# SPDX-License-Identifier: Apache-2.0
"""The declared model of worlds: classes and properties, with their numbers and ranges of values."""

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
    """A class: its label (singular and plural), its parent class and its share of the instances."""

    iri: str
    label: str
    plural: str
    parent: str | None
    share: float
    disjoint: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the instances of a class, with ``min_count`` to ``max_count`` values.

    ``low`` and ``high`` bound numbers, and dates as days since 0001-01-01. ``phrase`` is the plural
    verb phrase for "have a link by this property"; ``""`` for properties with literals.
    """

    iri: str
    label: str
    phrase: str
    domain: str
    range: str
    min_count: int
    max_count: int
    low: int = 0
    high: int = 0
    transitive: bool = False

    @property
    def links(self) -> bool:
        """Whether its values are instances."""
        return bool(self.phrase)

    @property
    def key(self) -> str:
        """Its key in JSON: the words of its label in camel case, such as ``dayOfBirth``."""
        first, *others = self.label.replace("-", " ").split()
        return first + "".join(word.capitalize() for word in others)


@dataclass(frozen=True)
class Model:
    """The classes of worlds by IRI, and their properties; both in the order of their IRIs."""

    kinds: dict[str, Kind]
    properties: tuple[Property, ...]

    def above(self, kind: str) -> Iterator[str]:
        """Yield a class and its ancestors, the class itself first."""
        current: str | None = kind
        while current is not None:
            yield current
            current = self.kinds[current].parent

    def below(self, kind: str) -> list[str]:
        """Return the populated classes that are ``kind`` or one of its subclasses."""
        return self._below_kinds[kind]

    @cached_property
    def _below_kinds(self) -> dict[str, list[str]]:
        return {
            kind: [iri for iri in self.populated if kind in self.above(iri)] for kind in self.kinds
        }

    def has(self, kind: str) -> list[Property]:
        """Return the properties of the instances of a class, including inherited ones."""
        return self._of_kinds[kind]

    @cached_property
    def _of_kinds(self) -> dict[str, list[Property]]:
        return {
            kind: [prop for prop in self.properties if prop.domain in self.above(kind)]
            for kind in self.kinds
        }

    @cached_property
    def populated(self) -> list[str]:
        """The classes with instances of their own."""
        return [iri for iri, kind in self.kinds.items() if kind.share]


@cache
def load_model() -> Model:
    """Return the model in ``tasks/world/model.ttl``.

    Raises :class:`~kgbench.errors.ResourceError` if it is incomplete.
    """
    document = shipped("tasks", "world", "model.ttl")
    kinds = {node.value: _kind(document, node) for node in document.instances(OWL.Class)}
    return Model(kinds, _properties(document))


@cache
def absent_properties() -> tuple[Property, ...]:
    """Return the properties in ``tasks/world/absent.ttl``, which no world uses."""
    return _properties(shipped("tasks", "world", "absent.ttl"))


@cache
def synonyms() -> dict[str, list[str]]:
    """Return other words for classes and properties by IRI, from ``tasks/world/synonyms.ttl``.

    Raises :class:`~kgbench.errors.ResourceError` if a class or property has none.
    """
    document = shipped("tasks", "world", "synonyms.ttl")
    model = load_model()
    result = {}
    for iri in (*model.kinds, *(prop.iri for prop in model.properties)):
        result[iri] = sorted(document.texts(NamedNode(iri), SKOS.altLabel))
        if not result[iri]:
            raise ResourceError(f"{document.file}: there is no other word for {iri}")
    return result


def _properties(document: Declared) -> tuple[Property, ...]:
    properties = [
        _property(document, shape, property_shape)
        for shape in document.instances(SH.NodeShape)
        for property_shape in document.objects(shape, SH.property)
    ]
    return tuple(sorted(properties, key=lambda prop: prop.iri))


def _kind(document: Declared, node: Node) -> Kind:
    return Kind(
        str(node.value),
        document.required(node, RDFS.label),
        document.required(node, SKOS.altLabel),
        document.text(node, RDFS.subClassOf),
        document.read(node, KGB.share, float) or 0.0,
        tuple(document.texts(node, OWL.disjointWith)),
    )


def _property(document: Declared, shape: Node, property_shape: Node) -> Property:
    (path,) = document.objects(property_shape, SH.path)
    domain = document.required(shape, SH.targetClass)
    value_range = document.text(property_shape, SH["class"]) or document.required(
        property_shape, SH.datatype
    )
    if (domain, value_range) != (document.text(path, RDFS.domain), document.text(path, RDFS.range)):
        raise ResourceError(f"{document.file}: the shape of {path} contradicts its domain or range")
    bound = _days if value_range == XSD.date else int
    return Property(
        str(path.value),
        document.required(path, RDFS.label),
        document.text(path, SKOS.altLabel) or "",
        domain,
        value_range,
        document.read(property_shape, SH.minCount, int) or 0,
        document.required_as(property_shape, SH.maxCount, int),
        document.read(property_shape, SH.minInclusive, bound) or 0,
        document.read(property_shape, SH.maxInclusive, bound) or 0,
        OWL.TransitiveProperty in document.texts(path, RDF.type),
    )


def _days(text: str) -> int:
    return date.fromisoformat(text).toordinal()
