# SPDX-License-Identifier: Apache-2.0
"""Graphs of worlds, with links and values drawn from a seed, and sheets of things about them.

A thing of a sheet is drawn again until it is sound and differs from earlier ones.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from kgbench.errors import TaskError
from kgbench.model import Task
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds.model import NAMESPACE, Model, Property, load_model
from kgbench.worlds.naming import Chance, labels, word

VERSION: Final = 1
"""Rises when the same seed gives another graph; other questions raise versions of task classes."""
NATURAL, OPAQUE = "natural", "opaque"
RESOURCE: Final = f"{NAMESPACE}resource/"
LANGUAGES: Final = ("de", "en", "fr")
_PREFIX: Final = "world"
_SEED: Final = 16  # hex digits


class World(NamedTuple):
    """The identity of a world: its seed, its number of instances and the kind of its IRIs.

    ``names`` is ``natural`` (IRIs from labels) or ``opaque`` (numbered IRIs; labels stay the same).
    """

    seed: str
    instances: int
    names: str = NATURAL

    @property
    def name(self) -> str:
        """The name of its graph, for :func:`kgbench.tasks.graphs.text`."""
        return f"{_PREFIX}-{VERSION}-{self.names}-{self.instances}-{self.seed}"


def world_of(task: Task, seed: int) -> World:
    """Return the world of a plan's seed, with size and kind of names from the task's parameters."""
    source = hashlib.sha256(str(seed).encode()).hexdigest()[:_SEED]
    return World(source, task.parameters["instances"], task.parameters["names"])


def check_instances(task: Task) -> None:
    """Check that the world of a task is large enough for every class to have instances."""
    sizes(world_of(task, 0))


def world_of_name(name: str) -> World | None:
    """Return the world with this graph name; ``None`` if the name is not one of this version."""
    parts = name.split("-", 4)
    if len(parts) != len(World._fields) + 2 or parts[:2] != [_PREFIX, str(VERSION)]:
        return None
    _, _, names, instances, seed = parts
    if names not in {NATURAL, OPAQUE} or not (instances.isascii() and instances.isdecimal()):
        return None
    return World(seed, int(instances), names)


@dataclass(slots=True)
class Instance:
    """A thing with its class, label and IRI, and with its links and values by property IRI.

    Values are whole numbers (for dates, the days since 0001-01-01) and (text, language) pairs.
    """

    kind: str
    label: str
    iri: str
    links: dict[str, list[Instance]] = field(default_factory=dict)
    values: dict[str, list[int | tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a world. ``terms`` maps each IRI of the model to the IRI used in this world."""

    world: World
    model: Model
    terms: Mapping[str, str]
    instances: Mapping[str, list[Instance]]

    @property
    def things(self) -> list[Instance]:
        """All instances, class by class."""
        return [instance for members in self.instances.values() for instance in members]

    def instances_of(self, kind: str) -> list[Instance]:
        """Return the instances of a class and of its subclasses."""
        return [instance for leaf in self.model.below(kind) for instance in self.instances[leaf]]


@lru_cache(maxsize=4)
def build_graph(world: World) -> Graph:
    """Draw the graph of a world.

    Raises :class:`~kgbench.errors.TaskError` if a class would get fewer than two instances.
    """
    model = load_model()
    numbers = sizes(world)
    chance = Chance(VERSION, world.seed, "graph")
    next_labels = iter(labels(sum(numbers.values()), chance))
    instances = {
        kind: [Instance(kind, next(next_labels), "") for _ in range(number)]
        for kind, number in numbers.items()
    }
    graph = Graph(world, model, _terms(model, world), instances)
    numbers_of_iris = Chance(VERSION, world.seed, "names").shuffled(range(len(graph.things)))
    for instance, position in zip(graph.things, numbers_of_iris, strict=True):
        opaque = world.names == OPAQUE
        instance.iri = RESOURCE + (
            f"i{position + 1}" if opaque else instance.label.replace(" ", "_")
        )
    ranges = {prop.range: graph.instances_of(prop.range) for prop in model.properties if prop.links}
    for kind in model.populated:
        properties = model.has(kind)
        for number, instance in enumerate(instances[kind]):
            for prop in properties:
                _give(instance, number, prop, ranges.get(prop.range, []), chance)
    return graph


def sizes(world: World) -> dict[str, int]:
    """Return the number of instances of each populated class.

    Raises :class:`~kgbench.errors.TaskError` if a class would get fewer than two instances.
    """
    kinds = load_model().kinds
    result = {name: round(kinds[name].share * world.instances) for name in load_model().populated}
    if min(result.values()) < 2:  # noqa: PLR2004 - things that differ
        raise TaskError(f"a world of {world.instances} instances is too small: 60 are enough")
    return result


@lru_cache(maxsize=4)
def text(world: World) -> str:
    """Return a world as N-Triples: its schema, then its instances."""
    graph = build_graph(world)
    return "".join(f"{line}\n" for line in (*schema(graph), *_lines(graph)))


def schema(graph: Graph) -> Iterator[str]:
    """Yield the schema of a world (its classes and properties) as lines of N-Triples."""
    terms = graph.terms
    for iri, kind in graph.model.kinds.items():
        yield f"<{terms[iri]}> <{RDF.type}> <{OWL.Class}> ."
        yield f'<{terms[iri]}> <{RDFS.label}> "{kind.label}"@en .'
        if kind.parent is not None:
            yield f"<{terms[iri]}> <{RDFS.subClassOf}> <{terms[kind.parent]}> ."
        for other in kind.disjoint:
            yield f"<{terms[iri]}> <{OWL.disjointWith}> <{terms[other]}> ."
    for prop in graph.model.properties:
        kinds = [OWL.ObjectProperty if prop.links else OWL.DatatypeProperty]
        if prop.transitive:
            kinds.append(OWL.TransitiveProperty)
        elif prop.max_count == 1:
            kinds.append(OWL.FunctionalProperty)
        for term_type in kinds:
            yield f"<{terms[prop.iri]}> <{RDF.type}> <{term_type}> ."
        yield f'<{terms[prop.iri]}> <{RDFS.label}> "{prop.label}"@en .'
        yield f"<{terms[prop.iri]}> <{RDFS.domain}> <{terms[prop.domain]}> ."
        yield f"<{terms[prop.iri]}> <{RDFS.range}> <{terms.get(prop.range, prop.range)}> ."


