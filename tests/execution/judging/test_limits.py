# SPDX-License-Identifier: Apache-2.0
"""Only answers that exceed a limit of time, memory or stack are ended."""

import pytest

from kgbench.execution.judging import JudgeLimits
from kgbench.model import Outcome
from tests.execution.judging.probing import ENDLESS, GREEDY, HASTY, PATIENT, SMALL, judge


def test_an_endless_query_is_ended():
    """The answer has the outcome of the limit, and scores as if the query had no rows."""
    verdict = judge(f"query {ENDLESS}", HASTY)
    assert verdict.outcome == Outcome.TIMEOUT
    assert verdict.scores == {"obeyed": 1.0}
    assert verdict.infos["expired"]
    assert verdict.infos["limit"] == "time"
    assert verdict.infos["syntax"] is None
    assert (verdict.next_prompt, verdict.feedback) == ("again", "empty-result")


VALUES = " ".join(f"VALUES ?v{i} {{ {' 1' * 500} }}" for i in range(9))


@pytest.mark.parametrize(
    ("answer", "limits", "limit", "scored"),
    [
        (f"query {ENDLESS}", JudgeLimits(HASTY.seconds, engine="rdflib"), "time", True),
        (f"query SELECT (COUNT(*) AS ?n) {{ {VALUES} }}", HASTY, "time", True),  # while checking
        *((each, HASTY, "time", False) for each in ("spin", "nap")),
        (f"query-and-dawdle {ENDLESS[:7]} * {{}}", HASTY, "time", False),
        (f"query {GREEDY}", SMALL, "memory", True),
        ("hoard", SMALL, "memory", False),
        ("echo " + "x" * (90 << 20), SMALL, "memory", False),
        ("query SELECT * { FILTER(" + "!" * 200_000 + "true) }", PATIENT, "stack", True),
        ("query SELECT * { {}" + " UNION {}" * 100_000 + " }", PATIENT, "stack", True),
    ],
    ids=[
        *("rdflib", "checking", "spin", "nap", "dawdle"),
        *("greedy", "hoard", "large", "signs", "unions"),
    ],
)
def test_what_exceeds_a_limit_is_ended(answer, limits, limit, scored):
    """A query beyond a limit ends only its child and counts as one without rows.

    An endless or greedy judge is ended without scores, even if it holds the interpreter.
    """
    verdict = judge(answer, limits)
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, limit)
    assert verdict.infos.get("expired", False) is scored
    assert verdict.scores == ({"obeyed": 1.0} if scored else {})
