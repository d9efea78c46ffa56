# SPDX-License-Identifier: Apache-2.0
"""What a comparison finds before the names of scores are put to it."""

from __future__ import annotations

from typing import NamedTuple

from kgbench.scoring.agreement import Agreement


class Match(NamedTuple):
    """Precision, recall and F1 (``None``: undefined), the reason, and nDCG where it was asked."""

    agreement: Agreement | None
    reason: str
    ndcg: float | None = None


def found(hits: float, expected: int, given: int, what: str) -> str:
    """How many of ``what`` were expected, given, and both, in words.

    >>> found(2, 3, 4, "rows")
    '2 of 3 expected rows found, 4 given'
    """
    counted = f"{hits:.4g}" if hits != int(hits) else f"{int(hits):,}"
    return f"{counted} of {expected:,} expected {what} found, {given:,} given"
