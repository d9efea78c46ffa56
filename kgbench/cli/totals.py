# SPDX-License-Identifier: Apache-2.0
"""The totals of a run in one line."""

from __future__ import annotations

from typing import Any

from kgbench.analysis.run_totals import cost, duration, tokens
from kgbench.cli.messages import count


def totals_line(totals: dict[str, Any]) -> str:
    """Return answers, tokens, cost and duration of a run in one line."""
    return (
        f"{count(totals['answers'], 'answer')}, {tokens(totals['input_tokens'])} tokens read and "
        f"{tokens(totals['output_tokens'])} written, {cost(totals)}, {duration(totals['seconds'])}"
    )
