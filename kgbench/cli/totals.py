# SPDX-License-Identifier: Apache-2.0
"""The totals of a run in one line."""

from __future__ import annotations

from typing import Any

from kgbench.analysis.run_totals import cost, duration, tokens
from kgbench.cli.messages import count


def totals_line(totals: dict[str, Any]) -> str:
    """Return answers, tokens, cost and duration of a run in one line."""
    return (
        f"{count(totals['answers'], 'answer')}, {_tokens(totals)}, {cost(totals)}, "
        f"{duration(totals['seconds'])}"
    )


def _tokens(totals: dict[str, Any]) -> str:
    """Return the tokens of a run in words; those that no provider counted are unknown."""
    read, written = totals["input_tokens"], totals["output_tokens"]
    without = totals["answers_without_counts"]
    if without and not (read or written):
        return "tokens unknown"
    least = "at least " if without else ""
    rest = f" (unknown for {count(without, 'answer')})" if without else ""
    return f"{least}{tokens(read)} tokens read and {tokens(written)} written{rest}"
