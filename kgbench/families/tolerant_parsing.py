# SPDX-License-Identifier: Apache-2.0
"""What the Turtle families of 2023 share: a tolerant parser, and comparison as texts.

The parser removes faulty lines until the text parses.

Source: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.2. The ``task.ttl`` of
each task class decides the points that it leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor
from kgbench.scoring.agreement import with_uniform_blank_nodes
from kgbench.scoring.formulas import ratio

MOST_REMOVED: Final = 500  # lines; a text with more faulty lines is not Turtle

_BLANKS = " \t\r"  # white space of Turtle; the parser reports lines with any other
_LINE = re.compile(r"\bline (\d+)")


class RepairedTurtle(NamedTuple):
    """The remaining triples (N-Triples lines) and text, and the amount of removed text.

    ``removed`` is the number of characters in the removed lines, without line breaks; ``lines`` is
    the number of removed lines; ``error`` is the parser's message about the whole text, ``None`` if
    it parsed.
    """

    triples: tuple[str, ...]
    text: str
    removed: int
    lines: int
    error: str | None


def parse(text: str, executor: Executor) -> RepairedTurtle:
    """Parse Turtle, removing the lines that the parser reports."""
    parsed = executor.parse(text, "turtle")
    first_error = parsed.error
    lines = text.split("\n")
    remaining = text
    removed: list[str] = []
    while parsed.triples is None and len(removed) < MOST_REMOVED:
        number = _reported_line(parsed.error or "", lines)
        if number is None:
            break
        remaining = without_line(remaining, number, lines)
        removed.append(lines.pop(number))
        parsed = executor.parse(remaining, "turtle")
    if parsed.triples is None:
        return RepairedTurtle((), "", sum(map(len, text.split("\n"))), len(removed), first_error)
    return RepairedTurtle(
        parsed.triples, remaining, sum(map(len, removed)), len(removed), first_error
    )


def expected_triples(case: Case, executor: Executor) -> tuple[str, ...]:
    """Return the triples of the ``optimal`` document in the data of ``case``.

    Raises :class:`~kgbench.errors.EvaluationError` if the case has none, like some published cases
    of 2023, or if it does not parse.
    """
    document = case.data.get("optimal")
    if not document:
        raise EvaluationError(
            f"the case {case.iri} has no 'optimal' to compare with: it was not published"
        )
    parsed = executor.parse(document, "turtle")
    if parsed.triples is None:
        raise EvaluationError(
            f"the 'optimal' of the case {case.iri} does not parse: {parsed.error}"
        )
    return parsed.triples


def text_similarity(answer_triples: Iterable[str], expected_triples: Iterable[str]) -> float:
    """Similarity of two graphs as texts: sorted lines with uniform blank nodes; 0 if empty."""
    lines = sorted(map(with_uniform_blank_nodes, answer_triples))
    return (
        ratio("\n".join(lines), "\n".join(sorted(map(with_uniform_blank_nodes, expected_triples))))
        if lines
        else 0.0
    )


def without_line(text: str, number: int, lines: list[str]) -> str:
    r"""Return ``text`` without the line at index ``number`` of its ``lines``.

    Joining the other lines gives the same and takes time for each of a hundred thousand.

    >>> without_line("a\nb\nc", 1, ["a", "b", "c"])
    'a\nc'
    """
    start = sum(map(len, lines[:number])) + number
    if number == len(lines) - 1:
        return text[: max(start - 1, 0)]
    return text[:start] + text[start + len(lines[number]) + 1 :]


def _reported_line(message: str, lines: list[str]) -> int | None:
    """Return the index of the reported line, or of the nearest line with text.

    A line before the reported line is preferred.
    """
    match = _LINE.search(message)
    number = min(int(match[1]), len(lines)) - 1 if match else len(lines) - 1
    before = (k for k in range(number, -1, -1) if lines[k].strip(_BLANKS))
    after = (k for k in range(number + 1, len(lines)) if lines[k].strip(_BLANKS))
    return next(before, next(after, None))
