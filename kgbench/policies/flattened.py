# SPDX-License-Identifier: Apache-2.0
"""Results as one set of values: rows, columns, duplicates and order are forgotten.

TEXT2SPARQL gives such sets to trec_eval (``text2sparql_client/utils/evaluation_metrics.py`` and
``commands/evaluate.py``; ``m_set_P.c``, ``m_set_F.c`` and ``m_ndcg.c`` of trec_eval 9). Each value
is a document of weight 1, and the result of an ASK is the document ``true`` of weight 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kgbench.model import QueryResult
from kgbench.policies.matches import Match, found
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

    An empty answer has precision 1 where ``nothing_precise``, else 0. Nothing expected has
    recall 0: where both are empty, the policy has decided before.
    """
    wanted, given = _values(expected, value), _values(answer, value)
    hits = len(wanted & given)
    score = agreement(
        hits, len(given), len(wanted), precision_of_nothing=1.0 if nothing_precise else 0.0
    )
    if not wanted:
        score = score._replace(precision=0.0, recall=0.0, f1=0.0)
    reason = found(hits, len(wanted), len(given), "values")
    weights = dict.fromkeys(wanted, 1)
    return Match(score, reason, ndcg(weights, given) if ranked else None)


def by_truth_key(expected: QueryResult, answer: QueryResult, value: Key) -> Match:
    """As :func:`match` where one of the two is an ASK, whose truth is the weight of one key.

    So any ASK answers a true one, and none a false one.
    """
    weights, given = _weights(expected, value), frozenset(_weights(answer, value))
    wanted = {document for document, weight in weights.items() if weight}
    score = agreement(len(wanted & given), len(given), len(wanted), precision_of_nothing=0.0)
    if not wanted:
        score = score._replace(precision=0.0, recall=0.0, f1=0.0)
    reason = found(len(wanted & given), len(wanted), len(given), "values")
    if expected.boolean is not None:
        truth = "true" if expected.boolean else "false"
        seen = "of which no answer has one" if not expected.boolean else "which any ASK answers"
        reason = f"{truth} was expected, {seen}; {reason}"
    return Match(score, reason, ndcg(weights, given))


def ndcg(weights: Mapping[str, int], given: AbstractSet[str]) -> float:
    """The nDCG of values that all have the same score, as trec_eval sees them.

    It breaks the tie by the bytes of the value, the greatest first, so that the order of rows does
    not count.
    """
    ranking = sorted(given, key=lambda one: one.encode("utf-8", "surrogatepass"), reverse=True)
    ideal = _gain(sorted(weights.values(), reverse=True))
    return _gain([weights.get(one, 0) for one in ranking]) / ideal if ideal else 0.0


def _gain(weights: list[int]) -> float:
    return sum(weight / math.log2(place + 2) for place, weight in enumerate(weights))


def _values(result: QueryResult, value: Key) -> set[str]:
    return {value(term) for row in result.rows for term in row if term is not None}


def _weights(result: QueryResult, value: Key) -> dict[str, int]:
    if result.boolean is not None:
        return {"true": int(result.boolean)}
    return dict.fromkeys(_values(result, value), 1)
