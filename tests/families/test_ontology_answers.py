# SPDX-License-Identifier: Apache-2.0
"""Axioms that OWL 2 calls structurally equal are the same axiom."""

from __future__ import annotations

import pytest

from kgbench.families.ontology_answers import axiom_labels, parse_lines

OPERANDS = "[ owl:{} ( {} ) ] rdfs:subClassOf o:C ."


def labels(text):
    """Return the labels of the axioms in lines of Turtle."""
    return axiom_labels(parse_lines([text]))


@pytest.mark.parametrize(
    ("first", "other"),
    [
        *(
            (OPERANDS.format(name, "o:A o:B o:D"), OPERANDS.format(name, "o:D o:A o:B o:A"))
            for name in ("intersectionOf", "unionOf", "oneOf")
        ),
        ("o:p owl:inverseOf o:q .", "o:q owl:inverseOf o:p ."),
        (
            "[ owl:onProperty o:p ; owl:hasValue o:i ] rdfs:subClassOf o:C .",
            "_:x rdfs:subClassOf o:C ; a owl:Restriction ; owl:hasValue o:i ; owl:onProperty o:p .",
        ),
        ("o:A owl:disjointWith o:B .", "o:B owl:disjointWith o:A ."),
        ("o:A owl:equivalentClass o:B .", "o:B owl:equivalentClass o:A ."),
        ("o:p owl:equivalentProperty o:q .", "o:q owl:equivalentProperty o:p ."),
        ("o:p owl:propertyDisjointWith o:q .", "o:q owl:propertyDisjointWith o:p ."),
        ("o:i owl:sameAs o:j .", "o:j owl:sameAs o:i ."),
        ("o:i owl:differentFrom o:j .", "o:j owl:differentFrom o:i ."),
        (
            "o:A owl:equivalentClass [ owl:unionOf ( o:B [ owl:complementOf o:C ] ) ] .",
            "[ owl:unionOf ( [ owl:complementOf o:C ] o:B ) ] owl:equivalentClass o:A .",
        ),
        ("o:A owl:hasKey ( o:p o:q ) .", "o:A owl:hasKey ( o:q o:p ) ."),
        (
            "[] a owl:AllDisjointClasses ; owl:members ( o:A o:B o:C ) .",
            "[] a owl:AllDisjointClasses ; owl:members ( o:C o:B o:A ) .",
        ),
        (
            "[] a owl:AllDifferent ; owl:members ( o:i o:j o:k ) .",
            "[] a owl:AllDifferent ; owl:distinctMembers ( o:k o:i o:j ) .",
        ),
        ("[] a owl:AllDisjointClasses ; owl:members ( o:B o:A ) .", "o:A owl:disjointWith o:B ."),
        (
            "[] a owl:AllDifferent ; owl:distinctMembers ( o:i o:j ) .",
            "o:j owl:differentFrom o:i .",
        ),
    ],
)
def test_structurally_equal_axioms(first, other):
    """The order of operands, and of the sides of symmetric axioms, has no meaning."""
    assert labels(first) == labels(other)
    assert len(labels(first)) == 1


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("o:r owl:propertyChainAxiom ( o:p o:q ) .", "o:r owl:propertyChainAxiom ( o:q o:p ) ."),
        ("o:A rdfs:subClassOf o:B .", "o:B rdfs:subClassOf o:A ."),
        ("o:A rdfs:subClassOf [ owl:complementOf o:B ] .", "o:A rdfs:subClassOf [] ."),
        (OPERANDS.format("unionOf", "o:A o:B"), OPERANDS.format("intersectionOf", "o:A o:B")),
        (OPERANDS.format("unionOf", "o:A o:B"), OPERANDS.format("unionOf", "o:A o:D")),
        (
            "[] a owl:AllDisjointClasses ; owl:members ( o:A o:B ) .",
            "[] a owl:AllDifferent ; owl:members ( o:A o:B ) .",
        ),
        (
            "[] a owl:AllDifferent ; owl:members ( o:i o:j ) .",
            "[] a owl:AllDifferent ; owl:members ( o:i o:k ) .",
        ),
        (
            "o:A rdfs:subClassOf [ owl:onProperty [ owl:inverseOf o:p ] ; owl:hasValue o:i ] .",
            "o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:hasValue o:i ] .",
        ),
    ],
)
def test_other_axioms(first, other):
    """Order matters in chains and between classes; other operands make another axiom."""
    assert labels(first) != labels(other)


@pytest.mark.parametrize(
    "text",
    [
        "[ owl:unionOf _:l ] rdfs:subClassOf o:C . _:l rdf:first o:A ; rdf:rest _:l .",
        "[ owl:unionOf _:l ] rdfs:subClassOf o:C . _:l rdf:first o:A , o:B ; rdf:rest rdf:nil .",
        "[] a owl:AllDifferent ; owl:members _:l .",
        "[] a owl:AllDifferent ; owl:members () .",
        "_:a owl:complementOf _:b . _:b owl:complementOf _:a . o:C rdfs:subClassOf _:a .",
        " ".join(f"_:n{k} owl:complementOf _:n{k + 1} ." for k in range(500)),
        " ".join(f"_:n{k} owl:members _:n{k + 1} ; owl:unionOf _:n{k + 1} ." for k in range(60)),
    ],
)
def test_damaged_circular_and_deep_descriptions_end(text):
    """Circular, ambiguous, missing and exponentially nested nodes are compared as written."""
    assert labels(text) == labels(text)
    assert len(labels(text)) <= 1
