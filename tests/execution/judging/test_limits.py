# SPDX-License-Identifier: Apache-2.0
"""Only answers that exceed a limit of time, memory or stack are ended."""

import pytest

from kgbench.execution.judging import JudgeLimits
from kgbench.model import Outcome
from tests.execution.judging.probing import ENDLESS, GREEDY, HASTY, SMALL, judge


def test_an_endless_query_is_ended():
    """The answer has the outcome of the limit, and scores as if the query had no rows."""
    verdict = judge(f"query {ENDLESS}", HASTY)
    assert verdict.outcome == Outcome.TIMEOUT
    assert verdict.scores == {"obeyed": 1.0}
    assert verdict.infos["expired"]
    assert verdict.infos["limit"] == "time"
    assert verdict.infos["syntax"] is None
    assert (verdict.next_prompt, verdict.feedback) == ("again", "empty-result")


def test_an_endless_query_is_ended_in_rdflib():
    """An endless query in rdflib has the same limits."""
    verdict = judge(f"query {ENDLESS}", JudgeLimits(HASTY.seconds, engine="rdflib"))
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, "time")


def test_endless_evaluation_while_checking_is_ended():
    """An engine that starts to evaluate a query while checking it has the same limits."""
    values = " ".join(f"VALUES ?v{i} {{ {' 1' * 500} }}" for i in range(9))
    verdict = judge(f"query SELECT (COUNT(*) AS ?n) {{ {values} }}", HASTY)
    assert (verdict.outcome, verdict.infos["expired"]) == (Outcome.TIMEOUT, True)


@pytest.mark.parametrize("answer", ["spin", "nap", f"query-and-dawdle {ENDLESS[:7]} * {{}}"])
def test_an_endless_judge_is_ended(answer):
    """An endless judge is ended without scores, even if it holds the interpreter."""
    verdict = judge(answer, HASTY)
    assert verdict.outcome == Outcome.TIMEOUT
    assert verdict.scores == {}
    assert verdict.infos["limit"] == "time"


def test_greedy_queries_hit_the_memory_limit():
    """A query that exceeds the memory limit ends only its child and counts as one without rows."""
    verdict = judge(f"query {GREEDY}", SMALL)
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, "memory")
    assert verdict.infos["expired"]


def test_greedy_judges_hit_the_memory_limit():
    """Memory allocated by Python has the same limit."""
    verdict = judge("hoard", SMALL)
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, "memory")
    assert verdict.scores == {}


def test_large_answers_hit_the_memory_limit():
    """An answer that does not fit into memory hits the same limit."""
    verdict = judge("echo " + "x" * (90 << 20), SMALL)
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, "memory")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { FILTER(" + "!" * 200_000 + "true) }",
        "SELECT * { {}" + " UNION {}" * 100_000 + " }",
    ],
    ids=["signs", "unions"],
)
def test_deep_queries_hit_the_stack_limit(query):
    """A query that overflows the engine's stack ends only its child."""
    verdict = judge(f"query {query}")
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, "stack")
    assert verdict.infos["expired"]
