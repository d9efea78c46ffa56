# SPDX-License-Identifier: Apache-2.0
"""Means of the scores of questions, one for each metric, by the rule of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from kgbench.policies.policy import Policy
from kgbench.scoring.agreement import harmonic

Scores = Mapping[str, float]


def mean(
    policy: Policy, scores: Sequence[Scores], ordered: Sequence[bool] = ()
) -> dict[str, float]:
    """Return the mean of each metric over questions; empty if there are no questions.

    ``scores`` are by short name; a missing answer has the scores :func:`unanswered`. ``ordered``
    says for each question whether the order of its result matters. TEXT2SPARQL 2025 averages a list
    that already contains its averages (``text2sparql_client/utils/order_matters.py``): this extra
    row has the mean nDCG of ordered questions, and is absent if no question is ordered.
    """
    if not scores:
        return {}
    means = {
        name: fsum(question[name] for question in scores) / len(scores)
        for name in policy.answer_metrics
    }
    if policy.mean == "harmonic":
        means["f1"] = harmonic(means["precision"], means["recall"])
    ranked = [question for question, matters in zip(scores, ordered, strict=False) if matters]
    if policy.mean == "average-averaged" and ranked:
        name = policy.main
        ranked_mean = fsum(question[name] for question in ranked) / len(ranked)
        means[name] = (fsum(question[name] for question in scores) + ranked_mean) / (
            len(scores) + 1
        )
    return means


def unanswered(policy: Policy) -> dict[str, float]:
    """Return the scores of a missing answer to a question with an expected result."""
    scores = dict.fromkeys(policy.answer_metrics, 0.0)
    if policy.unanswered == "as-empty" and policy.nothing_precise:
        scores["precision"] = 1.0
    return scores
