# SPDX-License-Identifier: Apache-2.0
"""Precision, recall and F1 of something found against something expected."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple


class Agreement(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float

    def named(self, prefix: str = "", f1: str = "f1") -> dict[str, float]:
        """Return the three values under score names built from ``prefix`` and ``f1``.

        >>> Agreement(1.0, 0.5, 0.6).named("list", f1="F1")
        {'listPrecision': 1.0, 'listRecall': 0.5, 'listF1': 0.6}
        """
        precision, recall = "precision", "recall"
        if prefix:
            precision, recall, f1 = f"{prefix}Precision", f"{prefix}Recall", f"{prefix}{f1}"
        return {precision: self.precision, recall: self.recall, f1: self.f1}


def agreement_of_error(error: float) -> float:
    """Turn an error, best at 0, into agreement from 0 to 1: 1 minus its absolute value, at least 0.

    Metrics that declare ``kgb:agreementOf`` are computed so.

    >>> [agreement_of_error(error) for error in (0.0, -0.25, 9.0)]
    [1.0, 0.75, 0.0]
    """
    return max(0.0, 1 - abs(error))


def harmonic(precision: float, recall: float) -> float:
    """F1: the harmonic mean of precision and recall, 0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def agreement(
    hits: int, answer_count: int, expected_count: int, *, precision_of_nothing: float
) -> Agreement:
    """Agreement of the items of an answer, ``hits`` of which are expected.

    ``precision_of_nothing`` is the precision if nothing is given; the published scores differ
    in it (1 for sets and lists, 0 for persons named in a text). Recall of nothing expected is 1.
    """
    precision = hits / answer_count if answer_count else precision_of_nothing
    recall = hits / expected_count if expected_count else 1.0
    return Agreement(precision, recall, harmonic(precision, recall))


def compare_sets(expected: AbstractSet[str], answer: AbstractSet[str]) -> Agreement:
    """Agreement of two sets; an empty ``answer`` has precision 1 (and recall 0)."""
    return agreement(len(expected & answer), len(answer), len(expected), precision_of_nothing=1.0)
