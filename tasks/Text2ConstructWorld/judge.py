# SPDX-License-Identifier: Apache-2.0
"""Text2ConstructWorld: build graphs from a generated world with a CONSTRUCT query.

The graph that a query builds is compared with that of the reference, up to the names of blank
nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kgbench.families.sparql import WritingFamily
from kgbench.vocab import XSD
from kgbench.worlds.clauses import Clause, Form, Question
from kgbench.worlds.generator import World
from kgbench.worlds.writing import WritingSheet

_COUNTED: Final = "SELECT ?group (COUNT(?x) AS ?number)"
_GROUPED: Final = " GROUP BY ?group"


class Constructs(WritingSheet):
    """A sequence of different CONSTRUCT exercises of one level."""

    SEEDED = "constructs"
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

    # Forms of exercises

    def _copy(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            yield Form(
                f"State every {prop.label}, with the property t:value, of the",
                ".",
                "CONSTRUCT { ?x t:value ?value }",
                f"?x {self._term(prop)} ?value .",
            )

    def _type(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        yield Form(
            "State the class t:Chosen and the name (rdfs:label) of each of the",
            ".",
            "CONSTRUCT { ?x a t:Chosen ; rdfs:label ?name }",
            "?x rdfs:label ?name .",
        )

    def _reverse(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            yield Form(
                f"Link every {prop.label}, with the property t:of, to that whose {prop.label} it "
                "is, for the",
                ".",
                "CONSTRUCT { ?value t:of ?x }",
                f"?x {self._term(prop)} ?value .",
            )

    def _shortcut(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            for other in self._free(prop.range, used_properties):
                if prop.range != other.domain:
                    continue
                yield Form(
                    f"State every {other.label} of every {prop.label} of theirs, with the property "
                    "t:derived, for the",
                    ".",
                    "CONSTRUCT { ?x t:derived ?value }",
                    f"?x {self._term(prop)} ?other . ?other {self._term(other)} ?value .",
                )

    def _optional(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            if prop.min_count == 0:
                optional = f"OPTIONAL {{ ?x {self._term(prop)} ?value }}"
                yield Form(
                    "State the name, with the property t:name, and, where it is known, every "
                    f"{prop.label}, with the property t:value, of each of the",
                    ".",
                    "CONSTRUCT { ?x t:name ?name ; t:value ?value }",
                    f"?x rdfs:label ?name .\n  {optional}",
                    mistakes=(("OPTIONAL", ""), (optional, "")),
                )

    def _year(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            if prop.range == XSD.date:
                yield Form(
                    f"State the year of the {prop.label} as a number, with the property t:year, of "
                    "the",
                    ".",
                    "CONSTRUCT { ?x t:year ?year }",
                    f"?x {self._term(prop)} ?value . BIND(YEAR(?value) AS ?year)",
                )

    def _node(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            yield Form(
                f"Describe every {prop.label} by a new blank node of the class t:Statement, one "
                "for each pair of a thing and a value, that has the thing as t:about and the value "
                "as t:value, for the",
                ".",
                "CONSTRUCT { [] a t:Statement ; t:about ?x ; t:value ?value }",
                f"?x {self._term(prop)} ?value .",
                each_once=True,
            )

    def _group(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            yield Form(
                f"Group by {prop.label}: state for each {prop.label} that occurs, with the "
                "property t:number, how many there are of the",
                ".",
                f"CONSTRUCT {{ ?group t:number ?number }} WHERE {{\n  {{ {_COUNTED}",
                f"?x {self._term(prop)} ?group .",
                f"{_GROUPED} }}\n}}",
                each_once=True,
            )

    def _pairs(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            term = self._term(prop)
            both = "{ SELECT DISTINCT ?y WHERE {\n  $CONDITIONS } }"
            yield Form(
                "Link, in both directions and with the property t:together, all pairs of different "
                f"things that share a {prop.label} and that are both among the",
                ".",
                "CONSTRUCT { ?x t:together ?y }",
                f"?x {term} ?shared .\n  {both}\n  ?y {term} ?shared . FILTER(?x != ?y)",
                mistakes=((f"{both}\n", ""),),
            )


class Text2ConstructWorld(WritingFamily):
    """Graphs to be built from the seed's world."""

    sheet = Constructs
    word = re.compile(r"\bCONSTRUCT\b", re.IGNORECASE)


family: Final = Text2ConstructWorld(__file__)
