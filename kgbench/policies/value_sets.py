# SPDX-License-Identifier: Apache-2.0
"""Comparison of results as sets of values, without rows, columns, duplicates and order.

TEXT2SPARQL gives such sets to trec_eval (``text2sparql_client/utils/evaluation_metrics.py`` and
``commands/evaluate.py``; ``m_set_P.c``, ``m_set_F.c`` and ``m_ndcg.c`` of trec_eval 9). Each value
is a document of weight 1, and the result of an ASK is the document ``true`` of weight 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kgbench.model import QueryResult
from kgbench.policies.matches import Match, match_summary
from kgbench.policies.values import Key
from kgbench.scoring.agreement import agreement


def match(
    expected: QueryResult,
    answer: QueryResult,
    value: Key,
    *,
    ranked: bool,
    nothing_precise: bool,
) -> Match:
    """Agreement of the two sets of values; with ``ranked`` nDCG as well.

    An empty answer has precision 1 if ``nothing_precise``, else 0. If nothing is expected, recall
    is 0; the policy has already decided the case that both are empty.
    """
    expected_values, answer_values = _values(expected, value), _values(answer, value)
    hits = len(expected_values & answer_values)
    score = agreement(
        hits,
        len(answer_values),
        len(expected_values),
        precision_of_nothing=1.0 if nothing_precise else 0.0,
    )
    if not expected_values:
        score = score._replace(precision=0.0, recall=0.0, f1=0.0)
    reason = match_summary(hits, len(expected_values), len(answer_values), "values")
    weights = dict.fromkeys(expected_values, 1)
    return Match(score, reason, ndcg(weights, answer_values) if ranked else None)


def by_truth_key(expected: QueryResult, answer: QueryResult, value: Key) -> Match:
    """Like :func:`match` if one query is an ASK, whose truth value is the weight of a single key.

    So any ASK is right if true is expected, and no answer is right if false is expected.
    """
    weights, answer_keys = _weights(expected, value), frozenset(_weights(answer, value))
    expected_keys = {document for document, weight in weights.items() if weight}
    score = agreement(
        len(expected_keys & answer_keys),
        len(answer_keys),
        len(expected_keys),
        precision_of_nothing=0.0,
    )
    if not expected_keys:
        score = score._replace(precision=0.0, recall=0.0, f1=0.0)
    reason = match_summary(
        len(expected_keys & answer_keys), len(expected_keys), len(answer_keys), "values"
    )
    if expected.boolean is not None:
        truth = "true" if expected.boolean else "false"
        explanation = (
            "of which no answer has one" if not expected.boolean else "which any ASK answers"
        )
        reason = f"{truth} was expected, {explanation}; {reason}"
    return Match(score, reason, ndcg(weights, answer_keys))


def ndcg(weights: Mapping[str, int], values: AbstractSet[str]) -> float:
    """Return the nDCG of values that all have the same score, as trec_eval computes it.

    trec_eval breaks ties by the bytes of the value, greatest first, so the order of rows does not
    matter.
    """
    ranking = sorted(values, key=lambda item: item.encode("utf-8", "surrogatepass"), reverse=True)
    ideal = _gain(sorted(weights.values(), reverse=True))
    return _gain([weights.get(item, 0) for item in ranking]) / ideal if ideal else 0.0


def _gain(weights: list[int]) -> float:
    return sum(weight / math.log2(rank + 2) for rank, weight in enumerate(weights))


def _values(result: QueryResult, value: Key) -> set[str]:
    return {value(term) for row in result.rows for term in row if term is not None}


def _weights(result: QueryResult, value: Key) -> dict[str, int]:
    if result.boolean is not None:
        return {"true": int(result.boolean)}
    return dict.fromkeys(_values(result, value), 1)
