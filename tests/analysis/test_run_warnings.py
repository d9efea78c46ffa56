# SPDX-License-Identifier: Apache-2.0
"""Warnings about the answers of a run name what would help, and only that."""

from __future__ import annotations

from collections import Counter

import pytest

from kgbench.analysis.outcomes import Ending
from kgbench.analysis.run_results import about_model, is_endless

CUT = Counter(
    {Ending("unparsable", "truncated"): 20, Ending("scored", "truncated"): 7, Ending("scored"): 10}
)


def warnings(endless: int) -> list[str]:
    """Return the warnings about a model of whose 37 answers 27 were cut off."""
    return [*about_model("m", CUT, endless, {})]


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("person " * 20, True),
        ("The answer is: " + ":a :b :c .\n" * 30 + ":a :b", True),
        ("x" * 100, True),
        ("x" * 99, False),
        ("pi is 1.0000", False),
        (" " * 500, False),
        (":a :b :c .\n" * 30 + "done", False),
        ("".join(f"person {number}, " for number in range(300)), False),
        ("", False),
    ],
)
def test_endless_texts_end_with_repetitions(text: str, endless: bool) -> None:
    """A text is endless if its end repeats itself over a hundred characters."""
    assert is_endless(text) is endless


def test_no_higher_limit_is_advised_against_repetitions() -> None:
    """Answers that repeat themselves are named apart from those that a higher limit would end."""
    (line,) = warnings(27)
    assert line == (
        "27 of 37 answers of m repeat the same text up to the limit of tokens: "
        "a higher limit does not help"
    )
    repeated, cut = warnings(7)
    assert repeated.startswith("7 of 37")
    assert cut == (
        "20 of 37 answers of m are truncated: raise max_tokens, or choose a model with a "
        "longer context"
    )
