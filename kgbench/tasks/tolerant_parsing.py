# SPDX-License-Identifier: Apache-2.0
"""Parsing Turtle that does not parse as a whole, by removing lines until it does.

Source: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.2. What it leaves open
is decided in the ``task.ttl`` of the task classes that use this.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kgbench.model import Executor

MOST_REMOVED: Final = 500  # lines; who needs more of them removed has not written Turtle

_BLANKS = " \t\r"  # in Turtle; a parser reports a line that has only other white space
_LINE = re.compile(r"\bline (\d+)")


class Repaired(NamedTuple):
    """The triples (N-Triples lines) and the text that are left, and how much had to be removed.

    ``removed`` are the characters of the removed lines, line breaks not counted; ``lines`` is how
    many they are; ``error`` is what the parser said of the whole text, ``None`` where it parsed.
    """

    triples: tuple[str, ...]
    text: str
    removed: int
    lines: int
    error: str | None


def parse(text: str, executor: Executor) -> Repaired:
    """The triples of a Turtle ``text``, after removing the lines that its parser reports."""
    found = executor.parse(text, "turtle")
    first_error = found.error
    lines = text.split("\n")
    removed: list[str] = []
    while found.triples is None and len(removed) < MOST_REMOVED:
        number = _reported(found.error or "", lines)
        if number is None:
            break
        removed.append(lines.pop(number))
        found = executor.parse("\n".join(lines), "turtle")
    if found.triples is None:
        return Repaired((), "", sum(map(len, text.split("\n"))), len(removed), first_error)
    kept = "\n".join(lines)
    return Repaired(found.triples, kept, sum(map(len, removed)), len(removed), first_error)


def _reported(message: str, lines: list[str]) -> int | None:
    """The index of the line that ``message`` reports, or of the last one before it with text."""
    match = _LINE.search(message)
    number = min(int(match[1]), len(lines)) - 1 if match else len(lines) - 1
    before = (k for k in range(number, -1, -1) if lines[k].strip(_BLANKS))
    after = (k for k in range(number + 1, len(lines)) if lines[k].strip(_BLANKS))
    return next(before, next(after, None))
