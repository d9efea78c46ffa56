# SPDX-License-Identifier: Apache-2.0
"""From the scores of questions to one number for each metric, by the rule of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from kgbench.policies.policy import Policy
from kgbench.scoring.agreement import harmonic

Scores = Mapping[str, float]


def mean(
    policy: Policy, scores: Sequence[Scores], ordered: Sequence[bool] = ()
) -> dict[str, float]:
    """The mean of each metric over questions; empty where there are none.

    ``scores`` are by short name, those of a missing answer being :func:`unanswered`. ``ordered``
    says for each question whether the order of its result matters. TEXT2SPARQL 2025 averages a list
    that holds its averages already (``text2sparql_client/utils/order_matters.py``): their row has
    the mean nDCG of ordered questions, and there is none where no question is ordered.
    """
    if not scores:
        return {}
    found = {
        name: fsum(one[name] for one in scores) / len(scores) for name in policy.answer_metrics
    }
    if policy.mean == "harmonic":
        found["f1"] = harmonic(found["precision"], found["recall"])
    ranked = [one for one, matters in zip(scores, ordered, strict=False) if matters]
    if policy.mean == "average-averaged" and ranked:
        name = policy.main
        row = fsum(one[name] for one in ranked) / len(ranked)
        found[name] = (fsum(one[name] for one in scores) + row) / (len(scores) + 1)
    return found


def unanswered(policy: Policy) -> dict[str, float]:
    """What a missing answer counts where something is expected."""
    scores = dict.fromkeys(policy.answer_metrics, 0.0)
    if policy.unanswered == "as-empty" and policy.nothing_precise:
        scores["precision"] = 1.0
    return scores
