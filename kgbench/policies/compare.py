# SPDX-License-Identifier: Apache-2.0
"""Comparing the result of an answer's query with the expected result under a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kgbench.model import QueryResult
from kgbench.policies import flattened, tables, within_rows
from kgbench.policies.matches import Match
from kgbench.policies.policy import Policy
from kgbench.policies.tables import TieGroup
from kgbench.policies.values import Key, key
from kgbench.scoring.agreement import Agreement

_TRUE: Final = '"true"'
_FALSE: Final = '"false"'
_RIGHT: Final = Agreement(1.0, 1.0, 1.0)
_WRONG: Final = Agreement(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Reference:
    """The expected result. ``ordered`` says that the question asks for an order.

    ``groups`` are its rows with those that tie, in order (see
    :class:`~kgbench.policies.tables.TieGroup`); ``None`` where ties are not known.
    """

    result: QueryResult
    ordered: bool = False
    groups: tuple[TieGroup, ...] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores by the short names of the policy's metrics, and the reason for them in words.

    ``scores`` is empty where the policy leaves the comparison undefined.
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
    ``None`` where the model gave no query, and has an ``error`` where its query failed. Raises
    :class:`~kgbench.errors.EvaluationError` where rows are too many to be matched.
    """
    return _scored(policy, reference, _match(policy, reference, answer, prefixes or {}))


def _match(
    policy: Policy, reference: Reference, answer: QueryResult | None, prefixes: Mapping[str, str]
) -> Match:
    expected = reference.result
    if answer is None or answer.error is not None:
        if (policy.unanswered if answer is None else policy.failed) == "wrong":
            why = "there is no query" if answer is None else f"the query fails: {answer.error}"
            return Match(_WRONG, why)
        answer = QueryResult()
    if expected.boolean is not None or answer.boolean is not None:
        if policy.ask == "key":
            return flattened.by_truth_key(expected, answer, key(policy.values, prefixes))
        if policy.ask in {"exact", "non-empty"}:
            return _asked(policy.ask, expected, answer)
        expected, answer = (_as_rows(one) for one in (expected, answer))
    return _rows_match(policy, reference, expected, answer, key(policy.values, prefixes))


def _rows_match(
    policy: Policy, reference: Reference, expected: QueryResult, answer: QueryResult, value: Key
) -> Match:
    """The match of two results without truth values, the expected one made of ``reference``."""
    if not expected.rows and not answer.rows:
        return _both_empty(policy.both_empty)
    if policy.unit == "value":
        return flattened.match(
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
    return tables.match(expected, answer, value, ordered=ordered, groups=groups)


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


def _asked(rule: str, expected: QueryResult, answer: QueryResult) -> Match:
    """Where one of the two is an ASK: equal truth values, by ``rule`` a SELECT having one too."""

    def truth(result: QueryResult) -> bool | None:
        return bool(result.rows) if rule == "non-empty" and not _is_ask(result) else result.boolean

    wanted, given = truth(expected), truth(answer)
    said = {None: "rows", True: "true", False: "false"}
    right = wanted == given
    reason = f"{said[wanted]} was expected, {said[given]} was given"
    return Match(_RIGHT if right else _WRONG, reason)


def _is_ask(result: QueryResult) -> bool:
    return result.boolean is not None


def _as_rows(result: QueryResult) -> QueryResult:
    """A truth value as a result of one value; rows as they are."""
    if result.boolean is None:
        return result
    return QueryResult(("boolean",), ((_TRUE if result.boolean else _FALSE,),))


def _both_empty(rule: str) -> Match:
    reason = "both results are empty"
    if rule == "undefined":
        return Match(None, f"{reason}, for which the formula has no value")
    return Match(_RIGHT if rule == "right" else _WRONG, reason)
