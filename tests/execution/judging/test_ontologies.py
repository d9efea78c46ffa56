# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to the families about OWL: expected outcomes, no connection, bounded memory."""

import pytest

from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.model import Outcome
from tests.execution.judging.harm import LIMITS, assert_outcomes, question
from tests.execution.judging.hostile_ontologies import NAMES, WRITING, answers, explosions, kinds


@pytest.mark.parametrize("name", NAMES)
def test_every_hostile_answer_has_its_outcome(name):
    """Two hundred answers have expected outcomes, without connections, in bounded memory."""
    assert_outcomes(f"{name}-natural-3", kinds(name))


def test_what_takes_too_many_steps_is_refused_in_words():
    """Ontologies with a huge closure are refused with the reason, within the limits."""
    case = question(f"{WRITING}-natural-3")
    batch = [JudgeRequest(case, (answer,)) for answer in answers(*explosions())]
    verdicts = judge_batch(batch, LIMITS)

    assert {one.outcome for one in verdicts} <= {Outcome.UNPARSABLE, Outcome.SCORED}
    refused = [one for one in verdicts if one.outcome is Outcome.UNPARSABLE]
    assert refused
    for one in refused:
        reason = one.infos["reasoningError"]
        assert "too many steps" in reason or "triples follow" in reason
        assert one.feedback == "content"
