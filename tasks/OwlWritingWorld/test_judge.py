# SPDX-License-Identifier: Apache-2.0
"""Axioms in answers: judged by their entailments, compared up to blank nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.families import ontology_answers
from kgbench.families.OwlWritingWorld.judge import family, sentences
from kgbench.worlds import owl_cases
from kgbench.worlds.ontologies import RECIPES
from tests.support.ontologies import LEVELS, cases, judged, scores

NAME = "OwlWritingWorld"


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", LEVELS)
def test_prompts_do_not_reveal_axioms(level, names):
    """A prompt that asks for axioms shows none of them."""
    for case in cases(NAME, level, 2, names):
        assert not any(line in family.prompt(case) for line in case.data["axioms"])


@pytest.mark.parametrize("level", LEVELS)
def test_all_kinds_of_a_level_are_asked_for(level):
    """Every kind of axiom of a level occurs in sentences and in ontologies."""
    met = {
        one.kind
        for number in range(30)
        for one in sentences("kinds", "opaque", level, number).axioms
    }

    assert met == RECIPES[level].kinds


@pytest.mark.parametrize("level", LEVELS)
def test_each_axiom_that_is_missing_or_turned_round_is_noticed(level):
    """Without any of its axioms, a reference entails less."""
    for case in cases(NAME, level, 2, "opaque"):
        stated = case.data["axioms"]
        for one in stated:
            less = scores(case, [other for other in stated if other != one])
            assert less["entailed"] < 1
            assert less["informedness"] < 1
        assert case.data["probes"]


def test_what_entails_everything_is_worth_nothing():
    """An inconsistent ontology entails all probes, and so has no informedness."""
    case = cases(NAME, 2, 1)[0]
    name = case.data["declarations"][0].split()[0]
    wrong = [*case.data["axioms"], f"{name} owl:differentFrom {name} ."]
    verdict = judged(case, ontology_answers.fenced(wrong))
    found = verdict.scores

    assert (found["consistent"], found["entailed"], found["refrained"]) == (0.0, 1.0, 0.0)
    assert (found["balancedAccuracy"], found["informedness"]) == (0.5, 0.0)
    assert verdict.feedback == "content"
    nothing = scores(case, [f"{name} a owl:Class .", "o:a rdfs:subClassOf o:b ."])
    assert (nothing["entailed"], nothing["refrained"], nothing["informedness"]) == (0.0, 1.0, 0.0)


UNSAID = (
    "{c} rdfs:subClassOf {d} .",
    "{c} owl:disjointWith {d} .",
    "{c} owl:equivalentClass {d} .",
    "{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:someValuesFrom {d} ] .",
    "{c} rdfs:subClassOf [ owl:onProperty {p} ; owl:cardinality 1 ] .",
    "{c} owl:equivalentClass [ owl:unionOf ( {c} {d} ) ] .",
    "{c} rdfs:subClassOf o:Other .",
    "{c} owl:hasKey ( {p} ) .",
    "{p} rdfs:domain {c} .",
    "{p} rdfs:range [ owl:intersectionOf ( {c} {d} ) ] .",
    "{p} rdfs:subPropertyOf {q} .",
    "{p} rdfs:subPropertyOf [ owl:inverseOf {q} ] .",
    "{p} owl:inverseOf {q} .",
    "{p} owl:propertyDisjointWith {q} .",
    "{p} owl:propertyChainAxiom ( {q} {q} ) .",
    *(
        f"{{p}} a owl:{kind}Property ."
        for kind in (
            *("Symmetric", "Asymmetric", "Transitive", "Functional", "InverseFunctional"),
            *("Irreflexive", "Reflexive"),
        )
    ),
    "o:i a {c} .",
    "o:i {p} o:j .",
    "[] a owl:AllDisjointClasses ; owl:members ( {c} {d} ) .",
)


def case_of(stated, classes, properties):
    """Return a case with these axioms and names, and with one probe of each kind."""
    case = cases(NAME, 1, 1)[0]
    names = [f"o:{name} a owl:Class ." for name in classes]
    names += [f"o:{name} a owl:ObjectProperty ." for name in properties]
    facts = {"about": "subclass", "facts": ["o:x a o:A ."]}
    probes = [
        {**facts, "goal": "o:x a o:B .", "follows": True},
        {**facts, "goal": "o:x a o:p .", "follows": False},
    ]
    data = {**case.data, "axioms": stated, "declarations": names, "probes": probes}
    return replace(case, data=data)


@pytest.mark.parametrize("text", UNSAID)
def test_an_axiom_that_no_sentence_says_is_noticed(text):
    """An additional axiom about names that no sentence links lowers all scores of a whole."""
    stated = ["o:A rdfs:subClassOf o:B .", "o:p rdfs:domain o:A ."]
    more = text.format(c="o:C", d="o:D", p="o:q", q="o:r")
    verdict = judged(case_of(stated, "ABCD", "pqr"), ontology_answers.fenced([*stated, more]))

    assert verdict.scores["precision"] == 2 / 3
    assert verdict.scores["informedness"] < 0.7
    assert verdict.scores["exact"] == 0
    assert len(verdict.infos["unsaid"]) == 1


def test_what_follows_or_says_nothing_is_no_more():
    """Consequences, declarations, annotations and names for expressions cost nothing."""
    stated = ["o:A rdfs:subClassOf o:B .", "o:B rdfs:subClassOf o:C .", "o:p rdfs:domain o:A ."]
    case = case_of(stated, "ABC", "p")
    more = [
        "o:A rdfs:subClassOf o:C , o:A , owl:Thing ; rdfs:label 'a' .",
        "o:p rdfs:domain o:C , [ owl:intersectionOf ( o:A o:B ) ] ; a rdf:Property .",
        "o:Both owl:equivalentClass [ owl:intersectionOf ( o:A o:B ) ] . o:Both a owl:Class .",
        "o:Both rdfs:subClassOf o:C . [ owl:unionOf ( o:A o:B ) ] rdfs:subClassOf o:C .",
        "<urn:x> a owl:Ontology ; <urn:by> 'x' . o:A <urn:by> o:B .",
    ]
    found = scores(case, [*stated, *more])

    assert (found["precision"], found["exact"]) == (1.0, 1.0)


SAID_OTHERWISE = {
    "subclass": "{0} rdfs:subClassOf [ owl:intersectionOf ( {1} {1} ) ] .",
    "equivalent": "{0} rdfs:subClassOf {1} . {1} rdfs:subClassOf {0} .",
    "disjoint": "[] a owl:AllDisjointClasses ; owl:members ( {0} {1} ) .",
    "complement": "[ owl:intersectionOf ( {0} {1} ) ] rdfs:subClassOf owl:Nothing .",
    "domain": "[ owl:onProperty {0} ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf {1} .",
    "range": "[ owl:inverseOf {0} ] rdfs:domain {1} .",
    "union": "{0} rdfs:subClassOf {2} . {1} rdfs:subClassOf {2} .",
    "symmetric": "{0} owl:inverseOf {0} .",
    "transitive": "{0} owl:propertyChainAxiom ( {0} {0} ) .",
    "functional": "[ owl:inverseOf {0} ] a owl:InverseFunctionalProperty .",
    "most": (
        "{0} rdfs:subClassOf [ owl:onProperty {1} ; owl:maxQualifiedCardinality 1 ; "
        "owl:onClass owl:Thing ] ."
    ),
    "asymmetric": "{0} owl:propertyDisjointWith [ owl:inverseOf {0} ] .",
    "inverse": "{1} owl:inverseOf {0} .",
}


def test_what_says_the_same_in_other_words_is_right():
    """Axioms count by what they entail, not by how they are written."""
    tried = set()
    for level in LEVELS:
        for number, case in enumerate(cases(NAME, level, 6)):
            source = owl_cases.seed_of(7)
            drawn = sentences(source, "natural", level, number)
            kinds = {one.kind for one in drawn.axioms} & SAID_OTHERWISE.keys()
            tried |= kinds
            lines = [
                SAID_OTHERWISE.get(one.kind, "").format(*(f"o:{term}" for term in one.terms))
                or one.turtle
                for one in drawn.axioms
            ]
            said = scores(case, lines)
            assert (said["exact"], said["precision"]) == (1.0, 1.0), lines

    assert tried == SAID_OTHERWISE.keys()
