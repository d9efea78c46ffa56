# SPDX-License-Identifier: Apache-2.0
"""Questions about a world that no thing fits, and questions that it cannot answer.

Both are put like the questions of :mod:`kgbench.worlds.questions`, so that their words do not give
away what they are. *Empty*: everything that the question names is in the graph, each condition has
things that fit, and no thing fits all of them; the right query has no rows, or counts none.
*Unanswerable*: one condition is about a thing or a property that the graph does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Final

from kgbench.worlds.clauses import Clause, Place, at_least, shown
from kgbench.worlds.generator import Instance, World
from kgbench.worlds.model import absent
from kgbench.worlds.naming import word
from kgbench.worlds.questions import Form, Question, Sheet

ANSWERED, EMPTY, UNANSWERABLE = "answered", "empty", "unanswerable"
UNKNOWN_THING, UNKNOWN_PROPERTY = "unknown-thing", "unknown-property"

_NOTHING: Final[tuple[list[tuple[str, ...]], ...]] = ([], [("0",)])
# Forms whose result is empty, or 0, where nothing fits.
_FORMS: Final = frozenset(("names", "count", "grouped", "extreme", "sorted"))

_Recipe = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]


@lru_cache(maxsize=48)
def sheet(world: World, level: int, kind: str) -> Sheet:
    """Return the questions of a level and a kind about a world, each as it is first asked for."""
    return _SHEETS[kind](world, level)


class EmptySheet(Sheet):
    """Questions of one level that no thing fits."""

    SEEDED: ClassVar = EMPTY

    def _recipe(self) -> _Recipe:
        recipe, forms = super()._recipe()
        return recipe, tuple(form for form in forms if form in _FORMS)

    def _clause(self, feature: str, place: Place) -> Clause | None:
        if self._level == 1:  # there is no other condition that could exclude what fits
            return _unmet(place)
        other = place.chance.one(place.graph.instances[place.witness.kind])
        return super()._clause(feature, place._replace(witness=other))

    def _sound(self, made: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        rows = self._rows(made.query)
        return rows in _NOTHING and self._all_matter(rows, kind, parts, form)

    def _key(self, found: Question) -> object:
        return found.words


class UnanswerableSheet(Sheet):
    """Questions of one level with one condition on something that the graph does not have.

    They have no query. The last feature says what is unknown.
    """

    SEEDED: ClassVar = UNANSWERABLE

    def __init__(self, world: World, level: int) -> None:
        super().__init__(world, level)
        everything = (one for members in self._graph.instances.values() for one in members)
        self._labels = {one.label for one in everything}
        self._lacks = ""

    def _drawn(self) -> Question | None:
        found = super()._drawn()
        return None if found is None else found._replace(query="", features=(self._lacks,))

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        parts = super()._clauses(kind, witness, features)
        if parts is None:
            return None
        place = Place(self._graph, witness, self._chance, len(parts))
        unknown_thing = self._chance.between(0, 1) == 1
        self._lacks = UNKNOWN_THING if unknown_thing else UNKNOWN_PROPERTY
        part = self._unknown_thing(kind, place) if unknown_thing else _unknown_property(kind, place)
        parts[self._chance.between(0, len(parts) - 1)] = part
        return None if len({one.about for one in parts}) < len(parts) else parts

    def _unknown_thing(self, kind: str, at: Place) -> Clause:
        """That they are linked to a thing that there is not."""
        each = at.chance.one([one for one in self._graph.model.has(kind) if one.links])
        label = f"{word(at.chance)} {word(at.chance)}"
        while label in self._labels:
            label += f" {word(at.chance)}"
        return Clause(f"that {each.phrase} {label}", "", each.iri)

    def _sound(self, made: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:  # noqa: ARG002 - of all sheets
        return True

    def _key(self, found: Question) -> object:
        return found.words


def _unmet(at: Place) -> Clause | None:
    """That they are linked to a certain thing, to which perhaps nothing is linked so."""
    for each in at.properties(links=True):
        if not each.transitive:
            target = at.chance.one(at.graph.of(each.range))
            pattern = f'?x {shown(at.graph, each.iri)}/rdfs:label "{target.label}" .'
            return Clause(f"that {each.phrase} {target.label}", pattern, each.iri)
    return None


def _unknown_property(kind: str, at: Place) -> Clause:
    """That a property that the graph does not have links them to a thing, or has a value."""
    above = set(at.graph.model.above(kind))
    each = at.chance.one([one for one in absent() if one.domain in above])
    if each.links:
        label = at.chance.one(at.graph.of(each.range)).label
        return Clause(f"that {each.phrase} {label}", "", each.iri)
    limit = at.chance.between(each.low, each.high)
    return Clause(f"whose {each.label} is {at_least(each, limit)}", "", each.iri)


_SHEETS: Final[dict[str, type[Sheet]]] = {
    ANSWERED: Sheet,
    EMPTY: EmptySheet,
    UNANSWERABLE: UnanswerableSheet,
}
