# SPDX-License-Identifier: Apache-2.0
"""Coherence: classes and properties that cannot have members are found."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.reasoning.closure import Budget, TooMuchWork
from kgbench.reasoning.coherence import find_incoherence

HEAD = """@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:A a owl:Class . :B a owl:Class . :C a owl:Class . :A owl:disjointWith :B .
:p a owl:ObjectProperty . :d a owl:DatatypeProperty .
"""


def found(text, budget=None):
    """The rule that finds an inconsistency, if one does."""
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
    """A class or property that must be empty is incoherent, one that need not be is not."""
    assert found(text) == rule


def test_members_share_nothing():
    """That a class and another have members does not make these the same."""
    assert found(":p a owl:FunctionalProperty , owl:InverseFunctionalProperty .") is None


def test_there_is_a_limit():
    """Ontologies that take too many steps are refused."""
    with pytest.raises(TooMuchWork):
        found(":C rdfs:subClassOf :A .", Budget(3))
