# SPDX-License-Identifier: Apache-2.0
"""Repairs of inconsistent ontologies: the fewest removals are known, and others count."""

from __future__ import annotations

import pytest

from kgbench.api import Outcome
from kgbench.families import ontology_answers
from kgbench.families.OwlRepairWorld.judge import inconsistent
from kgbench.worlds.ontologies import RECIPES
from kgbench.worlds.owl_cases import proves
from tests.support.ontologies import LEVELS, cases, judged, scores

NAME = "OwlRepairWorld"


@pytest.mark.parametrize("level", LEVELS)
def test_as_few_removals_as_can_be_are_known(level):
    """Each inconsistency requires a removal of its own."""
    for number in range(3):
        found = inconsistent("few", "opaque", level, number)
        assert len(found.removed) == RECIPES[level].clashes
        assert proves(found.axioms, None)
        for one in found.removed:
            left = [each for each in found.axioms if each not in found.removed or each == one]
            assert proves(left, None)


def test_removing_and_adding_without_need_costs():
    """An empty answer repairs nothing, and needless removals and additions are counted."""
    case = cases(NAME, 2, 1)[0]
    known, removed = case.data["axioms"], case.data["removed"]
    kept = [line for line in known if line not in removed]

    assert scores(case, kept[1:])["needless"] == 1.0
    assert scores(case, kept[1:])["repair"] == 1 / 2
    assert scores(case, [*kept, "o:new a o:Thing ."])["repair"] == 1 / 2
    one = scores(case, kept[:1])
    assert one["consistent"] == 1.0
    assert one["repair"] == 1 / (len(known) - 1)
    nothing = judged(case, ontology_answers.fenced([]))
    assert (nothing.outcome, nothing.feedback) == (Outcome.UNPARSABLE, "format")
    assert nothing.scores["repair"] == 0.0


def test_the_inconsistency_that_is_left_is_told():
    """Feedback names the rule of the remaining inconsistency and its premises, twice."""
    case = cases(NAME, 3, 1)[0]
    verdicts = [judged(case, ontology_answers.fenced(case.data["axioms"]), n) for n in (1, 2, 3)]

    assert [one.feedback for one in verdicts] == ["content", "content", None]
    assert "of OWL 2 RL applies" in verdicts[0].next_prompt
    assert "* o:" in verdicts[0].next_prompt
    assert verdicts[0].scores["consistent"] == 0.0
