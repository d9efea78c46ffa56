# SPDX-License-Identifier: Apache-2.0
"""Justifications: any minimal set of axioms that entails the statement is right."""

from __future__ import annotations

import pytest

from kgbench.families import ontology_answers
from tests.support.ontologies import LEVELS, cases, judged, scores

NAME = "OwlJustificationWorld"


@pytest.mark.parametrize("level", LEVELS)
def test_each_axiom_of_a_justification_is_needed(level):
    """With one axiom less the statement is not entailed; with one more it is not minimal."""
    for case in cases(NAME, level, 2):
        right = case.data["justification"]
        for one in right:
            less = scores(case, [other for other in right if other != one])
            assert (less["entails"], less["justification"]) == (0.0, 0.0)
        spare = next(one for one in case.data["axioms"] if one not in right)
        more = scores(case, [*right, spare])
        assert (more["entails"], more["minimal"], more["onlyGiven"]) == (1.0, 0.0, 1.0)
        assert (more["needless"], more["exact"]) == (1.0, 0.0)
        spared = 1 - 1 / (len(case.data["axioms"]) - len(right))
        assert more["justification"] == pytest.approx(len(right) / (len(right) + 1) * spared)
        assert scores(case, case.data["axioms"])["justification"] == 0.0
        foreign = scores(case, [*right, case.data["statement"]])
        assert (foreign["minimal"], foreign["onlyGiven"], foreign["exact"]) == (1.0, 0.0, 0.0)
        alone = scores(case, [case.data["statement"]])
        assert (alone["entails"], alone["justification"]) == (0.0, 0.0)


@pytest.mark.parametrize("level", LEVELS)
def test_no_short_cut_replaces_a_justification(level):
    """Each axiom of the justification is needed in the whole ontology: there is no other."""
    for case in cases(NAME, level, 6, "opaque"):
        right, known = case.data["justification"], case.data["axioms"]
        for one in right:
            others = scores(case, [other for other in known if other != one])
            assert others["entails"] == 0.0, one


def test_another_justification_counts_as_much():
    """Any minimal set that entails the statement is right."""
    case = cases(NAME, 1, 1)[0]
    goal = "o:x a o:D ."
    stated = ["o:x a o:C .", "o:C rdfs:subClassOf o:D .", "o:p rdfs:domain o:D .", "o:x o:p o:y ."]
    data = {**case.data, "statement": goal, "axioms": stated, "justification": stated[:2]}
    other = type(case)(**{**{f: getattr(case, f) for f in case.__slots__}, "data": data})

    assert scores(other, stated[2:])["exact"] == 1.0
    assert scores(other, stated)["needless"] == 2.0


def test_feedback_about_justifications():
    """An answer that does not entail the statement, or has needless axioms, has feedback twice."""
    case = cases(NAME, 2, 1)[0]
    right, known = case.data["justification"], case.data["axioms"]
    spare = judged(case, ontology_answers.fenced(known))
    few = judged(case, ontology_answers.fenced(right[1:]))
    none = judged(case, ontology_answers.fenced(["o:a o:b o:c ."]))

    assert (spare.feedback, few.feedback, none.feedback) == ("content", "content", "format")
    assert str(len(known) - len(right)) in spare.next_prompt
    assert not any(line in f"{spare.next_prompt} {few.next_prompt}" for line in right)
    assert judged(case, ontology_answers.fenced(known), 3).next_prompt is None
