# SPDX-License-Identifier: Apache-2.0
"""Comparison of the result of an answer's query with the expected result under a policy.

A policy may compare sets of values, without rows, columns, duplicates and order. TEXT2SPARQL gives
such sets to trec_eval (``text2sparql_client/utils/evaluation_metrics.py`` and
``commands/evaluate.py``; ``m_set_P.c``, ``m_set_F.c`` and ``m_ndcg.c`` of trec_eval 9). Each value
is a document of weight 1, and the result of an ASK is the document ``true`` of weight 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from kgbench.model import QueryResult
from kgbench.policies import whole_rows, within_rows
from kgbench.policies.policy import Match, Policy, match_summary
from kgbench.policies.values import Key, key
from kgbench.policies.whole_rows import TieGroup
from kgbench.scoring.agreement import Agreement, agreement

_TRUE: Final = '"true"'
_FALSE: Final = '"false"'
_RIGHT: Final = Agreement(1.0, 1.0, 1.0)
_WRONG: Final = Agreement(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Reference:
    """The expected result; ``ordered`` is true if the question asks for an order.

    ``groups`` are its rows in order, grouped by ties (see
    :class:`~kgbench.policies.whole_rows.TieGroup`); ``None`` if ties are not known.
    """

    result: QueryResult
    ordered: bool = False
    groups: tuple[TieGroup, ...] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores by the short names of the policy's metrics, and an explanation in words.

    ``scores`` is empty if the policy leaves the comparison undefined.
    """

    scores: Mapping[str, float]
    reason: str


def compare(
    policy: Policy,
    reference: Reference,
    answer: QueryResult | None,
    prefixes: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare ``answer`` with ``reference``, both typed, under ``policy``.

    ``prefixes`` are those of the case; only policies that shorten IRIs use them. ``answer`` is
    ``None`` if the model gave no query, and has an ``error`` if its query failed. Raises
    :class:`~kgbench.errors.EvaluationError` if there are too many rows to match.
    """
    return _scored(policy, reference, _match(policy, reference, answer, prefixes or {}))


def _match(
    policy: Policy, reference: Reference, answer: QueryResult | None, prefixes: Mapping[str, str]
) -> Match:
    expected = reference.result
    if answer is None or answer.error is not None:
        if (policy.unanswered if answer is None else policy.failed) == "wrong":
            reason = "there is no query" if answer is None else f"the query fails: {answer.error}"
            return Match(_WRONG, reason)
        answer = QueryResult()
    if expected.boolean is not None or answer.boolean is not None:
        if policy.ask == "key":
            return _match_truth_key(expected, answer, key(policy.values, prefixes))
        if policy.ask in {"exact", "non-empty"}:
            return _compare_truth(policy.ask, expected, answer)
        expected, answer = (_as_rows(result) for result in (expected, answer))
    return _match_rows(policy, reference, expected, answer, key(policy.values, prefixes))


def _match_rows(
    policy: Policy, reference: Reference, expected: QueryResult, answer: QueryResult, value: Key
) -> Match:
    """Match two results without truth values; ``expected`` is derived from ``reference``."""
    if not _has_content(policy.unit, expected) and not _has_content(policy.unit, answer):
        return _both_empty(policy.both_empty)
    if policy.unit == "value":
        return _match_sets(
            expected,
            answer,
            value,
            ranked=policy.order == "ndcg" and reference.ordered,
            nothing_precise=policy.nothing_precise,
        )
    if policy.columns == "within-row":
        return within_rows.match(expected, answer, value, policy)
    groups = reference.groups if expected is reference.result else None
    ordered = policy.order == "demanded" and reference.ordered
    return whole_rows.match(expected, answer, value, ordered=ordered, groups=groups)


def _has_content(unit: str, result: QueryResult) -> bool:
    """Return whether a result has rows or, if the ``unit`` is the value, cells with values."""
    if unit != "value":
        return bool(result.rows)
    return any(cell is not None for row in result.rows for cell in row)


def _scored(policy: Policy, reference: Reference, match: Match) -> Comparison:
    if match.agreement is None:
        return Comparison({}, match.reason)
    precision, recall, f1 = match.agreement
    ranked = match.ndcg if reference.ordered and match.ndcg is not None else f1
    values = {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "exact": float(f1 == 1.0),
        "set_P": precision,
        "set_recall": recall,
        "set_F": f1,
        "set_F_ndcg": ranked,
    }
    return Comparison({name: values[name] for name in policy.answer_metrics}, match.reason)


def _compare_truth(rule: str, expected: QueryResult, answer: QueryResult) -> Match:
    """Compare truth values, if one query is an ASK; by ``rule``, a SELECT may count as one."""

    def truth(result: QueryResult) -> bool | None:
        return bool(result.rows) if rule == "non-empty" and not _is_ask(result) else result.boolean

    expected_truth, answer_truth = truth(expected), truth(answer)
    words = {None: "rows", True: "true", False: "false"}
    is_right = expected_truth == answer_truth
    reason = f"{words[expected_truth]} was expected, {words[answer_truth]} was given"
    return Match(_RIGHT if is_right else _WRONG, reason)


def _is_ask(result: QueryResult) -> bool:
    return result.boolean is not None


def _as_rows(result: QueryResult) -> QueryResult:
    """Convert a truth value to a result with one value; keep rows as they are."""
    if result.boolean is None:
        return result
    return QueryResult(("boolean",), ((_TRUE if result.boolean else _FALSE,),))


def _both_empty(rule: str) -> Match:
    reason = "both results are empty"
    if rule == "undefined":
        return Match(None, f"{reason}, for which the formula has no value")
    return Match(_RIGHT if rule == "right" else _WRONG, reason)


def _match_sets(
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


def _match_truth_key(expected: QueryResult, answer: QueryResult, value: Key) -> Match:
    """Match as sets if one query is an ASK, whose truth value is the weight of a single key.

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
