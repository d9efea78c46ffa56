# SPDX-License-Identifier: Apache-2.0
"""Reversal of unified diffs: the text before from the text after."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def undo(diff: str, after: str) -> str | None:
    r"""Return the text that ``diff`` changed into ``after``, or ``None`` if they do not match.

    ``diff`` is as Python's :mod:`difflib` gives it for lines without line ends, joined by
    ``"\n"`` (so that the header lines, which do end in one, are followed by an empty line).

    >>> undo("--- a\n\n+++ b\n\n@@ -1,2 +1,2 @@\n\n-one\n+ONE\n two", "ONE\ntwo\nthree")
    'one\ntwo\nthree'
    """
    new = after.splitlines()
    old: list[str] = []
    position = 0
    lines = iter(diff.split("\n"))
    for line in lines:
        header = _HUNK.fullmatch(line)
        if header is None:
            continue
        next(lines, None)  # the empty line after the header
        removed, start, added = (int(group) for group in header.groups("1"))
        begin = start if added == 0 else start - 1
        if begin < position or begin > len(new):
            return None
        old += new[position:begin]
        hunk = _hunk(lines, removed, added)
        if hunk is None or new[begin : begin + len(hunk[1])] != hunk[1]:
            return None
        old += hunk[0]
        position = begin + len(hunk[1])
    return "\n".join(old + new[position:])


def _hunk(lines: Iterator[str], removed: int, added: int) -> tuple[list[str], list[str]] | None:
    """Read a hunk of ``removed`` old and ``added`` new lines, or return ``None`` if malformed."""
    old: list[str] = []
    new: list[str] = []
    while len(old) < removed or len(new) < added:
        line = next(lines, None)
        if not line:
            return None
        if line[0] not in " -+":
            return None
        if line[0] in " -":
            old.append(line[1:])
        if line[0] in " +":
            new.append(line[1:])
    return old, new
