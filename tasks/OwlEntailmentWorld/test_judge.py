# SPDX-License-Identifier: Apache-2.0
"""Statements that ontologies entail: neither affirming nor denying everything is worth anything."""

from __future__ import annotations

import pytest

from kgbench.api import Outcome
from kgbench.families import ontology_answers
from kgbench.worlds.ontologies import RECIPES
from tests.support.ontologies import LEVELS, cases, judged, scores

NAME = "OwlEntailmentWorld"


@pytest.mark.parametrize("level", LEVELS)
def test_affirming_or_denying_everything_is_worth_nothing(level):
    """Affirming all statements, or only wrong ones, has an informedness of 0."""
    for case in cases(NAME, level, 3):
        statements = case.data["statements"]
        everything = scores(case, statements)
        assert (everything["recall"], everything["informedness"]) == (1.0, 0.0)
        assert everything["precision"] <= 2 / 3
        follows = set(case.data["entailed"])
        assert len(statements) == RECIPES[level].statements
        wrong = scores(case, [one for one in statements if one not in follows])
        assert wrong["f1"] == wrong["informedness"] == 0.0


def test_statements_that_nobody_asked_for_cost_precision_and_informedness():
    """An additional statement is not exact, and declarations are ignored."""
    case = cases(NAME, 2, 1)[0]
    right = case.data["entailed"]
    more = scores(case, [*right, "o:a o:b o:c ."])

    assert more["precision"] == len(right) / (len(right) + 1)
    assert more["informedness"] == pytest.approx(more["precision"])
    assert more["exact"] == 0.0
    assert scores(case, ["o:C a owl:Class .", *right])["exact"] == 1.0
    none = judged(case, ontology_answers.fenced(["o:C a owl:Class ."]))
    assert (none.outcome, none.feedback) == (Outcome.UNPARSABLE, "format")
