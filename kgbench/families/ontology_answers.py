# SPDX-License-Identifier: Apache-2.0
"""Answers that are axioms: the axioms of a case in an answer, and the number of others.

Axioms are compared up to the names of blank nodes and structural equality (OWL 2 Structural
Specification, section 2.1): operands are sets, axioms such as ``owl:inverseOf`` between two names
have no direction, and an axiom about two things may be written with ``owl:members``. Declarations
(``o:River a owl:Class``) do not count as axioms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
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
# Between two terms that may be exchanged; owl:inverseOf of a blank node is an expression.
_SYMMETRIC: Final = {
    OWL[name]
    for name in (
        "equivalentClass",
        "disjointWith",
        "equivalentProperty",
        "propertyDisjointWith",
        "sameAs",
        "differentFrom",
    )
}
# The lists whose order and repetitions have no meaning; those of property chains have.
_SETS: Final = {
    OWL[name]
    for name in (
        "intersectionOf",
        "unionOf",
        "oneOf",
        "disjointUnionOf",
        "hasKey",
        "members",
        "distinctMembers",
    )
}
_MEMBERS: Final = ox.NamedNode(OWL.members)
_PAIRS: Final = {
    OWL.AllDisjointClasses: ox.NamedNode(OWL.disjointWith),
    OWL.AllDisjointProperties: ox.NamedNode(OWL.propertyDisjointWith),
    OWL.AllDifferent: ox.NamedNode(OWL.differentFrom),
}
"""The axioms with members, and what they are about two of them."""
_FIRST, _REST = ox.NamedNode(RDF.first), ox.NamedNode(RDF.rest)
_ROUNDS: Final = 16  # depth of nested class expressions that are distinguished


class AnswerAxioms(NamedTuple):
    """The axioms of a case in an answer, as lines of Turtle, and the number of other axioms."""

    axioms: tuple[str, ...]
    others: int


def answer_axioms(case: Case, triples: Iterable[ox.Triple]) -> AnswerAxioms:
    """Return the axioms of a case that ``triples`` state.

    A case may have structurally equal axioms; an answer that states one of them states both.
    """
    labels = {line: axiom_labels(parse_lines([line])) for line in case.data["axioms"]}
    answer_labels = axiom_labels(triples)
    return AnswerAxioms(
        tuple(line for line, of_line in labels.items() if of_line & answer_labels),
        len(answer_labels.difference(*labels.values())),
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
    axioms = _without_order([triple for triple in triples if not _declares(triple)])
    nodes = _node_labels(axioms)
    texts: set[str] = set()
    parts = {str(triple.object) for triple in axioms if isinstance(triple.object, ox.BlankNode)}
    for triple in axioms:
        subject = str(triple.subject)
        if subject not in nodes or triple.predicate.value in _AXIOM_PREDICATES:
            ends = [nodes.get(end, end) for end in (subject, str(triple.object))]
            if _is_symmetric(triple):
                ends.sort()
            texts.add(f"{ends[0]} {triple.predicate} {ends[1]}")
            parts.add(subject)
    # Axioms that are nodes themselves, such as AllDifferent.
    return texts | {label for node, label in nodes.items() if node not in parts}


def _is_symmetric(triple: ox.Triple) -> bool:
    names = (triple.subject, triple.object)
    is_inverse = triple.predicate.value == OWL.inverseOf
    return triple.predicate.value in _SYMMETRIC or (
        is_inverse and all(isinstance(name, ox.NamedNode) for name in names)
    )


def _without_order(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Return triples in which a list that stands for a set has its members without an order."""
    about: dict[ox.BlankNode, list[ox.Triple]] = {}
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode):
            about.setdefault(triple.subject, []).append(triple)
    cells: set[ox.BlankNode] = set()
    members: dict[ox.BlankNode, dict[object, None]] = {}
    for triple in triples:
        if triple.predicate.value in _SETS and isinstance(triple.object, ox.BlankNode):
            of_list = _cells(triple.object, about)
            values = [value for cell in of_list for value in _values(about[cell], _FIRST)]
            members[triple.object] = dict.fromkeys(values)
            cells.update(of_list)
    result = [triple for triple in triples if triple.subject not in cells]
    result += [
        ox.Triple(head, _MEMBERS, member)  # type: ignore[arg-type]
        for head, values in members.items()
        for member in values
    ]
    return _without_pairs(result, members)


def _without_pairs(
    triples: Sequence[ox.Triple], members: Mapping[ox.BlankNode, Mapping[object, None]]
) -> list[ox.Triple]:
    """Return triples in which axioms with two members are written without a node."""
    predicates: dict[object, ox.NamedNode] = {}
    heads: dict[object, ox.BlankNode] = {}
    result = []
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode) and triple.predicate.value == RDF.type:
            pair = _PAIRS.get(getattr(triple.object, "value", ""))
            if pair is not None:
                predicates[triple.subject] = pair
        head = triple.object
        has_members = triple.predicate.value in {OWL.members, OWL.distinctMembers}
        if has_members and isinstance(head, ox.BlankNode) and head in members:
            heads[triple.subject] = head
            result.append(ox.Triple(triple.subject, _MEMBERS, head))
        else:
            result.append(triple)
    left_out: set[object] = set()
    for node, predicate in predicates.items():
        pair_members = list(members.get(heads.get(node), ()))  # type: ignore[arg-type]
        if len(pair_members) == 2:  # noqa: PLR2004 - an axiom about two things
            first, second = pair_members
            left_out |= {node, heads[node]}
            result.append(ox.Triple(first, predicate, second))  # type: ignore[arg-type]
    return [triple for triple in result if triple.subject not in left_out]


def _cells(
    head: ox.BlankNode, about: Mapping[ox.BlankNode, Sequence[ox.Triple]]
) -> list[ox.BlankNode]:
    """Return the nodes of a list; none if the list is damaged."""
    cells: dict[ox.BlankNode, None] = {}
    cell: object = head
    while isinstance(cell, ox.BlankNode):
        rest = _values(about.get(cell, ()), _REST)
        if cell in cells or len(rest) != 1 or len(_values(about[cell], _FIRST)) != 1:
            return []
        cells[cell] = None
        cell = rest[0]
    return list(cells)


def _values(triples: Iterable[ox.Triple], predicate: ox.NamedNode) -> list[object]:
    return [triple.object for triple in triples if triple.predicate == predicate]


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
