# SPDX-License-Identifier: Apache-2.0
"""Text2ConstructWorld: build graphs from a generated world with a CONSTRUCT query.

The graph that a query builds is compared with that of the reference, up to the names of blank
nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kgbench.api import World
from kgbench.families.sparql import WritingFamily
from kgbench.worlds.clauses import Clause, Form, Question
from kgbench.worlds.writing import WritingSheet

_COUNTED: Final = "SELECT ?group (COUNT(?x) AS ?number)"
_GROUPED: Final = " GROUP BY ?group"


class Constructs(WritingSheet):
    """A sequence of different CONSTRUCT exercises of one level."""

    SEEDED = "constructs"
    DECLARED = ("Text2ConstructWorld", "forms.json")
    FORMS = {  # noqa: RUF012 - a constant
        1: ("copy", "type"),
        2: ("reverse", "shortcut", "copy"),
        3: ("optional", "year", "reverse", "pairs"),
        4: ("node", "group", "shortcut"),
        5: ("node", "group", "optional", "shortcut", "reverse"),
    }

    def __init__(self, world: World, level: int) -> None:
        super().__init__(world, level)
        self._labels = {thing.iri: thing.label for thing in self._graph.things}

    def _things(self, query: str) -> list[str]:
        return super()._things(query.replace(_COUNTED, "SELECT ?x").replace(_GROUPED, ""))

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        if not super()._sound(question, kind, parts, form):
            return False
        terms = (term for row in self._rows(question.query) for term in row[1:])
        return not any(self._is_given_away(term, question.words) for term in terms)

    def _is_given_away(self, term: str, words: str) -> bool:
        """Return whether the words contain a term of the result: the name of a thing, or a text."""
        if term.startswith("<"):
            label = self._labels.get(term[1:-1])
            return label is not None and label in words
        value = term[1:].partition('"')[0]
        return term.startswith('"') and not value.isdecimal() and value in words


class Text2ConstructWorld(WritingFamily):
    """Graphs to be built from the seed's world."""

    sheet = Constructs
    word = re.compile(r"\bCONSTRUCT\b", re.IGNORECASE)


family: Final = Text2ConstructWorld(__file__)
