# SPDX-License-Identifier: Apache-2.0
"""Generated graphs of persons who know each other; one person is known by more than all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from random import Random

import pyoxigraph as ox

from kgbench.tasks import serialising
from kgbench.vocab import FOAF, RDF

PEOPLE = "http://example.org/people/"

_PREFIXES = {"ex": PEOPLE, "foaf": str(FOAF)}
_TYPE = ox.NamedNode(RDF.type)
_PERSON = ox.NamedNode(FOAF.Person)
_KNOWS = ox.NamedNode(FOAF.knows)


def local_name(number: int) -> str:
    """Return a numbered person's name, padded with zeros so that all names are equally long."""
    return f"person-{number:08d}"


@dataclass(frozen=True, slots=True)
class FriendGraph:
    """A ring of ``persons``, in which each person knows the next ``knows`` persons.

    The person at position ``special`` is also known by ``additional`` others. ``numbers`` has the
    number of the person at each position, ``order`` the positions in the order of serialisation.
    """

    persons: int
    knows: int
    special: int
    additional: int
    numbers: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def special_iri(self) -> str:
        """The IRI of the person whom most others know."""
        return PEOPLE + local_name(self.numbers[self.special])

    @property
    def special_friends(self) -> list[str]:
        """The local names of the additional persons who know the special person."""
        return [local_name(self.numbers[position]) for position in self.additional_positions]

    @property
    def additional_positions(self) -> list[int]:
        """The positions of persons who know the special person beyond the rule of the ring.

        First come persons whom the special person does not know, then those whom it knows; never
        those who know it already.
        """
        strangers = range(self.knows + 1, self.persons - self.knows)
        acquaintances = range(1, min(self.knows, self.persons - self.knows - 1) + 1)
        offsets = islice(chain(strangers, acquaintances), self.additional)
        return [(self.special + offset) % self.persons for offset in offsets]

    def known_by(self, position: int) -> list[int]:
        """Return the positions of the persons whom the person at ``position`` knows."""
        positions = [(position + step) % self.persons for step in range(1, self.knows + 1)]
        return [*positions, self.special] if position in self.additional_positions else positions

    def triples(self) -> list[ox.Triple]:
        """Return the graph's triples, with persons and their edges in the order of ``order``."""
        result = []
        rank = {position: k for k, position in enumerate(self.order)}
        for position in self.order:
            person = _node(self.numbers[position])
            result.append(ox.Triple(person, _TYPE, _PERSON))
            friends = sorted(self.known_by(position), key=rank.__getitem__)
            result += [ox.Triple(person, _KNOWS, _node(self.numbers[other])) for other in friends]
        return result

    def written(self, graph_format: str) -> str:
        """Serialise the graph in a format of :mod:`kgbench.tasks.serialising`."""
        return serialising.serialise(self.triples(), graph_format, _PREFIXES)


def shuffled(
    persons: int, knows: int, special: int, additional: int, chance: Random
) -> FriendGraph:
    """Return a graph with numbers and order drawn by ``chance``."""
    numbers = list(range(1, persons + 1))
    order = list(range(persons))
    chance.shuffle(numbers)
    chance.shuffle(order)
    return FriendGraph(persons, knows, special % persons, additional, tuple(numbers), tuple(order))


@lru_cache(maxsize=1024)  # the same for all cases of a task
def turtle_length(persons: int, knows: int, additional: int) -> int:
    """Return the number of characters of the Turtle form, which does not depend on shuffling."""
    positions = tuple(range(persons))
    numbers = tuple(position + 1 for position in positions)
    graph = FriendGraph(persons, knows, 0, additional, numbers, positions)
    return len(graph.written("turtle"))


def _node(number: int) -> ox.NamedNode:
    return ox.NamedNode(PEOPLE + local_name(number))
