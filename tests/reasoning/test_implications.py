# SPDX-License-Identifier: Apache-2.0
"""Axioms as implications: those of a class expression on either side, and those outside RL."""

from __future__ import annotations

import pytest

from kgbench.families.ontology_answers import parse_lines
from kgbench.reasoning import implications
from kgbench.reasoning.closure import Budget, TooMuchWork
from kgbench.worlds.axioms import KINDS, axiom, triples


def read(text, steps=20_000):
    """Return the numbers of facts of each implication of each axiom, and whether it has a goal."""
    names = {one.subject for one in parse_lines(["o:p a owl:ObjectProperty . o:A a owl:Class ."])}
    return [
        [(len(facts), goal is not None) for facts, goal in axiom]
        for _, axiom in implications.axioms(parse_lines([text]), names, Budget(steps))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ owl:unionOf ( o:A o:B ) ] rdfs:subClassOf o:C .", [(1, True), (1, True)]),
        ("[ owl:intersectionOf ( o:A o:B ) ] rdfs:subClassOf owl:Nothing .", [(2, False)]),
        ("[ owl:oneOf ( o:i o:j ) ] rdfs:subClassOf o:C .", [(1, True), (1, True)]),
        (
            """[ owl:onProperty o:p ; owl:someValuesFrom [ owl:unionOf ( o:A o:B ) ] ]
            rdfs:subClassOf [ owl:onProperty [ owl:inverseOf o:p ] ; owl:hasValue o:i ] .""",
            [(2, True), (2, True)],
        ),
        ("o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:maxCardinality 0 ] .", [(2, False)]),
        (
            """o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:onClass o:B ;
            owl:maxQualifiedCardinality '01'^^xsd:nonNegativeInteger ] .""",
            [(5, True)],
        ),
        ("o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:allValuesFrom o:B ] .", [(2, True)]),
        (
            "o:A owl:equivalentClass [ owl:intersectionOf ( o:B o:C ) ] .",
            [(1, True), (1, True), (2, True)],
        ),
        ("[] a owl:AllDisjointProperties ; owl:members ( o:p o:q o:r ) .", 3 * [(2, False)]),
        ("[] a owl:AllDifferent ; owl:distinctMembers ( o:i o:j ) .", [(1, False)]),
        ("o:p owl:propertyChainAxiom ( o:p o:q o:r ) .", [(3, True)]),
        ("o:x a owl:Nothing .", [(0, False)]),
        ("o:x owl:sameAs o:y .", [(0, True)]),
        ("o:x o:p o:y .", [(0, True)]),
    ],
)
def test_class_expressions(text, expected):
    """Unions on the left and intersections on the right give several implications."""
    found = read(text)

    assert found == [expected]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "different"])
def test_each_kind_of_generated_axiom_has_implications(kind):
    """All axioms of generated ontologies are read."""
    made = axiom(kind, *(f"t{n}" for n in range(len(KINDS[kind].terms))))
    names = {one.subject for one in parse_lines(["o:t1 a owl:ObjectProperty ."])}
    ((_, found),) = implications.axioms(triples([made]), names, Budget())

    assert [*found]


@pytest.mark.parametrize(
    "text",
    [
        "o:A rdfs:subClassOf [ owl:unionOf ( o:B o:C ) ] .",
        "o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:someValuesFrom o:B ] .",
        "o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:hasSelf true ] .",
        "o:A rdfs:subClassOf [ owl:onProperty o:p ; owl:maxCardinality 2 ] .",
        "o:A rdfs:subClassOf [ owl:onProperty o:p , o:q ; owl:hasValue o:i ] .",
        "o:A rdfs:subClassOf [] .",
        "o:A rdfs:subClassOf [ owl:unionof ( o:B o:C ) ] .",
        "o:A rdfs:subClassOf 'B' .",
        "[ owl:onProperty o:p ; owl:allValuesFrom o:B ] rdfs:subClassOf o:A .",
        "[ owl:complementOf o:B ] rdfs:subClassOf o:A .",
        "o:A owl:disjointUnionOf ( o:B o:C ) .",
        "o:A owl:intersectionOf ( o:B o:C ) .",
        "o:A owl:hasKey ( o:p ) .",
        "o:p a owl:ReflexiveProperty .",
        "o:A rdfs:subClassOf _:l . _:l owl:intersectionOf _:m . _:m rdf:first o:A ; rdf:rest _:m .",
        "o:A rdfs:subClassOf " + 20 * "[ owl:complementOf " + "o:B" + 20 * " ]" + " .",
    ],
)
def test_what_is_outside_the_profile_has_no_implications(text):
    """Expressions on the wrong side, broken or endless ones, and other axioms are refused."""
    with pytest.raises(implications.NoImplications):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "o:A a owl:Class ; rdfs:subClassOf o:A ; rdfs:label 'a' ; <urn:x> o:B .",
        "o:x <urn:p> o:y . o:X owl:equivalentClass [ owl:unionOf ( o:A o:B ) ] .",
        "_:x a owl:Restriction ; owl:onProperty o:p ; owl:hasValue o:i .",
    ],
)
def test_what_says_nothing_is_no_axiom(text):
    """Declarations, annotations, tautologies, definitions and lone expressions are left out."""
    assert read(text) == []


def test_exponential_expressions_end():
    """Nested expressions with exponentially many alternatives use up the budget."""
    nested = "o:A"
    for _ in range(6):
        nested = f"[ owl:intersectionOf ( [ owl:unionOf ( {nested} o:B ) ] o:C ) ]"
    pair = "".join(
        f"_:n{k} owl:intersectionOf ( _:u{k} _:u{k} ) . "
        f"_:u{k} owl:unionOf ( _:n{k + 1} _:n{k + 1} ) ."
        for k in range(7)
    )
    assert len(read(f"{nested} rdfs:subClassOf o:D .")[0]) == 7
    with pytest.raises(TooMuchWork):
        read(f"{pair} _:n7 owl:unionOf ( o:A o:B ) . _:n0 rdfs:subClassOf o:C .")
