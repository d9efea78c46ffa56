# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to the families about OWL: expected outcomes, no connection, bounded memory."""

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from tests.execution.judging.hostile_ontologies import (
    COUNT,
    NAMES,
    WRITING,
    answers,
    attacks,
    explosions,
)
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children, wrong

MEMORY = 900 << 20
LIMITS = JudgeLimits(PATIENCE, memory_bytes=MEMORY)


def question(name):
    """Return a case of a family."""
    return catalogue.module(name).cases(TASKS[f"{name}-natural-3"], "own", 7, 1)[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_hostile_answer_has_its_outcome(name):
    """Two hundred answers have expected outcomes, without connections, in bounded memory."""
    case = question(name)
    with listener() as server:
        port = server.getsockname()[1]
        found = list(attacks(name, [catalogue.module(name).reference(case)], port))
        assert len(found) >= COUNT
        with peak_of_children() as peak:
            verdicts = judge_batch([JudgeRequest(case, (one[1],)) for one in found], LIMITS)
        unexpected = [
            f"{kind}: {answer[:300]!r} -> {complaint}"[:900]
            for (kind, answer, hostile), verdict in zip(found, verdicts, strict=True)
            if (complaint := wrong(hostile, verdict)) is not None
        ]
        assert not unexpected, "\n".join(unexpected)
        assert nobody_came(server)
    assert 0 < max(peak) < MEMORY


def test_what_takes_too_many_steps_is_refused_in_words():
    """Ontologies with a huge closure are refused with the reason, within the limits."""
    case = question(WRITING)
    batch = [JudgeRequest(case, (answer,)) for answer in answers(*explosions())]
    verdicts = judge_batch(batch, LIMITS)

    assert {one.outcome for one in verdicts} <= {Outcome.UNPARSABLE, Outcome.SCORED}
    refused = [one for one in verdicts if one.outcome is Outcome.UNPARSABLE]
    assert refused
    for one in refused:
        reason = one.infos["reasoningError"]
        assert "too many steps" in reason or "triples follow" in reason
        assert one.feedback == "content"
