# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison before it gets the score names of a policy."""

from __future__ import annotations

from typing import NamedTuple

from kgbench.scoring.agreement import Agreement


class Match(NamedTuple):
    """Precision, recall and F1 (``None``: undefined), an explanation, and nDCG if requested."""

    agreement: Agreement | None
    reason: str
    ndcg: float | None = None


def match_summary(hits: float, expected_count: int, answer_count: int, noun: str) -> str:
    """Describe how many of ``noun`` were expected, given, and found.

    >>> match_summary(2, 3, 4, "rows")
    '2 of 3 expected rows found, 4 given'
    """
    hit_count = f"{hits:.4g}" if hits != int(hits) else f"{int(hits):,}"
    return f"{hit_count} of {expected_count:,} expected {noun} found, {answer_count:,} given"