def lines(graph: Graph, instance: Instance) -> Iterator[str]:
    """Yield the triples about an instance as lines of N-Triples."""
    subject = f"<{instance.iri}>"
    yield f"{subject} <{RDF.type}> <{graph.terms[instance.kind]}> ."
    yield label(instance)
    for prop in graph.model.has(instance.kind):
        predicate = f"<{graph.terms[prop.iri]}>"
        for target in instance.links.get(prop.iri, ()):
            yield f"{subject} {predicate} <{target.iri}> ."
        for value in instance.values.get(prop.iri, ()):
            yield f"{subject} {predicate} {literal(prop, value)} ."


def label(instance: Instance) -> str:
    """Return the label of an instance as a line of N-Triples."""
    return f'<{instance.iri}> <{RDFS.label}> "{instance.label}" .'


def literal(prop: Property, value: int | tuple[str, str]) -> str:
    """Return a value of a property in the syntax of N-Triples and SPARQL."""
    if isinstance(value, tuple):
        return f'"{value[0]}"@{value[1]}'
    if prop.range == XSD.date:
        return f'"{date.fromordinal(value).isoformat()}"^^<{XSD.date}>'
    return f'"{value}"^^<{XSD.integer}>'


def _terms(model: Model, world: World) -> dict[str, str]:
    known = [*model.kinds, *(prop.iri for prop in model.properties)]
    if world.names == NATURAL:
        return {iri: iri for iri in known}
    positions = Chance(VERSION, world.seed, "terms").shuffled(range(len(known)))
    pairs = zip(known, positions, strict=True)
    return {
        iri: f"{NAMESPACE}{'c' if iri in model.kinds else 'p'}{position + 1}"
        for iri, position in pairs
    }


def _give(
    instance: Instance, index: int, prop: Property, targets: list[Instance], chance: Chance
) -> None:
    count = chance.between(prop.min_count, prop.max_count)
    if prop.transitive:  # link to earlier things only: no cycles, long paths
        targets, count = targets[: index // 3], prop.max_count
    if prop.links:
        chosen = [target for target in chance.some(targets, count) if target is not instance]
        if chosen:
            instance.links[prop.iri] = chosen
        return
    values: list[int | tuple[str, str]] = []
    if prop.range == RDF.langString:
        values += [(_slogan(chance), tag) for tag in chance.some(LANGUAGES, count)]
    else:
        values += [chance.between(prop.low, prop.high) for _ in range(count)]
    if values:
        instance.values[prop.iri] = values


def _slogan(chance: Chance) -> str:
    return " ".join(word(chance).lower() for _ in range(3))


def _lines(graph: Graph) -> Iterator[str]:
    for members in graph.instances.values():
        for instance in members:
            yield from lines(graph, instance)


Drawn = TypeVar("Drawn")


def first_drawn(draw: Callable[[int], Drawn | None], tries: int, wanted: str) -> Drawn:
    """Return the first result of ``draw(0)``, ``draw(1)``, ... that is not ``None``.

    Raises :class:`~kgbench.errors.TaskError`, with what is ``wanted``, after so many ``tries``.
    """
    for attempt in range(tries):
        drawn = draw(attempt)
        if drawn is not None:
            return drawn
    raise TaskError(f"no {wanted} were found in {tries} attempts")


class Sheet(ABC, Generic[Drawn]):
    """A sequence of different things about a world; each depends on those before it."""

    TRIES: ClassVar[int]
    """How often a thing is drawn before the world is too small."""

    def __init__(self) -> None:
        self._found: list[Drawn] = []
        self._known: set[Hashable] = set()

    def __getitem__(self, number: int) -> Drawn:
        """Return the thing with a number, counted from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for that many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    @abstractmethod
    def _drawn(self) -> Drawn | None:
        """Draw a thing; ``None`` if it is not sound."""

    @abstractmethod
    def _key(self, drawn: Drawn) -> Hashable:
        """Return what equal things share."""

    @abstractmethod
    def _too_small(self, number: int) -> str:
        """Return what is wrong if there are only a ``number`` of things."""

    def _next(self) -> Drawn:
        for _ in range(self.TRIES):
            drawn = self._drawn()
            if drawn is not None and (key := self._key(drawn)) not in self._known:
                self._known.add(key)
                return drawn
        raise TaskError(self._too_small(len(self._found)))


class LevelSheet(Sheet[Drawn]):
    """Different things of one level about a world."""

    THINGS: ClassVar[str]
    """What they are, in the plural; the seed depends on it."""
    VERSION: ClassVar[int]
    """Rises when the same seed gives other things."""

    def __init__(self, world: World, level: int, *seed: str) -> None:
        super().__init__()
        self._graph = build_graph(world)
        self._level = level
        self._chance = Chance(self.VERSION, world.seed, world.instances, self.THINGS, level, *seed)

    def _too_small(self, number: int) -> str:
        return (
            f"a world of {self._graph.world.instances} instances is too small for more than "
            f"{number} {self.THINGS} of level {self._level}"
        )
