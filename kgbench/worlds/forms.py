# SPDX-License-Identifier: Apache-2.0
"""Questions about a world, and the forms that they have."""

from __future__ import annotations

from typing import Final, NamedTuple

from kgbench.worlds import misreadings

AGAIN: Final = "$CONDITIONS"
"""Where a form repeats the conditions of a question."""


class Question(NamedTuple):
    """A question: its words, its query, and the features of the query.

    ``ordered`` is true if the order of rows matters.
    """

    words: str
    query: str
    features: tuple[str, ...]
    ordered: bool


class Form(NamedTuple):
    """A form of question: the words around its class and clauses, and the parts of its query.

    ``each_once`` is true if each matching thing must count once, in however many ways it matches.
    ``pattern`` may repeat the conditions as :data:`AGAIN`, with ``?y`` instead of ``?x``.
    At least ``least`` things must meet the conditions. ``mistakes`` are parts of ``pattern`` or
    ``end`` with what a query has instead that misreads this part.
    """

    before: str
    after: str
    select: str
    pattern: str = ""
    end: str = ""
    each_once: bool = False
    least: int = 1
    mistakes: tuple[tuple[str, str], ...] = ()

    def misread(self) -> list[Form]:
        """Return the form with each of the mistakes, and with its numbers misread."""
        return [
            *(
                self._replace(
                    pattern=self.pattern.replace(part, other), end=self.end.replace(part, other)
                )
                for part, other in self.mistakes
            ),
            *(self._replace(select=select) for select in misreadings.of_counts(self.select)),
        ]
