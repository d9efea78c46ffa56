# SPDX-License-Identifier: Apache-2.0
"""What a run has cost, in one line."""

from __future__ import annotations

from typing import Any

from kgbench.analysis.run_totals import cost, duration, tokens
from kgbench.cli.wording import count


def sentence(said: dict[str, Any]) -> str:
    """The totals in one line."""
    return (
        f"{count(said['answers'], 'answer')}, {tokens(said['input_tokens'])} tokens read and "
        f"{tokens(said['output_tokens'])} written, {cost(said)}, {duration(said['seconds'])}"
    )
