# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to the families about SHACL: expected outcomes, no connection, bounded memory."""

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from tests.execution.judging.hostile_shapes import COUNT, KINDS, WRITING, attacks, with_query
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children, wrong

MEMORY = 900 << 20
PATIENT = JudgeLimits(PATIENCE, memory_bytes=MEMORY)
HASTY = JudgeLimits(4.0, memory_bytes=MEMORY)  # for answers that are endless or may be slow


def question(name):
    """Return a case of a family."""
    task = TASKS[f"{name}-natural-3"]
    return catalogue.module(name).cases(task, "own", 7, 1)[0]


@pytest.mark.parametrize("name", KINDS)
def test_every_hostile_answer_has_its_outcome(name):
    """Two hundred answers have expected outcomes, without connections, in bounded memory."""
    case = question(name)
    with listener() as server:
        port = server.getsockname()[1]
        found = list(attacks(name, [catalogue.module(name).reference(case)], port))
        assert len(found) >= COUNT
        with peak_of_children() as peak:
            verdicts = []
            for patient in (False, True):
                chosen = [
                    one for one in found if (Outcome.TIMEOUT not in one[2].outcomes) is patient
                ]
                batch = [JudgeRequest(case, (answer,)) for _, answer, _ in chosen]
                judged = judge_batch(batch, PATIENT if patient else HASTY)
                verdicts += zip(chosen, judged, strict=True)
        unexpected = [
            f"{kind}: {answer[:300]!r} -> {complaint}"[:900]
            for (kind, answer, hostile), verdict in verdicts
            if (complaint := wrong(hostile, verdict)) is not None
        ]
        assert not unexpected, "\n".join(unexpected)
        assert nobody_came(server)
    assert 0 < max(peak) < MEMORY


def test_shapes_with_queries_are_judged_in_a_child():
    """A child that has given up its descriptors executes queries of shapes, or says why not."""
    case = question(WRITING)
    answers = with_query(
        "SELECT $this { $this <http://www.w3.org/2000/01/rdf-schema#label> ?v FILTER(?v = 'x') }",
        "SELECT $this ?value { $this $PATH ?value }",
        "SELECT $this { BIND(NOW() AS ?n) FILTER(REGEX(SHA256(STR($this)), '^zz', 'i')) }",
    )
    verdicts = judge_batch([JudgeRequest(case, (one,)) for one in answers], PATIENT)
    first, other, last = verdicts

    assert first.outcome is Outcome.SCORED
    assert first.infos["shapesOutcome"] == "refuses-nothing"
    assert "$PATH, but its shape has no sh:path" in other.infos["shapesError"]
    assert last.outcome is Outcome.SCORED
