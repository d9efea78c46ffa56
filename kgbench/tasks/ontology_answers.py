# SPDX-License-Identifier: Apache-2.0
"""Axioms in answers: which of those that were shown an answer has, and how many others.

Axioms are compared up to the names of blank nodes. Declarations (``o:River a owl:Class``) are no
axioms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.model import Case
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds.axioms import HEAD

_DECLARING: Final = {
    OWL[name]
    for name in ("Class", "ObjectProperty", "NamedIndividual", "Restriction", "Ontology", "Thing")
}
# What is said of a class expression; all else says what the expression is.
_SAYING: Final = {str(RDFS.subClassOf), str(OWL.equivalentClass), str(OWL.disjointWith)}
_ROUNDS: Final = 16  # nested class expressions that are told apart


class Named(NamedTuple):
    """The axioms of a case that an answer has, as lines of Turtle, and how many others it has."""

    given: tuple[str, ...]
    others: int


def named(case: Case, triples: Iterable[ox.Triple]) -> Named:
    """Which of the axioms of a case triples consist of."""
    known = {label: line for line in case.data["axioms"] for label in labels(parsed([line]))}
    met = labels(triples)
    return Named(
        tuple(line for label, line in known.items() if label in met), len(met - known.keys())
    )


def parsed(lines: Sequence[str]) -> list[ox.Triple]:
    """The triples of lines of Turtle of a case."""
    return [quad.triple for quad in ox.parse("\n".join([HEAD, *lines]), ox.RdfFormat.TURTLE)]


def fenced(lines: Iterable[str]) -> str:
    """Lines of Turtle as an answer."""
    return "\n".join(["```turtle", HEAD, *lines, "```"])


def says_something(triples: Iterable[ox.Triple]) -> bool:
    """Whether triples are more than declarations."""
    return not all(map(_declares, triples))


def labels(triples: Iterable[ox.Triple]) -> set[str]:
    """A text for each axiom that triples consist of; equal axioms have equal texts."""
    own = [one for one in triples if not _declares(one)]
    nodes = _nodes(own)
    found: set[str] = set()
    parts = {str(one.object) for one in own if isinstance(one.object, ox.BlankNode)}
    for one in own:
        subject = str(one.subject)
        if subject not in nodes or one.predicate.value in _SAYING:
            value = nodes.get(str(one.object), str(one.object))
            found.add(f"{nodes.get(subject, subject)} {one.predicate} {value}")
            parts.add(subject)
    # The axioms that are a node of their own: AllDifferent and the like.
    return found | {label for node, label in nodes.items() if node not in parts}


def _declares(triple: ox.Triple) -> bool:
    return (
        triple.predicate.value == RDF.type
        and isinstance(triple.object, ox.NamedNode)
        and triple.object.value in _DECLARING
    )


def _nodes(triples: Sequence[ox.Triple]) -> dict[str, str]:
    """A text for each blank node that has a description, the same for equal descriptions."""
    said: dict[str, list[tuple[str, str]]] = {}
    for one in triples:
        if isinstance(one.subject, ox.BlankNode):
            about = said.setdefault(str(one.subject), [])
            if one.predicate.value not in _SAYING:
                about.append((one.predicate.value, str(one.object)))
    found = dict.fromkeys(said, "_:")
    for _ in range(_ROUNDS):
        told = {node: _digest(about, found) for node, about in said.items()}
        if told == found:
            break
        found = told
    return found


def _digest(about: Sequence[tuple[str, str]], known: dict[str, str]) -> str:
    lines = sorted(f"{predicate} {known.get(value, value)}" for predicate, value in about)
    return f"_:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
