# SPDX-License-Identifier: Apache-2.0
"""Measures of brevity: how little text an answer has besides the requested content, 0 to 1."""

from __future__ import annotations


def by_length(needed: int, answer: str) -> float:
    """Return ``needed`` characters divided by the length of ``answer``, at most 1.

    The result is 1 if ``answer`` is empty.
    """
    return min(1.0, needed / len(answer)) if answer else 1.0


def by_blanks(expected: str, answer: str) -> float:
    """Return the spaces in ``expected`` plus 1, divided by those in ``answer`` plus 1, at most 1.

    Spaces are U+0020: line breaks and fences do not count.
    """
    return min(1.0, (expected.count(" ") + 1) / (answer.count(" ") + 1))


def by_block(block: str | None, answer: str) -> float:
    """Return the share of ``block``, with its fences, in the length of ``answer``.

    The share is 0 without a block. White space around the block does not count if the answer has no
    other text.
    """
    if block is None:
        return 0.0
    if answer.strip() == block:
        return 1.0
    return len(block) / len(answer)
