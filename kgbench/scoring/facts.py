# SPDX-License-Identifier: Apache-2.0
r"""Facts and ontologies in the form of Text2KGBench, and facts that an answer writes.

An answer writes facts as ``relation(subject, object)``. The rule is that of Text2KGBench: after
``\_`` has become ``_``, every match of ``(\w+)\(([^,]+),([^)]+)\)`` from left to right is a fact.
So a subject ends at the first comma and an object at the first closing bracket, line breaks
included. The scan below finds exactly these matches, in time linear in the length of the answer,
which the expression itself does not.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from kgbench.errors import EvaluationError
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


Triple: TypeAlias = tuple[str, str, str]
"""Subject, relation, object."""

_OPENING = re.compile(r"(?<!\w)(\w++)\(")
_QUOTES = str.maketrans("", "", "\"'")

CLEANINGS: Mapping[str, Callable[[str], str]] = {
    "none": str,
    "strip": str.strip,
    "strip-quotes": lambda part: part.strip().translate(_QUOTES),
}
"""The cleanings of the parts of a fact, by name (see :func:`parse`)."""


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """The facts of an answer in order; counts of its non-blank lines and of those without fact."""

    triples: tuple[Triple, ...]
    lines: int
    unparsed: int


def parse(answer: str, cleaning: str = "none") -> ParsedFacts:
    """Parse the facts of ``answer``; ``cleaning`` (a name in :data:`CLEANINGS`) cleans each part.

    ``none`` leaves parts as they are, so that most objects begin with a space; ``strip`` removes
    white space at both ends; ``strip-quotes`` then deletes all quotation marks and apostrophes.

    >>> parse("director(Psycho, Alfred Hitchcock)", "strip").triples
    (('Psycho', 'director', 'Alfred Hitchcock'),)

    Raises :class:`~kgbench.errors.EvaluationError` for an unknown cleaning.
    """
    clean = CLEANINGS.get(cleaning)
    if clean is None:
        raise EvaluationError(f"there is no cleaning '{cleaning}' (but {', '.join(CLEANINGS)})")
    text = answer.replace("\\_", "_")
    matches = list(_matches(text))
    triples = tuple(
        (clean(subject), relation, clean(object_)) for _, _, relation, subject, object_ in matches
    )
    lines, unparsed = _lines(text, [(first, last) for first, last, *_ in matches])
    return ParsedFacts(triples, lines, unparsed)


def cleanings_of(answer: str, triples: Sequence[Triple]) -> tuple[str, ...]:
    """Return the names in :data:`CLEANINGS` that parse ``answer`` into exactly ``triples``.

    >>> cleanings_of("director(Psycho, Hitchcock)", [("Psycho", "director", "Hitchcock")])
    ('strip', 'strip-quotes')
    """
    expected = tuple(triples)
    uncleaned = parse(answer).triples
    if len(uncleaned) != len(expected):
        return ()
    return tuple(
        name
        for name, clean in CLEANINGS.items()
        if tuple((clean(s), relation, clean(o)) for s, relation, o in uncleaned) == expected
    )


def _matches(text: str) -> Iterator[tuple[int, int, str, str, str]]:
    """Yield positions of first and last character, relation, subject and object of each fact."""
    position = comma = close = 0
    while (opening := _OPENING.search(text, position)) is not None:
        start = opening.end()
        comma = text.find(",", max(comma, start))
        if comma == -1:
            return
        close = text.find(")", max(close, comma + 1))
        if close == -1:
            return
        if comma == start or close == comma + 1:
            position = start
            continue
        relation = opening.group(1)
        yield opening.start(), close, relation, text[start:comma], text[comma + 1 : close]
        position = close


def _lines(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the number of lines that are not blank, and of those that touch none of ``spans``."""
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    touched = {
        number
        for first, last in spans
        for number in range(bisect(ends, first), bisect(ends, last) + 1)
    }
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return len(filled), sum(number not in touched for number in filled)
