# SPDX-License-Identifier: Apache-2.0
"""Text2UpdateWorld: change a generated world with a SPARQL update.

The update runs on a copy of the world. Its changes are compared with those of the reference. This
also compares the resulting states, which are isomorphic if the changes are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import pyoxigraph as ox

from kgbench.api import RDF
from kgbench.families.sparql import WritingFamily
from kgbench.policies.blank_nodes import Row
from kgbench.worlds.clauses import Form
from kgbench.worlds.generator import literal
from kgbench.worlds.writing import Row as Written
from kgbench.worlds.writing import WritingSheet


class Updates(WritingSheet):
    """A sequence of different update exercises of one level."""

    SEEDED = "updates"
    DECLARED = ("Text2UpdateWorld", "forms.json")
    FORMS = {  # noqa: RUF012 - a constant
        1: ("set", "remove", "add", "replace"),
        2: ("set", "remove", "add", "replace"),
        3: ("raise", "reverse", "delete"),
        4: ("reverse", "derive", "delete", "describe"),
        5: ("describe", "archive", "tally", "derive"),
    }

    def _is_new(self, row: Written) -> bool:
        if "_:" in row:
            return True
        line = f"{' '.join(row)} ."
        return not any(quad in self._store for quad in ox.parse(line, ox.RdfFormat.N_TRIPLES))

    # Forms of exercises

    def _set(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            if prop.links or prop.max_count != 1 or prop.range == RDF.langString:
                continue
            value = self._chance.between(prop.low, prop.high)
            text = literal(prop, value).partition("^^")[0].strip('"')
            term = self._term(prop)
            known = f"?x {term} ?old"
            there_is, pattern = "there is", f"{known} ."
            mistakes: tuple[tuple[str, str], ...] = ()
            if not prop.min_count:
                there_is, pattern = "there may be", f"OPTIONAL {{ {known} }}"
                mistakes = (("OPTIONAL", ""), (pattern, ""))
            yield Form(
                f"Set the {prop.label} to {text}, in place of the value that {there_is}, for the",
                ".",
                f"DELETE {{ {known} }}\nINSERT {{ ?x {term} {literal(prop, value)} }}",
                pattern,
                mistakes=mistakes,
            )

    def _add(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            new = self._other(prop.range, [])
            if prop.max_count > 1 and new is not None:
                yield Form(
                    f"Add {new.label} as {prop.label}, beside those that there may be, to each of "
                    "the",
                    ".",
                    f"INSERT {{ ?x {self._term(prop)} ?new }}",
                    f'?new rdfs:label "{new.label}" .',
                )

    def _replace(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._links(kind, used_properties):
            values = self._witness.links.get(prop.iri, [])
            if not values:
                continue
            old = self._chance.one(values)
            new = self._other(prop.range, [value.label for value in values])
            if new is not None:
                term = self._term(prop)
                yield Form(
                    f"Put {new.label} in the place of {old.label} wherever {old.label} is the "
                    f"{prop.label} of one of the",
                    ".",
                    f"DELETE {{ ?x {term} ?old }}\nINSERT {{ ?x {term} ?new }}",
                    f'?x {term} ?old . ?old rdfs:label "{old.label}" . '
                    f'?new rdfs:label "{new.label}" .',
                )

    def _raise(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._measures(kind, used_properties):
            term, more = self._term(prop), self._chance.between(2, 99)
            yield Form(
                f"Raise the {prop.label}, where one is known, by {more} for each of the",
                ".",
                f"DELETE {{ ?x {term} ?old }}\nINSERT {{ ?x {term} ?new }}",
                f"?x {term} ?old . BIND(?old + {more} AS ?new)",
            )


_REMOVED: Final = '"removed"'


class Text2UpdateWorld(WritingFamily):
    """Changes of the seed's world."""

    sheet = Updates
    word = re.compile(r"\b(?:INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b", re.IGNORECASE)
    update = True

    def counts(self, surplus: Collection[Row]) -> Mapping[str, float]:
        """Return how many triples are wrongly removed and added."""
        lost = sum(row[0] == _REMOVED for row in surplus)
        return {"lost": float(lost), "added": float(len(surplus) - lost)}


family: Final = Text2UpdateWorld(__file__)
