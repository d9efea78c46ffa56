# SPDX-License-Identifier: Apache-2.0
"""Answers that are Turtle documents in the first fenced block."""

from __future__ import annotations

from typing import NamedTuple

import pyoxigraph as ox

from kgbench.model import Executor, Outcome
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import texts

FOLDER = "turtle-answers"
ROUNDS = 3


class TurtleAnswer(NamedTuple):
    """The document in an answer and its triples, or ``None`` and the ``error``.

    ``text`` is ``None`` if the answer has no fenced block.
    """

    text: str | None
    triples: tuple[ox.Triple, ...] | None
    error: str | None

    @property
    def feedback(self) -> tuple[str, str]:
        """The feedback on an answer without a document, or one that does not parse; its kind."""
        if self.text is None:
            return texts.shared(FOLDER, "feedback-no-block.txt"), "format"
        prompt = texts.shared_filled(FOLDER, "feedback-syntax.txt", message=self.error or "")
        return prompt, "syntax"


def read(answer: str, executor: Executor) -> TurtleAnswer:
    """Read the document in an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return TurtleAnswer(None, None, "there is no fenced block in the answer")
    text = blocks[0].body
    parsed = executor.parse(text, "turtle")
    if parsed.triples is None:
        return TurtleAnswer(text, None, parsed.error)
    return TurtleAnswer(text, triples(parsed.triples), None)


def triples(lines: tuple[str, ...]) -> tuple[ox.Triple, ...]:
    """Parse lines of N-Triples."""
    quads = ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES)
    return tuple(quad.triple for quad in quads)


def outcome(answer: str, *, usable: bool) -> Outcome:
    """Return the outcome of an answer, by whether its document is usable."""
    if usable:
        return Outcome.SCORED
    return Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY
