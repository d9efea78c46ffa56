# SPDX-License-Identifier: Apache-2.0
"""Undoing unified diffs."""

from __future__ import annotations

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.importers.published import undo

LINES = st.lists(st.sampled_from(["a", "b", "", "- c", "+d", " e", "@@ -1 +1 @@", "--- x"]))


@given(LINES, LINES)
def test_undo_gives_the_text_before(old: list[str], new: list[str]) -> None:
    """Undoing the diff of two texts on the second gives the first."""
    after = "\n".join(new)
    lines = after.splitlines()
    diff = "\n".join(unified_diff(old, lines, "optimal", "answer"))
    expected = old if diff else lines
    assert undo(diff, after) == "\n".join(expected)


@pytest.mark.parametrize(
    "diff",
    [
        "@@ -1,2 +1,2 @@\n\n a\n-b\n+c",  # context differs from the text
        "@@ -1,3 +1,3 @@\n\n x\n-b",  # ends early
        "@@ -1 +9 @@\n\n-b\n+c",  # beyond the end
        "@@ -1 +1 @@\n\n?b",  # not a diff line
    ],
)
def test_undo_refuses_what_does_not_fit(diff: str) -> None:
    """A diff that does not fit the text is refused with ``None``."""
    assert undo(diff, "x\ny") is None


@given(st.text(), st.text())
def test_undo_takes_any_text(diff: str, after: str) -> None:
    """Undoing any text as a diff of any other gives a text or ``None``."""
    assert isinstance(undo(diff, after), str | None)
