# SPDX-License-Identifier: Apache-2.0
"""Coherence: classes and properties that cannot have members are found."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.reasoning.closure import Budget, TooMuchWork, find_incoherence

HEAD = """@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:A a owl:Class . :B a owl:Class . :C a owl:Class . :A owl:disjointWith :B .
:p a owl:ObjectProperty . :d a owl:DatatypeProperty .
"""


def found(text, budget=None):
    """Return the rule that finds an inconsistency, or ``None``."""
    triples = [quad.triple for quad in ox.parse(HEAD + text, ox.RdfFormat.TURTLE)]
    clash = find_incoherence(triples, budget)
    return None if clash is None else clash[0]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", None),
        (":C rdfs:subClassOf :A .", None),
        (":C rdfs:subClassOf :A , :B .", "cax-dw"),
        (":A owl:equivalentClass :B .", "cax-dw"),
        (":p rdfs:domain :A ; rdfs:range :B .", None),
        (":p rdfs:domain :A , :B .", "cax-dw"),
        (":p rdfs:range :A , :B .", "cax-dw"),
        (":d rdfs:domain :A , :B .", "cax-dw"),
        (":p rdfs:domain :A ; rdfs:range :B . :q a owl:ObjectProperty ; owl:inverseOf :p .", None),
        (":p rdfs:domain :A ; rdfs:range :B ; a owl:SymmetricProperty .", "cax-dw"),
        (":C rdfs:subClassOf owl:Nothing .", "cls-nothing2"),
        (":x a :A , :B .", "cax-dw"),
    ],
)
def test_what_must_be_empty_is_found(text, rule):
    """Exactly the classes and properties that cannot have members are incoherent."""
    assert found(text) == rule


def test_members_share_nothing():
    """The assumed members of two classes are different individuals."""
    assert found(":p a owl:FunctionalProperty , owl:InverseFunctionalProperty .") is None


def test_there_is_a_limit():
    """An ontology that takes too many steps is refused."""
    with pytest.raises(TooMuchWork):
        found(":C rdfs:subClassOf :A .", Budget(3))
