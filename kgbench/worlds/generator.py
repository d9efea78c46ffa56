# SPDX-License-Identifier: Apache-2.0
"""The graph of a world: its instances with their links and values, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds.model import NAMESPACE, Model, Property, declared
from kgbench.worlds.naming import Chance, labels, word

VERSION: Final = 1
"""Rises when the same seed gives another graph or other questions."""
NATURAL, OPAQUE = "natural", "opaque"
RESOURCE: Final = f"{NAMESPACE}resource/"
LANGUAGES: Final = ("de", "en", "fr")
_PREFIX: Final = "world"


class World(NamedTuple):
    """What identifies a world: its seed, how many instances it has, and how its IRIs are made.

    ``names`` is ``natural`` (IRIs are made of labels) or ``opaque`` (of numbers; labels stay).
    """

    seed: str
    instances: int
    names: str = NATURAL

    @property
    def name(self) -> str:
        """The name of its graph, for :func:`kgbench.tasks.graphs.text`."""
        return f"{_PREFIX}-{VERSION}-{self.names}-{self.instances}-{self.seed}"


def named(name: str) -> World | None:
    """Return the world that a graph is called after; ``None`` if it is none of this version."""
    parts = name.split("-", 4)
    if len(parts) != len(World._fields) + 2 or parts[:2] != [_PREFIX, str(VERSION)]:
        return None
    _, _, names, instances, seed = parts
    if names not in {NATURAL, OPAQUE} or not (instances.isascii() and instances.isdecimal()):
        return None
    return World(seed, int(instances), names)


@dataclass(slots=True)
class Instance:
    """A thing: its class, label, IRI, and by IRI of property what it is linked to and its values.

    Values are whole numbers (of dates, the day since 0001-01-01) and (text, language) pairs.
    """

    kind: str
    label: str
    iri: str
    links: dict[str, list[Instance]] = field(default_factory=dict)
    values: dict[str, list[int | tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """A world as it was made. ``terms`` maps each IRI of the model to the one that it has here."""

    world: World
    model: Model
    terms: Mapping[str, str]
    instances: Mapping[str, list[Instance]]

    def of(self, kind: str) -> list[Instance]:
        """Return the instances of a class, and of those below it."""
        return [one for leaf in self.model.below(kind) for one in self.instances[leaf]]


@lru_cache(maxsize=4)
def made(world: World) -> Graph:
    """Return the world of a seed.

    Raises :class:`~kgbench.errors.TaskError` for fewer instances than every class needs.
    """
    model = declared()
    numbers = sizes(world)
    chance = Chance(VERSION, world.seed, "graph")
    called = iter(labels(sum(numbers.values()), chance))
    instances = {
        kind: [Instance(kind, next(called), "") for _ in range(number)]
        for kind, number in numbers.items()
    }
    graph = Graph(world, model, _terms(model, world), instances)
    everything = [one for members in instances.values() for one in members]
    places = Chance(VERSION, world.seed, "names").shuffled(range(len(everything)))
    for one, place in zip(everything, places, strict=True):
        opaque = world.names == OPAQUE
        one.iri = RESOURCE + (f"i{place + 1}" if opaque else one.label.replace(" ", "_"))
    ranges = {each.range: graph.of(each.range) for each in model.properties if each.links}
    for kind in model.populated:
        properties = model.has(kind)
        for number, one in enumerate(instances[kind]):
            for each in properties:
                _give(one, number, each, ranges.get(each.range, []), chance)
    return graph


def sizes(world: World) -> dict[str, int]:
    """Return how many instances each class with instances of its own has.

    Raises :class:`~kgbench.errors.TaskError` for fewer instances than every class needs.
    """
    kinds = declared().kinds
    found = {name: round(kinds[name].share * world.instances) for name in declared().populated}
    if min(found.values()) < 2:  # noqa: PLR2004 - things that differ
        raise TaskError(f"a world of {world.instances} instances is too small: 60 are enough")
    return found


@lru_cache(maxsize=4)
def text(world: World) -> str:
    """Return a world as N-Triples: its schema, then its instances."""
    graph = made(world)
    return "".join(f"{line}\n" for line in (*schema(graph), *_lines(graph)))


def schema(graph: Graph) -> Iterator[str]:
    """Yield what a world says of its classes and properties, as lines of N-Triples."""
    terms = graph.terms
    for iri, kind in graph.model.kinds.items():
        yield f"<{terms[iri]}> <{RDF.type}> <{OWL.Class}> ."
        yield f'<{terms[iri]}> <{RDFS.label}> "{kind.label}"@en .'
        if kind.parent is not None:
            yield f"<{terms[iri]}> <{RDFS.subClassOf}> <{terms[kind.parent]}> ."
        for other in kind.disjoint:
            yield f"<{terms[iri]}> <{OWL.disjointWith}> <{terms[other]}> ."
    for each in graph.model.properties:
        kinds = [OWL.ObjectProperty if each.links else OWL.DatatypeProperty]
        if each.transitive:
            kinds.append(OWL.TransitiveProperty)
        elif each.most == 1:
            kinds.append(OWL.FunctionalProperty)
        for of in kinds:
            yield f"<{terms[each.iri]}> <{RDF.type}> <{of}> ."
        yield f'<{terms[each.iri]}> <{RDFS.label}> "{each.label}"@en .'
        yield f"<{terms[each.iri]}> <{RDFS.domain}> <{terms[each.domain]}> ."
        yield f"<{terms[each.iri]}> <{RDFS.range}> <{terms.get(each.range, each.range)}> ."


def lines(graph: Graph, one: Instance) -> Iterator[str]:
    """Yield what a world says of an instance, as lines of N-Triples."""
    subject = f"<{one.iri}>"
    yield f"{subject} <{RDF.type}> <{graph.terms[one.kind]}> ."
    yield label(one)
    for each in graph.model.has(one.kind):
        predicate = f"<{graph.terms[each.iri]}>"
        for target in one.links.get(each.iri, ()):
            yield f"{subject} {predicate} <{target.iri}> ."
        for value in one.values.get(each.iri, ()):
            yield f"{subject} {predicate} {literal(each, value)} ."


def label(one: Instance) -> str:
    """Return the name of an instance, as a line of N-Triples."""
    return f'<{one.iri}> <{RDFS.label}> "{one.label}" .'


def literal(each: Property, value: int | tuple[str, str]) -> str:
    """Return a value of a property as N-Triples and SPARQL write it."""
    if isinstance(value, tuple):
        return f'"{value[0]}"@{value[1]}'
    if each.range == XSD.date:
        return f'"{date.fromordinal(value).isoformat()}"^^<{XSD.date}>'
    return f'"{value}"^^<{XSD.integer}>'


def _terms(model: Model, world: World) -> dict[str, str]:
    known = [*model.kinds, *(each.iri for each in model.properties)]
    if world.names == NATURAL:
        return {iri: iri for iri in known}
    places = Chance(VERSION, world.seed, "terms").shuffled(range(len(known)))
    numbered = zip(known, places, strict=True)
    return {
        iri: f"{NAMESPACE}{'c' if iri in model.kinds else 'p'}{place + 1}"
        for iri, place in numbered
    }


def _give(
    one: Instance, number: int, each: Property, targets: list[Instance], chance: Chance
) -> None:
    wanted = chance.between(each.least, each.most)
    if each.transitive:  # to earlier things only: there is no circle, and ways are long
        targets, wanted = targets[: number // 3], each.most
    if each.links:
        found = [target for target in chance.some(targets, wanted) if target is not one]
        if found:
            one.links[each.iri] = found
        return
    values: list[int | tuple[str, str]] = []
    if each.range == RDF.langString:
        values += [(_slogan(chance), tag) for tag in chance.some(LANGUAGES, wanted)]
    else:
        values += [chance.between(each.low, each.high) for _ in range(wanted)]
    if values:
        one.values[each.iri] = values


def _slogan(chance: Chance) -> str:
    return " ".join(word(chance).lower() for _ in range(3))


def _lines(graph: Graph) -> Iterator[str]:
    for members in graph.instances.values():
        for one in members:
            yield from lines(graph, one)
