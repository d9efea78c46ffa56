# SPDX-License-Identifier: Apache-2.0
"""Answers that are axioms: the axioms of a case in an answer, and the number of others.

Axioms are compared up to the names of blank nodes. Declarations (``o:River a owl:Class``) do not
count as axioms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.model import Case
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds.axioms import PREFIX_LINES

_DECLARED_TYPES: Final = {
    OWL[name]
    for name in ("Class", "ObjectProperty", "NamedIndividual", "Restriction", "Ontology", "Thing")
}
# Predicates of axioms about a class expression; all others define the expression itself.
_AXIOM_PREDICATES: Final = {str(RDFS.subClassOf), str(OWL.equivalentClass), str(OWL.disjointWith)}
_ROUNDS: Final = 16  # depth of nested class expressions that are distinguished


class AnswerAxioms(NamedTuple):
    """The axioms of a case in an answer, as lines of Turtle, and the number of other axioms."""

    axioms: tuple[str, ...]
    others: int


def answer_axioms(case: Case, triples: Iterable[ox.Triple]) -> AnswerAxioms:
    """Return the axioms of a case that ``triples`` state."""
    case_axioms = {
        label: line for line in case.data["axioms"] for label in axiom_labels(parse_lines([line]))
    }
    answer_labels = axiom_labels(triples)
    return AnswerAxioms(
        tuple(line for label, line in case_axioms.items() if label in answer_labels),
        len(answer_labels - case_axioms.keys()),
    )


def parse_lines(lines: Sequence[str]) -> list[ox.Triple]:
    """Parse lines of Turtle of a case into triples."""
    return [
        quad.triple for quad in ox.parse("\n".join([PREFIX_LINES, *lines]), ox.RdfFormat.TURTLE)
    ]


def fenced(lines: Iterable[str]) -> str:
    """Return lines of Turtle in the form of an answer."""
    return "\n".join(["```turtle", PREFIX_LINES, *lines, "```"])


def has_axioms(triples: Iterable[ox.Triple]) -> bool:
    """Return whether triples contain more than declarations."""
    return not all(map(_declares, triples))


def axiom_labels(triples: Iterable[ox.Triple]) -> set[str]:
    """Return a canonical text for each axiom in triples; equal axioms have equal texts."""
    axioms = [triple for triple in triples if not _declares(triple)]
    nodes = _node_labels(axioms)
    texts: set[str] = set()
    parts = {str(triple.object) for triple in axioms if isinstance(triple.object, ox.BlankNode)}
    for triple in axioms:
        subject = str(triple.subject)
        if subject not in nodes or triple.predicate.value in _AXIOM_PREDICATES:
            value = nodes.get(str(triple.object), str(triple.object))
            texts.add(f"{nodes.get(subject, subject)} {triple.predicate} {value}")
            parts.add(subject)
    # Axioms that are nodes themselves, such as AllDifferent.
    return texts | {label for node, label in nodes.items() if node not in parts}


def _declares(triple: ox.Triple) -> bool:
    return (
        triple.predicate.value == RDF.type
        and isinstance(triple.object, ox.NamedNode)
        and triple.object.value in _DECLARED_TYPES
    )


def _node_labels(triples: Sequence[ox.Triple]) -> dict[str, str]:
    """Return a canonical text for each described blank node, equal for equal descriptions."""
    descriptions: dict[str, list[tuple[str, str]]] = {}
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode):
            description = descriptions.setdefault(str(triple.subject), [])
            if triple.predicate.value not in _AXIOM_PREDICATES:
                description.append((triple.predicate.value, str(triple.object)))
    labels_by_node = dict.fromkeys(descriptions, "_:")
    for _ in range(_ROUNDS):
        refined = {
            node: _digest(description, labels_by_node) for node, description in descriptions.items()
        }
        if refined == labels_by_node:
            break
        labels_by_node = refined
    return labels_by_node


def _digest(description: Sequence[tuple[str, str]], node_labels: dict[str, str]) -> str:
    lines = sorted(
        f"{predicate} {node_labels.get(value, value)}" for predicate, value in description
    )
    return f"_:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
