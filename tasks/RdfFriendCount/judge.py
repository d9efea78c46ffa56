# SPDX-License-Identifier: Apache-2.0
"""RdfFriendCount: name the node with the most incoming edges of a generated graph.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.4; Meyer et al.,
LLM-KG-Bench 3.0, ESWC 2025. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from random import Random
from typing import Final

import pyoxigraph as ox

from kgbench.api import (
    RDF,
    Case,
    DrawnFamily,
    Executor,
    Json,
    Task,
    TaskError,
    Verdict,
    outcome,
    serialise,
)
from kgbench.scoring.agreement import harmonic
from kgbench.scoring.formulas import by_length
from kgbench.tasks import serialising
from kgbench.vocab import FOAF

PEOPLE = "http://example.org/people/"

_PREFIXES = {"ex": PEOPLE, "foaf": str(FOAF)}
_TYPE = ox.NamedNode(RDF.type)
_CLASS = ox.NamedNode(FOAF.Person)
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
            result.append(ox.Triple(person, _TYPE, _CLASS))
            friends = sorted(self.known_by(position), key=rank.__getitem__)
            result += [ox.Triple(person, _KNOWS, _node(self.numbers[other])) for other in friends]
        return result

    def written(self, graph_format: str) -> str:
        """Serialise the graph in a format of :mod:`kgbench.tasks.serialising`."""
        return serialise(self.triples(), graph_format, _PREFIXES)


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


_PERSON: Final = re.compile(r"person-0*(\w+)")


class RdfFriendCount(DrawnFamily):
    """Graphs of persons, in which one person is known by more than all others."""

    NEEDED = ("specialNodeIri", "specialFriends", "n")  # a published case may be cut short

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return ``count`` cases of a task, if its size allows any."""
        self.check(task)
        return super().cases(task, suite, seed, count)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a graph, with the special person and those who mislead."""
        source = hashlib.sha256(f"{seed}/{task.label}/{number}".encode()).digest()
        graph_format = task.parameters["graphFormat"]
        graph = shuffled(
            self._person_count(task),
            task.parameters["knowsCount"],
            task.parameters["specialIndex"],
            task.parameters["specialAddKnowsCount"],
            Random(source),  # noqa: S311 - reproducible, not secret
        )
        return {
            "n": graph.persons,
            "knowsCount": graph.knows,
            "specialIndex": graph.special,
            "specialAddKnowsCount": graph.additional,
            "specialNodeIri": graph.special_iri,
            "specialFriends": graph.special_friends,
            "graphFormat": graph_format,
            "graph": graph.written(graph_format),
        }

    def check(self, task: Task) -> None:
        """Check that the smallest graph with the other parameters fits into the size."""
        self._person_count(task)

    def _person_count(self, task: Task) -> int:
        """Return the greatest number of persons whose Turtle prompt fits into the size of ``task``.

        Raises :class:`~kgbench.errors.TaskError` if even the smallest possible graph does not fit.
        """
        knows, additional, size = (
            task.parameters[name] for name in ("knowsCount", "specialAddKnowsCount", "size")
        )
        fewest = knows + additional + 1
        question = len(self._question("turtle", ""))
        least = question + turtle_length(fewest, knows, additional)
        if size < least:
            raise TaskError(
                f"task {task.label}: a graph with knowsCount {knows} and specialAddKnowsCount "
                f"{additional} needs a size of at least {least} characters, but size is {size}"
            )
        # All names have the same length, so each further person adds as many characters.
        step = turtle_length(fewest + 1, knows, additional) + question - least
        return int(fewest + (size - least) // step)

    def prompt(self, case: Case) -> str:
        """Return the question with the graph of ``case``.

        Raises :class:`~kgbench.errors.TaskError` if the case has no graph.
        """
        if "graph" not in case.data:
            raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
        return self._question(case.data["graphFormat"], case.data["graph"])

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the persons that the answer names."""
        answer = answers[-1]
        special: str = case.data["specialNodeIri"]
        friends: list[str] = case.data["specialFriends"]
        named: list[str] = _PERSON.findall(answer)
        recall = float(special.removeprefix(PEOPLE) in answer)
        precision = recall / len(named) if named else 0.0
        misled = sum(friend in answer for friend in friends)
        scores = {
            "recall": recall,
            "precision": precision,
            "f1": harmonic(precision, recall),
            "exact": float(precision == 1),
            "noSpecialFriends": 1 - misled / len(friends) if friends else 1.0,
            "brevity": by_length(len(special) + len("<>"), answer),
        }
        infos = {
            "persons": case.data["n"],
            "specialNode": special,
            "answerPersonCount": len(named),
            "specialFriendsInAnswer": misled,
            "personsInAnswer": named,
        }
        return Verdict(scores, infos, outcome(answer, usable=bool(named)))

    def guess(self, case: Case, chance: Random) -> str:
        """Return one of the persons at random."""
        persons = {match.group() for match in _PERSON.finditer(case.data["graph"])}
        return PEOPLE + chance.choice(sorted(persons))

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric over guesses: one person is right."""
        return 1 / float(case.data["n"])

    def reference(self, case: Case) -> str:
        """Return the IRI of the person whom most others know."""
        return str(case.data["specialNodeIri"])

    def _question(self, graph_format: str, graph: str) -> str:
        title = serialising.TITLES[serialising.canonical_format(graph_format)]
        return self.text("prompt", format=title, graph=graph)


family: Final = RdfFriendCount(__file__)
